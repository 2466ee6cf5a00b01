//! The tables and keys of a stream scenario.

use crate::keys::{Forms, Key, Kind, LENGTHS, Plain, Table, optional, required};
use crate::options::policy_section;
use crate::stream::model::MAX_STREAMS;
use crate::stream::policies;

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "stream-scenario",
    doc: "A media server, the streams that it sends, and the policies that order them.",
    keys: &[
        required("server", Kind::Table(&SERVER), "{ rate = \"1 Gbit/s\" }", "The media server."),
        optional(
            "policy",
            Kind::Table(&POLICY),
            "every default below",
            "{ use = \"dwcs\" }",
            "How streams are scheduled.",
        ),
        required(
            "stream",
            Kind::Tables(&STREAM),
            "[{ name = \"audio\", tolerance = \"1/100\", gap = \"20 ms\" }]",
            "Classes of identical streams.",
        ),
    ],
};

/// `[server]`
pub static SERVER: Table = Table {
    name: "server",
    doc: "The media server, which sends packets one at a time, without preemption.",
    keys: &[
        optional(
            "rate",
            Kind::Rate,
            "derived from `service`; one of the two is needed",
            "\"1 Gbit/s\"",
            "Rate of the outgoing link: the service time of a packet is its bytes on the wire at this rate.",
        ),
        optional(
            "service",
            Kind::Time,
            "derived from `rate`",
            "\"10 us\"",
            "Transmission time of each packet regardless of its length, in place of a rate.",
        ),
        optional(
            "overhead",
            Kind::Size,
            "\"0 B\"",
            "\"78 B\"",
            "Bytes on the wire for each packet beyond its payload; 78 B for RTP over UDP, IPv4 \
             and Ethernet.",
        ),
        optional(
            "sockets",
            Kind::Whole(1, 1024),
            "1",
            "4",
            "Number of sockets from which a live server sends.",
        ),
        optional(
            "buffer",
            Kind::Table(&BUFFER),
            "64 packets",
            "{ packets = 64, bytes = \"100 kB\" }",
            "Queue limit of each stream; excess packets are dropped and counted.",
        ),
    ],
};

/// `buffer` of `[server]` and `[[stream]]`
pub static BUFFER: Table = Table {
    name: "queue",
    doc: "Queue limits of one stream.",
    keys: &[
        optional("packets", Kind::Whole(1, 1 << 20), "64", "64", "Most packets in the queue."),
        optional(
            "bytes",
            Kind::Size,
            "only the limit on packets",
            "\"100 kB\"",
            "Most bytes of payload in the queue.",
        ),
    ],
};

/// `[policy]`
pub static POLICY: Table = Table {
    name: "stream-policy",
    doc: "Which policies run, and their options.",
    keys: POLICY_KEYS,
};

policy_section! {
    POLICY_KEYS: policies::POLICIES, &[
        optional(
            "use",
            Kind::Policy(&policies::NAMES),
            "\"dwcs-tolerance-first\"",
            "\"dwcs-tolerance-first\"",
            "The policy of the server.",
        ),
        optional(
            "compare",
            Kind::Policies(&policies::NAMES),
            "none",
            "[\"edf\", \"fifo\"]",
            "Further policies that a simulation runs beside it, on the same arrivals.",
        ),
    ]
}

/// `[[stream]]`
pub static STREAM: Table = Table {
    name: "stream",
    doc: "A class of identical streams.",
    keys: &[
        required("name", Kind::Text, "\"audio\"", "Unique over all classes."),
        optional("count", Kind::Whole(1, MAX_STREAMS), "1", "100", "Number of streams."),
        optional(
            "tolerance",
            Kind::Tolerance,
            "derived from `application`; one of the two is needed",
            "\"1/80\"",
            "At most x packets lost or late in every y. \"0/1\" tolerates nothing, \"1/1\" \
             everything; \"0/0\" is served by deadlines alone, behind all that tolerate nothing.",
        ),
        optional(
            "gap",
            Kind::TimeOr(&["none"]),
            "derived from `application`; one of the two is needed",
            "\"20 ms\"",
            "Time between deadlines: a packet is due a gap after the previous one, and never \
             earlier than a gap after its arrival. A deadline is the latest \
             *start* of sending. \"none\": no deadlines, a priority by tolerance.",
        ),
        optional(
            "application",
            Kind::Table(&APPLICATION),
            "absent",
            "{ frames = \"25/s\", packets = 4, loss = \"1 %\", burst = 4 }",
            "Requirements of the application, in place of `tolerance` and `gap`.",
        ),
        optional(
            "droppable",
            Kind::Bool,
            "true",
            "false",
            "Whether a packet with an expired deadline is dropped. Otherwise it is sent late, \
             and each further gap of waiting counts as a miss.",
        ),
        optional(
            "packet",
            Kind::Forms(&LENGTHS),
            "\"1200 B\"",
            "\"200 B\"",
            "Packet lengths: the RTP payload. Normally distributed ones are clamped to four \
             deviations from the mean. For a media file, the largest payload.",
        ),
        optional(
            "source",
            Kind::Forms(&SOURCE),
            "a packet each gap; without a gap one is needed",
            "{ period = \"20 ms\", jitter = \"2 ms\" }",
            "Source of the packets.",
        ),
        optional(
            "buffer",
            Kind::Table(&BUFFER),
            "the server's",
            "{ packets = 256 }",
            "Queue limit of each of these streams.",
        ),
        optional(
            "destination",
            Kind::Address,
            "absent: none is sent",
            "\"192.0.2.7:5004\"",
            "Destination of the first stream of a live server; the others use the following ports.",
        ),
        optional(
            "port_step",
            Kind::Whole(0, 65_535),
            "2",
            "2",
            "Difference between the ports of consecutive streams; 0 sends all to one port, \
             distinguished by SSRC.",
        ),
        optional("payload_type", Kind::Whole(0, 127), "96", "111", "RTP payload type."),
        optional(
            "ssrc",
            Kind::Whole(0, u32::MAX),
            "drawn",
            "4096",
            "RTP synchronisation source of the first stream; the others follow in order.",
        ),
    ],
};

/// `application` of `[[stream]]`
pub static APPLICATION: Table = Table {
    name: "application",
    doc: "Requirements of an application.",
    keys: &[
        required("frames", Kind::Frequency, "\"25/s\"", "Frames a second."),
        optional("packets", Kind::Whole(1, 65_535), "1", "4", "Packets in a frame."),
        required("loss", Kind::Percent, "\"1 %\"", "Share of frames that may be lost."),
        optional(
            "burst",
            Kind::Whole(0, 65_535),
            "as `loss` allows",
            "4",
            "Consecutive frames that may be lost. At the end of one window and the start of the \
             next twice x can be lost, so x is half of this: below 2 nothing may be lost.",
        ),
    ],
};

const PHASE: Key = optional(
    "phase",
    Kind::Time,
    "drawn for each stream, so that they start apart",
    "\"0 s\"",
    "Start of the source; the same for all streams of the class.",
);

/// `source` of `[[stream]]`
pub static SOURCE: Forms = Forms {
    name: "stream source",
    article: "a",
    doc: "Source of a stream.",
    plain: Plain::Names(&["backlogged", "external"]),
    tables: &[
        Table {
            name: "periodic packets",
            doc: "One packet each period.",
            keys: &[
                required("period", Kind::Time, "\"20 ms\"", "Time between packets."),
                optional(
                    "jitter",
                    Kind::Time,
                    "\"0 s\"",
                    "\"2 ms\"",
                    "Each packet is delayed by a uniformly distributed time from zero to this.",
                ),
                PHASE,
            ],
        },
        Table {
            name: "bursts",
            doc: "Several packets at once: the packets of a frame, or of a disk block.",
            keys: &[
                required("burst", Kind::Whole(1, 65_535), "20", "Packets in a burst."),
                required("every", Kind::Time, "\"40 ms\"", "Time between bursts."),
                optional(
                    "spread",
                    Kind::Whole(0, 65_535),
                    "0",
                    "10",
                    "Uniformly distributed deviation from `burst`, which it must not reach.",
                ),
                PHASE,
            ],
        },
        Table {
            name: "talk and silence",
            doc: "Alternates; while on, one packet each period.",
            keys: &[
                required("period", Kind::Time, "\"20 ms\"", "Time between packets while on."),
                required("on", Kind::TimePair, "[\"1 s\", \"2 s\"]", "Drawn uniformly."),
                required("off", Kind::TimePair, "[\"1 s\", \"3 s\"]", "Drawn uniformly."),
            ],
        },
        Table {
            name: "media file",
            doc: "A file that a live server packetises: Ogg/Opus, H.264 Annex B or VP8 in IVF. \
                  A simulation sends a packet each gap in its place, with a note.",
            keys: &[
                required("file", Kind::Path, "\"music.opus\"", "Relative to this file's folder."),
                optional("repeat", Kind::Bool, "true", "false", "Repeat from the start."),
            ],
        },
    ],
};
