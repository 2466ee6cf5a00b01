//! Figure 6: the envelope of a TSpec.

use laxity_analysis::points::{bytes, float, polyline};
use laxity_core::{Bytes, Rate};
use laxity_curve::Envelope;
use laxity_report::Figure;
use laxity_report::curves::{Annotation, Curve, LinePlot};

use super::{MS, captioned, ghost, time, work};
use crate::ExperimentError;

/// The flow ftp of the paper's Table 3.
const M: u64 = 1536;
const P: u64 = 250_000;
const B: u64 = 30_720;
const R: u64 = 150_000;

/// `min(M + p t, b + r t)`.
pub fn figure() -> Result<Figure, ExperimentError> {
    let rate = Rate::bytes_per_second;
    let curve = Envelope::tspec(Bytes(M), rate(P), Bytes(B), rate(R))?.curve()?;
    let end = 600.0 * MS;
    let line = |intercept: u64, slope: u64| {
        let at = |t: f64| intercept as f64 + slope as f64 * t / 1e9;
        ghost("", Curve::new("", vec![(0.0, at(0.0)), (end, at(end))], 0))
    };
    let mut annotations = vec![
        Annotation::Text("M".into(), (0.0, M as f64), (8.0, 0.0)),
        Annotation::Text("b".into(), (0.0, B as f64), (8.0, -6.0)),
        Annotation::Text("slope p".into(), (120.0 * MS, 32_000.0), (10.0, 12.0)),
        Annotation::Text("slope r".into(), (450.0 * MS, 98_000.0), (10.0, 18.0)),
    ];
    if let Some(corner) = curve.pieces().last() {
        let at = (float(corner.start), bytes(corner.at(corner.start)?));
        annotations.push(Annotation::Foot("(b \u{2212} M) / (p \u{2212} r)".into(), at));
    }
    let panel = LinePlot {
        title: "ftp of Table 3".into(),
        desc: "A concave curve of two lines: steep from the largest packet, then flatter from the \
               burst."
            .into(),
        x: time(end),
        y: ("may be sent".into(), work(0.0, 0.0).1, 0.0, 160_000.0),
        curves: vec![
            line(M, P),
            line(B, R),
            Curve::new("min(M + p t, b + r t)", polyline(&curve, end), 1),
        ],
        annotations,
        numbers: true,
    };
    let figure = LinePlot::figure("tspec", "The envelope of a TSpec", &[panel], 1);
    Ok(captioned(
        figure,
        "In any interval of a length on the horizontal axis the flow sends at most so much: packets \
         of at most M bytes, at the peak rate p until the burst b is used up, then at the rate r.",
        "Figure 6",
    ))
}
