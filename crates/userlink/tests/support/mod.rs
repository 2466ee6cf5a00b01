//! A sender, the link and a receiver, each in a network namespace, joined by veth pairs.
#![allow(dead_code)]

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub mod link;
pub mod made_up;
pub mod offloads;
pub mod scenarios;
pub mod traffic;

use laxity_trace::SimPacket;
use laxity_traffic::Arrival;
use laxity_userlink::pool::{Pool, Slot};
use rustix::thread::{
    CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getaffinity, sched_setaffinity,
};

/// The sender; its interface is `a0` with the address 10.9.0.1.
pub const SENDER: usize = 0;
/// Where the link runs, between `in` and `out`.
pub const LINK: usize = 1;
/// The receiver; its interface is `b0` with the address 10.9.0.2.
pub const RECEIVER: usize = 2;

/// The way into a namespace: not `ip netns exec` and `ip -n`, which mount /sys again, as not every container
/// allows.
fn into(namespace: &str) -> [String; 2] {
    ["nsenter".into(), format!("--net=/run/netns/{namespace}")]
}

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
        let name = format!("laxity-userlink-{}-{number}", std::process::id());
        let network = Network { names: ["a", "l", "b"].map(|role| format!("{name}-{role}")) };
        for namespace in &network.names {
            run(&format!("ip netns add {namespace}"))?;
            // The hosts' own chatter would be counted too.
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            let [enter, net] = into(namespace);
            execute(&[&enter, &net, "sh", "-c", quiet])?;
            ip_in(namespace, "link set lo up")?;
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
        ip_in(l, &format!("link add in type veth peer name a0 netns {a}"))?;
        ip_in(a, "address add 10.9.0.1/24 dev a0")?;
        ip_in(a, "link set a0 up")?;
        ip_in(l, "link set in up").map(drop)
    }

    /// The pair from the link to the receiver.
    pub fn join_out(&self) -> Result<(), String> {
        let [_, l, b] = &self.names;
        ip_in(l, &format!("link add out type veth peer name b0 netns {b}"))?;
        ip_in(b, "address add 10.9.0.2/24 dev b0")?;
        ip_in(b, "link set b0 up")?;
        ip_in(l, "link set out up").map(drop)
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
        ip_in(&self.names[role], line)
    }

    /// Frames that the interfaces had no room for, up to now: on a machine that leaves the kernel's
    /// own threads waiting, frames are lost before the link or behind it.
    pub fn lost(&self) -> u64 {
        let of = |namespace: &String| {
            let namespace = namespace.clone();
            let look = move || {
                enter(&namespace);
                std::fs::read_to_string("/proc/thread-self/net/dev").expect("it is shown")
            };
            dropped(&std::thread::spawn(look).join().expect("it looks"))
        };
        self.names.iter().map(of).sum()
    }

    /// Removes a namespace before its time.
    pub fn remove(&self, role: usize) {
        run(&format!("ip netns delete {}", self.names[role])).expect("it is there");
    }

    /// A program in a namespace.
    pub fn command(&self, role: usize, program: &str) -> Command {
        let [enter, net] = into(&self.names[role]);
        let mut command = Command::new(enter);
        command.args([&net, program]);
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

/// The drops in a table of interfaces, of frames received and of frames sent.
fn dropped(table: &str) -> u64 {
    let columns = table.lines().filter_map(|line| line.split_once(':'));
    let dropped = columns.flat_map(|(_, columns)| {
        let columns: Vec<u64> = columns.split_whitespace().flat_map(str::parse).collect();
        [3, 11].map(|column| columns.get(column).copied().unwrap_or(0))
    });
    dropped.sum()
}

/// A number below another, by a generator that is always the same.
pub fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// An arrival as a frame in a buffer, under a number.
pub fn frame(pool: &mut Pool, arrival: &Arrival, sequence: u64) -> Slot {
    let Arrival { time, flow, bytes, .. } = *arrival;
    let packet = SimPacket { flow: flow.0, bytes, dscp: 0, sequence };
    let slot = pool.allocate().expect("a buffer is free");
    let frame = packet.frame().expect("a small number");
    let headers = frame.bytes();
    pool.buffer(slot)[..headers.len()].copy_from_slice(headers);
    pool.received(slot, bytes as usize, time);
    slot
}

/// Keeps the calling thread, and those it will start, to one processor of those it may use.
pub fn own_processor(number: usize) {
    let Ok(may) = sched_getaffinity(None) else { return };
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| may.is_set(*cpu)).collect();
    let mut set = CpuSet::new();
    set.set(all[number % all.len()]);
    let _ = sched_setaffinity(None, &set);
}

/// Waits for what must come to pass, however long a busy machine takes.
///
/// # Panics
/// After a minute.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Tries again what may be taken for a moment: a program that another test starts holds all open
/// files until it has begun, sockets and locks among them.
///
/// # Panics
/// After a minute.
#[track_caller]
pub fn eventually<T, E: std::fmt::Display>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let began = Instant::now();
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(e) => assert!(began.elapsed() < Duration::from_secs(60), "{e}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The network, or `None` with the reason printed; `LAXITY_REQUIRE_ALL=1` makes that a failure.
pub fn network() -> Option<Network> {
    or_skipped(Network::new())
}

/// The same where the kernel makes tunnel devices, which containers often keep it from.
pub fn network_with_tunnels() -> Option<Network> {
    let opened = File::options().read(true).write(true).open("/dev/net/tun");
    let tunnels = opened.map_err(|e| format!("there are no tunnel devices: /dev/net/tun: {e}"));
    or_skipped(tunnels.and_then(|_| Network::new()))
}

fn or_skipped(network: Result<Network, String>) -> Option<Network> {
    match network {
        Ok(network) => Some(network),
        Err(why) => {
            let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
            assert!(!required, "LAXITY_REQUIRE_ALL=1, and {why}");
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn ip_in(namespace: &str, line: &str) -> Result<String, String> {
    run(&format!("{} ip {line}", into(namespace).join(" ")))
}

fn run(line: &str) -> Result<String, String> {
    execute(&line.split(' ').collect::<Vec<_>>())
}

fn execute(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(arguments[0]).args(&arguments[1..]).output();
    let Output { status, stdout, stderr } = output.map_err(|e| format!("{}: {e}", arguments[0]))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    Err(format!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&stderr).trim()))
}
