//! Link scenarios: defaults, every key, every form, and printing them all.

use std::path::Path;

use laxity_core::{Bytes, Rate, Span, Time, Weight};
use laxity_curve::{Bucket, Envelope};
use laxity_link::config::Options;
use laxity_scenario::ScenarioError;
use laxity_scenario::link::model::*;

const LEAST: &str = "[link]\nrate = \"10 Mbit/s\"\n[[best_effort]]\nname = \"bulk\"\n";

const PACKETS: [(Time, Bytes); 3] =
    [(Time(0), Bytes(100)), (Time(0), Bytes(60)), (Time(1_000_000), Bytes(100))];

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let mut traces = |path: &Path, flow: &str| {
        assert_eq!((path, flow), (Path::new("folder/packets.csv"), "traced"));
        Ok(PACKETS.to_vec())
    };
    Scenario::parse_with(text, "folder/home.toml", &mut traces)
}

fn good(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// The one problem of a text, as (line, key, what).
fn problem(text: &str) -> (usize, String, String) {
    let error = parse(text).unwrap_err();
    let problems = error.problems();
    assert_eq!(problems.len(), 1, "{error}");
    (problems[0].line, problems[0].key.clone(), problems[0].what.clone())
}

/// The class of a scenario with these keys.
fn class(keys: &str) -> BestEffortClass {
    good(&format!("{LEAST}{keys}\n")).best_effort[0].clone()
}

// Fails when a name is read as another, or a default differs from the constants of the scheduler.
#[test]
fn flow_queues_and_aqm() {
    assert_eq!((class("").flows, class("").aqm), (None, Aqm::None));
    assert_eq!(class("flows = {}").flows, Some(FlowQueueing::default()));
    let by = [QueueBy::FiveTuple, QueueBy::Source, QueueBy::Destination, QueueBy::HostAndFlow];
    for (name, by) in ["5-tuple", "source", "destination", "host-and-flow"].into_iter().zip(by) {
        let flows = class(&format!("flows = {{ by = \"{name}\", queues = 64 }}")).flows;
        assert_eq!(flows, Some(FlowQueueing { by, queues: 64, ..FlowQueueing::default() }));
    }
    let hosts = [Hosts::Source, Hosts::Destination, Hosts::Both];
    for (name, hosts) in ["source", "destination", "both"].into_iter().zip(hosts) {
        let flows = class(&format!("flows = {{ by = \"host-and-flow\", hosts = \"{name}\" }}"));
        assert_eq!(flows.flows.map(|f| f.hosts), Some(hosts));
    }
    let own = [Aqm::None, Aqm::CODEL, Aqm::PIE, Aqm::L4S];
    for (name, aqm) in ["none", "codel", "pie", "l4s"].into_iter().zip(own) {
        assert_eq!(class(&format!("aqm = \"{name}\"")).aqm, aqm);
        if aqm != Aqm::None {
            assert_eq!(class(&format!("aqm = {{ use = \"{name}\" }}")).aqm, aqm);
        }
    }
    let rtt = Span::from_millis(40);
    let (target, sojourn, interval) = (Some(Span::from_millis(20)), Some(Sojourn::Raw), None);
    let aqm = class(
        "aqm = { use = \"codel\", rtt = \"40 ms\", target = \"20 ms\", ecn = false, \
         sojourn = \"raw\", ingress = true }",
    );
    let expected = Aqm::Codel { rtt, target, interval, ecn: false, sojourn, ingress: true };
    assert_eq!(aqm.aqm, expected);
    for keys in ["flows = {}", "aqm = \"pie\"", "aqm = { use = \"pie\", sojourn = \"link\" }"] {
        let other = good(&format!("{LEAST}[[best_effort]]\nname = \"other\"\n{keys}\n"));
        assert_eq!(good(&other.to_toml()), other);
    }
}

#[test]
fn defaults() {
    let s = good(LEAST);
    assert_eq!((s.name.as_str(), s.path.as_path()), ("home", Path::new("folder/home.toml")));
    let link = Link {
        rate: Rate(10_000_000),
        max_packet: Bytes(1536),
        overhead: Bytes(0),
        min_frame: Bytes(0),
        credit: Span::ZERO,
        in_flight: Bytes(0),
        buffer: None,
    };
    assert_eq!(s.link, link);
    assert_eq!((s.policy.use_.as_str(), s.policy.compare.len()), ("exact", 0));
    assert_eq!(s.policy.fair_queue, FairQueue::Wfq);
    assert_eq!((s.policy.blocking, s.policy.guarantee), (Blocking::Paper, Guarantee::Realtime));
    assert_eq!(s.policy.release, Release::Arrival);
    assert!(!s.policy.options.always_check && !s.policy.options.allow_overtaking);
    let names: Vec<&str> = s.flow_names().collect();
    assert_eq!(names, ["bulk", "other"]);
    assert!(s.best_effort.iter().all(|c| c.weight == Weight::ONE && c.source.is_none()));
}

/// Every key and every form at a value that is not its default.
const FULL: &str = r#"
[link]
rate = "20 Mbit/s"
max_packet = "1514 B"
overhead = "24 B"
min_frame = "84 B"
credit = "1 ms"
in_flight = "3072 B"
buffer = { total = "10 MB" }

[policy]
use = "slack"
compare = ["exact", "slack", "two-segment"]
fair_queue = "wf2q+"
blocking = "exact"
guarantee = "all"
release = "hol"
restart = "idle"
slack = { always-check = true, allow-overtaking = true, idle-timeout = "250 ms" }
tbs = { slope = "300 kB/s" }
shifted-line = { slope = "370530 B/s", shift = "15 ms" }
[policy.two-segment]
slopes = ["358530 B/s", "450000 B/s"]
corner = "463 ms"

[[best_effort]]
name = "other"
weight = 0.000001
buffer = "20 kB"
flows = { by = "host-and-flow", hosts = "source", queues = 256 }
aqm = { use = "l4s", rtt = "40 ms", target = "20 ms", step = "2 ms", ecn = false, sojourn = "link", ingress = true }
envelope = { burst = "1514 B", rate = "1 kB/s" }
source = { greedy = true, length = { uniform = ["64 B", "1514 B"] } }

[[realtime]]
name = "a \"b\" \\ é"
deadline = "30 ms"
envelope = { packet = "1536 B", peak = "800 kB/s", burst = "15 kB", rate = "600 kB/s", min_packet = "64 B" }
excess = "demote"
importance = 7
buffer = "100 kB"
source = { length = { normal = ["1700 B", "200 B"] }, on = ["50 ms", "100 ms"], off = ["0 ms", "20 ms"] }
match = { dscp = "AF41", protocol = "udp", src = "10.0.0.0/8", dst = "2001:db8::1", sport = 5004, dport = "5004-5010", mark = 0xff, priority = 6 }

[[realtime]]
name = "reserved"
rspec = { rate = "700 kB/s", slack = "1 ms" }
envelope = { packet = "1500 B", peak = "800 kB/s", burst = "15000 B", rate = "600 kB/s" }
excess = "drop"
source = { trace = "sub/sizes.csv" }

[[realtime]]
name = "buckets"
deadline = "1 s"
envelope = { buckets = [{ burst = "2 kB", rate = "3 kB/s" }, { burst = "4 kB", rate = "2 kB/s" }, { burst = "9 kB", rate = "1 kB/s" }], packet = "1 kB" }

[[realtime]]
name = "periodic"
deadline = "1 s"
envelope = { period = "20 ms", size = "200 B", jitter = "2 ms" }
source = { period = "20 ms", length = "200 B", jitter = "2 ms" }
match = { dscp = 3, protocol = 2 }

[[realtime]]
name = "traced"
deadline = "1 s"
envelope = { trace = "packets.csv" }

[[best_effort]]
name = "late"
weight = 4294.967295
match = { dscp = "be" }
envelope = { burst = "9 kB", rate = "1 kB/s", packet = "1 kB" }
"#;

// Fails when any key is read into the wrong place.
#[test]
fn every_key() {
    let s = good(FULL);
    let link = Link {
        rate: Rate(20_000_000),
        max_packet: Bytes(1514),
        overhead: Bytes(24),
        min_frame: Bytes(84),
        credit: Span::from_millis(1),
        in_flight: Bytes(3072),
        buffer: Some(Buffer { total: Bytes(10_000_000), best_effort: Bytes(5_000_000) }),
    };
    assert_eq!(s.link, link);
    let policy = PolicyChoice {
        use_: "slack".into(),
        compare: vec!["exact".into(), "two-segment".into()],
        fair_queue: FairQueue::Wf2qPlus,
        blocking: Blocking::Exact,
        guarantee: Guarantee::All,
        release: Release::HeadOfLine,
        options: Options {
            restart: Restart::Idle,
            allow_overtaking: true,
            always_check: true,
            release_idle: Span::from_millis(250),
            shifted_line: Some(ShiftedLine {
                slope: Rate(2_964_240),
                shift: Span::from_millis(15),
            }),
            two_segment: Some(TwoSegment {
                first: Rate(2_868_240),
                second: Rate(3_600_000),
                corner: Span::from_millis(463),
            }),
            tbs: Some(Rate(2_400_000)),
        },
    };
    assert_eq!(s.policy, policy);
    let names: Vec<&str> = s.flow_names().collect();
    assert_eq!(
        names,
        ["a \"b\" \\ é", "reserved", "buckets", "periodic", "traced", "late", "other"]
    );

    let a = &s.realtime[0];
    let tspec = Envelope::tspec(Bytes(1536), Rate(6_400_000), Bytes(15_000), Rate(4_800_000));
    assert_eq!(a.envelope, tspec.unwrap().with_min_packet(Bytes(64)).unwrap());
    assert_eq!((a.excess, a.buffer), (Excess::Demote, Some(Bytes(100_000))));
    assert_eq!((a.importance, s.realtime[1].importance), (7, 0));
    let ms = Span::from_millis;
    let length = Length::Normal { mean: Bytes(1700), deviation: Bytes(200) };
    let on_off = Source::OnOff { length, on: (ms(50), ms(100)), off: (ms(0), ms(20)) };
    assert_eq!(a.source, Some(on_off));
    let prefix = |a: &str, bits| Some(Prefix { address: a.parse().unwrap(), bits });
    let matches = Match {
        dscp: Some(34),
        protocol: Some(17),
        src: prefix("10.0.0.0", 8),
        dst: prefix("2001:db8::1", 128),
        sport: Some((5004, 5004)),
        dport: Some((5004, 5010)),
        mark: Some(255),
        priority: Some(6),
    };
    assert_eq!(a.matches, Some(matches));

    // RFC 2212: 11.785714 ms for the rate, and 1 ms of slack.
    assert_eq!((s.realtime[1].deadline, s.realtime[1].excess), (Span(12_785_714), Excess::Drop));
    assert_eq!(s.realtime[1].source, Some(Source::Trace { path: "folder/sub/sizes.csv".into() }));
    let bucket = |burst, rate| Bucket { burst: Bytes(burst), rate: Rate(rate) };
    let three = [bucket(2_000, 24_000), bucket(4_000, 16_000), bucket(9_000, 8_000)];
    assert_eq!(s.realtime[2].envelope, Envelope::buckets(&three, Bytes(1000)).unwrap());
    assert_eq!(s.realtime[3].envelope, Envelope::periodic(ms(20), Bytes(200), ms(2)).unwrap());
    let length = Length::Fixed(Bytes(200));
    assert_eq!(
        s.realtime[3].source,
        Some(Source::Periodic { period: ms(20), length, jitter: ms(2) })
    );
    let code = Match { dscp: Some(3), protocol: Some(2), ..Match::default() };
    assert_eq!(s.realtime[3].matches, Some(code));
    let traced = Envelope::from_trace(&PACKETS, laxity_curve::DEFAULT_BUCKETS).unwrap();
    assert_eq!(s.realtime[4].envelope, traced);

    let (late, other) = (&s.best_effort[0], &s.best_effort[1]);
    assert_eq!((late.weight, other.weight), (Weight(u32::MAX), Weight(1)));
    assert_eq!(late.envelope, Envelope::buckets(&[bucket(9_000, 8_000)], Bytes(1000)).ok());
    assert_eq!(other.envelope, Envelope::leaky_bucket(Bytes(1514), Rate(8_000)).ok());
    assert_eq!(other.buffer, Some(Bytes(20_000)));
    let length = Length::Uniform { least: Bytes(64), most: Bytes(1514) };
    assert_eq!(other.source, Some(Source::Greedy { length }));
}

// Fails when the printer forgets any key, or a quote in a name.
#[test]
fn every_key_round_trips() {
    let s = good(FULL);
    let text = s.to_toml();
    assert_eq!(good(&text), s, "{text}");
    let least = good(LEAST);
    assert_eq!(good(&least.to_toml()), least);
    let only_other = good("[link]\nrate = \"1 bit/s\"\n[[best_effort]]\nname = \"other\"\n");
    assert_eq!(good(&only_other.to_toml()), only_other);
}

#[test]
fn all_problems_are_reported_in_file_order() {
    let text = "[[realtime]]\nname = \"v\"\ndeadline = 5\n[link]\nrate = \"1\"\nx = 1\n[policy]\nuse = \"y\"\n";
    let error = parse(text).unwrap_err();
    let places: Vec<(usize, &str)> =
        error.problems().iter().map(|p| (p.line, p.key.as_str())).collect();
    assert_eq!(
        places,
        [
            (1, "realtime.v.envelope"),
            (3, "realtime.v.deadline"),
            (5, "link.rate"),
            (6, "link.x"),
            (8, "policy.use")
        ]
    );
}

// Fails when an envelope that could not be printed is let through.
#[test]
fn trace_envelopes_need_a_printable_rate() {
    let text = "[link]\nrate = \"1 Mbit/s\"\n[[best_effort]]\nname = \"b\"\nenvelope = { trace = \"t\" }\n";
    let what = |packets: &[(u64, u64)]| {
        let mut load = |_: &Path, _: &str| {
            Ok(packets.iter().map(|(t, b)| (Time(*t), Bytes(*b))).collect::<Vec<_>>())
        };
        match Scenario::parse_with(text, "x.toml", &mut load) {
            Ok(_) => String::new(),
            Err(error) => error.problems()[0].what.clone(),
        }
    };
    assert_eq!(what(&[]), "\"t\" holds no packet of flow `b`");
    assert_eq!(what(&[(5, 100), (5, 100)]), "in \"t\" all its packets come at one instant");
    let fast = [(0, 1_000_000), (1, 1_000_000)];
    assert_eq!(what(&fast), "in \"t\" its packets come faster than 1 Pbit/s");
    assert_eq!(what(&[(0, 100), (1_000, 100)]), "");
}

#[test]
fn columns_count_characters() {
    let error = parse(&LEAST.replace("\"bulk\"", "\"é\"\nsource = { \"ü\" = 1, trace = 2 }"));
    let error = error.unwrap_err();
    let columns: Vec<(usize, usize)> =
        error.problems().iter().map(|p| (p.line, p.column)).collect();
    assert_eq!(columns, [(5, 12), (5, 29)]);
}

#[test]
fn limits_match_their_messages() {
    let with = |from: &str, to: &str| LEAST.replace(from, to);
    assert!(parse(&with("10 Mbit/s", "1000000 Gbit/s")).is_ok());
    let (_, key, _) = problem(&with("10 Mbit/s", "1000001 Gbit/s"));
    assert_eq!(key, "link.rate");
    let packet = |size: &str| with("\n[[", &format!("\nmax_packet = \"{size}\"\n[["));
    assert!(parse(&packet("1 MB")).is_ok());
    assert_eq!(problem(&packet("1000001 B")).1, "link.max_packet");
    assert_eq!(problem(&packet("0 B")).2, "`max_packet` is zero");
}

#[test]
fn a_source_in_memory_prints_outside_its_folder() {
    let mut s = good(LEAST);
    s.best_effort[0].source = Some(Source::Trace { path: "elsewhere/t.csv".into() });
    assert!(s.to_toml().contains("trace = \"../elsewhere/t.csv\""), "{}", s.to_toml());
}

// Fails when a key of the table is not read: every key given a date must be reported.
#[test]
fn every_key_of_the_table_is_read() {
    use laxity_scenario::{keys::*, link::keys};
    // A table of each kind with its required keys, within a scenario.
    fn fields(table: &Table, but: &str) -> String {
        let keys = table.keys.iter().filter(|k| {
            k.name != but && (k.need == Need::Required || k.name == "deadline" && but != "rspec")
        });
        let fields: Vec<String> = keys.map(|k| format!("{} = {}", k.name, k.example)).collect();
        let date = (!but.is_empty()).then(|| format!("\"{but}\" = 2020-01-01"));
        fields.into_iter().chain(date).collect::<Vec<_>>().join(", ")
    }
    let flow = |key: &str, form: &str| {
        let envelope = "envelope = { burst = \"1536 B\", rate = \"1 kB/s\" }, ";
        let envelope = if key == "envelope" { "" } else { envelope };
        let link = "link = { rate = \"1 bit/s\" }\n";
        format!(
            "{link}realtime = [{{ name = \"n\", deadline = \"1 s\", {envelope}{key} = {form} }}]"
        )
    };
    let check = |table: &Table, wrap: &dyn Fn(&str) -> String| {
        for key in table.keys {
            let text = wrap(&format!("{{ {} }}", fields(table, key.name)));
            let error = match parse(&text) {
                Ok(_) => panic!("`{}` of {} is not read:\n{text}", key.name, table.name),
                Err(error) => error,
            };
            let ends = |p: &laxity_scenario::Problem| p.key.ends_with(key.name);
            assert!(error.problems().iter().any(ends), "`{}`: {error}", key.name);
        }
    };
    let other = "\nbest_effort = [{ name = \"x\" }]";
    let link = "link = { rate = \"1 bit/s\" }\n";
    check(&keys::LINK, &|t| format!("link = {t}{other}"));
    check(&keys::BUFFER, &|t| format!("link = {{ rate = \"1 bit/s\", buffer = {t} }}{other}"));
    check(&keys::POLICY, &|t| format!("{link}policy = {t}{other}"));
    let tables = keys::POLICY.keys.iter().filter_map(|key| match key.kind {
        Kind::Table(table) => Some(table),
        _ => None,
    });
    for table in tables {
        check(table, &|t| format!("{link}policy = {{ {} = {t} }}{other}", table.name));
    }
    check(&keys::REALTIME, &|t| format!("{link}realtime = [{t}]"));
    check(&keys::BEST_EFFORT, &|t| format!("{link}best_effort = [{t}]"));
    check(&keys::MATCH, &|t| flow("match", t));
    check(&keys::RSPEC, &|t| flow("rspec", t).replace("deadline = \"1 s\", ", ""));
    check(&keys::BUCKET, &|t| flow("envelope", &format!("{{ buckets = [{t}] }}")));
    for (forms, key) in [(&keys::ENVELOPE, "envelope"), (&keys::SOURCE, "source")] {
        for table in forms.tables {
            check(table, &|t| flow(key, t));
        }
    }
    for table in LENGTHS.tables {
        check(table, &|t| flow("source", &format!("{{ greedy = true, length = {t} }}")));
    }
}

// Fails when a value of a TCP source is read or printed as another, or left out.
#[test]
fn tcp_sources_are_read_and_printed() {
    use CongestionControl::{Bbr, Cubic, Dctcp, NewReno, Prague};
    use laxity_scenario::link::tcp::{App, CongestionControl, TcpSource};
    let controls = [NewReno, Cubic, Dctcp, Prague, Bbr];
    let controls = ["new-reno", "cubic", "dctcp", "prague", "bbr"].into_iter().zip(controls);
    let apps = [App::Bulk, App::Page, App::SmallPage, App::LargePage, App::Video];
    let apps = ["bulk", "page", "page-100kB", "page-2MB", "video"].into_iter().zip(apps);
    let spans = [("10 us", 10_000), ("40 ms", 40_000_000), ("10 s", 10_000_000_000)];
    for ((tcp, control), (app_name, app)) in
        controls.flat_map(|c| apps.clone().map(move |a| (c, a)))
    {
        for (rtt, ns) in spans {
            for (count, ecn, start) in [(1, false, 0), (1000, true, 1), (2, false, 3_600_000)] {
                let scenario = good(&format!(
                    "{LEAST}source = {{ tcp = \"{tcp}\", rtt = \"{rtt}\", app = \"{app_name}\", \
                     count = {count}, start = \"{start} ms\", ecn = {ecn} }}\n"
                ));
                let (rtt, start) = (Span(ns), Span::from_millis(start));
                let expected = TcpSource { control, rtt, app, count, start, ecn };
                assert_eq!(scenario.best_effort[0].source, Some(Source::Tcp(expected)));
                let text = scenario.to_toml();
                assert_eq!(good(&text), scenario, "{text}");
            }
        }
    }
    let defaults = class("source = { tcp = \"cubic\", rtt = \"40 ms\" }").source;
    let (rtt, start) = (Span::from_millis(40), Span::ZERO);
    let (control, app, count, ecn) = (Cubic, App::Bulk, 1, false);
    let expected = TcpSource { control, rtt, app, count, start, ecn };
    assert_eq!(defaults, Some(Source::Tcp(expected)));
}
