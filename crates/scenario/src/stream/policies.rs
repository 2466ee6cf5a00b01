//! Every policy for streams by its one name.

use laxity_core::{OptionInfo, OptionKind, PolicyInfo};
use laxity_stream::structure::{Buckets, Fastest, Heaps, List, Structure, Unsupported, Wheel};
use laxity_stream::{Options, Rank, baselines};

use crate::keys::Names;

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
pub(crate) fn keeps(structure: &str, options: &Options) -> Result<(), Unsupported> {
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
        kind: OptionKind::Choice(&["edf-first", "tolerance-first"]),
        default: "the policy's own",
        summary: "primary order: deadlines or tolerances",
    },
    OptionInfo {
        name: "rule-a",
        kind: OptionKind::Choice(&["rolling", "printed"]),
        default: "the policy's own",
        summary: "effect of a packet sent in time on its stream's window",
    },
    OptionInfo {
        name: "rule-c",
        kind: OptionKind::Choice(&["tag", "reset", "widen"]),
        default: "the policy's own",
        summary: "effect of a miss on a window that tolerates none any more",
    },
    OptionInfo {
        name: "check",
        kind: OptionKind::Integer,
        default: "1",
        summary: "packets between deadline checks, or \"adaptive\"",
    },
    OptionInfo {
        name: "budget",
        kind: OptionKind::Time,
        default: "1 us",
        summary: "time that a decision may take on average, with an adaptive check",
    },
    OptionInfo {
        name: "check-most",
        kind: OptionKind::Integer,
        default: "256",
        summary: "most packets between two deadline checks, with an adaptive check",
    },
    OptionInfo {
        name: "settle",
        kind: OptionKind::Bool,
        default: "the policy's own",
        summary: "check the deadlines of the chosen stream just before it is served",
    },
    OptionInfo {
        name: "ahead",
        kind: OptionKind::Integer,
        default: "the policy's own",
        summary: "most gaps before its deadline at which a packet may be sent, or \"unlimited\"",
    },
    OptionInfo {
        name: "align",
        kind: OptionKind::Bool,
        default: "false",
        summary: "align deadlines to multiples of the gap",
    },
    OptionInfo {
        name: "structure",
        kind: OptionKind::Choice(&STRUCTURES),
        default: "fastest",
        summary: "data structure that orders the streams; all decide alike",
    },
    OptionInfo {
        name: "zero-tie",
        kind: OptionKind::Choice(&["deadline", "first-come"]),
        default: "the policy's own",
        summary: "order of two streams that tolerate no more losses",
    },
];

/// The readings of DWCS.
pub const DWCS: [Variant; 3] = [
    Variant {
        info: PolicyInfo {
            name: "dwcs",
            summary: "earliest deadline first, of equal ones the stream that tolerates least: \
                      keeps losses within windows where admission promises it",
            source: "West, Zhang, Schwan, Poellabauer, IEEE Trans. Computers 2004",
            keeps_deadlines: true,
            options: OPTIONS,
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
            options: OPTIONS,
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
            options: OPTIONS,
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

const LIST: [&str; COUNT] = {
    let mut names = [""; POLICIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = POLICIES[i].name;
        i += 1;
    }
    names
};

/// Every policy that `policy.use` and `policy.compare` of a stream scenario accept.
pub(crate) static NAMES: Names = Names { of: "stream", list: &LIST };

/// The policy of a scenario that names none.
///
/// Streams of a server start when they like. Deadlines first then keeps no window but where
/// deadlines are aligned; tolerances first keeps them at any phase.
pub const DEFAULT_POLICY: &str = DWCS[1].info.name;

/// The policy of a name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|p| p.name == name)
}
