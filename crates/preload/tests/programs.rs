//! Unmodified programs with the library, the real server and a fake scheduler.

#[path = "../../kernel/tests/support/lacking.rs"]
mod lacking;
#[path = "../../broker/tests/support/mod.rs"]
mod support;

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use laxity_broker::ConnectionLimits;
use laxity_core::Span;
use laxity_cpu::Reservation;
// Makes cargo build the library before this test.
use laxity_preload as _;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use support::{FakeScheduler, Folder, USER, is_root, run_as, serve};

/// The library, where all users may read it, and the program in C.
fn prepare(folder: &Folder) {
    let test = std::env::current_exe().expect("a path");
    let built = test.parent().expect("a folder").join("liblaxity_preload.so");
    std::fs::copy(&built, folder.0.join("preload.so")).expect("the library");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deadline.c");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]);
    let cc = cc.arg(folder.0.join("deadline")).arg(source).args(["-lpthread", "-ldl"]).output();
    let output = cc.expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a program with the library as a user without privileges.
fn run(folder: &Folder, command: &mut Command) -> Output {
    command.env("LAXITY_CPU_SOCKET", folder.socket()).env("LC_ALL", "C");
    command.env("LD_PRELOAD", folder.0.join("preload.so"));
    if is_root() { run_as(USER, command) } else { command.output().expect("a program") }
}

fn steps(folder: &Folder, steps: &[&str]) -> String {
    let output = run(folder, Command::new(folder.0.join("deadline")).args(steps));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// A thread has the reservation that it asks `SCHED_DEADLINE` for; later requests replace it, refused ones leave it.
/// All else goes on to the kernel, as does that without a server.
///
/// Fails when a request reaches the kernel (tried: `Pass` for all: `EPERM`), when a second one is refused, or leaves the
/// first (tried without `release`), when a refused one ends the first (tried without the last `reserve`), when the
/// reservation stays behind a thread that leaves the policy (tried without `PassAndRelease`), when `sched_yield` is the
/// kernel's, when an argument of other system calls is lost (tried with five), and when what is not valid for a
/// reservation never reaches the kernel.
#[test]
fn programs_have_reservations() {
    let (folder, scheduler) = (Folder::new("preload"), FakeScheduler::default());
    prepare(&folder);
    assert_eq!(
        steps(&folder, &["set 2 10", "get", "pass"]),
        "set 2 10: EPERM\nget: ok 0\nsix: ok\npid: ok\nclose: EBADF\n"
    );
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let text = steps(
        &folder,
        &[
            "pass",
            "set 2 10",
            "get",
            "set 2 10",
            "set 1 20",
            "get",
            "set 6 10",
            "get",
            "set 20 10",
            "yield",
            "set 1 10 other",
            "get other",
            "policy 1 1",
            "get",
            "policy 0 0",
            "get",
            "set 1.5 10",
            "wrapper",
            "get",
            "set 0.05 10",
            "wrong",
        ],
    );
    let passed = "six: ok\npid: ok\nclose: EBADF\n";
    let expected = [
        "set 2 10: ok",
        "get: ok 6 2 10 10",
        "set 2 10: ok",
        "set 1 20: ok",
        "get: ok 6 1 20 20",
        // More than the user's share.
        "set 6 10: EBUSY",
        "get: ok 6 1 20 20",
        "set 20 10: EINVAL",
        "yield: waits",
        "set 1 10 other: ok",
        "get other: ok 6 1 10 10",
        // SCHED_FIFO and SCHED_OTHER.
        "policy 1 1: EPERM",
        "get: ok 6 1 20 20",
        "policy 0 0: ok",
        "get: ok 0",
        "set 1.5 10: ok",
        // A deadline before the end of the period; 20 % and the 10 % of the other thread are too much.
        "wrapper: failed",
        "get: ok 6 1.5 10 10",
        // Less than users may reserve.
        "set 0.05 10: EINVAL",
        "flags: EINVAL",
        "negative: EINVAL",
        "init: EPERM",
        "none: ESRCH",
        "signal: EINVAL",
        "size: E2BIG",
        "null: EINVAL",
        "pointer: EFAULT",
    ];
    assert_eq!(text, format!("{passed}{}\n", expected.join("\n")));
    assert_eq!(steps(&folder, &["wrapper", "get"]), "wrapper: ok\nget: ok 6 1 5 5\n");
    // Without a scheduler it is the kernel that refuses, for another reason.
    scheduler.set_down(true);
    let text = steps(&folder, &["wrong"]);
    assert!(!is_root() || text.contains("\nsignal: EPERM\n"), "{text}");
    scheduler.set_down(false);
    assert_eq!(scheduler.reservations(), []);
}

/// `chrt -d` gives the command that it runs a reservation, or says why not.
///
/// Fails when the reservation is not that of the process that then runs the command, or has other times.
#[test]
fn chrt_reserves_for_its_command() {
    let (folder, scheduler) = (Folder::new("preload-chrt"), FakeScheduler::default());
    prepare(&folder);
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let chrt = |runtime: &str, command: &[&str]| {
        let mut chrt = Command::new("chrt");
        chrt.args(["-d", "-T", runtime, "-P", "10000000", "0"]).args(command);
        chrt
    };
    if chrt("1", &["true"]).output().is_err() {
        lacking::lacking("there is no chrt");
        return;
    }
    // The command ends with the first line of this, and its reservation with it.
    let fifo = folder.0.join("fifo");
    mkfifo(&fifo, Mode::from_bits_truncate(0o644)).expect("a FIFO");
    let mut end = OpenOptions::new().read(true).write(true).open(&fifo).expect("a FIFO");
    let watcher = std::thread::spawn({
        let scheduler = scheduler.clone();
        move || {
            let mut seen = None;
            for _ in 0..6000 {
                seen = scheduler.reservations().first().and_then(|found| {
                    let path = format!("/proc/{}/comm", found.pid);
                    let command = std::fs::read_to_string(path).unwrap_or_default();
                    (command == "head\n").then_some(found.reservation)
                });
                if seen.is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            end.write_all(b"\n").expect("room");
            (seen, end)
        }
    });
    let fifo = fifo.to_str().expect("text");
    let output = run(&folder, &mut chrt("2000000", &["head", "-n", "1", fifo]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ms = Span::from_millis;
    let (seen, _end) = watcher.join().expect("a watcher");
    assert_eq!(seen, Some(Reservation::new(ms(2), ms(10))));
    let output = run(&folder, &mut chrt("3000000", &["true"]));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("Device or resource busy"), "{error}");
}

/// A thread of a reservation that it shares with others keeps that: once it has left, it could not return.
///
/// Fails when a request ends it first (tried without the number of its tasks).
#[test]
fn threads_keep_reservations_that_others_share() {
    let (folder, scheduler) = (Folder::new("preload-shared"), FakeScheduler::default());
    prepare(&folder);
    let server = serve(&folder, &scheduler, ConnectionLimits::default());
    let [ids, go] = ["ids", "go"].map(|name| {
        let path = folder.0.join(name);
        mkfifo(&path, Mode::from_bits_truncate(0o666)).expect("a FIFO");
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("a mode");
        path
    });
    let user = if is_root() { USER } else { nix::unistd::getuid().as_raw() };
    let shares = std::thread::spawn({
        let scheduler = scheduler.clone();
        move || {
            let pid = std::fs::read_to_string(ids).expect("an id").trim().parse().expect("an id");
            let reservation = Reservation::new(Span::from_millis(1), Span::from_millis(10));
            scheduler.share(&[pid, std::process::id()], reservation, user);
            std::fs::write(go, "go\n").expect("a reader");
        }
    });
    let script = "echo $$ >\"$1/ids\"; read -r line <\"$1/go\"; exec \"$1/deadline\" 'set 1 20'";
    let output = run(&folder, Command::new("sh").args(["-c", script, "sh"]).arg(&folder.0));
    shares.join().expect("its end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "set 1 20: EBUSY\n");
    let counts = server.broker.counters.requests();
    assert!(counts.iter().all(|count| count.request != "release"), "{counts:?}");
}
