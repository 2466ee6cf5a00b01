//! The policies for streams, from their registry.

pub use laxity_dwcs::registry::{DWCS, POLICIES, STRUCTURES, Variant, find};

use crate::keys::Names;
use crate::keys::names;

/// Every policy that `policy.use` and `policy.compare` of a stream scenario accept.
pub(crate) static NAMES: Names =
    Names { of: "stream", policies: POLICIES, list: &names::<{ POLICIES.len() }>(POLICIES) };

/// The policy of a scenario that names none.
///
/// Streams of a server start when they like. Deadlines first then keeps no window but where
/// deadlines are aligned; tolerances first keeps them at any phase.
pub const DEFAULT_POLICY: &str = DWCS[1].info.name;
