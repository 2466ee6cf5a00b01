//! The link policies, from their registry.

use laxity_link::assign::{Assigner as _, Exact};
use laxity_link::registry;

use crate::keys::{Names, names};

/// Every policy that `policy.use` and `policy.compare` accept.
pub const POLICIES: &[&str] = &names::<{ registry::POLICIES.len() }>(registry::POLICIES);

/// The same for the table of keys.
pub(crate) static NAMES: Names = Names { of: "link", policies: registry::POLICIES, list: POLICIES };

/// The policy of a scenario that names none.
pub const DEFAULT_POLICY: &str = Exact::INFO.name;
