//! The names of the link policies, from their registry.

use laxity_link::registry;

use crate::keys::Names;

const LIST: [&str; registry::POLICIES.len()] = {
    let mut names = [""; registry::POLICIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = registry::POLICIES[i].name;
        i += 1;
    }
    names
};

/// Every policy that `policy.use` and `policy.compare` accept.
pub const POLICIES: &[&str] = &LIST;

/// The same for the table of keys.
pub(crate) static NAMES: Names = Names { of: "link", list: POLICIES };

/// The policy of a scenario that names none.
pub const DEFAULT_POLICY: &str = "exact";
