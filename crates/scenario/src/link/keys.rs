//! The tables and keys of a link scenario, with type, meaning and default.

use laxity_link::registry;

use crate::keys::{Forms, Key, Kind, LENGTHS, Plain, Table, optional, required};
use crate::link::{policies, queueing, service_curve, sharing};
use crate::options::policy_section;

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "link-scenario",
    doc: "A link, the real-time flows and best-effort classes that share it, and its policies.",
    keys: &[
        required("link", Kind::Table(&LINK), "{ rate = \"10 Mbit/s\" }", "The link."),
        optional(
            "policy",
            Kind::Table(&POLICY),
            "every default below",
            "{ use = \"exact\" }",
            "How packets are scheduled.",
        ),
        optional(
            "realtime",
            Kind::Tables(&REALTIME),
            "none",
            "[{ name = \"voice\", deadline = \"5 ms\", envelope = { burst = \"300 B\", rate = \
             \"150 kB/s\" } }]",
            "Flows with deadlines; a packet belongs to the first flow in file order that matches.",
        ),
        optional(
            "group",
            Kind::Tables(&sharing::GROUPS),
            "none",
            "[{ name = \"office\", weight = 2 }]",
            "Groups of best-effort classes, under `fair_queue = \"fsc\"`; at most 8 inside each \
             other.",
        ),
        optional(
            "best_effort",
            Kind::Tables(&BEST_EFFORT),
            "none but the class `other`",
            "[{ name = \"http\", weight = 0.5 }]",
            "Classes without deadlines. Unmatched packets go to a class `other`, which always \
             exists.",
        ),
    ],
};

/// `[link]`
pub static LINK: Table = Table {
    name: "link",
    doc: "The link below the scheduler.",
    keys: &[
        required("rate", Kind::Rate, "\"10 Mbit/s\"", "Rate of the wire."),
        optional(
            "max_packet",
            Kind::Size,
            "\"1536 B\"",
            "\"1536 B\"",
            "Largest best-effort packet, without `overhead`; larger ones are dropped at entry. \
             It bounds how long a packet already on the wire may block a real-time one.",
        ),
        optional(
            "overhead",
            Kind::Size,
            "\"0 B\"",
            "\"24 B\"",
            "Bytes on the wire for each packet beyond its length; 24 B on Ethernet, where a \
             length includes the link-layer header but not the check sequence.",
        ),
        optional(
            "min_frame",
            Kind::Size,
            "\"0 B\"",
            "\"84 B\"",
            "Least bytes on the wire for a packet, `overhead` included; 84 B on Ethernet.",
        ),
        optional(
            "credit",
            Kind::Time,
            "\"0 s\"",
            "\"1 ms\"",
            "Credit of a live shaper, as time at link rate; it lengthens blocking.",
        ),
        optional(
            "in_flight",
            Kind::Size,
            "\"0 B\"",
            "\"3072 B\"",
            "Bytes already handed to the device below the scheduler; they lengthen blocking.",
        ),
        optional(
            "buffer",
            Kind::Table(&BUFFER),
            "derived from the flows",
            "{ total = \"10 MB\", best_effort = \"5 MB\" }",
            "Limits of the queues.",
        ),
    ],
};

/// `buffer` of `[link]`
pub static BUFFER: Table = Table {
    name: "buffer",
    doc: "Limits on waiting packets, by their lengths.",
    keys: &[
        required("total", Kind::Size, "\"10 MB\"", "Limit over all packets."),
        optional(
            "best_effort",
            Kind::Size,
            "half of `total`, but at least one packet",
            "\"5 MB\"",
            "Limit over best-effort packets.",
        ),
    ],
};

/// `[policy]`
pub static POLICY: Table =
    Table { name: "policy", doc: "Which policies run, and their options.", keys: POLICY_KEYS };

policy_section! {
    POLICY_KEYS: registry::POLICIES, &[
        optional(
            "use",
            Kind::Policy(&policies::NAMES),
            "\"exact\"",
            "\"exact\"",
            "The policy of the link.",
        ),
        optional(
            "compare",
            Kind::Policies(&policies::NAMES),
            "none",
            "[\"background\", \"slack\"]",
            "Further policies that a simulation runs beside it, on the same arrivals.",
        ),
        optional(
            "fair_queue",
            Kind::Choice(&["wfq", "scfq", "wf2q+", "fsc"]),
            "\"wfq\"",
            "\"wfq\"",
            "Order among best-effort classes: packetised GPS, self-clocked fair queueing, \
             worst-case fair weighted fair queueing, or Fair Service Curve: by curves of classes \
             and groups.",
        ),
        optional(
            "fair_order",
            Kind::Choice(&["finish", "start"]),
            "\"finish\"",
            "\"start\"",
            "Rule of `fsc`: the class whose curve reaches the end of its packet first, or the begin, \
             as HFSC shares a link. With `start` a class that was silent waits longer.",
        ),
        optional(
            "blocking",
            Kind::Choice(&["paper", "exact"]),
            "\"paper\"",
            "\"paper\"",
            "How a packet already on the wire counts: `paper` takes the largest packet of all \
             flows at every interval, `exact` only packets that can block there.",
        ),
        optional(
            "guarantee",
            Kind::Choice(&["realtime", "all"]),
            "\"realtime\"",
            "\"realtime\"",
            "Deadlines that the residual capacity protects: those of real-time packets, or also \
             those assigned to best-effort packets.",
        ),
        optional(
            "release",
            Kind::Choice(&["arrival", "hol"]),
            "\"arrival\"",
            "\"arrival\"",
            "When a best-effort packet counts as released: on arrival, or when it reaches the \
             head of the line.",
        ),
        optional(
            "restart",
            Kind::Choice(&["sooner", "idle"]),
            "\"sooner\"",
            "\"sooner\"",
            "When best-effort deadlines discard the history of earlier packets: `sooner` as soon \
             as that is safe, which is when nothing waits or, under `exact`, no real-time \
             packet; `idle` when the link idles.",
        ),
    ]
}

/// Largest importance of a flow.
pub const MAX_IMPORTANCE: u32 = 1000;

/// `[[realtime]]`
pub static REALTIME: Table = Table {
    name: "realtime",
    doc: "A flow with a deadline.",
    keys: &[
        required("name", Kind::Text, "\"voice\"", "Unique over all flows; not `other`."),
        optional(
            "deadline",
            Kind::Time,
            "derived from `rspec`; one of the three is needed",
            "\"30 ms\"",
            "From arrival (with `excess = \"delay\"`: from conformance) to the end of \
             transmission.",
        ),
        optional(
            "rspec",
            Kind::Table(&RSPEC),
            "absent",
            "{ rate = \"300 kB/s\", slack = \"2 ms\" }",
            "A reservation as in RFC 2212, in place of a deadline.",
        ),
        optional(
            "service_curve",
            Kind::Forms(&service_curve::SERVICE_CURVE),
            "absent",
            "{ m1 = \"40 kB/s\", d = \"5 ms\", m2 = \"10 kB/s\" }",
            "A service curve in place of a deadline, for flows whose service, not whose delay, is \
             promised. Served by all policies that keep deadlines except `proportional-share`.",
        ),
        optional(
            "envelope",
            Kind::Forms(&ENVELOPE),
            "needed beside `deadline` or `rspec`; beside `service_curve` none",
            "{ packet = \"1536 B\", peak = \"800 kB/s\", burst = \"15 kB\", rate = \"600 kB/s\" }",
            "Arrival envelope of the flow, enforced exactly by its policer. Beside a service curve \
             it gives bounds of delay and backlog.",
        ),
        optional(
            "excess",
            Kind::Choice(&["delay", "demote", "drop"]),
            "\"delay\"",
            "\"delay\"",
            "Treatment of packets beyond the envelope: delayed until they conform, sent as best \
             effort, or dropped.",
        ),
        optional(
            "importance",
            Kind::Whole(0, MAX_IMPORTANCE),
            "0",
            "2",
            "Order in which flows lose their reservation when the rate of a live link falls: the \
             least important first.",
        ),
        optional(
            "buffer",
            Kind::Size,
            "the link's",
            "\"100 kB\"",
            "Limit of this flow's waiting bytes, within the link's.",
        ),
        optional(
            "source",
            Kind::Forms(&SOURCE),
            "none; a simulation then needs a trace",
            "{ greedy = true, length = \"1536 B\" }",
            "Traffic generator in a simulation without a trace.",
        ),
        optional(
            "match",
            Kind::Table(&MATCH),
            "none: no captured or live packet belongs to it",
            "{ dscp = \"EF\" }",
            "Captured and live packets that belong to it.",
        ),
    ],
};

/// `rspec` of `[[realtime]]`
pub static RSPEC: Table = Table {
    name: "rspec",
    doc: "A guaranteed-service reservation (RFC 2212).",
    keys: &[
        required("rate", Kind::Rate, "\"300 kB/s\"", "R, at least the envelope's long-term rate."),
        optional("slack", Kind::Time, "\"0 s\"", "\"2 ms\"", "S, added to the delay bound of R."),
    ],
};

/// `[[best_effort]]`
pub static BEST_EFFORT: Table = Table {
    name: "best_effort",
    doc: "A class without a deadline.",
    keys: &[
        required(
            "name",
            Kind::Text,
            "\"http\"",
            "Unique over all flows. `other` names the class of unmatched packets, to give it a \
             weight.",
        ),
        optional(
            "weight",
            Kind::Weight,
            "1",
            "0.5",
            "Share of the best-effort bandwidth, relative to the other classes; at most six \
             decimals.",
        ),
        sharing::CURVE,
        sharing::LIMIT,
        sharing::GROUP,
        optional(
            "envelope",
            Kind::Forms(&ENVELOPE),
            "none",
            "{ packet = \"1536 B\", peak = \"250 kB/s\", burst = \"30720 B\", rate = \"150 \
             kB/s\" }",
            "Bounds its generator only; best effort is not policed.",
        ),
        optional(
            "buffer",
            Kind::Size,
            "the link's",
            "\"100 kB\"",
            "Limit of this class's waiting bytes, within the link's.",
        ),
        optional(
            "flows",
            Kind::Table(&queueing::FLOWS),
            "one FIFO for the class",
            "{ by = \"5-tuple\", queues = 1024 }",
            "A queue for each flow of the class.",
        ),
        optional(
            "aqm",
            Kind::Forms(&queueing::AQM),
            "\"none\"",
            "\"codel\"",
            "Active queue management of the class.",
        ),
        optional(
            "source",
            Kind::Forms(&SOURCE),
            "none; a simulation then needs a trace",
            "{ period = \"20 ms\", length = \"1200 B\" }",
            "Traffic generator in a simulation without a trace.",
        ),
        optional(
            "match",
            Kind::Table(&MATCH),
            "none: no captured or live packet belongs to it",
            "{ protocol = \"tcp\", dport = 443 }",
            "Captured and live packets that belong to it.",
        ),
    ],
};

const MIN_PACKET: Key = optional(
    "min_packet",
    Kind::Size,
    "\"40 B\", or the largest packet where that is smaller",
    "\"64 B\"",
    "Smaller packets count as this long. With `overhead` or `min_frame` it bounds how many \
     packets the envelope may be cut into.",
);

const LARGEST: Key = optional(
    "packet",
    Kind::Size,
    "the smallest burst",
    "\"1536 B\"",
    "Largest packet. Give it if packets are smaller than the burst, because it counts as blocking.",
);

/// `envelope`
pub static ENVELOPE: Forms = Forms {
    name: "envelope",
    article: "an",
    doc: "Upper bound on the traffic of a flow in any interval of a given length.",
    plain: Plain::No,
    tables: &[
        Table {
            name: "TSpec",
            doc: "min(packet + peak t, burst + rate t), the token bucket with peak rate of the \
                  Integrated Services.",
            keys: &[
                required("packet", Kind::Size, "\"1536 B\"", "Largest packet (M)."),
                required("peak", Kind::Rate, "\"800 kB/s\"", "Peak rate (p), at least `rate`."),
                required("burst", Kind::Size, "\"15 kB\"", "Bucket (b), at least `packet`."),
                required("rate", Kind::Rate, "\"600 kB/s\"", "Long-term rate (r)."),
                MIN_PACKET,
            ],
        },
        Table {
            name: "leaky bucket",
            doc: "burst + rate t.",
            keys: &[
                required("burst", Kind::Size, "\"15 kB\"", "Largest burst."),
                required("rate", Kind::Rate, "\"600 kB/s\"", "Long-term rate."),
                LARGEST,
                MIN_PACKET,
            ],
        },
        Table {
            name: "buckets",
            doc: "The minimum of several leaky buckets.",
            keys: &[
                required(
                    "buckets",
                    Kind::Tables(&BUCKET),
                    "[{ burst = \"1536 B\", rate = \"800 kB/s\" }, { burst = \"15 kB\", rate = \
                     \"600 kB/s\" }]",
                    "The leaky buckets.",
                ),
                LARGEST,
                MIN_PACKET,
            ],
        },
        Table {
            name: "periodic",
            doc: "One packet each period, up to `jitter` late.",
            keys: &[
                required("period", Kind::Time, "\"20 ms\"", "Time between packets."),
                required("size", Kind::Size, "\"200 B\"", "Packet size."),
                optional("jitter", Kind::Time, "\"0 s\"", "\"2 ms\"", "Largest delay of a packet."),
            ],
        },
        Table {
            name: "trace",
            doc: "The smallest envelope of the packets with this flow's name in a trace.",
            keys: &[required(
                "trace",
                Kind::Path,
                "\"capture.csv\"",
                "CSV with the header `time_ns,bytes,flow`, sorted by time.",
            )],
        },
    ],
};

/// One of `buckets`
pub static BUCKET: Table = Table {
    name: "buckets",
    doc: "burst + rate t.",
    keys: &[
        required("burst", Kind::Size, "\"15 kB\"", "Largest burst."),
        required("rate", Kind::Rate, "\"600 kB/s\"", "Long-term rate."),
    ],
};

const LENGTH: Key = required(
    "length",
    Kind::Forms(&LENGTHS),
    "\"1536 B\"",
    "Packet lengths. Random ones are rounded and clamped to 40 B and the largest packet.",
);

/// `source`
pub static SOURCE: Forms = Forms {
    name: "source",
    article: "a",
    doc: "A traffic generator.",
    plain: Plain::No,
    tables: &[
        Table {
            name: "on and off",
            doc: "Alternates; while on, sends as soon as the envelope allows.",
            keys: &[
                LENGTH,
                required("on", Kind::TimePair, "[\"50 ms\", \"100 ms\"]", "Drawn uniformly."),
                required("off", Kind::TimePair, "[\"10 ms\", \"20 ms\"]", "Drawn uniformly."),
            ],
        },
        Table {
            name: "greedy",
            doc: "Always sends as soon as the envelope allows.",
            keys: &[required("greedy", Kind::Bool, "true", "Always `true`."), LENGTH],
        },
        Table {
            name: "periodic",
            doc: "One packet each period.",
            keys: &[
                required("period", Kind::Time, "\"20 ms\"", "Time between packets."),
                LENGTH,
                optional(
                    "jitter",
                    Kind::Time,
                    "\"0 s\"",
                    "\"2 ms\"",
                    "Each packet is delayed by a uniformly distributed time from zero to this.",
                ),
            ],
        },
        super::tcp::TCP,
        Table {
            name: "trace",
            doc: "The packets with this flow's name in a trace.",
            keys: &[required(
                "trace",
                Kind::Path,
                "\"capture.csv\"",
                "CSV with the header `time_ns,bytes,flow`, sorted by time.",
            )],
        },
    ],
};

/// `match`
pub static MATCH: Table = Table {
    name: "match",
    doc: "A packet matches if it agrees with every given key.",
    keys: &[
        optional(
            "dscp",
            Kind::Dscp,
            "any",
            "\"EF\"",
            "Differentiated services code point: a name (EF, VA, LE, BE, CS0 to CS7, AF11 to \
             AF43) or 0 to 63.",
        ),
        optional(
            "protocol",
            Kind::Protocol,
            "any",
            "\"udp\"",
            "IP protocol: udp, tcp, icmp, icmpv6, sctp or 0 to 255.",
        ),
        optional("src", Kind::Prefix, "any", "\"10.0.0.0/8\"", "Source address or prefix."),
        optional("dst", Kind::Prefix, "any", "\"2001:db8::/32\"", "Destination address or prefix."),
        optional("sport", Kind::Ports, "any", "5004", "Source port, or a range \"5004-5010\"."),
        optional("dport", Kind::Ports, "any", "\"5004-5010\"", "Destination port, or a range."),
        optional("mark", Kind::Whole(0, u32::MAX), "any", "1", "Firewall mark (live only)."),
        optional(
            "priority",
            Kind::Whole(0, u32::MAX),
            "any",
            "6",
            "Socket priority (live) or VLAN priority code point (captures).",
        ),
    ],
};
