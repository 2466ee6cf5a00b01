//! Flow queues and active queue management of a best-effort class: keys and bounds.

use laxity_core::Span;
use laxity_link::config::FlowQueueing;

use crate::keys::{Forms, Kind, Plain, Table, optional, required};

/// Names of [`QueueBy`](laxity_link::config::QueueBy), in the order of its variants.
pub(super) const QUEUE_BY: &[&str] = &["5-tuple", "source", "destination", "host-and-flow"];
/// Names of [`Hosts`](laxity_link::config::Hosts), in the order of its variants.
pub(super) const HOSTS: &[&str] = &["source", "destination", "both"];
/// Names of [`Sojourn`](laxity_link::config::Sojourn), in the order of its variants.
pub(super) const SOJOURN: &[&str] = &["raw", "link"];
/// Names of [`Aqm`](laxity_link::config::Aqm), in the order of its variants.
pub(super) const AQM_NAMES: &[&str] = &["none", "codel", "pie", "l4s"];

/// The shortest round-trip time, shorter than in any data centre.
pub const MIN_RTT: Span = Span(10_000);
/// The longest round-trip time: 10 s.
pub const MAX_RTT: Span = Span(10_000_000_000);
/// The largest target of `pie` and `l4s`, and the largest step: 1 s. PI2 clamps delays to 2.1 s.
pub const MAX_TARGET: Span = Span(1_000_000_000);

/// `flows` of `[[best_effort]]`
pub static FLOWS: Table = Table {
    name: "flows",
    doc: "Queues for the flows of a class, served by deficit round robin with priority for flows \
          that send little (RFC 8290). `fifo` and `proportional-share` ignore them.",
    keys: &[
        optional(
            "by",
            Kind::Choice(QUEUE_BY),
            "\"5-tuple\"",
            "\"host-and-flow\"",
            "What makes packets one flow: addresses, protocol and ports; an address; or, with \
             `host-and-flow`, the 5-tuple, where the flows of a host share what one host gets.",
        ),
        optional(
            "hosts",
            Kind::Choice(HOSTS),
            "\"both\"",
            "\"source\"",
            "With `host-and-flow`, which addresses are hosts; of `both`, the one with more flows \
             decides.",
        ),
        optional(
            "queues",
            Kind::Whole(FlowQueueing::MIN_QUEUES, FlowQueueing::MAX_QUEUES),
            "1024",
            "1024",
            "Number of queues, a power of two. A queue takes 64 B; with 1024 of them, 200 flows \
             have one each.",
        ),
    ],
};

/// `aqm` of `[[best_effort]]`
pub static AQM: Forms = Forms {
    name: "aqm",
    article: "an",
    doc: "Active queue management: dropping or marking packets so that senders slow down before \
          the queue is full. `fifo` and `proportional-share` ignore it.",
    plain: Plain::Names(AQM_NAMES),
    tables: &[Table {
        name: "AQM with parameters",
        doc: "CoDel (RFC 8289), PI2 (RFC 8033 with the square of RFC 9332), or the dual queue of \
              L4S (RFC 9332), which with `flows` is CoDel beside a step for ECT(1).",
        keys: &[
            required("use", Kind::Choice(&["codel", "pie", "l4s"]), "\"codel\"", "The algorithm."),
            optional(
                "rtt",
                Kind::Time,
                "\"100 ms\"",
                "\"40 ms\"",
                "Round-trip time of the flows, from 10 us to 10 s: the interval of CoDel. With \
                 `codel`, and with `l4s` where there are `flows`.",
            ),
            optional(
                "target",
                Kind::Time,
                "`codel`: a twentieth of `rtt`, at least 4 packet times; `pie` and `l4s`: 15 ms",
                "\"5 ms\"",
                "Delay that is aimed at, at least the time of one packet on the link. Of CoDel at \
                 most half of `rtt`, else at most 1 s.",
            ),
            optional(
                "step",
                Kind::Time,
                "1 ms, at least 2 packet times",
                "\"1 ms\"",
                "With `l4s`, the delay above which ECT(1) packets are marked, at least the time \
                 of one packet on the link and at most 1 s.",
            ),
            optional(
                "ecn",
                Kind::Bool,
                "true",
                "false",
                "Whether ECN-capable packets are marked instead of dropped.",
            ),
            optional(
                "sojourn",
                Kind::Choice(SOJOURN),
                "\"raw\"; \"link\" with `pie` and `l4s` under `background`",
                "\"link\"",
                "The delay that is measured: since arrival, or without the time in which \
                 real-time packets were sent.",
            ),
            optional(
                "ingress",
                Kind::Bool,
                "false",
                "true",
                "Whether a packet that is dropped occupies the link as if it had been sent, which \
                 keeps the queue of a provider ahead of this link short.",
            ),
        ],
    }],
};
