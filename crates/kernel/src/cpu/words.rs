//! What libbpf says beside the error that it returns: the reason is often there only.

use std::cell::RefCell;
use std::sync::Once;

use libbpf_rs::{PrintLevel, set_print};

use super::CpuError;
use super::load::refused;

thread_local! {
    /// What it said since somebody began to listen; it speaks on the thread that asked.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn hear(_: PrintLevel, words: String) {
    SAID.with_borrow_mut(|said| match said {
        Some(said) => said.push_str(&words),
        None => eprint!("{words}"),
    });
}

/// Does something with libbpf, of whose words people see those that the error does not explain.
pub(super) fn heard<T>(work: impl FnOnce() -> Result<T, libbpf_rs::Error>) -> Result<T, CpuError> {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(|| {
        set_print(Some((PrintLevel::Warn, hear)));
    });
    SAID.set(Some(String::new()));
    let done = work();
    let said = SAID.take().unwrap_or_default();
    done.map_err(|error| explained(error, &said))
}

fn explained(error: libbpf_rs::Error, said: &str) -> CpuError {
    const TYPES: [&str; 3] = ["incompatible with vmlinux", "kernel BTF", "vmlinux BTF"];
    let error_says = format!("{error:#}");
    let mut lines = said.lines().chain([error_says.as_str()]);
    let types = lines.find(|line| TYPES.iter().any(|words| line.contains(words)));
    match (refused(error), types) {
        (refusal @ CpuError::Kernel { .. }, None) => {
            eprint!("{said}");
            refusal
        }
        (CpuError::Kernel { .. }, Some(why)) => {
            CpuError::Types { why: why.trim_start_matches("libbpf: ").to_owned() }
        }
        (refusal, _) => refusal,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use libbpf_rs::ErrorExt as _;

    use super::*;

    /// Fails when type information that nobody can use passes for a refusal of the programs: the error
    /// that 7.2.12 gives is "invalid argument".
    #[test]
    fn log_of_libbpf_explains_the_error() {
        let invalid = || libbpf_rs::Error::from(io::Error::from_raw_os_error(22));
        let said = "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': func_proto [214] incompatible \
                    with vmlinux [48722]\n";
        let types = explained(invalid(), said).to_string();
        assert!(types.contains("run another version of the kernel: extern (func ksym)"), "{types}");
        let error = invalid().context("`struct sched_ext_ops` is not in vmlinux BTF");
        assert!(matches!(explained(error, ""), CpuError::Types { .. }));
        let other = explained(invalid(), "");
        assert!(matches!(other, CpuError::Kernel { .. }), "{other}");
    }
}
