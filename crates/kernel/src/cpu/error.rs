//! Why CPUs could not be taken over, looked at or given back.

use std::fmt;
use std::io;

use laxity_cpu::Refusal;

use super::rules::NotInKernel;

/// What went wrong, with the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum CpuError {
    /// The policy is unknown, or the kernel does not run it.
    Policy {
        /// What was asked for.
        name: String,
        /// Why not.
        why: Option<NotInKernel>,
    },
    /// A reservation was refused.
    Refused {
        /// By whom, where there are several CPUs.
        cpu: u32,
        /// Why, by how much, and what would fit.
        refusal: Refusal,
    },
    /// The scheduler has it otherwise than was asked for.
    State(&'static str),
    /// A reservation that makes no sense on live CPUs.
    Unusable(&'static str),
    /// The CPUs that the task may use rule it out.
    Affinity(&'static str),
    /// The task has a reservation already.
    HasOne,
    /// The task has no reservation.
    HasNone,
    /// The task's reservation is not in force yet.
    Pending,
    /// What was released is still in use.
    Settling,
    /// There are as many reservations as there can be.
    NoPlace,
    /// There is no such task.
    NoTask {
        /// Its number.
        pid: u32,
    },
    /// Another scheduler is loaded.
    Occupied {
        /// Its name.
        name: String,
    },
    /// The scheduler is up already.
    Up,
    /// The scheduler is not up.
    Down,
    /// It was up, and the kernel took it away.
    Ended {
        /// Why, in the kernel's words.
        why: String,
    },
    /// The kernel has no sched_ext.
    NoKernel,
    /// There is no BPF file system in which the scheduler could be pinned, or none is seen.
    NoFileSystem,
    /// It was brought up by another version of this program.
    Other,
    /// The type information of the kernel cannot be used.
    Types {
        /// What the kernel or libbpf said.
        why: String,
    },
    /// The caller may not do this.
    NotPermitted {
        /// What it tried.
        what: &'static str,
    },
    /// The kernel refused.
    Kernel {
        /// What.
        what: &'static str,
        /// Its answer, and for programs what the verifier said.
        why: String,
    },
    /// Files of the scheduler cannot be made, read or removed.
    Io {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuError::Policy { name, why: Some(why) } => write!(f, "policy `{name}`: {why}"),
            CpuError::Policy { name, why: None } => write!(
                f,
                "there is no policy `{name}` for live CPUs; there are {}",
                super::POLICIES.join(", ")
            ),
            CpuError::Refused { cpu, refusal } => write!(f, "CPU {cpu}: {refusal}"),
            CpuError::State(text) | CpuError::Unusable(text) | CpuError::Affinity(text) => {
                f.write_str(text)
            }
            CpuError::HasOne => f.write_str("the task has a reservation; release it first"),
            CpuError::HasNone => f.write_str("the task has no reservation"),
            CpuError::Pending => f.write_str("its reservation is not in force yet; try again"),
            CpuError::Settling => {
                f.write_str("what was released is still in use; try again in a second")
            }
            CpuError::NoPlace => f.write_str("there is no place for another reservation"),
            CpuError::NoTask { pid } => write!(f, "there is no task {pid} that it schedules"),
            CpuError::Occupied { name } => {
                write!(f, "the sched_ext scheduler `{name}` is loaded; stop it first")
            }
            CpuError::Up => f.write_str("the scheduler is up already, with this policy"),
            CpuError::Down => f.write_str("the scheduler is not up; `laxity cpu up` starts it"),
            CpuError::Ended { why } => write!(
                f,
                "the kernel took the scheduler away ({why}) and runs its own; `laxity cpu down` \
                 clears it, `laxity cpu up` starts it again"
            ),
            CpuError::NoKernel => f.write_str(
                "this kernel has no sched_ext: Linux 6.18 or later with CONFIG_SCHED_CLASS_EXT, \
                 CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF has it",
            ),
            CpuError::NoFileSystem => {
                f.write_str("there is no BPF file system; mount it: mount -t bpf bpf /sys/fs/bpf")
            }
            CpuError::Other => f.write_str(
                "the scheduler was brought up by another version of laxity; \
                 `laxity cpu down` and `laxity cpu up` give it this one",
            ),
            CpuError::Types { why } => write!(
                f,
                "this kernel's type information (/sys/kernel/btf/vmlinux) cannot be used, as in \
                 Debian's 7.1.13 and 7.2.12; run another version of the kernel: {why}"
            ),
            CpuError::NotPermitted { what } => write!(
                f,
                "not permitted to {what}: it takes root, or the capabilities CAP_BPF, CAP_PERFMON \
                 and CAP_SYS_ADMIN, and files that may be written in /sys/fs/bpf and /run"
            ),
            CpuError::Kernel { what, why } => write!(f, "the kernel does not {what}: {why}"),
            CpuError::Io { path, error } => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for CpuError {}

impl From<Refusal> for CpuError {
    fn from(refusal: Refusal) -> CpuError {
        CpuError::Refused { cpu: 0, refusal }
    }
}

/// Why a file of the scheduler could not be used.
#[cfg(feature = "kernel")]
pub(super) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> CpuError {
    let path = path.display().to_string();
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            CpuError::NotPermitted { what: "use the scheduler's files" }
        }
        _ => CpuError::Io { path, error },
    }
}
