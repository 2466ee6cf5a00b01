//! Compiles BPF programs. The build script of `tools/kernel` uses it too.

use std::path::Path;
use std::process::Command;

use crate::clang;

/// Compiles a program with headers of these folders. Returns the version of the compiler.
pub fn compile(source: &Path, include: &[&Path], out: &Path) -> Result<String, String> {
    let (clang, version) = clang::find()?;
    let status = Command::new(&clang)
        .args(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3"])
        .args(include.iter().flat_map(|folder| [Path::new("-I"), folder]))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(out)
        .status()
        .map_err(|e| format!("{clang}: {e}"))?;
    if status.success() { Ok(version) } else { Err(format!("{clang} ended with {status}")) }
}
