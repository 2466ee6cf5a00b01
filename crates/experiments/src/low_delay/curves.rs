//! Figure 8: the effective residual capacity and the lines below it.

use laxity_analysis::points::{bytes, float, polyline};
use laxity_core::{Rate, Span};
use laxity_curve::{
    Curve, CurveError, Rational, Residual, ShiftedLine, TwoSegment, fit_shifted_line,
    fit_two_segment,
};
use laxity_report::plot::Point;
use laxity_report::{Figure, ResidualPlot};
use laxity_scenario::link::model::Scenario;

use super::COLUMNS;
use crate::{ExperimentError, Measured};

/// Right ends of the panels, in ns: the figure's own scale, and the part where E has its flats.
const WHOLE: f64 = 600e6;
const NEAR: f64 = 40e6;

/// Rows and drawing.
pub fn fig8(scenario: &Scenario) -> Result<(Vec<Measured>, Option<Figure>), ExperimentError> {
    let residual = scenario.setup().residual()?;
    let e = residual.effective();
    let mut rows = Vec::new();
    let mut add = |label: String, unit: &'static str, value: f64| {
        rows.push(Measured::new(label, unit, vec![value]));
    };

    let last = e.pieces().len() - 1;
    for (i, p) in e.pieces().iter().enumerate() {
        let name = if i == last { "last-corner".to_owned() } else { format!("corner-{i}") };
        add(format!("effective/{name}/time"), "ms", float(p.start) / 1e6);
        add(format!("effective/{name}/work"), "B", bytes(p.at(p.start)?));
        add(format!("effective/{name}/slope"), "B/s", float(p.slope) / 8.0);
    }

    let lines = lines(scenario);
    for (name, line) in &lines {
        let from = Rational::from(residual.least_deadline().0);
        let gap = least_gap(e, line, from)?;
        add(format!("{name}/effective/least-gap"), "B", bytes(gap));
        let gap = least_gap(e, line, Rational::ZERO)?;
        add(format!("{name}/effective/least-gap-from-0"), "B", bytes(gap));
    }

    let guarantee = scenario.policy.guarantee;
    let shifted = fit_shifted_line(&residual, guarantee)?;
    let two = fit_two_segment(&residual, guarantee)?;
    let (per_second, ms) = (|r: Rate| r.0 as f64 / 8.0, |t: Span| t.0 as f64 / 1e6);
    add("fit/shifted-line/slope".into(), "B/s", per_second(shifted.slope));
    add("fit/shifted-line/shift".into(), "ms", ms(shifted.shift));
    add("fit/two-segment/first-slope".into(), "B/s", per_second(two.first));
    add("fit/two-segment/second-slope".into(), "B/s", per_second(two.second));
    add("fit/two-segment/corner".into(), "ms", ms(two.corner));
    Ok((rows, figure(&residual, &lines)))
}

fn figure(residual: &Residual, lines: &[(&str, Broken)]) -> Option<Figure> {
    let plot = ResidualPlot {
        residual: polyline(residual.deadlines(), WHOLE),
        effective: polyline(residual.effective(), WHOLE),
        approximations: lines.iter().map(|(n, l)| ((*n).to_owned(), l.points(WHOLE))).collect(),
        near_ns: Some(NEAR),
        whole_ns: Some(WHOLE),
    };
    plot.figure(&COLUMNS)
}

/// The paper's lines.
fn lines(scenario: &Scenario) -> Vec<(&'static str, Broken)> {
    let shifted = scenario.policy.options.shifted_line.map(|l| (COLUMNS[1], Broken::from(l)));
    let two = scenario.policy.options.two_segment.map(|l| (COLUMNS[2], Broken::from(l)));
    shifted.into_iter().chain(two).collect()
}

/// A line with one corner that starts at the origin.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    first: Rate,
    second: Rate,
    corner: Span,
}

impl From<ShiftedLine> for Broken {
    fn from(line: ShiftedLine) -> Broken {
        Broken { first: Rate(0), second: line.slope, corner: line.shift }
    }
}

impl From<TwoSegment> for Broken {
    fn from(line: TwoSegment) -> Broken {
        Broken { first: line.first, second: line.second, corner: line.corner }
    }
}

impl Broken {
    fn at(&self, t: Rational) -> Result<Rational, CurveError> {
        let corner = Rational::from(self.corner.0);
        let first = Rational::from(self.first.0).times(t.least(corner))?;
        let beyond = t.minus(corner)?.greatest(Rational::ZERO);
        first.plus(Rational::from(self.second.0).times(beyond)?)
    }

    /// In ns and bytes, up to `end` ns.
    pub fn points(&self, end: f64) -> Vec<Point> {
        let (first, second) = (self.first.0 as f64 / 8e9, self.second.0 as f64 / 8e9);
        let corner = (self.corner.0 as f64).min(end);
        let level = first * corner;
        vec![(0.0, 0.0), (corner, level), (end, level + second * (end - corner))]
    }
}

/// The least of `E - line` from `from` on. Both are straight between their corners, and the line
/// is no steeper than `E` in the end.
fn least_gap(e: &Curve, line: &Broken, from: Rational) -> Result<Rational, CurveError> {
    let corners = e.pieces().iter().map(|p| p.start).chain([Rational::from(line.corner.0)]);
    let mut least: Option<Rational> = None;
    for t in corners.chain([from]).filter(|t| *t >= from) {
        let gap = e.value(t)?.minus(line.at(t)?)?;
        least = Some(least.map_or(gap, |l| l.least(gap)));
    }
    Ok(least.unwrap_or(Rational::ZERO))
}
