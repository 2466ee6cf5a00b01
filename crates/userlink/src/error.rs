//! Why a link in user space cannot run, or goes on no longer.

use std::fmt;
use std::io;

use laxity_core::Live;
use laxity_link::registry::{BuildError, POLICIES};

/// Why a link in user space cannot run, or goes on no longer.
#[derive(Debug)]
#[non_exhaustive]
pub enum WireError {
    /// The link has a rate of zero.
    NoRate,
    /// The policy does not run in user space.
    NotLive {
        /// Its name.
        policy: String,
    },
    /// The policy cannot be built.
    Policy(BuildError),
    /// The frames that may wait do not fit into memory.
    PoolTooLarge {
        /// Frames that may wait.
        slots: usize,
        /// Bytes of the largest.
        largest: usize,
    },
    /// There is no such interface.
    NoDevice {
        /// Its name.
        device: String,
    },
    /// No interface can have this name.
    BadName {
        /// The name.
        device: String,
    },
    /// An interface that is no tunnel has the name already.
    NameInUse {
        /// The name.
        device: String,
    },
    /// The interface does not carry Ethernet frames.
    NotEthernet {
        /// Its name.
        device: String,
    },
    /// XDP needs an interface with one queue.
    Queues {
        /// Its name.
        device: String,
        /// How many it has.
        queues: u32,
    },
    /// Frames are too long for XDP.
    Jumbo {
        /// The interface.
        device: String,
        /// Its MTU.
        mtu: u32,
    },
    /// Another link reads from the interface.
    Occupied {
        /// Its name.
        device: String,
    },
    /// The interface was removed while the link ran.
    Gone {
        /// Its name.
        device: String,
    },
    /// The kernel does not support tunnel devices.
    NoTunnels {
        /// The error of opening `/dev/net/tun`.
        source: io::Error,
    },
    /// This needs a privilege.
    NotPermitted {
        /// The operation that failed.
        what: &'static str,
    },
    /// The interface or the kernel cannot do this.
    NotSupported {
        /// The interface.
        device: String,
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// A system call failed.
    Io {
        /// The interface.
        device: String,
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// A thread of the link broke down.
    Thread,
}

impl WireError {
    /// `/dev/net/tun` cannot be opened.
    pub(crate) fn tunnels(what: &'static str, source: io::Error) -> WireError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => WireError::NotPermitted { what },
            _ => WireError::NoTunnels { source },
        }
    }

    /// A failed call on an interface, by what the kernel answered.
    pub(crate) fn io(device: &str, what: &'static str, source: io::Error) -> WireError {
        let device = device.to_owned();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => WireError::NotPermitted { what },
            Some(libc::ENODEV | libc::ENXIO) => WireError::NoDevice { device },
            Some(
                libc::EOPNOTSUPP | libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::ENOPROTOOPT,
            ) => WireError::NotSupported { device, what, source },
            _ => WireError::Io { device, what, source },
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::NoRate => write!(f, "link.rate is zero; say what the link carries"),
            WireError::NotLive { policy } => {
                write!(f, "policy `{policy}` does not run in user space; these do:")?;
                let live = POLICIES.iter().filter(|p| p.runs_in(Live::UserLink));
                live.map(|p| p.name).try_for_each(|name| write!(f, " {name}"))
            }
            WireError::Policy(e) => e.fmt(f),
            WireError::PoolTooLarge { slots, largest } => write!(
                f,
                "{slots} frames of up to {largest} B may wait, more than 1 GiB in all; lower \
                 link.buffer"
            ),
            WireError::NoDevice { device } => {
                write!(f, "there is no interface {device} here; `ip link` lists them")
            }
            WireError::BadName { device } => {
                write!(f, "no interface can be called `{device}`; take 1 to 15 letters and digits")
            }
            WireError::NameInUse { device } => write!(
                f,
                "there is an interface {device} already, and it is no tunnel of this user; choose \
                 another name for the tunnel"
            ),
            WireError::NotEthernet { device } => write!(
                f,
                "{device} does not carry Ethernet frames; a bridge joins Ethernet interfaces"
            ),
            WireError::Queues { device, queues } => write!(
                f,
                "{device} has {queues} queues, XDP needs one: `ethtool -L {device} combined 1`, or \
                 --io packet"
            ),
            WireError::Jumbo { device, mtu } => write!(
                f,
                "the MTU of {device} is {mtu}, too long for XDP; lower it, or use --io packet"
            ),
            WireError::Occupied { device } => write!(
                f,
                "another link in user space runs on {device}, and two would send every frame \
                 twice; stop it first"
            ),
            WireError::Gone { device } => write!(
                f,
                "the interface {device} was removed; start the link again when it is back"
            ),
            WireError::NoTunnels { source } => write!(
                f,
                "there are no tunnel devices here: /dev/net/tun: {source}; load the module: \
                 `modprobe tun`, or let the container have that device"
            ),
            WireError::NotPermitted { what } => write!(
                f,
                "{what} is not permitted; run as root, or with the capabilities CAP_NET_RAW and \
                 CAP_NET_ADMIN (for --io xdp also CAP_BPF)"
            ),
            WireError::NotSupported { device, what, source } => {
                write!(f, "{device}: {what} is not supported: {source}; try --io packet")
            }
            WireError::Io { device, what, source } => write!(f, "{device}: {what}: {source}"),
            WireError::Thread => write!(f, "a thread of the link broke down"),
        }
    }
}

impl std::error::Error for WireError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WireError::NotSupported { source, .. }
            | WireError::Io { source, .. }
            | WireError::NoTunnels { source } => Some(source),
            WireError::Policy(e) => Some(e),
            _ => None,
        }
    }
}

impl From<BuildError> for WireError {
    fn from(e: BuildError) -> Self {
        WireError::Policy(e)
    }
}
