//! Programs that run are found, and those that have ended are not.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};

use laxity_daemon::announce::{Running, announce, running};

/// Set for a process that is to run until it is killed.
const UNTIL_KILLED: &str = "LAXITY_TEST_UNTIL_KILLED";

/// What a process says; others of this machine may run meanwhile.
fn found(process: u32) -> Vec<Running> {
    let all = running().expect("the kernel lists sockets");
    all.into_iter().filter(|program| program.process == process && program.said.is_some()).collect()
}

/// Fails when a running program is not found, another's word is taken for its process and user, or
/// one stays that has stopped to say something.
#[test]
fn a_running_program_is_found_until_it_stops() {
    let own = std::process::id();
    // Beyond what a socket holds, so that it comes in parts.
    let said = "x".repeat(1 << 20);
    let text = said.clone();
    let announced = announce(move || Some(text.clone())).expect("announced");
    let [program] = &found(own)[..] else { panic!("one program") };
    assert_eq!(program.said.as_ref(), Some(&said));
    assert_eq!(program.user, rustix::process::geteuid().as_raw());
    drop(announced);
    assert!(found(own).is_empty());
}

/// Not a test of its own: what [`a_killed_program_is_not_found`] starts and kills.
#[test]
fn run_until_killed() {
    if std::env::var_os(UNTIL_KILLED).is_none() {
        return;
    }
    let _announced = announce(|| Some("here".to_owned())).expect("announced");
    println!("announced");
    loop {
        std::thread::park();
    }
}

/// Fails when something is left of a process that was killed.
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
    assert_eq!(before.iter().map(|p| p.said.as_deref()).collect::<Vec<_>>(), [Some("here")]);
    assert!(found(child.id()).is_empty());
}

/// A program that is stopped, or a stranger that listens under a name like ours, holds nobody up.
///
/// Fails when an answer is waited for without end.
#[test]
fn one_that_does_not_answer_is_told_as_such() {
    let address = SocketAddr::from_abstract_name(format!("laxity/{}/silent", u32::MAX));
    let _silent = UnixListener::bind_addr(&address.expect("a name")).expect("listens");
    let all = running().expect("the kernel lists sockets");
    assert!(all.iter().any(|p| p.process == std::process::id() && p.said.is_none()), "{all:?}");
}
