//! Dropping privileges. Seccomp filters apply to the process, so there is one test.

use std::io;
use std::process::Command;

use laxity_daemon::privileges::{Bpf, Capabilities, deny_system_calls, drop_all, retain};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{capabilities, no_new_privs};

fn held_capabilities() -> Capabilities {
    let sets = capabilities(None).expect("this thread's");
    sets.effective | sets.permitted | sets.inheritable
}

fn raw_socket() -> io::Result<()> {
    Ok(socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::UDP)).map(drop)?)
}

/// Fails when capabilities remain or return, in the thread or one that it starts, when others than those
/// requested are dropped, or when another program can be executed.
#[test]
fn privileges_are_dropped() {
    let root = held_capabilities().contains(Capabilities::NET_RAW | Capabilities::NET_ADMIN);
    if !root {
        let why = "only a privileged process can drop privileges; run as root";
        assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{why}");
        eprintln!("skipped in part: {why}");
    }
    std::thread::spawn(move || {
        retain(Capabilities::NET_RAW).expect("less");
        if root {
            assert_eq!(held_capabilities(), Capabilities::NET_RAW);
            raw_socket().expect("it was retained");
        }
        drop_all().expect("less");
        assert_eq!(held_capabilities(), Capabilities::empty());
        assert!(no_new_privs().expect("a state"));
        assert_eq!(raw_socket().expect_err("dropped").kind(), io::ErrorKind::PermissionDenied);
        std::thread::spawn(|| assert_eq!(held_capabilities(), Capabilities::empty()))
            .join()
            .expect("none");
        // A program that root executes gets no more capabilities.
        let status = Command::new("cat").arg("/proc/self/status").output().expect("cat");
        let status = String::from_utf8(status.stdout).expect("text");
        assert!(status.contains("CapEff:\t0000000000000000\n"), "{status}");
    })
    .join()
    .expect("a thread");

    // Another thread still has capabilities, and the filter applies to it as well.
    let (go, wait) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        wait.recv().expect("a message");
        Command::new("true").status().expect_err("no other program").kind()
    });
    match deny_system_calls(Bpf::Denied) {
        Ok(()) => {}
        // A sandbox may not support seccomp filters.
        Err(error) => {
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{error}");
            eprintln!("skipped in part: {error}");
            return;
        }
    }
    go.send(()).expect("a thread");
    let denied = io::ErrorKind::PermissionDenied;
    assert_eq!(other.join().expect("a thread"), denied);
    assert_eq!(Command::new("true").status().expect_err("no other program").kind(), denied);
    // Allowed calls still work.
    std::thread::spawn(|| drop_all().expect("less")).join().expect("a thread");
    assert!(std::fs::read_to_string("/proc/self/status").is_ok());
}
