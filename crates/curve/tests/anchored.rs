//! Curves that begin again at anchors, against the definition with all anchors and exact fractions.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::Rational;
use laxity_curve::service::{AnchoredCurve, ServiceCurve};
use proptest::prelude::*;

fn nanobits(bytes: u64) -> Rational {
    Rational::whole(i128::from(bytes) * NANOBITS_PER_BYTE)
}

/// Start and finish by the definition.
fn times(curve: &ServiceCurve, anchors: &[(i128, u64)], work: u64, wire: u64) -> (i128, i128) {
    let upper = |w: u64| curve.curve().upper_inverse(nanobits(w)).unwrap().unwrap().ceil();
    let lower = |w: u64| curve.reach(nanobits(w)).unwrap().ceil();
    let start = anchors.iter().map(|(x, y)| x + upper(work - y)).max().unwrap();
    let finish = anchors.iter().map(|(x, y)| x + lower(work + wire - y)).max().unwrap();
    (start, finish)
}

/// Curves of every kind, with slopes down to a byte in 4 ms and levels that are no whole bytes.
fn curves() -> impl Strategy<Value = ServiceCurve> {
    let rate = || (1u64..5000).prop_map(|kilobits| Rate(kilobits * 2000));
    let two = (rate(), 0u64..3_000_000, rate())
        .prop_map(|(m1, d, m2)| ServiceCurve::two_piece(m1, Span(d), m2).unwrap());
    let latency = (rate(), 0u64..3_000_000)
        .prop_map(|(r, t)| ServiceCurve::rate_latency(r, Span(t)).unwrap());
    let steps = prop::collection::vec((0u64..4, 0u64..4), 1..5);
    let points = (steps, rate()).prop_filter_map("no curve", |(steps, rate)| {
        let (mut at, mut work) = (0, 0);
        let points: Vec<_> = steps
            .iter()
            .map(|(t, b)| {
                (at, work) = (at + t * 200_000, work + b * 300);
                (Span(at), Bytes(work))
            })
            .collect();
        ServiceCurve::points(&points, rate).ok()
    });
    prop_oneof![two, latency, points]
}

proptest! {
    // Fails when a flat is left at the wrong end, the last line begins a byte too early, pruning
    // compares anchors that are not on the last line of a curve that is not concave, or a concave
    // one keeps the newest anchor alone.
    #[test]
    fn times_are_those_of_all_anchors(
        curve in curves(),
        steps in prop::collection::vec((0i128..900_000, 0u64..900, 1u64..1500), 1..60),
    ) {
        let mut fast = AnchoredCurve::new(&curve).unwrap();
        let (mut anchors, mut x, mut work) = (vec![], 0, 0);
        for (later, served, wire) in steps {
            (x, work) = (x + later, work + served);
            fast.push(x, work);
            anchors.push((x, work));
            let (start, finish) = times(&curve, &anchors, work, wire);
            prop_assert_eq!((fast.start(work), fast.finish(work + wire)), (start, finish));
        }
        prop_assert_eq!(fast.joined(), 0);
    }

    // Fails when an anchor is left out in place of being joined: some time is then earlier.
    #[test]
    fn joined_anchors_give_later_times_only(
        convex in any::<bool>(),
        steps in prop::collection::vec((1i128..90_000, 1u64..9), 100..200),
    ) {
        // Two anchors of each byte within the first piece of 100 kB.
        let (slow, fast) = (Rate(800_000), Rate(8_000_000));
        let d = Span(1_000_000_000);
        let curve = match convex {
            true => ServiceCurve::two_piece(slow, d, fast).unwrap(),
            false => ServiceCurve::two_piece(fast, d, slow).unwrap(),
        };
        let mut kept = AnchoredCurve::new(&curve).unwrap();
        let (mut anchors, mut x, mut work) = (vec![], 0, 0);
        for (later, served) in steps {
            (x, work) = (x + later, work + served);
            kept.push(x, work);
            anchors.push((x, work));
            let (start, finish) = times(&curve, &anchors, work, 100);
            let own = (kept.start(work), kept.finish(work + 100));
            prop_assert!(own.0 >= start && own.1 >= finish);
            prop_assert!(convex || own == (start, finish));
        }
        prop_assert_eq!(kept.joined() > 0, convex);
    }
}

// Virtual time outruns the clock where a slow class has a fast link alone. Fails with 64 bits.
#[test]
fn times_beyond_the_clock_are_exact() {
    let curve = ServiceCurve::rate_latency(Rate(1), Span(0)).unwrap();
    let mut slow = AnchoredCurve::new(&curve).unwrap();
    slow.push(0, 0);
    let bytes = 1 << 50;
    assert_eq!(slow.start(bytes), i128::from(bytes) * 8_000_000_000);
    assert_eq!(slow.finish(bytes + 1), i128::from(bytes + 1) * 8_000_000_000);
}
