//! Compiles BPF programs. The build script of `tools/kernel` uses it too.

use std::path::Path;
use std::process::Command;

use crate::clang;

/// Compiles a program with headers of these folders. Returns the version of the compiler.
pub fn compile(source: &Path, include: &[&Path], out: &Path) -> Result<String, String> {
    let (clang, version) = clang::find()?;
    // The folder of this checkout is not in the object, so that another one makes the same bytes.
    let here = std::env::current_dir().map_err(|e| format!("the current folder: {e}"))?;
    let status = Command::new(&clang)
        .args(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3"])
        .arg(format!("-ffile-prefix-map={}=.", here.display()))
        .args(include.iter().flat_map(|folder| [Path::new("-I"), folder]))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(out)
        .status()
        .map_err(|e| format!("{clang}: {e}"))?;
    if !status.success() {
        return Err(format!("{clang} ended with {status}"));
    }
    strip(&clang, out);
    Ok(version)
}

/// Arguments of LLVM's `strip`.
const STRIPPED: [&str; 3] =
    ["--strip-debug", "--remove-section=.rel.BTF", "--remove-section=.rel.BTF.ext"];

/// Removes the DWARF sections and the relocations of BTF, half of an object: the kernel reads BTF, which stays, and
/// libbpf relocates programs only. Without LLVM's `strip` the object keeps them, which only makes the command larger.
fn strip(clang: &str, object: &Path) {
    let find = Command::new(clang).arg("--print-prog-name=llvm-strip").output();
    let Ok(found) = find else { return };
    let program = String::from_utf8_lossy(&found.stdout);
    let _ = Command::new(program.trim()).args(STRIPPED).arg(object).status();
}
