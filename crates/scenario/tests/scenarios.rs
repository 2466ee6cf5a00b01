//! The committed scenarios: they read, pass or fail admission as documented, and round-trip.

use std::path::{Path, PathBuf};

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::{Envelope, ShiftedLine, TwoSegment};
use laxity_scenario::link::model::{Length, Scenario, Source};
use laxity_scenario::stream::StreamScenario;
use laxity_scenario::{Document, DocumentKind};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn all() -> Vec<Document> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths.iter().map(|p| Document::read(p).unwrap_or_else(|e| panic!("{e}"))).collect()
}

fn links() -> Vec<Scenario> {
    all().iter().filter_map(Document::link).cloned().collect()
}

fn load(name: &str) -> Scenario {
    Scenario::read(folder().join(name)).unwrap_or_else(|e| panic!("{e}"))
}

fn kb(n: u64) -> Rate {
    Rate::bytes_per_second(n * 1000)
}

/// On for `on`, off for `off` (ms), lengths normal.
fn on_off(mean: u64, deviation: u64, on: (u64, u64), off: (u64, u64)) -> Option<Source> {
    let ms = |(a, b)| (Span::from_millis(a), Span::from_millis(b));
    let length = Length::Normal { mean: Bytes(mean), deviation: Bytes(deviation) };
    Some(Source::OnOff { length, on: ms(on), off: ms(off) })
}

// Fails when a figure of the scenario differs from Tables 3 and 4 of Chakraborty, Gries and
// Thiele (RTAS 2002), or when a unit is misread.
#[test]
fn the_access_link_matches_the_paper() {
    let s = load("access-link.toml");
    assert_eq!(
        (s.name.as_str(), s.link.rate, s.link.max_packet),
        ("access-link", Rate(10_000_000), Bytes(1536))
    );
    assert_eq!(s.policy.use_, "exact");
    assert_eq!(s.policy.compare, ["background", "shifted-line", "two-segment"]);
    let line = ShiftedLine { slope: Rate(2_964_240), shift: Span::from_millis(15) };
    assert_eq!(s.policy.options.shifted_line, Some(line));
    let corner = Span::from_millis(463);
    let lines = TwoSegment { first: Rate(2_868_240), second: Rate(3_600_000), corner };
    assert_eq!(s.policy.options.two_segment, Some(lines));

    // (b, r, M, p, deadline in ms), then Table 4.
    let table = [
        ("transactions", 45_000, 50, 700, 150, 20, on_off(300, 50, (5, 35), (50, 800))),
        ("video", 15_000, 600, 1536, 800, 30, on_off(1700, 200, (50, 100), (10, 20))),
    ];
    for (flow, (name, b, r, m, p, d, source)) in s.realtime.iter().zip(&table) {
        assert_eq!(flow.name, *name);
        assert_eq!(flow.envelope, Envelope::tspec(Bytes(*m), kb(*p), Bytes(*b), kb(*r)).unwrap());
        assert_eq!((flow.deadline, &flow.source), (Span::from_millis(*d), source));
    }
    let voice = &s.realtime[2];
    assert_eq!((voice.name.as_str(), voice.deadline), ("voice", Span::from_millis(5)));
    assert_eq!(voice.envelope, Envelope::tspec(Bytes(100), kb(250), Bytes(300), kb(150)).unwrap());
    let ms = |a, b| (Span::from_millis(a), Span::from_millis(b));
    let source = Source::OnOff { length: Length::Fixed(Bytes(100)), on: ms(2, 4), off: ms(6, 10) };
    assert_eq!(voice.source, Some(source));

    let table = [
        ("ftp", 500_000, 30_720, 150_000, 250, on_off(1700, 200, (10, 700), (100, 300))),
        ("http", 200_000, 50_000, 100_000, 150, on_off(1700, 200, (50, 400), (50, 200))),
        ("mail", 100_000, 12_288, 46_080, 100, on_off(1700, 200, (5, 50), (100, 300))),
    ];
    assert_eq!(s.best_effort.len(), 4);
    for (class, (name, weight, b, r, p, source)) in s.best_effort.iter().zip(&table) {
        assert_eq!((class.name.as_str(), class.weight), (*name, Weight(*weight)));
        let rate = Rate::bytes_per_second(*r);
        let envelope = Envelope::tspec(Bytes(1536), kb(*p), Bytes(*b), rate).unwrap();
        assert_eq!((class.envelope.as_ref(), &class.source), (Some(&envelope), source));
    }
    assert_eq!(s.flow_names().last(), Some("other"));
}

/// Whether every real-time deadline is kept.
fn admitted(scenario: &Scenario) -> bool {
    let setup = scenario.setup();
    let flows = setup.link_flows().unwrap();
    let verdict = laxity_curve::service::check_flows(&setup.link_spec(), &flows).unwrap();
    println!("{}: {verdict:?}", scenario.name);
    verdict.admitted
}

// Fails when a scenario's figures are so that its real-time flows are refused, or when the slow
// link is not.
#[test]
fn all_but_the_slow_link_are_admitted() {
    for scenario in links() {
        let slow = scenario.name == "slow-link";
        assert_eq!(admitted(&scenario), !slow, "{}", scenario.name);
    }
}

#[test]
fn the_slow_link_blocks_longer_than_its_deadline() {
    let s = load("slow-link.toml");
    assert!(s.policy.use_ == "slack" && s.policy.options.always_check);
    assert!(s.link.rate.time_for(s.link.max_packet).unwrap() > s.realtime[0].deadline);
}

#[test]
fn the_greedy_flows_leave_room() {
    let s = load("greedy-harder.toml");
    let total: u64 = s.realtime.iter().map(|f| f.envelope.rate().0).sum();
    let best_effort = s.best_effort[0].envelope.as_ref().unwrap().rate().0;
    assert!(total < s.link.rate.0 && total + best_effort < s.link.rate.0);
    assert_eq!((total + best_effort) * 100 / s.link.rate.0, 96);
    assert!(s.realtime.iter().all(|f| matches!(f.source, Some(Source::Greedy { .. }))));
}

// Fails when a kind has no scenario to start from.
#[test]
fn every_kind_has_a_scenario() {
    let kinds: Vec<DocumentKind> = all().iter().map(Document::kind).collect();
    for kind in DocumentKind::ALL {
        assert!(kinds.contains(&kind), "no file of scenarios/ is {}", kind.noun());
    }
}

// Fails when the printer forgets a key or prints it in a way that reads differently.
#[test]
fn printed_scenarios_round_trip() {
    let scenarios = all();
    for scenario in scenarios {
        let text = scenario.to_toml();
        let again =
            Document::parse(&text, scenario.path()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again, scenario, "{text}");
    }
}

// Fails when a class differs from the paper's: eight, of 1/80 to 1/150, due every 500 packets.
#[test]
fn the_streams_match_the_paper() {
    let s = StreamScenario::read(folder().join("dwcs-paper.toml")).unwrap();
    let unit = s.server.service(Bytes(1200));
    for (class, y) in s.streams.iter().zip((80..=150).step_by(10)) {
        assert_eq!(class.attributes.tolerance.to_string(), format!("1/{y}"));
        assert_eq!(class.attributes.gap, Some(Span(500 * unit.0)));
        assert_eq!(class.count, 63);
    }
    assert_eq!((s.streams.len(), s.stream_count()), (8, 504));
}
