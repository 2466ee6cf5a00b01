//! The CPU policies, from their registry.

pub use laxity_cpu::registry::POLICIES;

use crate::keys::Names;
use crate::keys::names;

/// Every policy that `policy.use` and `policy.compare` of a CPU scenario accept.
pub(crate) static NAMES: Names =
    Names { of: "cpu", policies: POLICIES, list: &names::<{ POLICIES.len() }>(POLICIES) };

/// The policy of a scenario that names none.
pub const DEFAULT_POLICY: &str = laxity_cpu::bebs::INFO.name;
