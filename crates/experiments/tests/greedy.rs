//! Greedy real-time flows at 96 % load, where `slack` gains most over `exact`.

use std::path::Path;
use std::sync::Arc;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::Envelope;
use laxity_scenario::link::model::{Scenario, Source};
use laxity_sim::Control;
use laxity_sim::link::{Traffic, simulate_all};

fn scenario() -> Scenario {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Scenario::read(root.join("scenarios/greedy-harder.toml")).unwrap()
}

// Fails when the scenario is made easier in any of these numbers.
#[test]
fn the_greedy_scenario_is_unchanged() {
    let s = scenario();
    let kb = |n: u64| Rate::bytes_per_second(n * 1000);
    let flows = [
        (45_000, kb(50), 700, kb(150), 20),
        (40_000, kb(800), 1536, kb(1100), 30),
        (3_000, kb(150), 100, kb(250), 5),
    ];
    assert_eq!(s.realtime.len(), flows.len());
    for (flow, (b, r, m, p, d)) in s.realtime.iter().zip(flows) {
        assert_eq!(flow.envelope, Envelope::tspec(Bytes(m), p, Bytes(b), r).unwrap());
        assert_eq!(flow.deadline, Span::from_millis(d));
        assert!(matches!(flow.source, Some(Source::Greedy { .. })));
    }
    let bulk = &s.best_effort[0];
    let envelope = Envelope::tspec(Bytes(1536), kb(1200), Bytes(60_000), kb(200)).unwrap();
    assert_eq!(bulk.envelope.as_ref(), Some(&envelope));
    let Some(Source::OnOff { on, off, .. }) = &bulk.source else { panic!("{:?}", bulk.source) };
    assert_eq!(*on, (Span::from_millis(20), Span::from_millis(100)));
    assert_eq!(*off, (Span::from_millis(20), Span::from_millis(60)));
    let rates: u64 = s.realtime.iter().map(|f| f.envelope.rate().0).sum();
    let all = rates + envelope.rate().0;
    assert_eq!((all * 100).div_ceil(s.link.rate.0), 96);
}

// Two minutes: in the first three seconds all flows spend their bursts at once, and no policy can
// serve best effort soon then.
//
// Fails when `slack` never lets best effort pass a waiting real-time packet (its delays become those
// of `background`), and when it always does (deadlines are missed); both were tried.
#[test]
fn slack_waits_at_most_half_of_exact_on_every_seed() {
    let scenario = scenario();
    let traffic =
        Traffic::Generated { duration: Span::from_millis(120_000), replayed: Arc::new(Vec::new()) };
    let policies = ["exact".to_owned(), "slack".to_owned()];
    let seeds = [1, 2, 3, 4, 5];
    let runs = simulate_all(&scenario, &policies, &seeds, &traffic, &Control::default()).unwrap();
    for pair in runs.chunks(2) {
        let [exact, slack] = [0, 1].map(|i| pair[i].result(&scenario));
        let [e, s] = [&exact, &slack].map(|r| r.best_effort_mean_ms.unwrap());
        let seed = pair[0].seed;
        println!("seed {seed}: {:.3}", s / e);
        assert!(s <= 0.5 * e, "seed {seed}: slack {s} ms, exact {e} ms");
        assert_eq!(
            (exact.realtime_deadline_misses, slack.realtime_deadline_misses),
            (0, 0),
            "seed {seed}"
        );
        assert!(slack.utilisation > 0.95, "seed {seed}: {}", slack.utilisation);
    }
}
