//! Why a link could not be brought up, looked at or taken down.

use std::fmt;
use std::io;

/// What went wrong, with the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no such interface in this network namespace.
    NoDevice {
        /// The interface.
        device: String,
    },
    /// Somebody has configured a root qdisc, which could not be put back.
    Occupied {
        /// The interface.
        device: String,
        /// Its root qdisc.
        kind: String,
    },
    /// The interface has a link of ours already.
    Up {
        /// The interface.
        device: String,
    },
    /// The interface has no link of ours.
    Down {
        /// The interface.
        device: String,
    },
    /// The kernel has no BPF qdiscs.
    NoKernel,
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
    /// Files of an instance cannot be made, read or removed.
    Io {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::NoDevice { device } => {
                write!(f, "there is no interface {device} in this network namespace")
            }
            LinkError::Occupied { device, kind } => write!(
                f,
                "{device} has a root qdisc, {kind}, that somebody configured and that could not \
                 be put back later; remove it first: tc qdisc del dev {device} root"
            ),
            LinkError::Up { device } => {
                write!(f, "{device} has a link already; take it down first")
            }
            LinkError::Down { device } => write!(f, "{device} has no link of Laxity"),
            LinkError::NoKernel => write!(
                f,
                "this kernel has no BPF qdiscs: Linux 6.16 or later with CONFIG_NET_SCH_BPF and \
                 CONFIG_DEBUG_INFO_BTF has them"
            ),
            LinkError::NotPermitted { what } => write!(
                f,
                "not permitted to {what}: it takes root, or the capabilities CAP_NET_ADMIN, \
                 CAP_BPF and CAP_PERFMON"
            ),
            LinkError::Kernel { what, why } => write!(f, "the kernel does not {what}: {why}"),
            LinkError::Io { path, error } => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for LinkError {}

/// An answer of the kernel to `what`.
pub(super) fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> LinkError {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => LinkError::NotPermitted { what },
        _ => LinkError::Kernel { what, why: error.to_string() },
    }
}
