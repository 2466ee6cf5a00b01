//! Figure 1: the demand before and after a packet.

use laxity_curve::Guarantee;
use laxity_link::assign::Exact;
use laxity_report::Figure;
use laxity_report::curves::{Annotation, Curve, LinePlot};

use super::{
    MS, Offered, captioned, deadlines, demand, effective, ghost, link, strong, time, work,
};
use crate::ExperimentError;

const PACKETS: [Offered; 6] = [
    (0, 800),
    (400_000, 600),
    (1_000_000, 1000),
    (2_000_000, 700),
    (6_000_000, 700),
    (6_500_000, 1200),
];

/// The demand of all packets but the last, then with it.
pub fn figure() -> Result<Figure, ExperimentError> {
    let residual = link()?;
    let service = residual.service(Guarantee::All)?;
    let due = deadlines(&mut Exact::new(&service, 64), &PACKETS);
    let end = 16.0 * MS;
    let n = PACKETS.len() - 1;
    let before = demand(&PACKETS[..n], &due[..n]);
    let after = demand(&PACKETS, &due);
    let moved = (due[n] - due[n - 1]) as f64;
    let (release, size) = PACKETS[n];
    let own = (due[n] - release) as f64;
    let size = f64::from(size);

    let first = LinePlot {
        title: "Before: \u{3b1}\u{2099}".into(),
        desc: "The demand curve of five packets, a staircase that touches the effective residual \
               capacity from below."
            .into(),
        x: time(end),
        y: work(-700.0, 7500.0),
        curves: vec![
            effective(&residual, end),
            strong(Curve::steps("demand \u{3b1}\u{2099}", &before, end, 1), 1),
        ],
        annotations: vec![Annotation::Foot("\u{3b4}\u{2099}".into(), before[0])],
        numbers: true,
    };
    let second = LinePlot {
        title: "After: \u{3b1}\u{2099}\u{208a}\u{2081}".into(),
        desc: "The same staircase moved right by the distance of the two deadlines and up by the \
               new packet, with a first step for the new packet; it touches the effective residual \
               capacity again."
            .into(),
        curves: vec![
            effective(&residual, end),
            ghost("", Curve::steps("", &before, end, 1)),
            strong(Curve::steps("demand \u{3b1}\u{2099}\u{208a}\u{2081}", &after, end, 2), 2),
        ],
        annotations: vec![
            Annotation::Foot("\u{3b4}\u{2099}\u{208a}\u{2081}".into(), (own, size)),
            Annotation::Arrow(
                String::new(),
                (before[0].0, before[0].1),
                (before[0].0 + moved, before[0].1 + size),
            ),
            Annotation::Text(
"right by D\u{2099}\u{208a}\u{2081} \u{2212} D\u{2099}, up by w\u{2099}\u{208a}\u{2081}".into(),
(0.0, 6000.0),
(6.0, 0.0),
),
        ],
        ..first.clone()
    };
    let figure =
        LinePlot::figure("demand-curve", "How a packet joins the demand", &[first, second], 2);
    Ok(captioned(
        figure,
        "Within any interval of the length on the horizontal axis that ends with the last deadline, \
         best effort demands so much. The new packet gets the least deadline that keeps the whole \
         staircase below E(t). Deadlines are those of the policy exact.",
        "Figure 1",
    ))
}
