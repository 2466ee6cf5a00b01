//! Errors of the scheduler of live CPUs.

use std::fmt;
use std::io;

use laxity_core::Span;
use laxity_cpu::{Refusal, Reservation};

use super::Quota;
use super::rules::NotInKernel;

/// An error; its text names the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum CpuError {
    /// The policy is unknown, or the kernel does not run it.
    Policy {
        /// The name that was given.
        name: String,
        /// Why the kernel does not run it.
        why: Option<NotInKernel>,
    },
    /// An option of the policy is unknown, or has a value that it does not take.
    Option {
        /// The policy.
        policy: String,
        /// The option.
        option: String,
        /// What is wrong, and which values it takes.
        why: String,
    },
    /// A reservation was refused.
    Refused {
        /// The CPU, where there are several.
        cpu: u32,
        /// The reason, by how much, and the largest runtime that fits, which is without overhead.
        refusal: Refusal,
        /// What is added to the runtime for switches and the release.
        overhead: Span,
    },
    /// The state of the system does not allow the operation.
    State(&'static str),
    /// The reservation is invalid on live CPUs.
    Invalid(&'static str),
    /// The affinity of the task rules it out.
    Affinity(&'static str),
    /// The reservation exceeds `cpu.max` of the task's control group.
    Quota {
        /// What was asked for.
        reservation: Reservation,
        /// The limit.
        quota: Quota,
    },
    /// The task is already reserved.
    AlreadyReserved,
    /// The task is not reserved.
    NotReserved,
    /// The task's reservation is not in force yet.
    Pending,
    /// Released bandwidth has not drained yet.
    Draining,
    /// The table of reservations is full.
    TableFull,
    /// The task does not exist.
    NoTask {
        /// Its PID.
        pid: u32,
    },
    /// Another sched_ext scheduler is running.
    OtherScheduler {
        /// Its name.
        name: String,
    },
    /// The scheduler is already running with this policy.
    AlreadyRunning,
    /// The scheduler is not running.
    NotRunning,
    /// The kernel ended the scheduler.
    Ejected {
        /// The reason that the kernel gives.
        why: String,
    },
    /// The kernel has no sched_ext.
    NoKernel,
    /// The BPF file system, in which the scheduler is pinned, is not mounted.
    NoFileSystem,
    /// Another version of this program started the scheduler.
    OtherVersion,
    /// The type information of the kernel cannot be used.
    Types {
        /// The message of the kernel or libbpf.
        why: String,
    },
    /// The caller may not do this.
    NotPermitted {
        /// The operation.
        what: &'static str,
    },
    /// A system call or control program failed.
    Kernel {
        /// The operation.
        what: &'static str,
        /// The error, for programs with the log of the verifier.
        why: String,
    },
    /// A file of the scheduler cannot be created, read or removed.
    Io {
        /// The file.
        path: String,
        /// The error.
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
                super::policies().collect::<Vec<_>>().join(", ")
            ),
            CpuError::Option { policy, option, why } => {
                write!(f, "option `{option}` of policy `{policy}`: {why}")
            }
            CpuError::Refused { cpu, refusal, overhead } => {
                write!(f, "CPU {cpu}: {refusal}")?;
                match *overhead {
                    Span::ZERO => Ok(()),
                    overhead => write!(f, "; overheads add {overhead} to each budget"),
                }
            }
            CpuError::State(text) | CpuError::Invalid(text) | CpuError::Affinity(text) => {
                f.write_str(text)
            }
            CpuError::Quota { reservation, quota } => write!(
                f,
                "{reservation} is more than cpu.max allows the control group {quota}; raise that, or \
                 reserve at most {}",
                quota.max_runtime(reservation.period)
            ),
            CpuError::AlreadyReserved => f.write_str("the task has a reservation; release it first"),
            CpuError::NotReserved => f.write_str("the task has no reservation"),
            CpuError::Pending => f.write_str("its reservation is not in force yet; try again"),
            CpuError::Draining => {
                f.write_str("released bandwidth is still in use; try again in a second")
            }
            CpuError::TableFull => f.write_str("the table of reservations is full"),
            CpuError::NoTask { pid } => write!(f, "there is no task {pid} that it schedules"),
            CpuError::OtherScheduler { name } => {
                write!(f, "the sched_ext scheduler `{name}` is loaded; stop it first")
            }
            CpuError::AlreadyRunning => f.write_str("the scheduler is up already, with this policy"),
            CpuError::NotRunning => f.write_str("the scheduler is not up; `laxity cpu up` starts it"),
            CpuError::Ejected { why } => write!(
                f,
                "the kernel ended the scheduler ({why}) and runs its own; `laxity cpu down` removes \
                 the remains, `laxity cpu up` starts it again"
            ),
            CpuError::NoKernel => f.write_str(
                "this kernel has no sched_ext: Linux 6.18 or later with CONFIG_SCHED_CLASS_EXT, \
                 CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF has it",
            ),
            CpuError::NoFileSystem => {
                f.write_str("there is no BPF file system; mount it: mount -t bpf bpf /sys/fs/bpf")
            }
            CpuError::OtherVersion => f.write_str(
                "another version of laxity started the scheduler; `laxity cpu down` and `laxity cpu up` \
                 replace it by this one",
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
        CpuError::Refused { cpu: 0, refusal, overhead: Span::ZERO }
    }
}

/// The error for a file of the scheduler.
#[cfg(feature = "kernel")]
pub(super) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> CpuError {
    let path = path.display().to_string();
    move |error| match error.kind() {
        // So is `/run` of a service with `ProtectSystem=strict`.
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            CpuError::NotPermitted { what: "use the scheduler's files" }
        }
        _ => CpuError::Io { path, error },
    }
}

#[cfg(all(test, feature = "kernel"))]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{CpuError, io as named};

    /// Fails when a file system that may only be read is another error: `laxity cpu` then does not ask the server.
    #[test]
    fn files_that_cannot_be_written_are_not_permitted() {
        let error = |kind| named(Path::new("/run/laxity-cpu.lock"))(io::Error::from(kind));
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            assert!(matches!(error(kind), CpuError::NotPermitted { .. }), "{kind}");
        }
        assert!(matches!(error(io::ErrorKind::NotFound), CpuError::Io { .. }));
    }
}
