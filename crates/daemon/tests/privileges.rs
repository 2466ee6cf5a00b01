//! What is left of privileges. Filters of system calls are for the whole process: one test alone.

use std::io;
use std::process::Command;

use laxity_daemon::privileges::{Bpf, Capabilities, drop_all, keep, refuse_system_calls};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{capabilities, no_new_privs};

fn have() -> Capabilities {
    let sets = capabilities(None).expect("this thread's");
    sets.effective | sets.permitted | sets.inheritable
}

fn raw_socket() -> io::Result<()> {
    Ok(socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::UDP)).map(drop)?)
}

/// Fails when capabilities stay or come back, in the thread or one that it starts, when others are
/// given back than asked, or when another program can still be started.
#[test]
fn privileges_are_given_back() {
    let root = have().contains(Capabilities::NET_RAW | Capabilities::NET_ADMIN);
    if !root {
        let why = "only a privileged process can drop privileges; run as root";
        assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{why}");
        eprintln!("skipped in part: {why}");
    }
    std::thread::spawn(move || {
        keep(Capabilities::NET_RAW).expect("less");
        if root {
            assert_eq!(have(), Capabilities::NET_RAW);
            raw_socket().expect("it was kept");
        }
        drop_all().expect("less");
        assert_eq!(have(), Capabilities::empty());
        assert!(no_new_privs().expect("a state"));
        assert_eq!(raw_socket().expect_err("given back").kind(), io::ErrorKind::PermissionDenied);
        std::thread::spawn(|| assert_eq!(have(), Capabilities::empty())).join().expect("none");
        // A program that root starts gets no more than it has itself.
        let status = Command::new("cat").arg("/proc/self/status").output().expect("cat");
        let status = String::from_utf8(status.stdout).expect("text");
        assert!(status.contains("CapEff:\t0000000000000000\n"), "{status}");
    })
    .join()
    .expect("a thread");

    // Another thread has them still, and goes on while it is sealed from this one.
    let (go, wait) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        wait.recv().expect("a word");
        Command::new("true").status().expect_err("no other program").kind()
    });
    match refuse_system_calls(Bpf::Refused) {
        Ok(()) => {}
        // A sandbox may have no filters of its own to give.
        Err(error) => {
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{error}");
            eprintln!("skipped in part: {error}");
            return;
        }
    }
    go.send(()).expect("a thread");
    let refused = io::ErrorKind::PermissionDenied;
    assert_eq!(other.join().expect("a thread"), refused);
    assert_eq!(Command::new("true").status().expect_err("no other program").kind(), refused);
    // What programs do goes on.
    std::thread::spawn(|| drop_all().expect("less")).join().expect("a thread");
    assert!(std::fs::read_to_string("/proc/self/status").is_ok());
}
