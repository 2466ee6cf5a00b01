//! Pages as written.

mod data;

use laxity_report::*;
use laxity_results::*;
use sha2::Digest;

/// Elements that have no end tag in HTML.
const VOID: [&str; 4] = ["meta", "link", "br", "wbr"];

/// Checks that tags balance and that attributes are quoted; returns all (tag, attributes).
fn tags(html: &str) -> Vec<(String, String)> {
    let mut open: Vec<String> = Vec::new();
    let mut all = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("begins with its type");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a stray > before {}", &rest[start..start + 20]);
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("tag is closed");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(!name.is_empty(), "not a tag: <{tag}>");
        all.push((name.clone(), tag[name.len()..].to_string()));
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of <{tag}>");
        if name == "style" {
            let close = rest.find("</style>").expect("style ends");
            assert!(!rest[..close].contains('<'));
            rest = &rest[close + 8..];
        } else if name == "script" {
            let close = rest.find("</script>").expect("script ends");
            rest = &rest[close + 9..];
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    all
}

fn sample() -> Page {
    let (result, details) = data::simulation(&data::POLICIES, 20);
    let (check, residual) = (data::check(true), data::residual());
    simulation_page(&result, &details, Some(&check), Some(&residual), &data::meta())
}

fn all_pages() -> Vec<Page> {
    let refused = check_page("refused", &data::check(false), None, &data::meta());
    let reproduction = reproduction_page(&[data::reproduction()], &[], &data::meta());
    vec![sample(), refused, reproduction, streams(), streams_refused()]
}

fn streams() -> Page {
    let (result, details) = data::streams::simulation(&["fifo", "edf", "dwcs"], 1);
    let check = data::streams::check(true);
    stream_simulation_page(StreamOutcome::One(&result), &details, Some(&check), &data::meta())
}

fn streams_refused() -> Page {
    stream_check_page("media", &data::streams::check(false), &data::meta())
}

// Fails when an end tag is left out or one panel's id is given twice.
#[test]
fn pages_are_well_formed_and_ids_unique() {
    for page in all_pages() {
        let html = page.html();
        let mut ids = std::collections::HashSet::new();
        let all = tags(&html);
        for (_, attributes) in &all {
            if let Some(id) = attributes.split(" id=\"").nth(1).and_then(|r| r.split('"').next()) {
                assert!(ids.insert(id.to_string()), "id {id} twice");
            }
        }
        for (_, attributes) in &all {
            for key in ["aria-labelledby=\"", "aria-describedby=\"", "href=\"#"] {
                if let Some(target) = attributes.split(key).nth(1).and_then(|r| r.split('"').next())
                {
                    assert!(ids.contains(target), "{key}{target} leads nowhere");
                }
            }
        }
    }
}

// Fails when names that look alike in plain letters share a file or an id.
#[test]
fn similar_names_get_distinct_identifiers() {
    let (mut result, mut details) = data::simulation(&["exact"], 1);
    let policy = &mut result.policies[0];
    for (from, to) in [("ftp", "my flow"), ("http", "my-flow"), ("mail", "My Flow!")] {
        if let Some(f) = policy.flows.shift_remove(from) {
            policy.flows.insert(to.into(), f);
        }
        for f in details[0].flows.iter_mut().filter(|f| f.flow == from) {
            f.flow = to.into();
        }
    }
    let page = simulation_page(&result, &details, None, None, &Meta::default());
    let names: Vec<String> = page.svgs().into_iter().map(|f| f.0).collect();
    for name in ["over-time-my-flow.svg", "over-time-my-flow-2.svg", "over-time-my-flow-3.svg"] {
        assert_eq!(names.iter().filter(|n| *n == name).count(), 1, "{names:?}");
        assert!(page.html().contains(&format!("data-file=\"{name}\"")));
    }
}

/// The text of the only element of a name.
fn only<'a>(html: &'a str, name: &str) -> &'a str {
    let parts: Vec<&str> = html.split(&format!("<{name}>")).collect();
    assert_eq!(parts.len(), 2, "one <{name}>");
    parts[1].split(&format!("</{name}>")).next().expect("it ends")
}

/// The bytes of a base64 text.
fn bytes(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').chars().map(|c| DIGITS.find(c).expect("a digit"));
    let bits: Vec<bool> = digits.flat_map(|d| (0..6).rev().map(move |i| d >> i & 1 == 1)).collect();
    bits.chunks_exact(8).map(|b| b.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

// Fails when the policy lets anything run but the page's own script, or an element has a style of its
// own, which the policy forbids.
#[test]
fn the_security_policy_names_style_and_script_by_hash() {
    for page in all_pages() {
        let html = page.html();
        let named = |directive: &str| {
            let value = html.split(&format!("{directive} 'sha256-")).nth(1).expect(directive);
            bytes(value.split('\'').next().expect("a hash"))
        };
        assert_eq!(named("style-src"), sha2::Sha256::digest(only(&html, "style")).to_vec());
        assert_eq!(named("script-src"), sha2::Sha256::digest(only(&html, "script")).to_vec());
        let rest = "img-src data:; base-uri 'none'; form-action 'none'\">";
        let policy =
            html.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1).unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        let directives = policy.split(';').take(6).collect::<Vec<_>>().join(";");
        assert!(directives.contains(rest), "{directives}");
        for (name, attributes) in tags(&html) {
            let names = attributes.split('"').step_by(2).map(str::trim);
            for attribute in names {
                assert!(
                    attribute != "style=" && !attribute.starts_with("on"),
                    "{name} {attribute}"
                );
            }
        }
    }
}

// Fails when an embedded name closes the script or a comment, or the script grows without bound.
#[test]
fn the_script_is_small_and_the_same_on_every_page() {
    let pages = all_pages();
    let first = pages[0].html();
    let script = only(&first, "script");
    assert!(script.lines().count() <= 1000, "{}", script.lines().count());
    for page in &pages {
        assert_eq!(only(&page.html(), "script"), script);
    }
}

// Fails when a font, a picture or any address outside the page creeps in.
#[test]
fn pages_are_self_contained() {
    for page in all_pages() {
        let html = page.html();
        for (name, attributes) in tags(&html) {
            assert!(name != "link" && name != "img" && name != "iframe");
            for key in ["href=\"", "src=\""] {
                for address in attributes.split(key).skip(1) {
                    assert!(address.starts_with('#'));
                }
            }
        }
        assert!(!html.contains("@import") && !html.to_lowercase().contains("url("));
        for call in ["fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "eval("]
        {
            assert!(!html.contains(call), "{call}");
        }
    }
}

// Fails when a figure lacks its title or description, or nesting breaks the document.
#[test]
fn figures_stand_alone() {
    let mut names = std::collections::HashSet::new();
    for (name, svg) in sample().svgs() {
        assert!(names.insert(name.clone()), "{name} twice");
        assert!(name.ends_with(".svg") && !name.contains(['/', '\\', ' ']));
        let document = roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        let panels = document.descendants().filter(|n| n.attribute("role") == Some("img")).count();
        assert!(panels >= 2, "{name} has no panels");
        for node in document.descendants().filter(|n| n.attribute("role") == Some("img")) {
            for part in ["title", "desc"] {
                let child =
                    node.children().find(|c| c.has_tag_name(("http://www.w3.org/2000/svg", part)));
                let text = child.and_then(|c| c.text()).unwrap_or_default();
                assert!(!text.is_empty(), "{name}: no {part}");
            }
        }
        assert!(svg.contains("prefers-color-scheme:dark"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
    for name in ["residual-capacity.svg", "ccdf.svg", "distribution.svg", "margin.svg"] {
        assert!(names.contains(name), "{name}");
    }
    assert_eq!(names.iter().filter(|n| n.starts_with("over-time-")).count(), 6);
}

// Fails when a hash map's order, a clock or an address gets into the page.
#[test]
fn pages_are_deterministic() {
    assert_eq!(sample().html(), sample().html());
    assert_eq!(sample().svgs(), sample().svgs());
    assert_eq!(streams().html(), streams().html());
}

#[test]
fn simulated_pages_are_labelled() {
    let html = sample().html();
    assert!(html.contains(">Simulated<") && html.contains("were simulated; no packet was sent"));
    let meta = Meta { kind: Kind::Live, ..data::meta() };
    let (result, details) = data::simulation(&data::POLICIES[..1], 2);
    let html = simulation_page(&result, &details, None, None, &meta).html();
    assert!(!html.contains(">Simulated<") && html.contains("measured on a running system"));
}

// Fails when a page with a live column states that no kernel ran a task.
#[test]
fn live_numbers_are_labelled() {
    let page = |papers: &[Reproduction]| reproduction_page(papers, &[], &data::meta()).html();
    let mut paper = data::reproduction();
    let html = page(&[paper.clone()]);
    assert!(html.contains(">Simulated, live beside it<"));
    assert!(html.contains("headed live were measured") && !html.contains("no kernel ran"));
    for row in paper.experiments.iter_mut().flat_map(|e| &mut e.rows) {
        row.live = None;
    }
    let html = page(&[paper]);
    assert!(html.contains(">Simulated<") && html.contains("no kernel ran a task"));
}

// Fails when any of the names is written without escaping, in markup, in titles of figures or in
// addresses.
#[test]
fn names_are_escaped() {
    let evil = "</title></style><script>alert(\"1\")</script>&'\u{0}\u{202e}";
    let (mut result, mut details) = data::simulation(&[evil, "exact"], 2);
    result.scenario = evil.into();
    for policy in result.policies.values_mut() {
        let flows = std::mem::take(&mut policy.flows);
        policy.flows = flows.into_iter().map(|(name, f)| (format!("{evil}{name}"), f)).collect();
        for flow in policy.flows.values_mut() {
            flow.drop_reasons.insert(evil.into(), 3);
        }
    }
    for f in details.iter_mut().flat_map(|d| &mut d.flows) {
        f.flow = format!("{evil}{}", f.flow);
    }
    let mut check = data::check(false);
    check.flows = check.flows.into_iter().map(|(n, f)| (format!("{evil}{n}"), f)).collect();
    for f in check.flows.values_mut() {
        (f.max_rate, f.max_burst) = (Some(evil.into()), Some(evil.into()));
    }
    let mut residual = data::residual();
    residual.approximations[0].0 = evil.into();
    let meta = Meta {
        command: evil.into(),
        version: evil.into(),
        facts: vec![(evil.into(), evil.into())],
        featured: Vec::new(),
        ..data::meta()
    };
    let page = simulation_page(&result, &details, Some(&check), Some(&residual), &meta);
    let mut paper = data::reproduction();
    paper.paper = evil.into();
    let e = &mut paper.experiments[0];
    (e.id, e.source, e.reading) = (evil.into(), evil.into(), evil.into());
    for r in &mut e.rows {
        (r.label, r.unit, r.why) = (evil.into(), evil.into(), evil.into());
    }
    for page in [page, reproduction_page(&[paper], &[], &meta)] {
        let html = page.html();
        assert_eq!(html.matches("<script").count(), 1);
        assert!(!html.contains("alert(\""));
        assert!(!html.contains(['\u{0}', '\u{202e}']));
        for (name, svg) in page.svgs() {
            roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!svg.contains("<script"));
        }
    }
}

// Fails when series are drawn point by point instead of at the resolution of the pixels.
#[test]
fn page_size_is_bounded() {
    let policies = ["background", "tbs", "shifted-line", "two-segment", "slack", "exact"];
    let (result, details) = data::simulation(&policies, 360);
    assert!(details.iter().flat_map(|d| &d.flows).any(|f| f.series.len() >= 4000));
    let page = simulation_page(&result, &details, Some(&data::check(true)), None, &data::meta());
    let size = page.html().len();
    assert!(size < 1_500_000, "{size} bytes");
    let mut million = details.clone();
    million[0].flows[0].series = (0..1_000_000).map(|i| (i * 360_000, i % 7_000_000)).collect();
    let page = simulation_page(&result, &million, None, None, &data::meta());
    assert!(page.html().len() < size + 100_000);
}

fn flow(kind: FlowKind) -> FlowResult {
    FlowResult {
        kind,
        packets: 0,
        bytes: 0,
        mean_ms: None,
        p50_ms: None,
        p99_ms: None,
        max_ms: None,
        deadline_ms: None,
        max_lateness_ms: None,
        deadline_misses: 0,
        dropped: 0,
        demoted: 0,
        demoted_mean_ms: None,
        demoted_max_ms: None,
        aqm_drops: None,
        ecn_marks: None,
        tcp: None,
        drop_reasons: Default::default(),
    }
}

fn one(policies: Vec<(&str, Vec<(&str, FlowResult)>)>) -> SimulationResult {
    SimulationResult {
        scenario: String::new(),
        seed: None,
        duration_ns: 0,
        policies: policies
            .into_iter()
            .map(|(name, flows)| {
                let policy = PolicyResult {
                    utilisation: 0.0,
                    best_effort_mean_ms: None,
                    realtime_deadline_misses: flows
                        .iter()
                        .map(|f| f.1.deadline_misses)
                        .fold(0, u64::saturating_add),
                    flows: flows.into_iter().map(|(n, f)| (n.to_string(), f)).collect(),
                };
                (name.to_string(), policy)
            })
            .collect(),
    }
}

fn renders(page: &Page) {
    let html = page.html();
    tags(&html);
    assert!(!html.contains("NaN"), "not-a-number reached the page");
    for (name, svg) in page.svgs() {
        roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn empty_results_give_pages() {
    renders(&Page::of_result(&one(vec![]), &Meta::default()));
    renders(&Page::of_result(&one(vec![("exact", vec![])]), &Meta::default()));
    let runs = SimulationRuns { runs: vec![], summary: Default::default() };
    renders(&Page::of_runs(&runs, &Meta::default()));
    let silent = one(vec![(
        "exact",
        vec![("a", flow(FlowKind::Realtime)), ("b", flow(FlowKind::BestEffort))],
    )]);
    let detail = |name: &str, kind, deadline_ns| FlowDetail {
        flow: name.into(),
        kind,
        deadline_ns,
        series: vec![],
        excerpt: vec![],
        distribution: vec![],
    };
    let details = [PolicyDetail {
        policy: "exact".into(),
        flows: vec![
            detail("a", FlowKind::Realtime, Some(5)),
            detail("b", FlowKind::BestEffort, None),
            detail("not in the results", FlowKind::BestEffort, None),
        ],
    }];
    let page = simulation_page(&silent, &details, None, None, &Meta::default());
    renders(&page);
    assert!(page.html().contains("no packet"));
    renders(&reproduction_page(&[], &[], &Meta::default()));
    let empty = CheckResult {
        admitted: true,
        utilisation: 0.0,
        binding_interval_ns: None,
        slack_bytes: None,
        flows: Default::default(),
        residual: vec![],
        best_effort: Default::default(),
        shares: None,
        later_auto: None,
        idle_realtime: None,
    };
    renders(&check_page("", &empty, None, &Meta::default()));
}

// Fails when a huge or missing number is cast, divided or drawn without a guard.
#[test]
fn extreme_numbers_give_pages() {
    for v in [0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::INFINITY, f64::NAN, f64::NEG_INFINITY] {
        for n in [0, 1, u64::MAX] {
            let f = FlowResult {
                packets: n,
                bytes: n,
                mean_ms: Some(v),
                max_ms: Some(v),
                deadline_ms: Some(v),
                max_lateness_ms: Some(v),
                deadline_misses: n,
                dropped: n,
                demoted: n,
                demoted_mean_ms: (n > 0).then_some(v),
                demoted_max_ms: (n > 0).then_some(v),
                aqm_drops: None,
                ecn_marks: None,
                tcp: None,
                drop_reasons: [("full".to_string(), n)].into(),
                ..flow(FlowKind::Realtime)
            };
            let b = FlowResult { kind: FlowKind::BestEffort, ..f.clone() };
            let mut result = one(vec![
                ("first", vec![("a", f.clone()), ("b", b.clone())]),
                ("second", vec![("a", f), ("b", b)]),
            ]);
            result.duration_ns = n;
            result.policies[1].utilisation = v;
            let detail = |name: &str, kind| FlowDetail {
                flow: name.into(),
                kind,
                deadline_ns: Some(n),
                series: vec![(0, 0), (n, n)],
                excerpt: vec![(n, n)],
                distribution: vec![(0, n), (n, n), (u64::MAX, 1)],
            };
            let details = ["first", "second"].map(|p| PolicyDetail {
                policy: p.into(),
                flows: vec![detail("a", FlowKind::Realtime), detail("b", FlowKind::BestEffort)],
            });
            let check = CheckResult {
                admitted: n == 0,
                utilisation: v,
                binding_interval_ns: Some(n),
                slack_bytes: Some(i64::MIN),
                flows: Default::default(),
                residual: vec![(0, v, v), (n, v, v)],
                best_effort: Default::default(),
                shares: None,
                later_auto: None,
                idle_realtime: None,
            };
            let meta = Meta { excerpt: Some((n, 0)), ..Meta::default() };
            let html_of = simulation_page(&result, &details, Some(&check), None, &meta);
            renders(&html_of);
            renders(&simulation_page(&result, &details, None, None, &Meta::default()));
            text::simulation(&result, None, text::Style::PLAIN);
            text::check(&check, &[("a".into(), n)], text::Style { colour: true, width: 1 });
            let mut paper = data::reproduction();
            for r in &mut paper.experiments[0].rows {
                (r.published, r.measured, r.spread, r.tolerance) = (Some(v), v + 1.0, v, v);
            }
            renders(&reproduction_page(&[paper], &[], &Meta::default()));
        }
    }
}

#[test]
fn deadline_misses_are_highlighted() {
    let missed = FlowResult {
        packets: 10,
        deadline_misses: 2,
        mean_ms: Some(4.0),
        max_ms: Some(7.0),
        deadline_ms: Some(5.0),
        max_lateness_ms: Some(2.0),
        ..flow(FlowKind::Realtime)
    };
    let result = one(vec![("fifo", vec![("voice", missed)])]);
    let html = Page::of_result(&result, &Meta::default()).html();
    assert!(html.contains("statement bad") && html.contains("2 deadlines missed."));
    assert!(html.contains("\u{2717} late by 2 ms"));
    let out = text::simulation(&result, None, text::Style::PLAIN);
    assert!(out.contains("\u{2717} 2 / 0") && out.contains("2 deadlines missed."));
}
