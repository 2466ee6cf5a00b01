//! The names of the CPU policies, from their registry.

pub use laxity_cpu::registry::POLICIES;

use crate::keys::Names;

const LIST: [&str; POLICIES.len()] = {
    let mut names = [""; POLICIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = POLICIES[i].name;
        i += 1;
    }
    names
};

/// Every policy that `policy.use` and `policy.compare` of a CPU scenario accept.
pub(crate) static NAMES: Names = Names { of: "cpu", list: &LIST };

/// The policy of a scenario that names none.
pub const DEFAULT_POLICY: &str = laxity_cpu::bebs::INFO.name;
