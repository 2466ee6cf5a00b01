//! Stream scenarios: defaults, every key, every form, and printing them all.

use std::num::NonZeroU32;
use std::path::PathBuf;

use laxity_core::{Bytes, Rate, Span};
use laxity_dwcs::{Attributes, Check, Late, Options, Order, RuleA, RuleC, Tolerance, ZeroTie};
use laxity_scenario::link::model::Scenario;
use laxity_scenario::stream::StreamScenario;
use laxity_scenario::stream::model::*;
use laxity_scenario::stream::policies;
use laxity_scenario::{Document, DocumentKind};

const LEAST: &str = include_str!("../corpus/streams-least.toml");
const FULL: &str = include_str!("../corpus/streams-full.toml");

fn good(text: &str) -> StreamScenario {
    StreamScenario::parse(text, "folder/media.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn tolerance(x: u64, y: u64) -> Tolerance {
    Tolerance::new(x, y).unwrap()
}

// Fails when a default changes.
#[test]
fn defaults() {
    let s = good(LEAST);
    assert_eq!((s.name.as_str(), s.path.to_str()), ("media", Some("folder/media.toml")));
    let server = Server {
        pace: Pace::Rate(Rate(1_000_000_000)),
        overhead: Bytes(0),
        sockets: 1,
        buffer: QueueLimit { packets: 64, bytes: None },
    };
    assert_eq!(s.server, server);
    assert_eq!((s.policy.use_.as_str(), s.policy.compare.len()), ("dwcs-tolerance-first", 0));
    assert_eq!(s.policy.options("dwcs"), Some(&Options::default()));
    assert_eq!(s.policy.options("dwcs-paper"), Some(&Options::paper()));
    assert_eq!(s.policy.options("dwcs-tolerance-first"), Some(&Options::tolerance_first()));
    assert_eq!(s.policy.options("edf"), None);
    let class = StreamClass {
        name: "audio".into(),
        count: 1,
        attributes: Attributes::new(tolerance(1, 100), ms(20)),
        application: None,
        packet: Length::Fixed(Bytes(1200)),
        source: StreamSource::Periodic { period: ms(20), jitter: Span::ZERO, phase: None },
        buffer: None,
        destination: None,
    };
    assert_eq!(s.streams, [class]);
}

// Fails when a key is read into another field, or dropped.
#[test]
fn every_key_is_read() {
    let s = good(FULL);
    assert_eq!(s.server.overhead, Bytes(78));
    assert_eq!(s.server.sockets, 4);
    assert_eq!(s.server.buffer, QueueLimit { packets: 32, bytes: Some(Bytes(100_000)) });
    assert_eq!(s.policy.use_, "dwcs-tolerance-first");
    // Not the policy in use.
    assert_eq!(s.policy.compare.len(), policies::POLICIES.len() - 1);
    let three = NonZeroU32::new(3);
    let dwcs = Options {
        order: Order::ToleranceFirst,
        rule_a: RuleA::Printed,
        rule_c: RuleC::Widen,
        check: Check::Every(NonZeroU32::new(50).unwrap()),
        settle: false,
        ahead: three,
        align: true,
        zero_tie: ZeroTie::FirstCome,
    };
    assert_eq!(s.policy.options("dwcs"), Some(&dwcs));
    let check = Check::Adaptive { budget: Span(2000), most: NonZeroU32::new(1000).unwrap() };
    let tolerance_first = Options { check, ..Options::tolerance_first() };
    assert_eq!(s.policy.options("dwcs-tolerance-first"), Some(&tolerance_first));
    let paper = Options { ahead: NonZeroU32::new(2), rule_c: RuleC::Tag, ..Options::paper() };
    assert_eq!(s.policy.options("dwcs-paper"), Some(&paper));
    let structure = |policy| s.policy.tuning(policy).unwrap().structure;
    assert_eq!((structure("dwcs"), structure("dwcs-paper")), ("fastest", "heaps"));

    let audio = &s.streams[0];
    assert_eq!((audio.name.as_str(), audio.count), ("audio \"b\"", 1000));
    let attributes =
        Attributes { tolerance: tolerance(0, 10), gap: Some(ms(20)), late: Late::Send };
    assert_eq!(audio.attributes, attributes);
    assert_eq!(audio.packet, Length::Normal { mean: Bytes(160), deviation: Bytes(20) });
    let source = StreamSource::Periodic { period: ms(20), jitter: ms(5), phase: Some(ms(1)) };
    assert_eq!(audio.source, source);
    assert_eq!(audio.buffer, Some(QueueLimit { packets: 8, bytes: None }));
    let to = Destination {
        host: "player.example".into(),
        port: 5004,
        port_step: 4,
        payload_type: 111,
        ssrc: Some(0x1000),
    };
    assert_eq!(audio.destination, Some(to));

    let [_, video, speech, file, bulk, elsewhere] = &s.streams[..] else { panic!() };
    assert_eq!(video.attributes.tolerance, tolerance(2, 30));
    let source = StreamSource::Bursts { burst: 20, spread: 19, every: ms(40), phase: None };
    assert_eq!(video.source, source);
    let to = video.destination.as_ref().unwrap();
    assert_eq!((to.host.as_str(), to.port_step, to.payload_type), ("[2001:db8::7]", 2, 96));
    let on_off = StreamSource::OnOff {
        period: ms(30),
        on: (ms(1000), ms(2000)),
        off: (Span::ZERO, ms(3000)),
    };
    assert_eq!(speech.source, on_off);
    let path = PathBuf::from("folder/media/a.opus");
    assert_eq!(file.source, StreamSource::File { path, repeat: true });
    assert_eq!((bulk.attributes.gap, &bulk.source), (None, &StreamSource::Backlogged));
    assert_eq!(elsewhere.source, StreamSource::External);
    assert_eq!(s.stream_count(), 1005);
}

// Fails when the printer forgets a key or prints it in a way that reads differently.
#[test]
fn printed_scenarios_round_trip() {
    for text in [LEAST, FULL] {
        let scenario = good(text);
        let printed = scenario.to_toml();
        assert_eq!(good(&printed), scenario, "{printed}");
    }
    let both = good(FULL).to_toml() + "application = { frames = \"29.97/s\", loss = \"0.5 %\" }\n";
    let error = StreamScenario::parse(&both, "").unwrap_err();
    assert_eq!(error.problems().len(), 2, "{error}");
}

/// Tolerance and gap of an application's needs.
fn asked(needs: &str) -> (String, Option<Span>) {
    let text = format!(
        "[server]\nservice = \"1 us\"\n[[stream]]\nname = \"a\"\napplication = {{ {needs} }}\n"
    );
    let scenario = good(&text);
    let printed = scenario.to_toml();
    assert_eq!(good(&printed), scenario, "{printed}");
    let attributes = scenario.streams[0].attributes;
    (attributes.tolerance.to_string(), attributes.gap)
}

// Fails when a lost packet counts for less than the frame that it spoils, or when the gap is
// rounded up.
#[test]
fn applications_become_attributes() {
    let video = asked(r#"frames = "25/s", packets = 4, loss = "1 %", burst = 4"#);
    assert_eq!(video, ("2/800".into(), Some(ms(10))));
    assert_eq!(asked(r#"frames = "25/s", packets = 4, loss = "1 %", burst = 1"#).0, "0/1");
    assert_eq!(asked(r#"frames = "50/s", loss = "2 %""#), ("1/50".into(), Some(ms(20))));
    let ntsc = asked(r#"frames = "29.97/s", loss = "0.5 %""#);
    assert_eq!(ntsc, ("1/200".into(), Some(Span(33_366_700))));
    assert_eq!(asked(r#"frames = "50/s", loss = "0 %""#).0, "0/1");
    assert_eq!(asked(r#"frames = "50/s", loss = "100 %""#).0, "1/1");
    assert_eq!(asked(r#"frames = "3/s", loss = "30 %""#).0, "3/10");
}

// Fails when a file is read as another kind than that of its section.
#[test]
fn sections_determine_the_kind() {
    let kind = |text: &str| Document::parse(text, "f.toml").map(|d| d.kind());
    assert_eq!(kind(LEAST).unwrap(), DocumentKind::Stream);
    let link = "[link]\nrate = \"1 Mbit/s\"\n[[best_effort]]\nname = \"a\"\n";
    assert_eq!(kind(link).unwrap(), DocumentKind::Link);
    let wrong = Scenario::parse(LEAST, "f.toml").unwrap_err();
    assert_eq!(
        wrong.problems()[0].what,
        "this is a stream scenario, and a link scenario is wanted"
    );
    let wrong = StreamScenario::parse(link, "f.toml").unwrap_err();
    assert_eq!((wrong.problems()[0].line, wrong.problems()[0].key.as_str()), (1, "link"));
    // A file that lacks its section is recognised by the others.
    let lost = Document::parse("[[best_effort]]\nname = \"a\"\n", "f.toml").unwrap_err();
    assert_eq!(lost.problems()[0].what, "`link` is missing");
}

#[test]
fn service_time_is_wire_size_or_fixed() {
    let s = good(FULL);
    // (1200 + 78) * 8 bits at 10 Gbit/s.
    assert_eq!(s.server.service(Bytes(1200)), Span(1023));
    let fixed = Server { pace: Pace::Service(Span(7)), ..s.server };
    assert_eq!(fixed.service(Bytes(9)), Span(7));
}
