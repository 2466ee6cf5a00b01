//! The CPUs' scheduler in the kernel: sched_ext with the servers of [`laxity_cpu::servers`].
//!
//! `bpf/include/laxity/servers.h` decides as they do, each CPU for itself; `bpf/scx` tells it what
//! happens. The scheduler is pinned in the BPF file system, so it outlives the process that loaded it and is
//! gone when its pins are.

#[cfg(feature = "kernel")]
mod desk;
mod error;
mod keeper;
#[cfg(feature = "kernel")]
mod load;
mod policy;
pub mod record;
#[cfg(feature = "kernel")]
mod requests;
mod reservations;
pub mod rules;
#[cfg(feature = "kernel")]
mod system;
#[cfg(feature = "kernel")]
mod words;

pub use error::CpuError;
pub use keeper::{Attempt, Keeper, Reserved, SETTLING, Table, settle};
pub use policy::{POLICIES, Policy};
pub use reservations::{Held, Wish, check, place};
pub use rules::CpuRules;

#[cfg(feature = "kernel")]
mod live;
#[cfg(feature = "kernel")]
mod watch;
#[cfg(feature = "kernel")]
pub use desk::{Desk, release, reserve};
#[cfg(feature = "kernel")]
pub use live::{CpuStatus, Inferred, Status, down, up, up_recorded, verify};
#[cfg(feature = "kernel")]
pub use watch::{Watch, status};
