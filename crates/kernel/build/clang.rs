//! The compiler of the BPF programs.

use std::process::Command;

/// The first clang that knows types of kernel pointers, 16 or newer, and its version.
pub fn find() -> Result<(String, String), String> {
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
