//! The options of CPU policies as tables of keys, made from the policies' own descriptions.

use laxity_core::{OptionInfo, OptionKind};
use laxity_cpu::{
    bebs, bebs_credit, berate, best, cbs, edf, eevdf, iris, iris_naive, linux_2_4, posix,
    sched_deadline,
};

use crate::keys::optional;
use crate::keys::{Key, Kind, Table};

/// Whole numbers are thousandths; the policies know closer bounds where there are any.
const MOST: u32 = 100_000;

/// A key for each option, each with an example.
const fn keys<const N: usize>(
    options: &'static [OptionInfo],
    examples: [&'static str; N],
) -> [Key; N] {
    assert!(options.len() == N, "an example for each option");
    let mut keys = [const { optional("", Kind::Bool, "", "", "") }; N];
    let mut i = 0;
    while i < N {
        let OptionInfo { name, kind, default, summary } = options[i];
        let kind = match kind {
            OptionKind::Bool => Kind::Bool,
            OptionKind::Rate => Kind::Rate,
            OptionKind::RatePair => Kind::RatePair,
            OptionKind::Time => Kind::Time,
            OptionKind::Integer => Kind::Whole(0, MOST),
            OptionKind::Choice(names) => Kind::Choice(names),
        };
        keys[i] = optional(name, kind, default, examples[i], summary);
        i += 1;
    }
    keys
}

macro_rules! options {
    ($($table:ident of $policy:literal, $info:path: $($example:literal)+;)+) => { $(
        /// The table of this name in `[policy]`
        pub(super) static $table: Table = Table {
            name: concat!("cpu ", $policy),
            doc: concat!("Options of the policy `", $policy, "`."),
            keys: &keys($info.options, [$($example),+]),
        };
    )+ };
}

options! {
    BEBS of "bebs", bebs::INFO: "\"job\"" "\"10 ms\"" "500" "\"10 us\"" "\"100 ms\""
        "\"budget\"" "100" "\"live\"" "\"zero-lag\"" "50";
    BEBS_CREDIT of "bebs-credit", bebs_credit::INFO: "\"job\"" "\"10 ms\"" "1000" "\"10 us\""
        "\"200 ms\"" "100" "\"500 ms\"" "50";
    EDF of "edf", edf::INFO: "50";
    CBS of "cbs", cbs::INFO: "\"40 ms\"" "50";
    IRIS of "iris", iris::INFO: "\"40 ms\"" "50";
    IRIS_NAIVE of "iris-naive", iris_naive::INFO: "\"100 ms\"" "50";
    BERATE of "berate", berate::INFO: "\"old-deadline\"" "\"live\"" "\"800-hz-x8\"";
    BEST of "best", best::INFO: "\"800-hz-x8\"";
    LINUX_2_4 of "linux-2.4", linux_2_4::INFO: "\"100-hz\"" "\"kernel\"";
    EEVDF of "eevdf", eevdf::INFO: "\"2.8 ms\"" "\"1 ms\"";
    POSIX of "posix", posix::INFO: "\"linux-2.6\"";
    SCHED_DEADLINE of "sched-deadline", sched_deadline::INFO: "true" "\"eevdf\"";
}
