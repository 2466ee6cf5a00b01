//! The admission test and its suggestions for a thousand flows.

use std::hint::black_box;

use laxity_core::{Bytes, Rate, Span};
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
    ]
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
