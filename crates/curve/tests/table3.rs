//! The paper's own set (Chakraborty, Gries, Thiele, RTAS 2002, Table 3 and Figure 8).

use crate::common::{table3, ten_megabit};
use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::*;

fn residual(blocking: Blocking) -> Residual {
    Residual::new(&ten_megabit(blocking), &table3()).unwrap()
}

/// Fails when a deadline, a knee or the blocking is misplaced in the residual, or when the infimum
/// is taken from the wrong side.
#[test]
fn flats_and_corners_of_the_effective_residual() {
    let residual = residual(Blocking::Paper);
    let curve = residual.effective();
    let pieces = curve.pieces();
    let byte = Rational::whole(NANOBITS_PER_BYTE);
    let corners: Vec<(i128, i128, bool)> = pieces
        .iter()
        .map(|p| {
            let bytes = p.at(p.start).unwrap().over(byte).unwrap();
            let half = Rational::new(1, 2).unwrap();
            let micro = p.start.over(1000u64.into()).unwrap().plus(half).unwrap();
            (micro.floor(), bytes.floor(), p.slope.signum() == 0)
        })
        .collect();
    assert_eq!(
        corners,
        [
            (0, -1536, false),
            (4_920, 4614, true),
            (5_000, 4614, false),
            (7_000, 6614, false),
            (19_364, 20_214, true),
            (20_000, 20_214, false),
            (28_383, 28_178, true),
            (30_000, 28_178, false),
            (97_320, 38_276, false),
            (463_000, 166_264, false),
        ]
    );
    assert_eq!(curve.long_term_slope(), Ok(Rational::whole(3_600_000)));
}

#[test]
fn the_set_is_admitted_and_bound_by_voice() {
    for blocking in [Blocking::Paper, Blocking::Exact] {
        let verdict = check(&ten_megabit(blocking), &table3()).unwrap();
        assert!(verdict.admitted && verdict.exact && !verdict.overload);
        assert_eq!(verdict.binding_interval, Some(Rational::whole(5_000_000)));
        assert_eq!(verdict.slack_bytes, 4614);
        assert_eq!(verdict.demand, [Bytes(0), Bytes(0), Bytes(100)]);
        assert_eq!((verdict.load, verdict.blocking), (Rate(6_400_000), Bytes(1536)));
    }
}

/// Both parameter sets of Figure 8 are safe; each fails when one parameter is pushed.
#[test]
fn the_lines_of_the_paper_are_accepted() {
    let residual = residual(Blocking::Paper);
    let rate = Rate::bytes_per_second;
    let line = ShiftedLine { slope: rate(370_530), shift: Span::from_millis(15) };
    for guarantee in [Guarantee::Realtime, Guarantee::All] {
        assert_eq!(check_shifted_line(&residual, guarantee, &line), Ok(()));
    }
    let two =
        TwoSegment { first: rate(358_530), second: rate(450_000), corner: Span::from_millis(463) };
    assert_eq!(check_two_segment(&residual, Guarantee::Realtime, &two), Ok(()));
    assert!(check_two_segment(&residual, Guarantee::All, &two).is_err());

    let steep = ShiftedLine { slope: rate(371_126), ..line };
    let error = check_shifted_line(&residual, Guarantee::Realtime, &steep).unwrap_err();
    assert_eq!(
        error,
        FitError::Above {
            at: Span::from_millis(463),
            excess: Bytes(1),
            slope: Some(Rate(2_969_000)),
            shift: Some(Span(15_001_208)),
        }
    );
    let steep = TwoSegment { first: rate(359_102), ..two };
    let error = check_two_segment(&residual, Guarantee::Realtime, &steep).unwrap_err();
    assert!(matches!(error, FitError::Above { at, .. } if at == Span::from_millis(463)), "{error}");
    let steep = TwoSegment { second: Rate(3_600_001), ..two };
    let error = check_two_segment(&residual, Guarantee::Realtime, &steep).unwrap_err();
    assert!(matches!(error, FitError::Above { .. }), "{error}");
}

/// The line through the origin is bound by the corner at 463 ms, and so is every better one.
#[test]
fn fits_of_table_3_are_reproduced() {
    use Guarantee::{All, Realtime};
    let residual = residual(Blocking::Paper);
    assert_eq!(fit_line(&residual, Realtime), Ok(Rate(2_872_812)));
    assert_eq!(fit_line(&residual, All), Err(FitError::NoLineThroughOrigin));
    assert_eq!(
        fit_shifted_line(&residual, Realtime),
        Ok(ShiftedLine { slope: Rate(2_872_812), shift: Span(0) })
    );
    assert_eq!(
        fit_shifted_line(&residual, All),
        Ok(ShiftedLine { slope: Rate(2_880_456), shift: Span(1_228_800) })
    );
    assert_eq!(
        fit_two_segment(&residual, Realtime),
        Ok(TwoSegment {
            first: Rate(2_872_812),
            second: Rate(3_600_000),
            corner: Span(462_999_940),
        })
    );
    assert_eq!(fit_two_segment(&residual, All), Err(FitError::NoLineThroughOrigin));
}
