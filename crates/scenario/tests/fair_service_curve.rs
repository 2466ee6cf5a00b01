//! Curves, upper limits and groups of best effort.

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_link::config;
use laxity_scenario::link::model::*;

const FILE: &str = r#"
[link]
rate = "10 Mbit/s"

[policy]
fair_queue = "fsc"
fair_order = "start"

[[group]]
name = "office"
weight = 2
upper_limit = { rate = "250 kB/s", latency = "0 ms" }

[[group]]
name = "desk"
group = "office"
service_curve = { points = [{ time = "2 ms", bytes = "2 kB" }, { time = "9 ms", bytes = "2 kB" }], rate = "100 kB/s" }

[[best_effort]]
name = "telnet"
service_curve = { m1 = "1 MB/s", d = "2 ms", m2 = "100 kB/s", later = "1 ms" }

[[best_effort]]
name = "web"
group = "desk"
weight = 3

[[best_effort]]
name = "other"
group = "office"
service_curve = { umax = "1500 B", dmax = "10 ms", rate = "100 kB/s" }
"#;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "home.toml").unwrap_or_else(|e| panic!("{e}"))
}

// Fails when a key is read into another's field, a group by its place among the classes, or `later`
// is left out.
#[test]
fn every_key_is_read() {
    let scenario = parse(FILE);
    let setup = scenario.setup();
    assert_eq!(setup.fair_queue, FairQueue::Fsc(FscOrder::Start));
    let limit = ServiceCurve::rate_latency(Rate(2_000_000), Span(0)).ok();
    let office = config::Sharing { limit, ..config::Sharing::default() };
    assert_eq!(setup.groups[0], config::Group { weight: Weight(2_000_000), sharing: office });
    let ms = Span::from_millis;
    let points = [(ms(2), Bytes(2000)), (ms(9), Bytes(2000))];
    let curve = ServiceCurve::points(&points, Rate(800_000)).ok();
    let desk = config::Sharing { curve, limit: None, group: Some(0) };
    assert_eq!(setup.groups[1], config::Group { weight: Weight::ONE, sharing: desk });
    let telnet = ServiceCurve::two_piece(Rate(8_000_000), ms(2), Rate(800_000)).unwrap();
    let classes: Vec<_> = setup.best_effort.iter().map(|c| c.sharing.clone()).collect();
    assert_eq!(classes[0].curve, telnet.later(ms(1)).ok());
    assert_eq!((&classes[1].curve, classes[1].group), (&None, Some(1)));
    assert_eq!(setup.best_effort[1].weight, Weight(3_000_000));
    let other = ServiceCurve::umax_dmax(Bytes(1500), ms(10), Rate(800_000)).ok();
    assert_eq!((&classes[2].curve, classes[2].group), (&other, Some(0)));
}

// Fails when a key is not printed, or `other` is left out although it has a curve.
#[test]
fn what_is_printed_reads_as_the_same() {
    let scenario = parse(FILE);
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    let finish = parse(&FILE.replace("fair_order = \"start\"", ""));
    assert_eq!(finish.policy.fair_queue, FairQueue::Fsc(FscOrder::Finish));
    assert_eq!(parse(&finish.to_toml()), finish);
}

// Fails when a group that nothing uses is accepted.
#[test]
fn a_group_needs_a_class() {
    let text = format!("{FILE}[[group]]\nname = \"nobody\"\n");
    let error = Scenario::parse(&text, "home.toml").unwrap_err();
    assert_eq!(error.problems().len(), 1, "{error}");
    assert!(error.to_string().contains("no class is in the group \"nobody\""), "{error}");
}
