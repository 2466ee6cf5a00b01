//! IRIS without declared parameters: equal periods for all.

use laxity_core::{OptionInfo, PolicyInfo};

use crate::cbs::Options;
use crate::iris;
use crate::servers::{Servers, describe};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "iris-naive",
    summary: "IRIS with the same period for all servers and equal shares by weight.",
    source: "BEBS, section 6",
    keeps_deadlines: true,
    live: &[],
    options: &[
        OptionInfo { example: "\"100 ms\"", ..describe::EQUAL },
        describe::MIN_BEST_EFFORT_BW,
    ],
    table: options_table!("iris-naive", "{ period = \"100 ms\" }"),
};

/// IRIS that disregards the budgets and periods that soft tasks declare.
pub fn new(options: &Options) -> Servers {
    Servers::new(iris::rules(options, false))
}
