//! The program of `laxity link up --rate-from`, as far as it needs no kernel.

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{file, laxity};

fn start(parent: u32, command: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_laxity"))
        .args(["link", "run-rate-source", "--parent", &parent.to_string(), "--"])
        .args(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// Fails when the program outlives the one that started it, as without
/// `set_parent_process_death_signal`. The kernel counts the thread that started it as its parent.
#[test]
fn the_program_dies_with_its_parent() {
    let own = std::process::id();
    let started = std::thread::spawn(move || {
        let mut child = start(own, &["sh", "-c", "echo 700; exec sleep 99"]);
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "700\n");
        child
    });
    let mut child = started.join().expect("a child");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it still runs");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(!status.success(), "{status}");
    // Without a parent it does not start at all.
    let output = start(1, &["echo", "700"]).wait_with_output().expect("an end");
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
}

/// Fails when a shell reads the command line: it would print one word.
#[test]
fn arguments_are_not_expanded() {
    let child = start(std::process::id(), &["printf", "%s|", "$HOME", "`id`", ";", "*"]);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "$HOME|`id`|;|*|");
    let child = start(std::process::id(), &["/no/such/program"]);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Fails when a malformed command line or rate is noticed only after the link is up.
#[test]
fn malformed_options_are_refused() {
    let family = file("crates/kernel/tests/vm/family.toml");
    let up = ["link", "up", &family, "--dev", "no-such-one", "--rate-from"];
    laxity(&[&up[..], &["autorate 'eth0"]].concat()).fails(2, &["--rate-from", "quote"]);
    laxity(&[&up[..], &[" "]].concat()).fails(2, &["no program"]);
    let set = ["link", "set", "--dev", "lo"];
    laxity(&[&set[..], &["--rate", "5 ms"]].concat()).fails(2, &["--rate"]);
    laxity(&set).fails(2, &["--rate"]);
    laxity(&[&set[..], &["--rate", "5 Mbit/s", &family]].concat()).fails(2, &["cannot be used"]);
}
