//! The log of libbpf, which often holds the reason for an error that the error itself does not.

use std::cell::RefCell;
use std::sync::Once;

use libbpf_rs::{PrintLevel, set_print};

use super::CpuError;
use super::load::kernel_error;

thread_local! {
    /// The log of the current call, which libbpf writes on the calling thread; `None` outside of a call.
    static LOG: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn capture(_: PrintLevel, message: String) {
    LOG.with_borrow_mut(|log| match log {
        Some(log) => log.push_str(&message),
        None => eprint!("{message}"),
    });
}

/// Calls libbpf, and prints its log where the returned error does not explain the failure.
pub(super) fn with_libbpf_log<T>(
    call: impl FnOnce() -> Result<T, libbpf_rs::Error>,
) -> Result<T, CpuError> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        set_print(Some((PrintLevel::Warn, capture)));
    });
    LOG.set(Some(String::new()));
    let result = call();
    let log = LOG.take().unwrap_or_default();
    result.map_err(|error| classify(error, &log))
}

/// The error, as [`CpuError::Types`] where the log blames the kernel's type information.
fn classify(error: libbpf_rs::Error, log: &str) -> CpuError {
    const TYPE_MESSAGES: [&str; 3] = ["incompatible with vmlinux", "kernel BTF", "vmlinux BTF"];
    let message = format!("{error:#}");
    let mut lines = log.lines().chain([message.as_str()]);
    let types = lines.find(|line| TYPE_MESSAGES.iter().any(|text| line.contains(text)));
    match (kernel_error(error), types) {
        (error @ CpuError::Kernel { .. }, None) => {
            eprint!("{log}");
            error
        }
        (CpuError::Kernel { .. }, Some(why)) => {
            CpuError::Types { why: why.trim_start_matches("libbpf: ").to_owned() }
        }
        (error, _) => error,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use libbpf_rs::ErrorExt as _;

    use super::*;

    /// Fails when unusable type information is reported as a rejection of the programs: 7.2.12 returns
    /// "invalid argument" for it.
    #[test]
    fn unusable_type_information_is_found_in_the_log() {
        let invalid = || libbpf_rs::Error::from(io::Error::from_raw_os_error(22));
        let log = "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': func_proto [214] incompatible \
                   with vmlinux [48722]\n";
        let types = classify(invalid(), log).to_string();
        assert!(types.contains("run another version of the kernel: extern (func ksym)"), "{types}");
        let error = invalid().context("`struct sched_ext_ops` is not in vmlinux BTF");
        assert!(matches!(classify(error, ""), CpuError::Types { .. }));
        let other = classify(invalid(), "");
        assert!(matches!(other, CpuError::Kernel { .. }), "{other}");
    }
}
