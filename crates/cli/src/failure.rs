//! Failures of the command and their exit status.

use std::fmt::Display;
use std::io::ErrorKind;
use std::process::ExitCode;

use laxity_scenario::quantity::QuantityError;

use crate::warning;

/// The answer is no: not admitted, refused, a guaranteed deadline missed.
pub const NO: u8 = 1;
/// Bad usage or input.
pub const BAD_INPUT: u8 = 2;
/// Interrupted, with what was finished written.
pub const INTERRUPTED: u8 = 130;

#[cfg(not(feature = "kernel"))]
const WITHOUT: &str = "this laxity was built without kernel support";
#[cfg(not(feature = "kernel"))]
const BUILD: &str = "`make build KERNEL=1` adds it, needs clang 16 or newer, pkg-config, libelf \
and zlib, and lists missing ones";

/// The reason of a failure.
#[derive(Debug)]
pub enum Failure {
    /// The answer is no.
    Refused(String),
    /// Bad usage or input.
    Input(String),
    /// This machine lacks something: a privilege, a kernel, a tool.
    Lacking(String),
    /// A file cannot be written, or something inside is broken.
    Internal(String),
    /// The reader of the output went away.
    Closed,
}

impl Failure {
    /// Bad input.
    pub fn input(error: impl Display) -> Failure {
        Failure::Input(error.to_string())
    }

    /// A link operation that needs a build with the kernel's part. On a kernel that cannot run it, to
    /// build it would be for nothing.
    #[cfg(not(feature = "kernel"))]
    pub fn without_kernel_for_links<T>() -> Result<T, Failure> {
        let types = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
        let wanted = b"bpf_struct_ops_Qdisc_ops";
        let runs = types.windows(wanted.len()).any(|window| window == wanted);
        let can = "`laxity link bridge` and `laxity link tun` schedule in user space without it, \
                   and `laxity link status` shows those that run";
        Err(Failure::Lacking(match runs {
            true => format!("{WITHOUT}; {BUILD}. {can}"),
            false => format!(
                "{WITHOUT}, and this kernel does not support it: it needs Linux 6.16 or later with \
                 CONFIG_NET_SCH_BPF. {can}"
            ),
        }))
    }

    /// The same of CPUs.
    #[cfg(not(feature = "kernel"))]
    pub fn without_kernel_for_cpus<T>() -> Result<T, Failure> {
        let runs = std::path::Path::new("/sys/kernel/sched_ext").exists();
        Err(Failure::Lacking(match runs {
            true => format!("{WITHOUT}; {BUILD}"),
            false => format!(
                "{WITHOUT}, and this kernel does not support it: it needs Linux 6.18 or later with \
                 CONFIG_SCHED_CLASS_EXT"
            ),
        }))
    }

    /// A quantity on the command line that cannot be used.
    pub fn quantity(option: &str, text: &str, error: &QuantityError) -> Failure {
        Failure::Input(format!("{option} `{text}`: {}; {}", error.reason(), error.remedy()))
    }

    /// A write that failed; `place` is what was written.
    pub fn write(place: &str, error: &std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Internal(format!("{place}: {error}")),
        }
    }

    /// The same, and why something else did not work either.
    pub fn and(self, what: &str, other: &Failure) -> Failure {
        let both = |text: String| format!("{text}\n{what}: {}", other.text());
        match self {
            Failure::Refused(text) => Failure::Refused(both(text)),
            Failure::Input(text) => Failure::Input(both(text)),
            Failure::Lacking(text) => Failure::Lacking(both(text)),
            Failure::Internal(text) => Failure::Internal(both(text)),
            Failure::Closed => Failure::Closed,
        }
    }

    /// The message; `None` where its reader has gone.
    pub fn text(&self) -> &str {
        match self {
            Failure::Refused(text)
            | Failure::Input(text)
            | Failure::Lacking(text)
            | Failure::Internal(text) => text,
            Failure::Closed => "",
        }
    }

    /// Prints it on standard error.
    pub fn print(&self) {
        if !self.text().is_empty() {
            warning::fail(self.text(), self.status());
        }
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    fn status(&self) -> u8 {
        match self {
            Failure::Refused(_) => NO,
            Failure::Input(_) => BAD_INPUT,
            Failure::Lacking(_) => 3,
            Failure::Internal(_) => 4,
            Failure::Closed => 0,
        }
    }
}
