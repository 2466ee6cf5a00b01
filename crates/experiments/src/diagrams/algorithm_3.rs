//! Figure 3: the demand assumed as large as possible, and the deadlines of the printed algorithm.

use laxity_curve::{Guarantee, TwoSegment, fit_two_segment};
use laxity_link::assign::{Algorithm3, Algorithm3Printed};
use laxity_report::Figure;
use laxity_report::curves::{Annotation, Curve, LinePlot};
use laxity_report::plot::Point;

use super::{MS, Offered, captioned, deadlines, demand, ghost, link, strong, time, value, work};
use crate::ExperimentError;
use crate::low_delay::Broken;

const PACKETS: [Offered; 4] = [(0, 900), (2_500_000, 700), (4_000_000, 600), (5_000_000, 900)];

/// Back to back, and two of them larger than the first segment is high.
const BACK_TO_BACK: [Offered; 4] = [(0, 1700); 4];

/// The assumption, the deadline that follows from it, and the printed one.
pub fn figure() -> Result<Figure, ExperimentError> {
    let line = fit_two_segment(&link()?, Guarantee::Realtime)?;
    let due = deadlines(&mut Algorithm3::new(&line), &PACKETS);
    let n = PACKETS.len() - 1;
    let before = demand(&PACKETS[..n], &due[..n]);
    let after = demand(&PACKETS, &due);
    let end = 18.0 * MS;
    // Right of x_n the demand is assumed to lie on the line.
    let length = (due[n - 1] - PACKETS[n - 1].0) as f64;
    let assumed = from(&line, length, end);
    let moved = ((due[n] - due[n - 1]) as f64, f64::from(PACKETS[n].1));
    let shifted: Vec<Point> = assumed.iter().map(|p| (p.0 + moved.0, p.1 + moved.1)).collect();

    let segments = || Curve::new("two segments", Broken::from(line).points(end), 0);
    let first = LinePlot {
        title: "The assumption".into(),
        desc:
            "The real demand is a staircase below the two segments; it is assumed to lie on them."
                .into(),
        x: time(end),
        y: work(0.0, 9000.0),
        curves: vec![
            segments(),
            strong(Curve::new("demand, as assumed", assumed.clone(), 2), 2),
            ghost("demand \u{3b1}", Curve::steps("", &before, end, 1)),
        ],
        annotations: vec![Annotation::Foot("x\u{2099}".into(), (length, value(&line, length)))],
        numbers: true,
    };
    let second = LinePlot {
        title: "The next packet, corrected".into(),
        desc:
            "The assumed demand moved right and up by the new packet stays below the two segments."
                .into(),
        curves: vec![
            segments(),
            strong(Curve::new("demand, as assumed", shifted, 2), 2),
            ghost("demand \u{3b1}", Curve::steps("", &after, end, 1)),
        ],
        annotations: vec![Annotation::Arrow(
            String::new(),
            assumed[0],
            (assumed[0].0 + moved.0, assumed[0].1 + moved.1),
        )],
        ..first.clone()
    };
    let corrected = deadlines(&mut Algorithm3::new(&line), &BACK_TO_BACK);
    let printed = deadlines(&mut Algorithm3Printed::new(&line), &BACK_TO_BACK);
    // All are released at once: within D_i, packets 1 to i.
    let steps = |due: &[u64]| -> Vec<Point> {
        let each = BACK_TO_BACK.iter().zip(due);
        each.map(|((r, w), d)| ((d - r) as f64, f64::from(*w))).collect()
    };
    let third = LinePlot {
        title: "Four packets at once".into(),
        desc: "The printed algorithm gives the second to fourth packet the same deadline, so that \
               the demand lies far above the two segments; the corrected one follows them."
            .into(),
        curves: vec![
            segments(),
            strong(Curve::steps("corrected", &steps(&corrected), end, 3), 3),
            Curve::steps("as printed", &steps(&printed), end, 4),
        ],
        annotations: vec![],
        ..first.clone()
    };
    let panels = [first, second, third];
    let figure = LinePlot::figure("algorithm-3", "Two segments with constant memory", &panels, 3);
    Ok(captioned(
        figure,
        "Only the previous deadline is remembered: the demand is assumed to touch the segments from \
         x\u{2099} = D\u{2099} \u{2212} r\u{2099} on. The algorithm as printed forgets the previous \
         deadline once two packets exceed the first segment, and promises more than there is.",
        "Figure 3 and Algorithm 3",
    ))
}

/// The line from `start` on, with its corner.
fn from(line: &TwoSegment, start: f64, end: f64) -> Vec<Point> {
    let corner = line.corner.0 as f64;
    let at = [start, corner, end].into_iter().filter(|t| *t >= start);
    at.map(|t| (t, value(line, t))).collect()
}
