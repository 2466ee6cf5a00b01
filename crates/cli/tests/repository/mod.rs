//! Shared by tests of the repository as a whole: its path, cargo's metadata, its files.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file, by its path from the root.
pub fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// `cargo metadata` of a build for Linux, so that the answer is the same on
/// every machine and needs nothing that building has not fetched.
pub fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata failed:\n{errors}");
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Files that are or would be committed: all but what `.gitignore` leaves out.
pub fn files() -> Vec<String> {
    let mut files = Vec::new();
    visit(&root(), "", &mut files);
    files.sort();
    assert!(files.len() > 50, "only {} files found", files.len());
    files
}

/// Directories without source of ours; `.git` is a file where the checkout is a worktree. The package of the sources
/// has the last two.
const SKIPPED: &[&str] =
    &[".git", "target", "__pycache__", ".hypothesis", ".mypy_cache", "vendor", ".cargo"];

fn visit(folder: &Path, prefix: &str, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("a readable entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().expect("a file type");
        let path = format!("{prefix}{name}");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            visit(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            files.push(path);
        }
    }
}
