//! Resources of commands: bounded memory, whole files, no lost input.

mod support;

use std::fs;
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use support::{Folder, Ran, command, file, laxity};

/// A real-time flow that may send a gigabyte at once and has 999 hours.
const HUGE: &str = r#"
[link]
rate = "100 Gbit/s"
max_packet = "1514 B"
[policy]
use = "exact"
[[realtime]]
name = "huge"
deadline = "999 h"
envelope = { packet = "1514 B", peak = "10 Gbit/s", burst = "1 GB", rate = "1 Gbit/s" }
source = { period = "1 ms", length = "1514 B" }
[[best_effort]]
name = "web"
source = { period = "1 ms", length = "1514 B" }
"#;

const MANY: &str = "[cpu]\n[[task]]\nname = \"a\"\ncount = 10000\nwork = \"cpu-bound\"\n";

/// A run within so many KiB of address space; beyond it the allocator aborts.
fn within(kib: u32, arguments: &[&str]) -> Ran {
    let mut shell = Command::new("sh");
    let run = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    shell.args(["-c", &run, env!("CARGO_BIN_EXE_laxity")]).args(arguments);
    Ran::of(shell.output().expect("the shell starts"))
}

/// The robot with a thousand times the deadline of its camera.
fn patient() -> String {
    let robot = fs::read_to_string(file("scenarios/robot.toml")).expect("is there");
    let patient = robot.replacen("deadline = \"33 ms\"", "deadline = \"33 s\"", 1);
    assert_ne!(patient, robot);
    patient
}

/// Fails when queues are made for all packets that a contract allows: 43 GB and an abort, as it
/// was; when the refusal does not name flow and key; and when queues take memory before packets
/// come (tried: chunks filled at once, which needs 3.2 GB for the 33 s).
#[test]
fn link_queues_allocate_on_arrival() {
    let folder = Folder::new("resources-queues");
    let huge = folder.write("huge.toml", HUGE);
    let ran = within(2_000_000, &["simulate", &huge, "--duration", "10ms"]);
    ran.fails(2, &["flow `huge`", "`deadline`", "`burst`", "min_packet"]);
    let patient = folder.write("patient.toml", patient());
    let arguments = ["simulate", &patient, "--duration", "10ms", "--policy", "exact"];
    within(600_000, &arguments).succeeds();
}

/// Fails when every task has its histograms before its first job: 900 MB for each policy.
#[test]
fn cpu_runs_allocate_by_completed_jobs() {
    let folder = Folder::new("resources-tasks");
    let many = folder.write("many.toml", MANY);
    let arguments = ["simulate", &many, "--duration", "1us", "--policy", "eevdf"];
    within(600_000, &arguments).succeeds();
}

/// Fails when the sum is not limited, or a limit too small for the command is accepted.
#[test]
fn memory_has_a_limit() {
    let folder = Folder::new("resources-limit");
    let patient = folder.write("patient.toml", patient());
    let out = folder.write("out.csv", "before");
    let run = ["simulate", &patient, "--duration", "60s", "--policy", "exact", "--packets", &out];
    let ran = laxity(&[&run[..], &["--memory", "64MB"]].concat());
    ran.fails(2, &["--memory allows 64 MB", "--duration", "`burst`"]);
    assert_eq!(fs::read_to_string(&out).expect("is there"), "before");
    laxity(&["check", &patient, "--memory", "1MB"]).fails(2, &["at least 64 MB"]);
}

/// Every output of every command that reads a file. Fails when one of them may be the input.
#[test]
fn no_output_replaces_an_input() {
    let folder = Folder::new("resources-inputs");
    let copy = |name: &str, from: &str| {
        let bytes = fs::read(file(from)).expect("is there");
        folder.write(name, bytes)
    };
    let link = copy("link.toml", "scenarios/captured-link.toml");
    let trace = copy("trace.pcap", "captures/access-link.pcap");
    let cpu = copy("cpu.toml", "scenarios/desktop.toml");
    let media = copy("media.toml", "scenarios/media-server.toml");
    let hard = folder.path("hard.toml");
    fs::hard_link(&cpu, &hard).expect("linked");
    let same: &[(&[&str], &str, &str)] = &[
        (&["check", &link], "--report", &link),
        (&["check", &cpu], "--report", &hard),
        (&["check", &media], "--report", &media),
        (&["simulate", &link, "--trace", &trace], "--packets", &trace),
        (&["simulate", &link, "--trace", &trace], "--pcap-out", &trace),
        (&["simulate", &link, "--trace", &trace], "--report", &link),
        (&["simulate", &cpu], "--trace-out", &cpu),
        (&["simulate", &cpu], "--slices", &hard),
        (&["simulate", &cpu], "--jobs", &cpu),
        (&["simulate", &cpu], "--report", &cpu),
        (&["simulate", &media], "--packets", &media),
        (&["simulate", &media], "--report", &media),
        (&["fit", &trace], "--output", &trace),
        (&["stream", "serve", &media, "--duration", "1ms"], "--sdp", &media),
    ];
    let before: Vec<_> = [&link, &trace, &cpu, &media].map(|p| fs::read(p).unwrap()).into();
    for (arguments, option, output) in same {
        let ran = laxity(&[arguments, &[*option, *output][..]].concat());
        ran.fails(2, &[*option, "input", "name another file"]);
    }
    let after: Vec<_> = [&link, &trace, &cpu, &media].map(|p| fs::read(p).unwrap()).into();
    assert!(before == after);
    let twice = ["simulate", &cpu, "--jobs", "/tmp/../tmp/x.csv", "--slices", "/tmp/x.csv"];
    laxity(&twice).fails(2, &["is the same file"]);
}

/// Fails when what was there is lost although nothing whole comes in its place: a write that the
/// system refuses (files of this process end at 512 B), and an error after the file was begun.
#[test]
fn outputs_are_replaced_atomically() {
    let folder = Folder::new("resources-torn");
    let out = folder.write("out.csv", "before");
    let link = file("scenarios/access-link.toml");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_laxity")]);
    shell.args(["simulate", &link, "--duration", "1s", "--packets", &out]);
    assert!(!shell.output().expect("the shell starts").status.success());
    assert_eq!(fs::read_to_string(&out).expect("is there"), "before");
    // Leftovers of that process are no obstacle, and are removed.
    laxity(&["simulate", &link, "--duration", "10ms", "--packets", &out]).succeeds();
    assert!(fs::read_to_string(&out).expect("is there").starts_with("policy,"));
    let left: Vec<_> =
        fs::read_dir(folder.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["out.csv"]);
}

/// Fails when two processes write one file at once.
#[test]
fn concurrent_writers_of_a_file_are_refused() {
    let folder = Folder::new("resources-lock");
    let out = folder.path("out.csv");
    let other = fs::File::create(folder.path(".out.csv.laxity")).expect("created");
    flock(&other, FlockOperation::LockExclusive).expect("locked");
    let link = file("scenarios/access-link.toml");
    let arguments = ["simulate", &link, "--duration", "10ms", "--packets", &out];
    laxity(&arguments).fails(2, &["another process writes it"]);
    drop(other);
    laxity(&arguments).succeeds();
}

/// Fails when a pipe or device is replaced by a file.
#[test]
fn devices_and_pipes_are_written_in_place() {
    let cpu = file("scenarios/bebs-figure-2.toml");
    let ran = Ran::of(
        command(&["simulate", &cpu, "--jobs", "/dev/stdout", "--json", "--duration", "50ms"])
            .output()
            .expect("starts"),
    );
    assert!(ran.out.contains("policy,task,release_ns"), "{ran:?}");
    laxity(&["check", &cpu, "--report", "/dev/null"]).succeeds();
}
