//! Admission and residual with service curves against their definitions, point by point.

use crate::sced::{Curved, GRID, Kind, curved, deadline, set};
use laxity_core::{NANOBITS_PER_BYTE, Span, Time};
use laxity_curve::service::*;
use laxity_curve::*;
use proptest::prelude::*;

fn grid(t: i128) -> Rational {
    Rational::new(t, GRID).unwrap()
}

fn nanobits(work: i128) -> Rational {
    Rational::new(work * NANOBITS_PER_BYTE, GRID * 4).unwrap()
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Later than every corner that matters for sets of these sizes: where the link is not full, at
/// least a quarter of a byte per ns is spare, and what is behind are at most 100 B.
const END: i128 = 500;

proptest! {
    // So many that a blocker which counts before another flow can be due is noticed.
    #![proptest_config(cases(500))]

    /// Fails when whole packets are floored to other sums, the blocking of a flow served ahead is
    /// left out, counted beside its own demand or before another flow can be due, the horizon is
    /// cut short, or corners before the least `first` count.
    #[test]
    fn admission_agrees_with_the_definition(set in set(1, 3, 2)) {
        let verdict = check_flows(&set.link(1), &set.specs(1)).unwrap();
        if set.overloaded() {
            prop_assert!(verdict.overload && !verdict.admitted);
            return Ok(());
        }
        prop_assert!(!verdict.overload);
        let least = set.firsts().into_iter().min().unwrap();
        prop_assert!(verdict.exact);
        let at = verdict.binding_interval.unwrap().times(GRID.into()).unwrap();
        prop_assert!(at.is_whole() && at >= Rational::whole(least));
        let end = (END * GRID).max(at.floor() + 1);
        let admitted = (least..end).all(|t| set.residual(t, true) >= 0);
        prop_assert_eq!(verdict.admitted, admitted, "{:?}", verdict);
        let there = nanobits(set.residual(at.floor(), true));
        prop_assert_eq!(there.floor(), verdict.slack);
    }

}

proptest! {
    #![proptest_config(cases(60))]

    /// A full link, whose residual repeats: the verdict is exact there too.
    ///
    /// Fails when the upper bounds after the first period count.
    #[test]
    fn a_full_link_is_judged_by_its_period(
        mut set in set(1, 3, 2),
        sizes in (1u64..6, 0u64..5),
        one_size in proptest::collection::vec(any::<bool>(), 3),
    ) {
        for (kind, one_size) in set.flows.iter_mut().zip(one_size) {
            if let (Kind::Curve(curve), true) = (kind, one_size) {
                curve.min = curve.max;
            }
        }
        let rates = |kind: &Kind| match kind {
            Kind::Curve(c) => c.last,
            Kind::Bucket(b) => b.rate,
        };
        let sum: u64 = set.flows.iter().map(rates).sum();
        if sum % 4 != 0 {
            let (min, max) = (sizes.0, sizes.0 + sizes.1);
            set.flows.push(Kind::Curve(Curved { points: vec![], last: 4 - sum % 4, min, max }));
        }
        set.rate = sum.div_ceil(4);
        let verdict = check_flows(&set.link(1), &set.specs(1)).unwrap();
        prop_assert!(verdict.exact && !verdict.overload, "{:?}", verdict);
        let least = set.firsts().into_iter().min().unwrap();
        let at = verdict.binding_interval.unwrap().times(GRID.into()).unwrap().floor();
        // Sizes below 10 B at quarters of a byte per ns: longer than nearly all common periods.
        let end = (3_000 * GRID).max(at + 1);
        let admitted = (least..end).all(|t| set.residual(t, true) >= 0);
        prop_assert_eq!(verdict.admitted, admitted, "{:?}", verdict);
        prop_assert_eq!(nanobits(set.residual(at, true)).floor(), verdict.slack);
    }

    /// Fails when the infimum is taken from the wrong side, the blocking of best effort is counted
    /// against its own deadlines, or a fraction of a slope is rounded to the unsafe side.
    #[test]
    fn residual_agrees_with_the_definition(set in set(1, 3, 2)) {
        let Ok(residual) = residual(&set.link(1), &set.specs(1)) else { return Ok(()) };
        let horizon = residual.horizon().unwrap_or(i128::MAX).min(END / 4);
        for t in 0..horizon * GRID {
            let admission = residual.admission().value(grid(t)).unwrap();
            prop_assert_eq!(admission, nanobits(set.residual(t, true)), "{}", t);
            let deadlines = residual.deadlines().value(grid(t)).unwrap();
            prop_assert_eq!(deadlines, nanobits(set.residual(t, false)), "{}", t);
        }
        if residual.is_bound() {
            return Ok(());
        }
        let mut least = vec![i128::MAX; (END * GRID) as usize + 1];
        for t in (0..END * GRID).rev() {
            least[t as usize] = least[t as usize + 1].min(set.residual(t, false));
        }
        for t in 0..END / 4 * GRID {
            let effective = residual.effective().value(grid(t)).unwrap();
            prop_assert_eq!(effective, nanobits(least[t as usize]), "{}", t);
        }
        let first = set.firsts().into_iter().min().unwrap();
        for (guarantee, from) in [(Guarantee::Realtime, first), (Guarantee::All, 0)] {
            let inverse = residual.service(guarantee).unwrap();
            for work in 1..40u64 {
                let level = i128::from(work) * GRID * 4;
                let reached = |t: i128| least[t.max(from) as usize] >= level;
                let Some(after) = (0..END / 4 * GRID).find(|t| reached(*t)) else { continue };
                // At the end of a shared ns the crossing may lie between two points of the grid.
                let upper = after.div_euclid(GRID) + i128::from(after % GRID != 0);
                let got = i128::from(inverse.at(work).unwrap().0);
                prop_assert_eq!(got, upper, "{:?} {}", guarantee, work);
            }
        }
    }

    /// `Sinv` on whole bytes. Fails when a jump is left out or a byte is taken by the line on the
    /// wrong side of a corner.
    #[test]
    fn inverse_agrees_with_the_curve(curve in curved(1)) {
        let inverse = curve.spec(1).curve.inverse().unwrap();
        prop_assert_eq!(inverse.at(0), Span(0));
        for work in 1..60u64 {
            let level = i128::from(work) * GRID * 4;
            let first = (0..).find(|t| curve.work(t * GRID) >= level).unwrap();
            prop_assert_eq!(i128::from(inverse.at(work).0), first, "{}", work);
        }
    }

    /// Fails when a start is lost on its way from line to line, when one that is no start counts,
    /// or when starts joined in a full ring give an earlier deadline.
    #[test]
    fn deadlines_agree_with_the_recursion(
        curve in curved(1),
        steps in proptest::collection::vec((0u64..9, 1u32..6, any::<bool>(), 0u8..40), 1..80),
    ) {
        let inverse = curve.spec(1).curve.inverse().unwrap();
        let mut exact = ServiceDeadlines::new(&inverse, 128);
        let mut small = ServiceDeadlines::new(&inverse, 2);
        let (mut now, mut work, mut starts) = (0, 0, Vec::new());
        let mut last = 0;
        for (i, (gap, wire, begins, idle)) in steps.into_iter().enumerate() {
            now += gap;
            if idle == 0 {
                exact.reset();
                small.reset();
                (work, last) = (0, 0);
                starts.clear();
            }
            let begins = begins || starts.is_empty();
            if begins {
                starts.push((now, work));
            }
            work += u64::from(wire);
            let want = deadline(&inverse, &starts, work);
            let got = exact.push(Time(now), wire, begins).0;
            prop_assert_eq!(got, want, "packet {}", i);
            let joined = small.push(Time(now), wire, begins).0;
            prop_assert!(joined >= got, "packet {}", i);
            prop_assert!(joined >= last, "packet {}", i);
            last = joined;
        }
        prop_assert_eq!((exact.joined(), exact.work()), (0, work));
    }
}

/// Two flows at half the link each, with packets of 3 and of 5 B, later by 6 ns beside best effort
/// of 7 B: 6 ns of work are ahead and 7 B block, so only an interval in which both have whole packets
/// due fails, first after 6 + 30 ns.
///
/// Fails when a full link is followed for the longest period, 10 ns, in place of the common multiple
/// of the periods, or not at all.
#[test]
fn a_full_link_fails_where_its_periods_meet() {
    let flow = |size| Curved { points: vec![(6, 0)], last: 2, min: size, max: size };
    let set = |best_effort| crate::sced::Set {
        rate: 1,
        best_effort,
        backlog: 0,
        blocking: Blocking::Exact,
        flows: vec![Kind::Curve(flow(3)), Kind::Curve(flow(5))],
    };
    let verdict = |best_effort| {
        let set = set(best_effort);
        check_flows(&set.link(1), &set.specs(1)).unwrap()
    };
    let refused = verdict(7);
    assert!(!refused.admitted && refused.exact, "{refused:?}");
    assert_eq!((refused.binding_interval, refused.slack_bytes), (Some(36.into()), -1));
    let admitted = verdict(6);
    assert!(admitted.admitted && admitted.exact, "{admitted:?}");
}

/// Fails when joining loses a start: the joined one keeps the later instant and the lesser work.
#[test]
fn joined_starts_are_those_of_the_definition() {
    let curve = Curved { points: vec![(40, 20)], last: 4, min: 1, max: 9 };
    let inverse = curve.spec(1).curve.inverse().unwrap();
    let mut deadlines = ServiceDeadlines::new(&inverse, 2);
    let mut starts: Vec<(u64, u64)> = Vec::new();
    let mut work = 0;
    for at in [0, 7, 11, 30] {
        match starts.len() {
            2 => starts[1].0 = at,
            _ => starts.push((at, work)),
        }
        work += 2;
        let want = deadline(&inverse, &starts, work);
        assert_eq!(deadlines.push(Time(at), 2, true), Time(want));
    }
    assert_eq!(deadlines.joined(), 2);
}

/// A deadline that has passed stays where it is: after lost time the flow is served first.
#[test]
fn late_deadlines_are_not_put_off() {
    let curve = Curved { points: vec![], last: 4, min: 1, max: 9 };
    let mut deadlines = ServiceDeadlines::new(&curve.spec(1).curve.inverse().unwrap(), 8);
    assert_eq!(deadlines.push(Time(5), 3, true), Time(8));
    assert_eq!(deadlines.push(Time(100), 3, false), Time(11));
}

/// A flow with both: its envelope keeps its demand down. Fails when the lesser of both is not
/// taken, or when the verdict claims that this is exact.
#[test]
fn an_envelope_lowers_the_demand_of_a_curve() {
    let curve = Curved { points: vec![(4, 0), (4, 20)], last: 4, min: 1, max: 4 };
    let set = crate::sced::Set {
        rate: 2,
        best_effort: 0,
        backlog: 0,
        blocking: Blocking::Exact,
        flows: vec![Kind::Curve(curve)],
    };
    let mut flows = set.specs(1);
    assert!(!check_flows(&set.link(1), &flows).unwrap().admitted);
    let LinkFlow::Service(flow) = flows.remove(0) else { unreachable!() };
    for envelope in [
        Envelope::leaky_bucket(laxity_core::Bytes(4), laxity_core::Rate(2_000_000_000)).unwrap(),
        Envelope::periodic(Span(16), laxity_core::Bytes(4), Span(0)).unwrap(),
    ] {
        let both = [LinkFlow::Service(flow.clone().with_envelope(envelope))];
        let verdict = check_flows(&set.link(1), &both).unwrap();
        assert!(verdict.admitted && !verdict.exact, "{verdict:?}");
        assert_eq!(verdict.demand.len(), 1);
    }
}
