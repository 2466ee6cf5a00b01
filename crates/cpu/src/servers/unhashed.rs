//! Numbers for records.

use core::hash::{Hash, Hasher};

/// A number that decides nothing: it is no part of the state that is hashed, by which searches know states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unhashed(pub u64);

impl Hash for Unhashed {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
