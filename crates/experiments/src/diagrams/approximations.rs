//! Figure 2: lines below the effective residual.

use laxity_core::Span;
use laxity_curve::{Guarantee, ShiftedLine, fit_line, fit_shifted_line, fit_two_segment};
use laxity_report::Figure;
use laxity_report::curves::{Annotation, Curve, LinePlot};

use super::{MS, captioned, effective, link, strong, time, work};
use crate::ExperimentError;
use crate::low_delay::Broken;

/// The best line of each kind.
pub fn figure() -> Result<Figure, ExperimentError> {
    let residual = link()?;
    let guarantee = Guarantee::Realtime;
    let origin = fit_line(&residual, guarantee)?;
    let shifted = fit_shifted_line(&residual, guarantee)?;
    let two = fit_two_segment(&residual, guarantee)?;
    let end = 26.0 * MS;
    let panel =
        |title: &str, policy: &str, line: Broken, n: usize, foot: Vec<Annotation>| LinePlot {
            title: title.into(),
            desc: format!("The line of {policy} below the effective residual capacity."),
            x: time(end),
            y: work(-700.0, 15000.0),
            curves: vec![
                effective(&residual, end),
                strong(Curve::new(policy, line.points(end), n), n),
            ],
            annotations: foot,
            numbers: true,
        };
    let through = Broken::from(ShiftedLine { slope: origin, shift: Span(0) });
    let shift = (shifted.shift.0 as f64, 0.0);
    let corner = two.corner.0 as f64;
    let panels = [
        panel("(a) Through the origin", "tbs", through, 3, vec![]),
        panel(
            "(b) From a shift \u{3b4} on",
            "shifted-line",
            shifted.into(),
            1,
            vec![Annotation::Foot("\u{3b4}".into(), shift)],
        ),
        panel(
            "(c) Two segments",
            "two-segment",
            two.into(),
            2,
            vec![Annotation::Foot("p".into(), (corner, super::value(&two, corner)))],
        ),
    ];
    let figure =
        LinePlot::figure("approximations", "Lines below the residual capacity", &panels, 3);
    Ok(captioned(
        figure,
        "The largest line of each kind that stays below E(t) from the least real-time deadline on \
         (2 ms), as laxity fits them. The capacity between is unused; the policy exact uses \
         E(t) itself.",
        "Figure 2",
    ))
}
