//! The options of each discipline and class, with their units. An option outside is an error.

/// How an option is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// JSON bytes/s, text bit/s with a unit.
    Rate,
    /// Bytes; in text with a unit.
    Size,
    /// JSON microseconds, text with a unit.
    Micros,
    /// A whole number, in text perhaps with `p` for packets.
    Count,
    /// A whole number with a sign.
    Signed,
    /// Hexadecimal; in JSON a string.
    Hex,
    /// A word.
    Word,
    /// A name without value; in JSON a value of any kind.
    Flag,
    /// Whole numbers.
    List,
    /// `m1`, `d`, `m2`.
    Curve,
    /// Queues of traffic classes.
    Queues,
    /// Gate entries.
    Gates,
    /// Of no interest: any JSON, in text all tokens up to the next option.
    Any,
}

use Unit::*;

/// The options of a discipline, by name with `_` for `-`; `None` for a kind that is not read.
pub fn of_qdisc(kind: &str) -> Option<&'static [(&'static str, Unit)]> {
    Some(match kind {
        "hfsc" => &[("default", Hex)],
        "htb" => &[
            ("r2q", Count),
            ("default", Hex),
            ("direct_packets_stat", Count),
            ("direct_qlen", Count),
            ("ver", Word),
            ("offload", Flag),
        ],
        "prio" => &[("bands", Count), ("priomap", List), ("multiqueue", Flag)],
        "tbf" => &[
            ("rate", Rate),
            ("burst", Size),
            ("peakrate", Rate),
            ("minburst", Size),
            ("mtu", Size),
            ("mpu", Size),
            ("lat", Micros),
            ("limit", Size),
            ("overhead", Signed),
            ("linklayer", Word),
        ],
        "cbs" => &[
            ("hicredit", Signed),
            ("locredit", Signed),
            ("sendslope", Signed),
            ("idleslope", Signed),
            ("offload", Count),
        ],
        "etf" => &[
            ("clockid", Word),
            ("delta", Count),
            ("offload", Word),
            ("deadline_mode", Word),
            ("skip_sock_check", Word),
        ],
        "taprio" => &[
            ("tc", Count),
            ("map", List),
            ("queues", Queues),
            ("clockid", Word),
            ("flags", Hex),
            ("txtime_delay", Count),
            ("base_time", Signed),
            ("cycle_time", Count),
            ("cycle_time_extension", Count),
            ("schedule", Gates),
            ("max_sdu", List),
            ("fp", Any),
        ],
        "mqprio" => &[
            ("tc", Count),
            ("map", List),
            ("queues", Queues),
            ("mode", Word),
            ("shaper", Word),
            ("min_rate", Any),
            ("max_rate", Any),
            ("fp", Any),
        ],
        "fq" => &[
            ("limit", Count),
            ("flow_limit", Count),
            ("buckets", Count),
            ("orphan_mask", Count),
            ("bands", Count),
            ("priomap", List),
            ("weights", List),
            ("quantum", Size),
            ("initial_quantum", Size),
            ("maxrate", Rate),
            ("low_rate_threshold", Rate),
            ("refill_delay", Micros),
            ("timer_slack", Any),
            ("horizon", Any),
            ("horizon_drop", Flag),
            ("horizon_cap", Flag),
            ("offload_horizon", Any),
            ("ce_threshold", Any),
        ],
        "fq_codel" => &[
            ("limit", Count),
            ("flows", Count),
            ("quantum", Count),
            ("target", Micros),
            ("ce_threshold", Any),
            ("interval", Micros),
            ("memory_limit", Size),
            ("ecn", Flag),
            ("drop_batch", Count),
        ],
        "cake" => &[
            ("bandwidth", Rate),
            ("diffserv", Word),
            ("flowmode", Word),
            ("nat", Flag),
            ("wash", Flag),
            ("ingress", Flag),
            ("ack_filter", Flag),
            ("split_gso", Flag),
            ("rtt", Micros),
            ("raw", Flag),
            ("atm", Flag),
            ("overhead", Signed),
            ("mpu", Count),
            ("fwmark", Hex),
            ("memlimit", Size),
            ("autorate", Flag),
            ("autorate_ingress", Flag),
        ],
        "drr" | "qfq" | "noqueue" | "mq" => &[],
        "ets" => &[("bands", Count), ("strict", Count), ("quanta", List), ("priomap", List)],
        "pfifo" | "pfifo_head_drop" => &[("limit", Count)],
        "bfifo" => &[("limit", Size)],
        "pfifo_fast" => &[("bands", Count), ("priomap", List), ("multiqueue", Flag)],
        _ => return None,
    })
}

/// The options of a size table, by which a discipline counts packets (`stab`).
pub const SIZE_TABLE: &[(&str, Unit)] = &[
    ("stab_linklayer", Word),
    ("stab_overhead", Signed),
    ("stab_mpu", Count),
    ("stab_mtu", Count),
    ("stab_tsize", Count),
];

/// The options of a class.
pub fn of_class(kind: &str) -> Option<&'static [(&'static str, Unit)]> {
    Some(match kind {
        "hfsc" => &[("rt", Curve), ("ls", Curve), ("ul", Curve), ("sc", Curve)],
        "htb" => &[
            ("prio", Count),
            ("quantum", Count),
            ("rate", Rate),
            ("overhead", Signed),
            ("ceil", Rate),
            ("linklayer", Word),
            ("burst", Size),
            ("cburst", Size),
            ("mpu", Size),
            ("level", Count),
        ],
        "drr" => &[("quantum", Size)],
        "ets" => &[("quantum", Count)],
        "qfq" => &[("weight", Count), ("maxpkt", Count)],
        "prio" | "tbf" | "cbs" | "etf" | "mqprio" | "taprio" | "cake" | "fq" | "fq_codel"
        | "mq" => &[],
        _ => return None,
    })
}

/// Words of CAKE's text that stand for an option without its name.
pub fn cake_word(word: &str) -> bool {
    matches!(
        word,
        "besteffort"
            | "diffserv3"
            | "diffserv4"
            | "diffserv8"
            | "precedence"
            | "flowblind"
            | "srchost"
            | "dsthost"
            | "hosts"
            | "flows"
            | "dual-srchost"
            | "dual-dsthost"
            | "triple-isolate"
            | "nonat"
            | "nowash"
            | "no-ack-filter"
            | "ack-filter-aggressive"
            | "no-split-gso"
            | "noatm"
            | "atm"
            | "ptm"
            | "unlimited"
            | "autorate-ingress"
    )
}
