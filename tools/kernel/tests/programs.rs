//! The programs that run without the schedulers, on this machine. With these tests, `cargo test --workspace`
//! builds the programs for the tests in the virtual machine.
#![cfg(feature = "kernel")]

use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};

const TRAFFIC: &str = env!("CARGO_BIN_EXE_traffic");
const TASKS: &str = env!("CARGO_BIN_EXE_tasks");

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn run(program: &str, arguments: &[&str]) -> String {
    text(&Command::new(program).args(arguments).output().expect("it starts"))
}

/// Fails when a program does nothing, with success, instead of what a script with an error asks for.
#[test]
fn unknown_commands_are_refused() {
    for program in
        [env!("CARGO_BIN_EXE_kernel-link"), env!("CARGO_BIN_EXE_kernel-cpu"), TRAFFIC, TASKS]
    {
        let output = Command::new(program).arg("nothing").output().expect("it starts");
        assert!(!output.status.success(), "{program}");
        let name = program.rsplit('/').next().unwrap_or_default();
        let usage = String::from_utf8_lossy(&output.stderr);
        assert!(usage.starts_with(&format!("{name} ")), "{usage}");
    }
}

/// A receiver and its port; `None` if another program took the port before it did.
fn receiver() -> Option<(Child, u16)> {
    let port = UdpSocket::bind("0.0.0.0:0").and_then(|s| s.local_addr()).expect("a port").port();
    let mut receiver = Command::new(TRAFFIC)
        .args(["receive", "2", &format!("voice={port}:0")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let files = format!("/proc/{}/fd", receiver.id());
    let bound = || {
        let table = std::fs::read_to_string("/proc/net/udp").expect("a table");
        let inode = table.lines().find_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let is_port = fields.next()?.ends_with(&format!(":{port:04X}"));
            fields.nth(7).filter(|_| is_port)
        });
        let socket = format!("socket:[{}]", inode.unwrap_or_default());
        let files = std::fs::read_dir(&files);
        let mut links =
            files.into_iter().flatten().filter_map(|file| file.ok()?.path().read_link().ok());
        links.any(|link| link.to_str() == Some(&socket))
    };
    while !bound() {
        if receiver.try_wait().expect("a status").is_some() {
            return None;
        }
    }
    Some((receiver, port))
}

/// Fails when packets are counted that are not in the trace, or not all that are.
#[test]
fn packets_of_a_trace_are_sent_and_received() {
    let (receiver, port) = (0..5).find_map(|_| receiver()).expect("a free port");
    let trace = format!("{}/trace.csv", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(
        &trace,
        "time_ns,bytes,flow\n0,100,voice\n1000000,200,voice\n2000000,60,voice\n",
    )
    .expect("a file");
    let sent = run(TRAFFIC, &["send", &trace, "127.0.0.1", &format!("voice={port}:46")]);
    assert!(sent.starts_with("sent voice 3\n"), "{sent}");
    let received = text(&receiver.wait_with_output().expect("it ends"));
    assert!(received.starts_with("got voice 3 late 0 "), "{received}");
}

/// Fails when a workload ends after another number of jobs than asked for.
#[test]
fn workloads_end_after_their_jobs() {
    for (arguments, start) in [
        (&["periodic", "5000", "100", "4"][..], "jobs 4 missed "),
        (&["frames", "5000", "100", "1", "3"], "jobs 3 missed "),
        (&["forks", "30"], "forks ended 30 failed 0\n"),
        (&["pass", "100"], "pass rounds 100 round_ns "),
    ] {
        let output = run(TASKS, arguments);
        assert!(output.starts_with(start), "{arguments:?}: {output}");
    }
}

/// Fails when changes do not stop although the file is there, or a thread is not waited for.
#[test]
fn churn_ends_and_loses_no_thread() {
    let output = run(env!("CARGO_BIN_EXE_churn"), &["50", "1", "/proc/self/stat", "6"]);
    assert!(output.starts_with("churn starts "), "{output}");
    assert!(output.ends_with(" lost 0\n"), "{output}");
    let number = |key: &str| {
        let mut fields = output.split_whitespace().skip_while(|field| *field != key);
        fields.nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number")
    };
    assert_eq!(number("starts"), number("ends"), "{output}");
}
