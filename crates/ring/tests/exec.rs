//! A program executed in place of another one inherits whether SIGPIPE is ignored.
#![cfg(all(feature = "exec", target_os = "linux"))]

use std::process::{Command, Stdio};

/// The process that executes: the test below starts it.
#[test]
fn executing_process() {
    if std::env::var_os("LAXITY_TEST_EXECUTES").is_some() {
        let error = laxity_ring::exec(Command::new("grep").args(["SigIgn", "/proc/self/status"]));
        panic!("{error}");
    }
}

/// Whether a program that a process executes ignores SIGPIPE, after a shell's command has started that process.
fn ignores(before: &str) -> bool {
    let own = std::env::current_exe().expect("a path");
    let output = Command::new("sh")
        .args(["-c", &format!("{before} exec \"$0\" --exact executing_process --nocapture")])
        .arg(own)
        .env("LAXITY_TEST_EXECUTES", "1")
        .stderr(Stdio::inherit())
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect(&text);
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    // Signal 13.
    mask >> 12 & 1 == 1
}

/// Fails when the standard library's `exec` is called alone (it stays ignored in neither), and when what is there after
/// the start of Rust's runtime counts (in both).
#[test]
fn an_executed_program_inherits_whether_sigpipe_is_ignored() {
    assert!(ignores("trap '' PIPE;"));
    assert!(!ignores(""));
}
