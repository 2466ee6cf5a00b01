//! The names of the link policies, from their registry.

use laxity_link::registry;

const NAMES: [&str; registry::POLICIES.len()] = {
    let mut names = [""; registry::POLICIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = registry::POLICIES[i].name;
        i += 1;
    }
    names
};

/// Every policy that `policy.use` and `policy.compare` accept.
pub const POLICIES: &[&str] = &NAMES;

/// The policy of a scenario that names none.
pub const DEFAULT_POLICY: &str = "exact";
