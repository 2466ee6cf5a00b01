//! Errors of setting up, querying, changing and removing a link.

use std::fmt;
use std::io;

/// An error, with its remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no such interface in this network namespace.
    NoDevice {
        /// The interface.
        device: String,
    },
    /// A root qdisc is configured.
    Occupied {
        /// The interface.
        device: String,
        /// Its root qdisc.
        kind: String,
        /// Whether it could be restored later, so that it may be replaced.
        replaceable: bool,
    },
    /// The interface already has a link.
    Up {
        /// The interface.
        device: String,
    },
    /// The interface has no link.
    Down {
        /// The interface.
        device: String,
    },
    /// The interface's ingress direction has no link.
    NoIngressLink {
        /// The interface.
        device: String,
    },
    /// The interface is an ifb device, by which nothing comes in.
    IsIfb {
        /// The interface.
        device: String,
    },
    /// Another interface has the name of the ifb device.
    NameTaken {
        /// The interface whose ingress direction is to have a link.
        device: String,
        /// The name.
        name: String,
    },
    /// The kernel lacks a part that the ingress direction needs.
    NoIngress {
        /// The part.
        lacks: &'static str,
    },
    /// The kernel has no BPF qdiscs.
    NoKernel {
        /// Its release.
        release: String,
        /// The missing feature.
        lacks: &'static str,
    },
    /// No BPF file system is mounted where it belongs.
    NoFileSystem,
    /// The caller may not do this.
    NotPermitted {
        /// The operation.
        what: &'static str,
    },
    /// The folder of pins belongs to somebody else, or others may enter it.
    Exposed {
        /// The folder.
        path: String,
    },
    /// The programs that run cannot hold another plan.
    DoesNotFit {
        /// The interface.
        device: String,
        /// The insufficient resource.
        what: &'static str,
    },
    /// Real-time packets were queued throughout, so the change could not take effect.
    Busy {
        /// The interface.
        device: String,
    },
    /// The kernel refused.
    Kernel {
        /// The operation.
        what: &'static str,
        /// Its answer, and for programs the verifier's log.
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
            LinkError::NoDevice { device } => write!(
                f,
                "there is no interface {device} in this network namespace; `ip link` lists them"
            ),
            LinkError::Occupied { device, kind, replaceable: true } => write!(
                f,
                "{device} has a root qdisc, {kind}, that somebody configured; --replace puts it \
                 aside until the link goes down"
            ),
            LinkError::Occupied { device, kind, replaceable: false } => write!(
                f,
                "{device} has a root qdisc, {kind}, that somebody configured and that could not \
                 be put back later with all that belongs to it; remove it first: tc qdisc del dev \
                 {device} root"
            ),
            LinkError::Up { device } => write!(
                f,
                "{device} has a link already; `laxity link set` changes it, `laxity link down` \
                 takes it away"
            ),
            LinkError::Down { device } => {
                write!(f, "{device} has no link of Laxity; `laxity link up` brings one up")
            }
            LinkError::NoIngressLink { device } => write!(
                f,
                "the ingress direction of {device} has no link of Laxity; `laxity link up --ingress` \
                 brings one up"
            ),
            LinkError::IsIfb { device } => write!(
                f,
                "{device} is an ifb device, by which nothing comes in; name the interface that \
                 redirects to it, or bring up a link of {device} without --ingress"
            ),
            LinkError::NameTaken { device, name } => write!(
                f,
                "the ingress direction of {device} takes an ifb device {name}, and there is another \
                 interface of this name; rename it: ip link set {name} name NAME"
            ),
            LinkError::NoIngress { lacks } => write!(
                f,
                "this kernel does not redirect what comes in: it lacks {lacks}; load the module, or \
                 bring up a link for each direction on the interface that sends"
            ),
            LinkError::NoKernel { release, lacks } => write!(
                f,
                "this kernel, {release}, has no BPF qdiscs: it lacks {lacks}; Linux 6.16 or later \
                 with CONFIG_NET_SCH_BPF and CONFIG_DEBUG_INFO_BTF has them"
            ),
            LinkError::NoFileSystem => {
                write!(f, "there is no BPF file system; mount it: mount -t bpf bpf /sys/fs/bpf")
            }
            LinkError::NotPermitted { what } => write!(
                f,
                "not permitted to {what}: it takes root, or the capabilities CAP_NET_ADMIN, \
                 CAP_BPF and CAP_PERFMON and write access to /sys/fs/bpf"
            ),
            LinkError::Exposed { path } => write!(
                f,
                "{path} belongs to another user or others may enter it; remove it, or make it \
                 yours with mode 0700"
            ),
            LinkError::DoesNotFit { device, what } => write!(
                f,
                "the link on {device} runs on as it was: {what}; take it down and bring it up \
                 with this scenario"
            ),
            LinkError::Busy { device } => write!(
                f,
                "the link on {device} runs on as it was: real-time packets waited all the time, \
                 most likely of a flow that sends more than its envelope; find it with `laxity \
                 link status` and try again when it keeps to it"
            ),
            LinkError::Kernel { what, why } => write!(f, "the kernel does not {what}: {why}"),
            LinkError::Io { path, error } => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for LinkError {}

/// The kernel's error for the operation `what`.
pub(super) fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> LinkError {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => LinkError::NotPermitted { what },
        _ => LinkError::Kernel { what, why: error.to_string() },
    }
}

/// A file of ours.
pub(super) fn io_error(path: &std::path::Path) -> impl FnOnce(io::Error) -> LinkError {
    let path = path.display().to_string();
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            LinkError::NotPermitted { what: "use the files of links in the BPF file system" }
        }
        _ => LinkError::Io { path, error },
    }
}
