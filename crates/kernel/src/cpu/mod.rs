//! The CPUs' scheduler in the kernel: sched_ext with the servers of [`laxity_cpu::servers`].
//!
//! `bpf/include/laxity/servers.h` decides as they do, each CPU for itself; `bpf/scx` tells it what
//! happens.

pub mod rules;

pub use rules::CpuRules;
