//! How long verdict, suggestions and residual of 1000 TSpec flows on a 10 Gbit/s link take.
//!
//! `cargo bench -p laxity-curve --bench thousand_flows`

use std::time::Instant;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut state = 1u64;
    let mut draw = |low: u64, high: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (state >> 33) % (high - low)
    };
    for (name, longest, rate) in [("admitted", 400, 10_000_000_000), ("refused", 40, 7_000_000_000)]
    {
        let mut flows = Vec::new();
        for _ in 0..1000 {
            let packet = draw(64, 1500);
            let rate = draw(10_000, 9_000_000);
            let envelope = Envelope::tspec(
                Bytes(packet),
                Rate(rate + draw(1_000_000, 90_000_000)),
                Bytes(packet + draw(0, 60_000)),
                Rate(rate),
            )?;
            flows.push(FlowSpec { envelope, deadline: Span(draw(2_000_000, longest * 1_000_000)) });
        }
        for blocking in [Blocking::Paper, Blocking::Exact] {
            let link = LinkSpec {
                rate: Rate(rate),
                best_effort_packet: Bytes(1536),
                downstream_backlog: Bytes(0),
                blocking,
            };
            let begin = Instant::now();
            let verdict = check(&link, &flows)?;
            let checked = begin.elapsed();
            let begin = Instant::now();
            let found = suggest(&link, &flows)?;
            let suggested = begin.elapsed();
            let begin = Instant::now();
            let residual = Residual::new(&link, &flows)?;
            let built = begin.elapsed();
            let begin = Instant::now();
            let inverse = residual.service(Guarantee::Realtime)?;
            let inverted = begin.elapsed();
            let begin = Instant::now();
            let line = fit_shifted_line(&residual, Guarantee::Realtime);
            let fitted = begin.elapsed();
            println!(
                "{name} {blocking:?}: admitted {} slack {} B; check {checked:?}, suggest \
                 {suggested:?} ({} deadlines), residual {built:?}, inverse {inverted:?} ({} \
                 pieces), fit {fitted:?} {:?}",
                verdict.admitted,
                verdict.slack_bytes,
                found.iter().filter(|s| s.min_deadline.is_some()).count(),
                inverse.pieces().len(),
                line.map(|l| (l.slope, l.shift)),
            );
        }
    }
    Ok(())
}
