//! Compiles the BPF program of `scx_bare` for the feature `kernel`.

#[path = "../../crates/kernel/build/clang.rs"]
mod clang;
#[path = "../../crates/kernel/build/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::process::exit;

const SOURCE: &str = "bpf/bare.bpf.c";
/// Folders of headers.
const INCLUDE: [&str; 2] = ["../../crates/kernel/bpf/include", "../../crates/kernel/bpf/scx"];

fn main() {
    println!("cargo::rerun-if-env-changed=LAXITY_CLANG");
    for path in INCLUDE.iter().chain([&SOURCE]) {
        println!("cargo::rerun-if-changed={path}");
    }
    if std::env::var_os("CARGO_FEATURE_KERNEL").is_none() {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("bare.bpf.o");
    if let Err(error) = compile::compile(Path::new(SOURCE), &INCLUDE.map(Path::new), &out) {
        eprintln!("the BPF program does not compile: {SOURCE}: {error}");
        exit(1);
    }
}
