//! Compiles the BPF programs for the feature `kernel`.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// What is compiled, and where the loaders find it.
const SOURCES: [(&str, &str); 3] = [
    ("bpf/qdisc/laxity.bpf.c", "laxity.bpf.o"),
    ("bpf/scx/laxity_cpu.bpf.c", "laxity_cpu.bpf.o"),
    ("bpf/scx/bare.bpf.c", "bare.bpf.o"),
];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=LAXITY_CLANG");
    if std::env::var_os("CARGO_FEATURE_KERNEL").is_none() {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for (source, object) in SOURCES {
        if let Err(error) = compile(source, &out.join(object)) {
            eprintln!("the BPF programs do not compile: {source}: {error}");
            exit(1);
        }
    }
}

fn compile(source: &str, out: &Path) -> Result<(), String> {
    let (clang, version) = clang()?;
    // The verifier's cost depends on it.
    println!("cargo::rustc-env=LAXITY_CLANG_VERSION={version}");
    let status = Command::new(&clang)
        .args(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3"])
        .args(["-I", "bpf/include", "-c", source, "-o"])
        .arg(out)
        .status()
        .map_err(|e| format!("{clang}: {e}"))?;
    if !status.success() {
        return Err(format!("{clang} ended with {status}"));
    }
    Ok(())
}

/// The first clang that knows types of kernel pointers: 16 or newer.
fn clang() -> Result<(String, String), String> {
    let named = std::env::var("LAXITY_CLANG").ok();
    let usual = ["clang-19", "clang", "clang-18", "clang-17", "clang-16"].map(String::from);
    let candidates: Vec<String> = named.map_or(usual.to_vec(), |clang| vec![clang]);
    for clang in &candidates {
        let Ok(output) = Command::new(clang).arg("-dumpversion").output() else { continue };
        let version = String::from_utf8_lossy(&output.stdout);
        let major = version.split('.').next().and_then(|m| m.trim().parse::<u32>().ok());
        if output.status.success() && major.is_some_and(|m| m >= 16) {
            return Ok((clang.clone(), version.trim().into()));
        }
    }
    Err(format!(
        "there is no clang 16 or newer among {}; install clang-19, or name one in LAXITY_CLANG",
        candidates.join(", ")
    ))
}
