use super::*;
use crate::Tolerance;
use core::num::NonZeroU32;
use proptest::prelude::*;
use std::string::ToString;
use std::vec;

fn demand(x: u64, y: u64, gap: u64, service: u64, count: u32) -> Demand {
    let tolerance = Tolerance::new(x, y).expect("a tolerance");
    Demand { attributes: Attributes::new(tolerance, Span(gap)), service: Span(service), count }
}

fn paper(n: u32) -> vec::Vec<Demand> {
    (8..16).map(|c| demand(1, 10 * c, 500, 1, n / 8)).collect()
}

/// Fails when shares are summed otherwise: the paper's workload fits up to 504 streams, at 0.9989.
#[test]
fn the_papers_workload_fits_up_to_504() {
    let at = |n| admit(&Options::default(), Phases::Aligned, &paper(n));
    assert!(at(504).promised());
    assert_eq!(at(504).utilisation.to_string(), "0.998861");
    assert!(at(504).utilisation.is_exact());
    assert_eq!(at(512).obstacles, [Obstacle::Overload]);
    // One more of the first class does not fit unless gaps get longer.
    let mut more = paper(504);
    more[0].count += 1;
    assert!(!Utilisation::of(&more).fits());
    assert_eq!(suggest(&more, 0), Some(Suggestion { count: 63, gap: Some(Span(501)) }));
    assert_eq!(suggest(&more, 8), None);
}

#[test]
fn a_utilisation_of_one_is_admitted() {
    let thirds = [demand(2, 3, 7, 7, 1), demand(1, 3, 7, 7, 1)];
    assert_eq!(Utilisation::of(&thirds).fraction(), (1, 1));
    assert!(admit(&Options::tolerance_first(), Phases::Any, &thirds).promised());
    let over = [thirds[0], thirds[1], demand(65534, 65535, u64::MAX - 1, 1, 1)];
    assert!(Utilisation::of(&over).is_exact() && !Utilisation::of(&over).fits());
    assert_eq!(Utilisation::of(&over).to_string(), "1.000001");
}

/// Fails when an option or a property of the set loses its obstacle.
#[test]
fn every_obstacle_is_reported() {
    let one = demand(1, 2, 10, 1, 2);
    let check =
        |options: Options, phases, demands: &[Demand]| admit(&options, phases, demands).obstacles;
    let default = Options::default();
    let tolerance = Options::tolerance_first();
    assert_eq!(check(default, Phases::Any, &[one]), [Obstacle::Phases]);
    assert_eq!(check(Options { align: true, ..default }, Phases::Any, &[one]), []);
    assert_eq!(check(tolerance, Phases::Any, &[one]), []);
    let other_gap = demand(1, 2, 11, 1, 1);
    let gaps = Obstacle::Gaps { least: Span(10), most: Span(11) };
    assert_eq!(check(tolerance, Phases::Any, &[one, other_gap]), [gaps]);
    let service = Obstacle::ServiceTimes { least: Span(1), most: Span(2) };
    assert_eq!(check(tolerance, Phases::Any, &[one, demand(1, 2, 10, 2, 1)]), [service]);
    // Kinds of which there is no stream do not matter.
    let none = Demand { count: 0, ..other_gap };
    assert_eq!(check(tolerance, Phases::Any, &[one, none]), []);
    let paper = [Obstacle::PrintedWindows, Obstacle::WorkingAhead];
    assert_eq!(check(Options::paper(), Phases::Aligned, &[one]), paper);
    let infrequent = Options { check: Check::Every(NonZeroU32::MAX), ..tolerance };
    assert_eq!(check(infrequent, Phases::Any, &[one]), [Obstacle::InfrequentChecks]);
    let mut untimed = one;
    untimed.attributes.gap = None;
    for (options, first) in [(default, false), (tolerance, true)] {
        let obstacles = check(options, Phases::Aligned, &[one, untimed]);
        assert_eq!(obstacles, [Obstacle::NoDeadlines { first }]);
    }
}

proptest! {
    /// Fails when the rounded sum is far above the exact one; for below see
    /// [`media_windows_are_rounded_up`].
    #[test]
    fn rounding_is_conservative(
        kinds in prop::collection::vec((0..90u64, 0..90u64, 1..1000u64, 0..50u64, 0..9u32), 1..8),
    ) {
        let demands: vec::Vec<_> = kinds
            .into_iter()
            .map(|(a, b, gap, service, count)| demand(a.min(b), a.max(b), gap, service, count))
            .collect();
        let rounded = Utilisation::rounded_up(&demands);
        let Some(exact) = Utilisation::exactly(&demands) else { return Ok(()) };
        prop_assert!(!rounded.fits() || exact.fits());
        let off = rounded.millionths() - exact.millionths();
        prop_assert!(off <= 1, "{} and {}", rounded, exact);
    }

    /// Fails when a suggestion does not fit, or a larger one would.
    #[test]
    fn suggestions_are_the_largest_that_fit(
        kinds in prop::collection::vec((0..5u64, 1..5u64, 1..40u64, 1..9u64, 0..9u32), 1..5),
        which in 0..4usize,
    ) {
        let mut demands: vec::Vec<_> = kinds
            .into_iter()
            .map(|(a, b, gap, service, count)| demand(a.min(b), a.max(b), gap, service, count))
            .collect();
        let which = which % demands.len();
        let found = suggest(&demands, which).expect("a demand");
        let asked = demands[which].count;
        let mut fits = |count| {
            demands[which].count = count;
            Utilisation::of(&demands).fits()
        };
        prop_assert!(found.count == 0 || fits(found.count));
        prop_assert!(found.count == asked || !fits(found.count + 1));
    }
}

/// Fails when shares are rounded down or to the nearest; tried without `u128::from(rest > 0)`.
#[test]
fn media_windows_are_rounded_up() {
    let thirds = [demand(2, 3, 7, 7, 1); 3];
    assert!(Utilisation::exactly(&thirds).is_some_and(|sum| sum.fits()));
    let rounded = Utilisation::rounded_up(&thirds);
    assert!(!rounded.fits());
    assert_eq!(rounded.fraction().0, (1 << 80) + 2);
}

#[test]
fn extreme_values_do_not_overflow() {
    let huge = demand(0, 65535, 1, u64::MAX, u32::MAX);
    let odd = demand(1, 65521, (1 << 61) - 1, 1 << 60, 7);
    let odder = demand(1, 65519, u64::MAX - 58, 1 << 60, 7);
    let all = [huge, odd, odder, demand(0, 0, 1, 1, 1)];
    let utilisation = Utilisation::of(&all);
    assert!(!utilisation.fits() && !utilisation.is_exact());
    assert_eq!(suggest(&all, 1).map(|s| (s.count, s.gap)), Some((0, None)));
    let few = [odd, odder, demand(1, 65537 - 30, u64::MAX - 94, 3, 5)];
    assert!(!Utilisation::of(&few).is_exact());
}
