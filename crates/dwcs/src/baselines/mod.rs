//! Other policies for the same streams, to compare with: each a different [`Precedence`] in the
//! paper's heaps, so that joins, deadlines, drops and statistics are those of the
//! [`Scheduler`](crate::Scheduler) and nothing but the order differs.
//!
//! They know no windows; the scheduler still follows them, so `rule_c` of
//! [`Measures`](crate::Measures) says what DWCS would have counted. Of [`Options`](crate::Options)
//! they heed `check`, `settle`, `align` and `ahead`. `ahead: None` is what their authors describe:
//! a free server never waits.

mod dbp;
mod edf;
mod fifo;
mod static_priority;
mod wfq;

pub use dbp::Dbp;
pub use edf::Edf;
pub use fifo::Fifo;
pub use static_priority::StaticPriority;
pub use wfq::Wfq;

use laxity_core::PolicyInfo;

use crate::structure::{Heaps, Precedence};

/// The structure of a baseline: `Scheduler<Baseline<Edf>>` is a scheduler by deadline alone.
pub type Baseline<P> = Heaps<P>;

/// Takes a policy in its own type, so that a simulation of it is monomorphic.
pub trait Visitor {
    /// The result of the visit.
    type Output;
    /// Takes the policy.
    fn visit<P: Precedence + Send + 'static>(self) -> Self::Output;
}

macro_rules! baselines {
    ($($baseline:ident)+) => {
        /// All baselines.
        pub const POLICIES: &[PolicyInfo] = &[$($baseline::INFO),+];

        /// Hands the policy of a name to `visitor`; `None` when no baseline has this name.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == $baseline::INFO.name {
                return Some(visitor.visit::<$baseline>());
            })+
            None
        }
    };
}

// A new one is a file and an entry in this list.
baselines! { Fifo Edf StaticPriority Wfq Dbp }

#[cfg(test)]
mod tests;
