use super::*;
use crate::{Attributes, Options};
use laxity_core::{Span, Time};
use proptest::prelude::*;

fn record(x: u64, y: u64) -> Record {
    let tolerance = Tolerance::new(x, y).expect("a tolerance");
    Record::new(&Attributes::new(tolerance, Span(1)), Time::ZERO, 0)
}

fn rules() -> impl Strategy<Value = Rules> {
    let a = prop_oneof![Just(RuleA::Rolling), Just(RuleA::Printed)];
    let c = prop_oneof![Just(RuleC::Tag), Just(RuleC::Reset), Just(RuleC::Widen)];
    (a, c).prop_map(|(a, c)| Rules { a, c })
}

/// Small windows, and ones that reach the limits of the counters.
fn tolerances() -> impl Strategy<Value = (u64, u64)> {
    let small = (0..6u64).prop_flat_map(|y| (0..=y, Just(y)));
    let large = (21_000..=21_845u64).prop_flat_map(|y| (prop_oneof![0..3u64, 0..=y], Just(y)));
    prop_oneof![9 => small, 1 => large]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Fails when a period is one too short or too long, when widening starts one window late, or
    /// when the limit comes a round late: tried with `period - 2` in `longest`, with `period` of
    /// `fresh.x` and of `2 * fresh.x - 1`, and with one turn of `spend` in place of two.
    #[test]
    fn batched_misses_equal_single_misses(
        rules in rules(),
        (x, y) in tolerances(),
        events in prop::collection::vec((0..40u64, 0..12u64, any::<bool>()), 1..12),
    ) {
        let mut fast = record(x, y);
        let mut slow = fast;
        for (misses, services, many) in events {
            let misses = if many { misses * 5000 } else { misses };
            let violations = rules.missed(&mut fast, misses);
            let steps = (0..misses).filter(|_| rules.missed_once(&mut slow)).count() as u64;
            prop_assert_eq!(violations, steps);
            prop_assert_eq!(fast, slow);
            for _ in 0..services {
                rules.met(&mut fast);
                rules.met(&mut slow);
            }
            let Window { x, y } = fast.window;
            prop_assert!(x <= y, "{}/{}", x, y);
        }
    }
}

/// Fails when widening gives back more or less than `3x` in `3y`.
#[test]
fn widened_periods_are_exact() {
    let rules = Rules { a: RuleA::Printed, c: RuleC::Widen };
    for (x, y) in [(1, 3), (2, 5), (3, 80), (1, 1000)] {
        for met_before in 0..y - x {
            let mut r = record(x, y);
            (0..met_before).for_each(|_| rules.met(&mut r));
            assert_eq!(rules.missed(&mut r, x), 0);
            let mut slots = met_before + x;
            let mut losses = x;
            for k in 1..4 {
                // x losses are spent: the next miss widens the window to (2k+1)y packets.
                assert_eq!(rules.missed(&mut r, 1), 1);
                (slots, losses) = (slots + 1, losses + 1);
                let (x, y) = ((2 * k + 1) * x, (2 * k + 1) * y);
                assert_eq!((losses + u64::from(r.window.x), slots + u64::from(r.window.y)), (x, y));
                let more = u64::from(r.window.x);
                assert_eq!(rules.missed(&mut r, more), 0);
                (slots, losses) = (slots + more, losses + more);
            }
        }
    }
}

/// Fails when rule (A) of one form is applied in the other.
#[test]
fn service_counts_windows_down() {
    let follow = |rules: Rules, x, y, services| {
        let mut r = record(x, y);
        let mut seen = std::vec![];
        for _ in 0..services {
            rules.met(&mut r);
            seen.push((r.window.x, r.window.y));
        }
        seen
    };
    let rolling = Rules { a: RuleA::Rolling, c: RuleC::Tag };
    let printed = Rules { a: RuleA::Printed, c: RuleC::Tag };
    assert_eq!(follow(rolling, 1, 3, 4), [(1, 2), (1, 1), (1, 3), (1, 2)]);
    assert_eq!(follow(printed, 1, 3, 4), [(1, 2), (1, 1), (1, 1), (1, 1)]);
    assert_eq!(follow(rolling, 2, 2, 3), [(1, 1), (2, 2), (1, 1)]);
    assert_eq!(follow(printed, 2, 2, 2), [(2, 2), (2, 2)]);
    for rules in [rolling, printed] {
        assert_eq!(follow(rules, 0, 2, 3), [(0, 1), (0, 2), (0, 1)]);
        assert_eq!(follow(rules, 0, 0, 2), [(0, 0), (0, 0)]);
    }
}

/// Fails when a window of the whole range overflows; also without any option of the default.
#[test]
fn the_longest_windows_do_not_overflow() {
    for c in [RuleC::Tag, RuleC::Reset] {
        let rules = Rules { c, ..Options::default().rules() };
        for (x, y) in [(0, 65535), (65535, 65535), (1, 65535), (65534, 65535)] {
            let mut r = record(x, y);
            rules.missed(&mut r, u64::MAX);
            (0..3).for_each(|_| rules.met(&mut r));
            rules.missed(&mut r, 1 << 40);
            assert!(r.window.x <= r.window.y);
        }
    }
}
