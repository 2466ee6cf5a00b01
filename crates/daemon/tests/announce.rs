//! Running programs are found, and ended ones are not.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use laxity_daemon::announce::{RunningProgram, announce, running_programs};

/// Set for a process that runs until it is killed.
const UNTIL_KILLED: &str = "LAXITY_TEST_UNTIL_KILLED";

/// The programs with a PID and a status; other programs of this machine may run at the same time.
fn find(pid: u32) -> Vec<RunningProgram> {
    let all = running_programs().expect("the kernel lists sockets");
    all.into_iter().filter(|program| program.pid == pid && program.status.is_some()).collect()
}

/// The same, again for a minute at most while there are none: a program that gets no processor does not answer in time.
fn found(pid: u32) -> Vec<RunningProgram> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let programs = find(pid);
        if !programs.is_empty() || Instant::now() > until {
            return programs;
        }
    }
}

/// Fails when a running program is not found, its PID or user is wrong, or it is found after its
/// announcement was dropped.
#[test]
fn a_running_program_is_found_until_it_stops() {
    let own = std::process::id();
    // Longer than a socket buffer, so that it arrives in parts.
    let status = "x".repeat(1 << 20);
    let text = status.clone();
    let announcement = announce(move || Some(text.clone())).expect("announced");
    let [program] = &found(own)[..] else { panic!("one program") };
    assert_eq!(program.status.as_ref(), Some(&status));
    assert_eq!(program.user, rustix::process::geteuid().as_raw());
    drop(announcement);
    assert!(find(own).is_empty());
}

/// The process that [`a_killed_program_is_not_found`] starts and kills.
#[test]
fn run_until_killed() {
    if std::env::var_os(UNTIL_KILLED).is_none() {
        return;
    }
    let _announcement = announce(|| Some("running".to_owned())).expect("announced");
    println!("announced");
    loop {
        std::thread::park();
    }
}

/// Fails when a killed process is still found.
#[test]
fn a_killed_program_is_not_found() {
    use std::io::{BufRead as _, BufReader};
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "run_until_killed", "--nocapture"])
        .env(UNTIL_KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.contains("announced"));
    let before = found(child.id());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(ready);
    assert_eq!(before.iter().map(|p| p.status.as_deref()).collect::<Vec<_>>(), [Some("running")]);
    assert!(find(child.id()).is_empty());
}

/// A stopped program, or another program with such a name, does not block discovery.
///
/// Fails when reading a status has no timeout.
#[test]
fn silent_programs_are_listed_without_status() {
    let address = SocketAddr::from_abstract_name(format!("laxity/{}/silent", u32::MAX));
    let _silent = UnixListener::bind_addr(&address.expect("a name")).expect("listens");
    let all = running_programs().expect("the kernel lists sockets");
    assert!(all.iter().any(|p| p.pid == std::process::id() && p.status.is_none()), "{all:?}");
}
