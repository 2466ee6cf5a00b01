//! The residual capacity of a link, and the lines below it that policies use.

use laxity_curve::{
    Curve, Piece, check_shifted_line, check_two_segment, fit_shifted_line, fit_two_segment,
};
use laxity_link::assign::{Assigner as _, Shifted, TwoSegments};
use laxity_scenario::link::model::Scenario;

use crate::points::{Point, bytes, float, polyline};

/// Curves over the length of an interval, as points to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualCurves {
    /// Residual capacity R(t): capacity less real-time demand.
    pub residual: Vec<Point>,
    /// Effective residual capacity E(t), the largest rising curve below R(t).
    pub effective: Vec<Point>,
    /// Lines that stay below E(t), with the name of the policy that uses them.
    pub approximations: Vec<(String, Vec<Point>)>,
    /// Right end of all of them.
    pub end_ns: f64,
}

/// Corner points for printing: time rounded down, bytes, slope in B/s.
pub(super) fn corners(curve: &Curve) -> Vec<(u64, f64, f64)> {
    let row = |p: &Piece| {
        let time = u64::try_from(p.start.floor()).ok()?;
        Some((time, bytes(p.at(p.start).ok()?), float(p.slope) / 8.0))
    };
    curve.pieces().iter().filter_map(row).collect()
}

/// The curves of the paper's Figure 8 (Chakraborty, Gries, Thiele, RTAS 2002) for a scenario;
/// `None` where real time leaves nothing.
pub fn residual(scenario: &Scenario) -> Option<ResidualCurves> {
    let setup = scenario.setup();
    let residual = setup.residual().ok()?;
    let guarantee = scenario.policy.guarantee;
    let last = corners(residual.effective()).last()?.0 as f64;
    let end = last * 1.3 + 1e6;
    let shifted = match scenario.policy.options.shifted_line {
        Some(line) => check_shifted_line(&residual, guarantee, &line).map(|()| line),
        None => fit_shifted_line(&residual, guarantee),
    };
    let two = match scenario.policy.options.two_segment {
        Some(line) => check_two_segment(&residual, guarantee, &line).map(|()| line),
        None => fit_two_segment(&residual, guarantee),
    };
    let mut approximations = Vec::new();
    if let Ok(line) = shifted {
        let (slope, shift) = (line.slope.0 as f64 / 8e9, line.shift.0 as f64);
        let points =
            vec![(0.0, 0.0), (shift, 0.0), (end.max(shift), slope * (end - shift).max(0.0))];
        approximations.push((Shifted::INFO.name.to_owned(), points));
    }
    if let Ok(line) = two {
        let (first, second) = (line.first.0 as f64 / 8e9, line.second.0 as f64 / 8e9);
        let corner = line.corner.0 as f64;
        let at_corner = first * corner;
        let points = vec![
            (0.0, 0.0),
            (corner, at_corner),
            (end.max(corner), at_corner + second * (end - corner).max(0.0)),
        ];
        approximations.push((TwoSegments::INFO.name.to_owned(), points));
    }
    Some(ResidualCurves {
        residual: polyline(residual.deadlines(), end),
        effective: polyline(residual.effective(), end),
        approximations,
        end_ns: end,
    })
}
