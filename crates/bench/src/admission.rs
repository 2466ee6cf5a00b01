//! The admission test and its suggestions for a thousand flows, with deadlines and with service
//! curves.

use std::hint::black_box;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::service::{LinkFlow, ServiceCurve, ServiceSpec, check_flows, suggest_flows};
use laxity_curve::{Blocking, Envelope, FlowSpec, LinkSpec, check, suggest};

use crate::{Contender, Group, Random};

pub(crate) fn groups() -> Vec<Group> {
    vec![
        Group(vec![Contender::new("check/1000-flows", || {
            let (link, flows) = set();
            move |count| {
                for _ in 0..count {
                    black_box(check(&link, &flows).is_ok_and(|v| v.admitted));
                }
            }
        })]),
        Group(vec![Contender::new("suggest/1000-flows", || {
            let (link, flows) = set();
            move |count| {
                for _ in 0..count {
                    black_box(suggest(&link, &flows).map_or(0, |s| s.len()));
                }
            }
        })]),
        Group(vec![Contender::new("check/1000-curves", || {
            let (link, flows) = curves(0);
            move |count| {
                for _ in 0..count {
                    black_box(check_flows(&link, &flows).is_ok_and(|v| v.admitted));
                }
            }
        })]),
        Group(vec![Contender::new("suggest/1000-curves", || {
            let (link, flows) = curves(50);
            move |count| {
                for _ in 0..count {
                    black_box(suggest_flows(&link, &flows).map_or(0, |s| s.len()));
                }
            }
        })]),
    ]
}

/// A thousand service curves of all forms at 0.6 of 10 Gbit/s; `bursts` of them want 400 kB after 10 ms.
pub fn curves(bursts: usize) -> (LinkSpec, Vec<LinkFlow>) {
    let mut random = Random(2);
    let (link, _) = set();
    let curve = |k: usize| {
        let rate = Rate::bytes_per_second(400_000 + random.below(700_000));
        let ms = |random: &mut Random, most| Span((1 + random.below(most)) * 1_000_000);
        let burst = (Span(10_000_000), Bytes(400_000));
        let curve = match k % 4 {
            _ if k < bursts => ServiceCurve::points(&[(burst.0, Bytes(0)), burst], rate),
            0 => ServiceCurve::rate_latency(rate, ms(&mut random, 40)),
            1 => ServiceCurve::two_piece(Rate(rate.0 / 2), ms(&mut random, 40), rate),
            2 => ServiceCurve::umax_dmax(Bytes(6000), ms(&mut random, 30), rate),
            _ => {
                let (at, work) = (ms(&mut random, 20), Bytes(random.below(8_000)));
                ServiceCurve::points(
                    &[(at, Bytes(0)), (at, work), (at + Span(9_000_000), work)],
                    rate,
                )
            }
        };
        let later = Span(if k < bursts { 0 } else { 3_000_000 + random.below(20_000_000) });
        let curve = curve.and_then(|curve| curve.later(later)).expect("a service curve");
        let (smallest, packet) = (Bytes(64), Bytes(200 + random.below(1300)));
        LinkFlow::Service(ServiceSpec::new(curve, smallest, packet).expect("sizes"))
    };
    (link, (0..1000).map(curve).collect())
}

/// A thousand different TSpecs at 0.6 of 10 Gbit/s.
pub fn set() -> (LinkSpec, Vec<FlowSpec>) {
    let mut random = Random(1);
    let flow = |_| {
        let rate = 400_000 + random.below(700_000);
        let packet = 100 + random.below(1400);
        let burst = packet + random.below(8_000);
        let envelope = Envelope::tspec(
            Bytes(packet),
            Rate::bytes_per_second(rate + 1 + random.below(2_000_000)),
            Bytes(burst),
            Rate::bytes_per_second(rate),
        );
        FlowSpec {
            envelope: envelope.expect("a valid TSpec"),
            deadline: Span(5_000_000 + random.below(95_000_000)),
        }
    };
    let link = LinkSpec {
        rate: Rate(10_000_000_000),
        best_effort_packet: Bytes(1536),
        downstream_backlog: Bytes(0),
        blocking: Blocking::Exact,
    };
    (link, (0..1000).map(flow).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when the benchmarks measure a set that the test does not have to look at.
    #[test]
    fn one_set_is_admitted_and_one_is_not() {
        for (bursts, admitted) in [(0, true), (50, false)] {
            let (link, flows) = curves(bursts);
            let verdict = check_flows(&link, &flows).expect("a verdict");
            assert_eq!(verdict.admitted, admitted, "{verdict:?}");
        }
    }
}
