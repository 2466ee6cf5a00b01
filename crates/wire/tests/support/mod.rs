//! A sender, the link and a receiver, each in a network namespace, joined by veth pairs.
#![allow(dead_code)]

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

pub mod traffic;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Whoever sends; its interface is `a0` with the address 10.9.0.1.
pub const SENDER: usize = 0;
/// Where the link runs, between `in` and `out`.
pub const LINK: usize = 1;
/// Whoever receives; its interface is `b0` with the address 10.9.0.2.
pub const RECEIVER: usize = 2;

/// Namespaces that are gone with it, even when the test panics.
#[derive(Debug)]
pub struct Network {
    names: [String; 3],
}

impl Network {
    /// The namespaces and interfaces; the reason, where they cannot be had.
    pub fn new() -> Result<Network, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can make a network namespace".into());
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("laxity-wire-{}-{number}", std::process::id());
        let network = Network { names: ["a", "l", "b"].map(|role| format!("{name}-{role}")) };
        for namespace in &network.names {
            run(&format!("ip netns add {namespace}"))?;
            // The hosts' own chatter would be counted too.
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            words(&["ip", "netns", "exec", namespace, "sh", "-c", quiet])?;
            run(&format!("ip -n {namespace} link set lo up"))?;
        }
        network.join()?;
        Ok(network)
    }

    /// Makes the interfaces and sets them up.
    pub fn join(&self) -> Result<(), String> {
        self.join_in()?;
        self.join_out()
    }

    /// The pair from the sender to the link.
    pub fn join_in(&self) -> Result<(), String> {
        let [a, l, _] = &self.names;
        run(&format!("ip -n {l} link add in type veth peer name a0 netns {a}"))?;
        run(&format!("ip -n {a} address add 10.9.0.1/24 dev a0"))?;
        run(&format!("ip -n {a} link set a0 up"))?;
        run(&format!("ip -n {l} link set in up")).map(drop)
    }

    /// The pair from the link to the receiver.
    pub fn join_out(&self) -> Result<(), String> {
        let [_, l, b] = &self.names;
        run(&format!("ip -n {l} link add out type veth peer name b0 netns {b}"))?;
        run(&format!("ip -n {b} address add 10.9.0.2/24 dev b0"))?;
        run(&format!("ip -n {b} link set b0 up"))?;
        run(&format!("ip -n {l} link set out up")).map(drop)
    }

    /// The name of a namespace.
    pub fn name(&self, role: usize) -> &str {
        &self.names[role]
    }

    /// Moves the calling thread, and those it will start, into a namespace.
    pub fn enter(&self, role: usize) {
        enter(&self.names[role]);
    }

    /// Runs `ip` in a namespace.
    pub fn ip(&self, role: usize, line: &str) -> Result<String, String> {
        run(&format!("ip -n {} {line}", self.names[role]))
    }

    /// Removes a namespace before its time.
    pub fn remove(&self, role: usize) {
        run(&format!("ip netns delete {}", self.names[role])).expect("it is there");
    }

    /// A program in a namespace.
    pub fn command(&self, role: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[role], program]);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in &self.names {
            // Some may not have been made.
            let _ = run(&format!("ip netns delete {namespace}"));
        }
    }
}

/// Moves the calling thread, and those it will start, into a namespace.
pub fn enter(namespace: &str) {
    let file = File::open(format!("/var/run/netns/{namespace}")).expect("it was made");
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
}

/// The network, or `None` with the reason said; `LAXITY_REQUIRE_ALL=1` makes that a failure.
pub fn network() -> Option<Network> {
    match Network::new() {
        Ok(network) => Some(network),
        Err(why) => {
            let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
            assert!(!required, "LAXITY_REQUIRE_ALL=1, and {why}");
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn run(line: &str) -> Result<String, String> {
    words(&line.split(' ').collect::<Vec<_>>())
}

fn words(words: &[&str]) -> Result<String, String> {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let Output { status, stdout, stderr } = output.map_err(|e| format!("{}: {e}", words[0]))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&stderr).trim()))
}
