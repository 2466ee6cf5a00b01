//! The effective residual, its inverse and the fits against their definitions.

use crate::slow::{BYTE_PER_NS, GRID, World, grid, nanobits, world};
use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::*;
use proptest::prelude::*;

/// `E` on the grid up to `end` ns: the least of all later values and left limits.
fn effective(world: &World, end: i128) -> Vec<i128> {
    let mut out = vec![0; usize::try_from(end * GRID).unwrap()];
    let mut least = i128::MAX;
    for t in (0..end * GRID).rev() {
        least = least.min(world.residual(t + 1, true, false)).min(world.residual(t, false, false));
        out[usize::try_from(t).unwrap()] = least;
    }
    out
}

/// `E(t) >= w` on the grid, times `GRID`, first at this index.
fn reach(curve: &[i128], from: usize, work: u64) -> Option<usize> {
    let level = i128::from(work) * GRID;
    if curve[from] >= level {
        return Some(0);
    }
    (from..curve.len()).find(|t| curve[*t] >= level)
}

proptest! {
    #![proptest_config(crate::slow::cases(100))]

    /// Fails when the infimum runs the wrong way, a flat is lost, the inverse picks the line on
    /// the wrong side of a flat, or `realtime` counts time before the least deadline.
    #[test]
    fn curve_and_inverse(world in world(false, 3)) {
        let Ok(residual) = Residual::new(&world.link(), &world.specs()) else { return Ok(()) };
        prop_assert!(!residual.is_bound());
        let curve = effective(&world, 240);
        for t in 0..120 * GRID {
            let want = nanobits(curve[usize::try_from(t).unwrap()]);
            prop_assert_eq!(residual.effective().value(grid(t)).unwrap(), want, "{}", t);
        }
        let least = usize::try_from(world.least() * GRID).unwrap();
        for (guarantee, from) in [(Guarantee::Realtime, least), (Guarantee::All, 0)] {
            let inverse = residual.service(guarantee).unwrap();
            prop_assert_eq!(inverse.at(0), Some(Span(0)));
            for work in 1..60 {
                let Some(index) = reach(&curve, from, work) else { continue };
                // The grid reaches the level at `index` at the latest, so whole ns differ only
                // when the crossing lies between two points of the grid.
                let after = i128::try_from(index).unwrap();
                let upper = after.div_euclid(GRID) + i128::from(after % GRID != 0);
                let got = i128::from(inverse.at(work).unwrap().0);
                prop_assert_eq!(got, upper, "{:?} {} {}", guarantee, work, index);
                prop_assert_eq!(work <= inverse.free(), index == 0, "free, {}", work);
            }
        }
    }

    /// With periodic flows `E` is a lower bound, and a full inverse exists. Fails when the affine
    /// bound beyond the horizon is rounded to the unsafe side.
    #[test]
    fn bounds_beyond_the_horizon_are_safe(world in world(true, 3)) {
        let Ok(residual) = Residual::new(&world.link(), &world.specs()) else { return Ok(()) };
        let curve = effective(&world, 400);
        for t in 0..300 * GRID {
            let most = nanobits(curve[usize::try_from(t).unwrap()]);
            prop_assert!(residual.effective().value(grid(t)).unwrap() <= most, "{}", t);
        }
        for guarantee in [Guarantee::Realtime, Guarantee::All] {
            let inverse = residual.service(guarantee).unwrap();
            let mut last = Some(Span(0));
            for work in 0..200 {
                let now = inverse.at(work);
                prop_assert!(now.is_none() || now >= last);
                last = now;
            }
        }
    }

}

proptest! {
    #![proptest_config(crate::slow::cases(40))]

    /// Every line on a coarse lattice of parameters: none that is safe by definition covers more
    /// than the fit, and `check` agrees with the definition. Fails when a candidate is left out,
    /// or the check looks at the wrong corners. In microseconds, so that whole ns are fine.
    #[test]
    fn fits_are_the_best(world in world(false, 3)) {
        const UNIT: u64 = BYTE_PER_NS / 1000;
        let (link, flows) = world.in_microseconds();
        let Ok(residual) = Residual::new(&link, &flows) else { return Ok(()) };
        let end = residual.effective().pieces().last().unwrap().start;
        prop_assume!(end < Rational::whole(100_000) && end.signum() > 0);
        let end = end.numerator() as f64 / end.denominator() as f64;
        let curve = effective(&world, 300);
        let final_slope = residual.effective().long_term_slope().unwrap().floor();
        let square = |begin: u64| (end - begin as f64).max(0.0).powi(2);
        let shifted_area = |line: &ShiftedLine| line.slope.0 as f64 * square(line.shift.0);
        let two_area = |two: &TwoSegment| {
            let gain = (two.second.0 - two.first.0) as f64 * square(two.corner.0);
            two.first.0 as f64 * square(0) + gain
        };
        for guarantee in [Guarantee::Realtime, Guarantee::All] {
            let from = if guarantee == Guarantee::Realtime { world.least() * GRID } else { 0 };
            let mut best = (0f64, 0f64);
            for quarter in 1..=4 * world.rate {
                for shift in 0..40u64 {
                    let slope = Rate(quarter * UNIT / 4);
                    let line = ShiftedLine { slope, shift: Span(1000 * shift) };
                    let begin = from.max(i128::from(shift) * GRID);
                    let mut safe = i128::from(slope.0) <= final_slope;
                    for t in begin..200 * GRID {
                        let above = i128::from(quarter) * (t - i128::from(shift) * GRID);
                        safe &= above <= 4 * curve[usize::try_from(t).unwrap()];
                    }
                    let verdict = check_shifted_line(&residual, guarantee, &line);
                    prop_assert_eq!(verdict.is_ok(), safe, "{:?} {:?} {:?}", guarantee, line, verdict);
                    if safe {
                        best.0 = best.0.max(shifted_area(&line));
                    }
                    for first in 1..=quarter {
                        let (first, corner) = (Rate(first * UNIT / 4), Span(1000 * shift));
                        let two = TwoSegment { first, second: slope, corner };
                        if check_two_segment(&residual, guarantee, &two).is_ok() {
                            best.1 = best.1.max(two_area(&two));
                        }
                    }
                }
            }
            if best.0 > 0.0 {
                let line = fit_shifted_line(&residual, guarantee).unwrap();
                prop_assert!(shifted_area(&line) >= best.0 * 0.99, "{:?} {}", line, best.0);
            }
            if best.1 > 0.0 {
                let two = fit_two_segment(&residual, guarantee).unwrap();
                prop_assert!(two_area(&two) >= best.1 * 0.99, "{:?} {}", two, best.1);
            }
        }
    }
}

/// Rates that fill the link leave a ceiling. Fails when saturation is taken for a line.
#[test]
fn a_full_link_saturates() {
    let envelope = Envelope::leaky_bucket(Bytes(100), Rate(1_000_000)).unwrap();
    let flows = [FlowSpec { envelope, deadline: Span::from_millis(10) }];
    let link = crate::common::link(Rate(1_000_000), 50, Blocking::Exact);
    let residual = Residual::new(&link, &flows).unwrap();
    // R(t) = 1250 B - 100 B for t >= 10 ms.
    let inverse = residual.service(Guarantee::All).unwrap();
    assert_eq!(inverse.saturated_above(), Some(1150));
    assert_eq!((inverse.at(1150), inverse.at(1151)), (Some(Span(10_000_000)), None));
    let inverse = residual.service(Guarantee::Realtime).unwrap();
    assert_eq!((inverse.free(), inverse.at(1150), inverse.at(1151)), (1150, Some(Span(0)), None));
    assert_eq!(fit_line(&residual, Guarantee::Realtime), Err(FitError::Saturated));
}

/// Without real-time flows nothing blocks a deadline under `exact`.
#[test]
fn an_empty_link_serves_at_its_rate() {
    let link = crate::common::ten_megabit(Blocking::Exact);
    let residual = Residual::new(&link, &[]).unwrap();
    for guarantee in [Guarantee::Realtime, Guarantee::All] {
        let inverse = residual.service(guarantee).unwrap();
        assert_eq!(inverse.at(1250), Some(Span(1_000_000)));
        assert_eq!(fit_line(&residual, guarantee), Ok(Rate(10_000_000)));
    }
}

#[test]
fn inverses_of_lines() {
    let line = ShiftedLine { slope: Rate(8_000_000), shift: Span(500) };
    let inverse = InverseCurve::from_shifted_line(&line).unwrap();
    assert_eq!((inverse.at(0), inverse.at(1)), (Some(Span(0)), Some(Span(1500))));
    let two = TwoSegment { first: Rate(8_000_000), second: Rate(16_000_000), corner: Span(10_500) };
    let inverse = InverseCurve::from_two_segment(&two).unwrap();
    // 10.5 B at the corner: the 11th byte ends on the second line.
    assert_eq!(inverse.at(10), Some(Span(10_000)));
    assert_eq!(inverse.at(11), Some(Span(10_750)));
    let flat = TwoSegment { first: Rate(8_000_000), second: Rate(0), corner: Span(10_500) };
    let inverse = InverseCurve::from_two_segment(&flat).unwrap();
    assert_eq!((inverse.at(10), inverse.at(11)), (Some(Span(10_000)), None));
    assert!(InverseCurve::from_shifted_line(&ShiftedLine { slope: Rate(0), ..line }).is_err());
    let piece = |above, intercept| InversePiece { above, slope: 1, intercept };
    assert!(InverseCurve::new(vec![piece(5, 0), piece(5, -NANOBITS_PER_BYTE)], None).is_err());
}

/// Odd rates at 100 Gbit/s: corner points with large denominators stay inside 128 bits, and the
/// inverse agrees with the curve. Fails when a product is taken before common factors are out.
#[test]
fn large_sets_stay_exact() {
    let mut state = 7u64;
    let mut draw = |low: u64, high: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
        low + (state >> 33) % (high - low)
    };
    let flows: Vec<FlowSpec> = (0..300)
        .map(|_| {
            let (packet, rate) = (draw(64, 9000), draw(1, 200_000_000));
            let peak = Rate(rate + draw(1, 4_000_000_000));
            let burst = Bytes(packet + draw(0, 3_000_000));
            let envelope = Envelope::tspec(Bytes(packet), peak, burst, Rate(rate)).unwrap();
            FlowSpec { envelope, deadline: Span(draw(1_000, 2_000_000_000)) }
        })
        .collect();
    for blocking in [Blocking::Paper, Blocking::Exact] {
        let link = crate::common::link(Rate(99_999_999_977), 9018, blocking);
        let residual = Residual::new(&link, &flows).unwrap();
        assert!(suggest(&link, &flows).is_ok());
        for guarantee in [Guarantee::Realtime, Guarantee::All] {
            let inverse = residual.service(guarantee).unwrap();
            assert!(fit_shifted_line(&residual, guarantee).is_ok());
            for work in (1..4_000_000_000).step_by(9_999_991) {
                let at = inverse.at(work).unwrap();
                let level = Rational::whole(i128::from(work) * NANOBITS_PER_BYTE);
                let curve = residual.effective();
                if work > inverse.free() {
                    assert!(curve.value(at.0.into()).unwrap() >= level, "{work}");
                    assert!(curve.value((at.0 - 1).into()).unwrap() < level, "{work}");
                }
            }
        }
    }
}

/// The last corner may be one where the residual grows less steep: a flow whose packet stops
/// blocking as it becomes demand. Fails when the area ends at the last corner that constrains.
#[test]
fn the_area_reaches_to_the_last_corner() {
    let flow = |burst: u64, bytes_per_us: u64, us: u64| FlowSpec {
        envelope: Envelope::leaky_bucket(Bytes(burst), Rate(bytes_per_us * 8_000_000)).unwrap(),
        deadline: Span(us * 1000),
    };
    let link = crate::common::link(Rate(24_000_000), 0, Blocking::Exact);
    let residual = Residual::new(&link, &[flow(1, 1, 8), flow(2, 0, 2)]).unwrap();
    // E is 3 B at 2 us, 3 B/us up to 8 us, 2 B/us afterwards.
    let line = ShiftedLine { slope: Rate(16_000_000), shift: Span(500) };
    assert_eq!(fit_shifted_line(&residual, Guarantee::Realtime), Ok(line));
}

/// A second segment steeper than the residual's last line is unsafe however late its corner.
/// Fails when the crossing is sought before the corner.
#[test]
fn a_late_steep_segment_is_unsafe() {
    let link = crate::common::ten_megabit(Blocking::Paper);
    let residual = Residual::new(&link, &crate::common::table3()).unwrap();
    let two = TwoSegment {
        first: Rate(8000),
        second: Rate(3_600_001),
        corner: Span::from_millis(100_000),
    };
    let error = check_two_segment(&residual, Guarantee::Realtime, &two).unwrap_err();
    assert!(matches!(error, FitError::Above { at, .. } if at > two.corner), "{error}");
}
