//! The CPUs' scheduler in the kernel: sched_ext with the servers of [`laxity_cpu::servers`].
//!
//! `bpf/include/laxity/servers.h` decides as they do, each CPU for itself; `bpf/scx` tells it what
//! happens. The scheduler is pinned in the BPF file system, so it outlives the process that loaded it and is
//! gone when its pins are.

mod cores;
mod deadline_server;
mod error;
#[cfg(feature = "kernel")]
#[doc(hidden)]
pub mod fault;
#[cfg(feature = "kernel")]
mod libbpf_log;
#[cfg(feature = "kernel")]
mod load;
mod places;
mod policy;
mod quota;
pub mod record;
pub mod replay;
#[cfg(feature = "kernel")]
mod requests;
mod reservation_backend;
mod reservations;
pub mod rules;
#[cfg(feature = "kernel")]
mod scheduler_client;
#[cfg(feature = "kernel")]
mod system;

pub use cores::Cores;
pub use deadline_server::DeadlineServer;
#[cfg(feature = "kernel")]
pub use deadline_server::deadline_server;
pub use error::CpuError;
pub use laxity_scenario::cpu::model::{MAX_OVERHEAD, Overheads};
pub use places::{CpuLocation, places};
pub use policy::{Policy, policies};
pub use quota::Quota;
pub use reservation_backend::{
    MAX_ATTEMPTS, ReservationBackend, ReservationStatus, ReservationTable, ReserveOutcome,
    reserve_with_retry,
};
pub use reservations::{PlacedReservation, ReservationRequest, check, place, place_on_cores};
pub use rules::CpuRules;

#[cfg(feature = "kernel")]
mod live;
#[cfg(feature = "kernel")]
mod status_monitor;
#[cfg(feature = "kernel")]
pub use live::{CpuStatus, Inferred, Status, down, up, up_recorded, verify};
#[cfg(feature = "kernel")]
pub use scheduler_client::{SchedulerClient, release, reserve};
#[cfg(feature = "kernel")]
pub use status_monitor::{StatusMonitor, status};
#[cfg(feature = "kernel")]
pub use system::{quota, quotas};
