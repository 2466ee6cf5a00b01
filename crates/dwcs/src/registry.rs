//! Every policy for streams by its one name.

use laxity_core::{
    Choice as _, Live, OptionInfo, OptionKind, OptionTable, PolicyInfo, Reference, Span, choices,
};

use crate::structure::{Buckets, Fastest, Heaps, List, Structure, Unsupported, Wheel};
use crate::{Options, Order, Rank, RuleA, RuleC, ZeroTie, baselines};

/// `check` as few packets apart as decisions within a budget of time allow.
pub const ADAPTIVE: &str = "adaptive";
/// `ahead` without bound.
pub const UNLIMITED: &str = "unlimited";

choices! {
    Order { "edf-first" => Order::DeadlineFirst, "tolerance-first" => Order::ToleranceFirst }
    RuleA { "rolling" => RuleA::Rolling, "printed" => RuleA::Printed }
    RuleC { "tag" => RuleC::Tag, "reset" => RuleC::Reset, "widen" => RuleC::Widen }
    ZeroTie { "deadline" => ZeroTie::Deadline, "first-come" => ZeroTie::FirstCome }
}

/// A reading of DWCS under a name of its own.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// How it describes itself.
    pub info: PolicyInfo,
    /// Its default options.
    pub options: fn() -> Options,
}

/// Structures that keep streams in order, by their one names. All decide alike.
pub const STRUCTURES: [&str; 5] =
    [Fastest::NAME, List::NAME, <Heaps<Rank> as Structure>::NAME, Buckets::NAME, Wheel::NAME];

/// Whether a structure of [`STRUCTURES`] supports the order of the options.
///
/// # Errors
/// When it does not, with a remedy.
pub fn keeps(structure: &str, options: &Options) -> Result<(), Unsupported> {
    fn try_<S: Structure>(rank: Rank) -> Result<(), Unsupported> {
        S::new(rank).map(drop)
    }
    let of = [try_::<Fastest>, try_::<List>, try_::<Heaps<Rank>>, try_::<Buckets>, try_::<Wheel>];
    let found = STRUCTURES.iter().zip(of).find(|(name, _)| **name == structure);
    found.map_or(Ok(()), |(_, keeps)| keeps(options.rank()))
}

const SOURCE: &str = "West, Schwan, Poellabauer, RTAS 1999";

/// The options of every reading of DWCS.
const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "order",
        kind: OptionKind::Choice(Order::NAMES),
        required: false,
        default: "the policy's own",
        example: "\"edf-first\"",
        summary: "primary order: deadlines or tolerances",
        reference: Some(Reference {
            default: "by the policy's name",
            doc: "Primary order: deadlines (the form of 2000 and 2004) or tolerances (the \
                  paper's Table 1).",
        }),
    },
    OptionInfo {
        name: "rule-a",
        kind: OptionKind::Choice(RuleA::NAMES),
        required: false,
        default: "the policy's own",
        example: "\"rolling\"",
        summary: "effect of a packet sent in time on its stream's window",
        reference: Some(Reference {
            default: "\"rolling\"; `dwcs-paper`: \"printed\"",
            doc: "Effect of a packet sent in time on the window. `rolling` makes windows \
                  consecutive and is needed for the guarantee; `printed` leaves a window of x \
                  = y unchanged until a miss.",
        }),
    },
    OptionInfo {
        name: "rule-c",
        kind: OptionKind::Choice(RuleC::NAMES),
        required: false,
        default: "the policy's own",
        example: "\"reset\"",
        summary: "effect of a miss on a window that tolerates none any more",
        reference: Some(Reference {
            default: "\"tag\"; `dwcs-paper`: \"reset\"",
            doc: "Effect of a miss on a window that tolerates none: urgent until served, a new \
                  window (method 2 of the paper), or a longer one (method 1).",
        }),
    },
    OptionInfo {
        name: "check-interval",
        kind: OptionKind::IntegerOr(1, u32::MAX, &[ADAPTIVE]),
        required: false,
        default: "1",
        example: "50",
        summary: "packets between deadline checks, or \"adaptive\"",
        reference: Some(Reference {
            default: "1",
            doc: "Number of packets between deadline checks. `adaptive`: as many as keep \
                  decisions within `decision-budget`, unless windows suffer; in simulations, where \
                  decisions take no time, 1.",
        }),
    },
    OptionInfo {
        name: "decision-budget",
        kind: OptionKind::Time(Span(1), Span(u64::MAX)),
        required: false,
        default: "1 us",
        example: "\"1 us\"",
        summary: "time that a decision may take on average, with an adaptive check",
        reference: Some(Reference {
            default: "\"1 us\"",
            doc: "Time that a decision may take on average under `check-interval = \"adaptive\"`.",
        }),
    },
    OptionInfo {
        name: "max-check-interval",
        kind: OptionKind::Integer(1, u32::MAX),
        required: false,
        default: "256",
        example: "256",
        summary: "most packets between two deadline checks, with an adaptive check",
        reference: Some(Reference {
            default: "256",
            doc: "Most packets between two deadline checks under `check-interval = \"adaptive\"`.",
        }),
    },
    OptionInfo {
        name: "check-before-service",
        kind: OptionKind::Bool,
        required: false,
        default: "the policy's own",
        example: "true",
        summary: "check the deadlines of the chosen stream just before it is served",
        reference: Some(Reference {
            default: "true; `dwcs-paper`: false",
            doc: "Check the deadlines of the chosen stream just before it is served; without \
                  effect unless `check-interval` is above 1.",
        }),
    },
    OptionInfo {
        name: "max-ahead",
        kind: OptionKind::IntegerOr(1, u32::MAX, &[UNLIMITED]),
        required: false,
        default: "the policy's own",
        example: "2",
        summary: "most gaps before its deadline at which a packet may be sent, or \"unlimited\"",
        reference: Some(Reference {
            default: "1; `dwcs-paper`: \"unlimited\"",
            doc: "Most gaps before its deadline at which a packet may be sent. Working far \
                  ahead for some streams makes others miss deadlines.",
        }),
    },
    OptionInfo {
        name: "align-deadlines",
        kind: OptionKind::Bool,
        required: false,
        default: "false",
        example: "true",
        summary: "align deadlines to multiples of the gap",
        reference: Some(Reference {
            default: "false",
            doc: "Align deadlines to multiples of the gap: a packet that arrives at an empty \
                  queue may be sent, and is due, up to a gap later. With deadlines first, the \
                  guarantee needs it unless streams start together.",
        }),
    },
    OptionInfo {
        name: "structure",
        kind: OptionKind::Choice(&STRUCTURES),
        required: false,
        default: "fastest",
        example: "\"heaps\"",
        summary: "data structure that orders the streams; all decide alike",
        reference: Some(Reference {
            default: "\"fastest\"",
            doc: "Data structure that orders the streams. All decide alike and differ in cost; \
                  `wheel` needs deadlines first, `buckets` tolerances first.",
        }),
    },
    OptionInfo {
        name: "zero-tie",
        kind: OptionKind::Choice(ZeroTie::NAMES),
        required: false,
        default: "the policy's own",
        example: "\"deadline\"",
        summary: "order of two streams that tolerate no more losses",
        reference: Some(Reference {
            default: "\"deadline\"; `dwcs-paper`: \"first-come\"",
            doc: "Order of two streams that tolerate no more losses in equally long windows.",
        }),
    },
];

const fn options_table(
    key: &'static str,
    default: &'static str,
    example: &'static str,
) -> OptionTable {
    let doc = "Options of dynamic window-constrained scheduling.";
    OptionTable::Own { schema: "dwcs", doc, key, default, example }
}

/// The readings of DWCS.
pub const DWCS: [Variant; 3] = [
    Variant {
        info: PolicyInfo {
            name: "dwcs",
            summary: "earliest deadline first, of equal ones the stream that tolerates least: \
                      keeps losses within windows where admission promises it",
            source: "West, Zhang, Schwan, Poellabauer, IEEE Trans. Computers 2004",
            keeps_deadlines: true,
            live: &[Live::MediaServer],
            options: OPTIONS,
            table: options_table(
                "Options of the policy `dwcs`.",
                "as recommended",
                "{ check-interval = \"adaptive\" }",
            ),
        },
        options: Options::default,
    },
    Variant {
        info: PolicyInfo {
            name: "dwcs-tolerance-first",
            summary: "lowest tolerance first, no stream more than a gap ahead: keeps windows \
                      whenever streams start, and fails least where gaps differ",
            source: SOURCE,
            keeps_deadlines: true,
            live: &[Live::MediaServer],
            options: OPTIONS,
            table: options_table(
                "Options of the policy `dwcs-tolerance-first`.",
                "as recommended",
                "{ max-ahead = 2 }",
            ),
        },
        options: Options::tolerance_first,
    },
    Variant {
        info: PolicyInfo {
            name: "dwcs-paper",
            summary: "DWCS as first published: lowest tolerance first, streams work ahead \
                      without bound",
            source: SOURCE,
            keeps_deadlines: false,
            live: &[Live::MediaServer],
            options: OPTIONS,
            table: options_table(
                "Options of the policy `dwcs-paper`.",
                "as in the paper",
                "{ check-interval = 50 }",
            ),
        },
        options: Options::paper,
    },
];

/// How many there are in all.
const COUNT: usize = DWCS.len() + baselines::POLICIES.len();

/// Every policy, baselines last. All of them drop or keep late packets as the streams specify, so they
/// differ in order alone.
pub const POLICIES: &[PolicyInfo] = &{
    let mut all = [DWCS[0].info; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = if i < DWCS.len() { DWCS[i].info } else { baselines::POLICIES[i - DWCS.len()] };
        i += 1;
    }
    all
};

/// The policy of a name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|p| p.name == name)
}
