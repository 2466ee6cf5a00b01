//! The admission test against its definition, evaluated point by point.

use crate::common::{link, table3, ten_megabit};
use crate::slow::{GRID, World, grid, nanobits, world};
use laxity_core::{Bytes, Rate, Span};
use laxity_curve::*;
use proptest::prelude::*;

/// Long enough for every set of these sizes that is not overloaded: with spare capacity of at
/// least 1/8 B/ns bursts of some 200 B are gone, and periods below 9 repeat every 840 ns.
const END: i128 = 1000;

fn overloaded(world: &World) -> bool {
    let rate = |s: &crate::slow::Shape| match s {
        crate::slow::Shape::Buckets(b, _) => b.iter().map(|x| x.1).min().unwrap() * 840,
        crate::slow::Shape::Periodic(p, s, _) => 840 * s / p,
    };
    world.flows.iter().map(|(s, _)| rate(s)).sum::<u64>() > world.rate * 840
}

proptest! {
    #![proptest_config(crate::slow::cases(300))]

    /// Fails when a knee is skipped, the blocking is dropped a segment late, a step of a periodic
    /// envelope falls on the wrong side, the horizon is cut short, or corners before the least
    /// deadline count.
    #[test]
    fn agrees_with_the_definition(world in world(true, 4)) {
        let verdict = check(&world.link(), &world.specs()).unwrap();
        if overloaded(&world) {
            prop_assert!(verdict.overload && !verdict.admitted);
            return Ok(());
        }
        prop_assert!(!verdict.overload && verdict.exact);
        prop_assert_eq!(verdict.admitted, world.admitted(END));
        let at = verdict.binding_interval.unwrap();
        let on_grid = at.times(Rational::whole(GRID)).unwrap();
        prop_assert!(on_grid.is_whole() && at >= Rational::whole(world.least()));
        let there = nanobits(world.residual(on_grid.floor(), false, true));
        prop_assert_eq!(there.floor(), verdict.slack);
        // Nothing is lower, where all corners have been passed.
        for t in world.least() * GRID..=100 * GRID {
            prop_assert!(nanobits(world.residual(t, false, true)) >= there, "{}", t);
        }
        // Demand, rounded up flow by flow.
        for ((shape, d), asked) in world.flows.iter().zip(&verdict.demand) {
            let work = shape.work(on_grid.floor() - i128::from(*d) * GRID, false);
            prop_assert_eq!(i128::from(asked.0), (work + GRID - 1).div_euclid(GRID));
        }
    }

    /// Both residual curves, point by point. Fails when `Blocking::Exact` counts best effort in
    /// the residual for deadlines, or leaves it out of the one for admission.
    #[test]
    fn curves_follow_the_definition(world in world(false, 3)) {
        let Ok(residual) = Residual::new(&world.link(), &world.specs()) else { return Ok(()) };
        for t in 0..80 * GRID {
            let want = nanobits(world.residual(t, false, true));
            prop_assert_eq!(residual.admission().value(grid(t)).unwrap(), want);
            let want = nanobits(world.residual(t, false, false));
            prop_assert_eq!(residual.deadlines().value(grid(t)).unwrap(), want);
        }
    }
}

#[test]
fn no_flows_are_always_admitted() {
    let verdict = check(&ten_megabit(Blocking::Exact), &[]).unwrap();
    assert!(verdict.admitted && verdict.binding_interval.is_none());
    assert_eq!(check(&link(Rate(0), 1, Blocking::Paper), &[]), Err(CurveError::ZeroCapacity));
}

/// Rates that fill the link exactly are no overload; one bit/s more is. Fails when the comparison
/// of total rate and capacity is off by one.
#[test]
fn a_full_link_is_not_an_overloaded_one() {
    let set = |rate| {
        let envelope = Envelope::leaky_bucket(Bytes(100), Rate(rate)).unwrap();
        [FlowSpec { envelope, deadline: Span::from_millis(10) }]
    };
    let link = link(Rate(1_000_000), 100, Blocking::Exact);
    assert!(check(&link, &set(1_000_000)).unwrap().admitted);
    let over = check(&link, &set(1_000_001)).unwrap();
    assert!(over.overload && !over.admitted && over.slack < 0);
    let error = Residual::new(&link, &set(1_000_001)).unwrap_err();
    assert_eq!(error, CurveError::Overload { total: Rate(1_000_001), capacity: Rate(1_000_000) });
}

/// Two periodic flows that fill the link exactly: no affine horizon exists, so one common period
/// is followed. Fails when the test gives up or stops before the common period.
#[test]
fn periodic_flows_that_fill_the_link() {
    let periodic = |ms, size, d| FlowSpec {
        envelope: Envelope::periodic(Span::from_millis(ms), Bytes(size), Span(0)).unwrap(),
        deadline: Span::from_millis(d),
    };
    let link = link(Rate(8_000_000), 0, Blocking::Exact);
    let set = [periodic(4, 2000, 5), periodic(6, 3000, 6)];
    let verdict = check(&link, &set).unwrap();
    assert!(verdict.admitted && verdict.exact && !verdict.overload, "{verdict:?}");
    let tight = [periodic(4, 2000, 4), periodic(6, 3000, 6)];
    assert!(!check(&link, &tight).unwrap().admitted);
}

/// Credit below the scheduler blocks like a packet.
#[test]
fn downstream_backlog_counts_as_blocking() {
    let mut spec = ten_megabit(Blocking::Paper);
    spec.downstream_backlog = Bytes(4614);
    assert!(check(&spec, &table3()).unwrap().admitted);
    spec.downstream_backlog = Bytes(4615);
    let verdict = check(&spec, &table3()).unwrap();
    assert_eq!((verdict.admitted, verdict.slack_bytes), (false, -1));
}

/// Fails when any product on the way is not checked: the largest times and rates there are.
#[test]
fn extreme_numbers_are_errors_not_panics() {
    let big = u64::MAX;
    let flows = [
        FlowSpec {
            envelope: Envelope::tspec(Bytes(1), Rate(big), MAX_BURST, Rate(big - 1)).unwrap(),
            deadline: Span(big),
        },
        FlowSpec {
            envelope: Envelope::periodic(Span(1), Bytes(1), Span(9)).unwrap(),
            deadline: Span(big),
        },
        FlowSpec {
            envelope: Envelope::leaky_bucket(MAX_BURST, Rate(1)).unwrap(),
            deadline: Span(0),
        },
    ];
    let mut link = link(Rate(big), big, Blocking::Exact);
    link.downstream_backlog = Bytes(big);
    for set in [&flows[..], &flows[..1], &flows[1..2], &flows[1..]] {
        for rate in [Rate(1), Rate(big)] {
            link.rate = rate;
            let _ = (check(&link, set), Residual::new(&link, set).is_ok(), suggest(&link, set));
        }
    }
    link.rate = Rate(big);
    assert!(matches!(check(&link, &flows[..1]), Err(CurveError::Overflow { .. })));
}
