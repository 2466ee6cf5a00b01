//! Pages and tables of stream scenarios.

mod data;

use data::streams::{check, class, simulation};
use laxity_report::text::{self, Style};
use laxity_report::*;
use laxity_results::*;

const POLICIES: [&str; 3] = ["fifo", "edf", "dwcs"];

fn page(result: &StreamSimulationResult, details: &[StreamPolicyDetail]) -> Page {
    stream_simulation_page(StreamOutcome::One(result), details, None, &Meta::default())
}

// Fails when a figure of the page is lost, or has a panel too few.
#[test]
fn the_page_shows_every_class() {
    let (result, details) = simulation(&POLICIES, 1);
    let svgs = page(&result, &details).svgs();
    let names: Vec<&str> = svgs.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["missed.svg", "windows.svg", "runs.svg", "delay.svg"]);
    for (name, svg) in &svgs {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        let panels = document.descendants().filter(|n| n.attribute("role") == Some("img")).count();
        // The document itself is one; a class without deadlines has no delays.
        let classes = if name == "delay.svg" { 3 } else { 4 };
        assert_eq!(panels, classes + 1, "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
    assert!(svgs[0].1.contains("tolerated 1.00%"));
}

// Fails when a violated window passes for none: on page and terminal, by sign and by text.
#[test]
fn violations_are_highlighted() {
    let (mut result, details) = simulation(&POLICIES, 1);
    let good = text::stream_simulation(StreamOutcome::One(&result), Some("dwcs"), Style::PLAIN);
    assert!(good.contains("Every tolerance kept."), "{good}");
    assert!(good.contains("under fifo") && good.contains("under edf"));
    result.policies["dwcs"].classes["speech"].tumbling_violations = 1;
    let bad = text::stream_simulation(StreamOutcome::One(&result), Some("dwcs"), Style::PLAIN);
    assert!(bad.contains("1 window violated.") && bad.contains("\u{2717} 1 in"), "{bad}");
    assert!(page(&result, &details).html().contains("statement bad"));
}

// Fails when several seeds are shown as one.
#[test]
fn several_seeds_are_summed_and_spread() {
    let runs = StreamSimulationRuns {
        runs: [1, 2, 3].map(|seed| simulation(&POLICIES, seed).0).into(),
        summary: Default::default(),
    };
    let out = text::stream_simulation(StreamOutcome::Runs(&runs), None, Style::PLAIN);
    assert!(out.contains("summed over all seeds") && out.contains("over 3 seeds"), "{out}");
    let missed: u64 =
        runs.runs.iter().map(|r| r.policies["fifo"].classes["alarm"].deadline_misses).sum();
    let dropped = out.split("Dropped: the deadline passed").nth(1).unwrap();
    assert!(dropped.lines().nth(1).unwrap().contains(&missed.to_string()), "{out}");
    let (_, details) = simulation(&POLICIES, 1);
    let html =
        stream_simulation_page(StreamOutcome::Runs(&runs), &details, None, &Meta::default()).html();
    assert!(html.contains("Of 3 seeds, seed 1 is shown."));
}

// Fails when the three answers read alike.
#[test]
fn verdicts_differ() {
    let rendered = |check: &StreamCheckResult| text::stream_check(check, Style::PLAIN);
    let promised = rendered(&check(true));
    assert!(promised.starts_with("Admitted, and promised."), "{promised}");
    assert!(promised.contains("sources of video may pause"), "{promised}");
    let fits = rendered(&StreamCheckResult { guaranteed: false, ..check(true) });
    assert!(fits.starts_with("Admitted without a promise."), "{fits}");
    let refused = rendered(&check(false));
    assert!(refused.starts_with("Not admitted.") && refused.contains("\u{2717} 0"), "{refused}");
    assert!(refused.contains("- They need too much: admit fewer."), "{refused}");
}

// Fails when names are written unescaped.
#[test]
fn names_are_escaped() {
    let evil = "</title><script>alert(\"1\")</script>&'\u{0}\u{1b}[2J";
    let (mut result, mut details) = simulation(&[evil, "dwcs"], 1);
    for (policy, detail) in result.policies.values_mut().zip(&mut details) {
        let classes = std::mem::take(&mut policy.classes);
        policy.classes = classes.into_iter().map(|(n, c)| (format!("{evil}{n}"), c)).collect();
        detail.classes.iter_mut().for_each(|c| c.class = format!("{evil}{}", c.class));
    }
    let page = page(&result, &details);
    let html = page.html();
    assert!(html.matches("<script").count() == 1 && !html.contains(['\u{0}', '\u{1b}']));
    for (name, svg) in page.svgs() {
        roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let out = text::stream_simulation(StreamOutcome::One(&result), None, Style::PLAIN);
    assert!(!out.contains('\u{1b}'));
}

// Fails when a huge, missing or contradictory number is cast, divided or drawn without a guard.
#[test]
fn extreme_numbers_give_pages() {
    for v in [0.0, -1.0, 1e300, f64::INFINITY, f64::NAN] {
        for n in [0, 1, u64::MAX] {
            for tolerance in ["0/0", "1/1", "65535/65535", "nonsense", ""] {
                let c = StreamClassResult {
                    packets: n,
                    served: n,
                    deadline_misses: n,
                    dropped: n,
                    sent_late: n,
                    overflows: n,
                    tumbling_violations: n,
                    max_consecutive_misses: n,
                    violated_streams: n,
                    mean_ms: Some(v),
                    p99_ms: Some(v),
                    max_ms: Some(v),
                    gap_ns: Some(n),
                    ..class(tolerance, None, n)
                };
                let policy = StreamPolicyResult {
                    streams: n,
                    utilisation: v,
                    classes: [("a".to_string(), c)].into(),
                };
                let result = StreamSimulationResult {
                    scenario: String::new(),
                    seed: None,
                    duration_ns: n,
                    policies: [("dwcs".to_string(), policy)].into(),
                };
                let classes = vec![StreamClassDetail {
                    class: "a".into(),
                    distribution: vec![(0, n), (n, n), (u64::MAX, 1)],
                }];
                let details = [StreamPolicyDetail { policy: "dwcs".into(), classes }];
                let page = page(&result, &details);
                assert!(!page.html().contains("NaN"));
                for (name, svg) in page.svgs() {
                    roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert!(!svg.contains("NaN"), "{name}");
                }
                let style = Style { colour: true, width: 1 };
                text::stream_simulation(StreamOutcome::One(&result), None, style);
            }
        }
    }
}

#[test]
fn empty_results_give_pages() {
    let runs = StreamSimulationRuns { runs: vec![], summary: Default::default() };
    let meta = Meta::default();
    let html = stream_simulation_page(StreamOutcome::Runs(&runs), &[], None, &meta).html();
    assert!(html.contains("Nothing was run."));
    let (mut result, _) = simulation(&["dwcs"], 1);
    result.policies["dwcs"].classes.clear();
    page(&result, &[]).html();
}
