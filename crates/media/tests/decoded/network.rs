//! A server, a router with a slow link behind it, and a player, each in a network namespace.

use std::fs::File;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sched::{CloneFlags, setns};
use nix::unistd::geteuid;

/// The player's address.
pub const PLAYER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// Namespaces that are removed on drop, even when the test panics.
pub struct Network {
    name: String,
}

impl Network {
    /// A link of `rate` bit/s from the router to the player, in front of which `limit` bytes may
    /// wait. The reason, where that cannot be had.
    pub fn new(rate: u64, limit: u64) -> Result<Network, String> {
        if !geteuid().is_root() {
            return Err("only root can make a network namespace".into());
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("laxity-{}-{number}", std::process::id());
        let network = Network { name };
        let [server, router, player] = network.namespaces();
        for namespace in [&server, &router, &player] {
            run(&format!("ip netns add {namespace}"))?;
            run(&format!("{} ip link set lo up", within(namespace)))?;
        }
        for (namespace, next) in [(&server, &router), (&router, &player)] {
            let pair = format!("link add near type veth peer name far netns {next}");
            run(&format!("{} ip {pair}", within(namespace)))?;
        }
        for (namespace, device, address) in [
            (&server, "near", "10.0.1.1"),
            (&router, "far", "10.0.1.2"),
            (&router, "near", "10.0.2.1"),
            (&player, "far", "10.0.2.2"),
        ] {
            let ip = within(namespace) + " ip";
            run(&format!("{ip} address add {address}/24 dev {device}"))?;
            run(&format!("{ip} link set {device} up"))?;
        }
        run(&format!("{} ip route add default via 10.0.1.2", within(&server)))?;
        run(&format!("{} ip route add default via 10.0.2.1", within(&player)))?;
        let at_router = within(&router);
        let forward = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"];
        execute(&at_router.split(' ').chain(forward).collect::<Vec<_>>())?;
        let slow = format!("tbf rate {rate}bit burst 3100 limit {limit}");
        run(&format!("{at_router} tc qdisc add dev near root {slow}"))?;
        Ok(network)
    }

    fn namespaces(&self) -> [String; 3] {
        ["server", "router", "player"].map(|role| format!("{}-{role}", self.name))
    }

    /// Moves the calling thread, and those it will start, to the server's place.
    pub fn enter_server(&self) {
        let [server, ..] = self.namespaces();
        let namespace = File::open(format!("/var/run/netns/{server}")).expect("it was made");
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may");
    }

    /// A command at the player's place.
    pub fn at_player(&self, program: &str) -> Command {
        let [.., player] = self.namespaces();
        let mut command = Command::new("nsenter");
        command.args([&format!("--net=/run/netns/{player}"), program]);
        command
    }

    /// Packets that the slow link's queue had no room for.
    pub fn dropped(&self) -> u64 {
        let [_, router, _] = self.namespaces();
        let show = format!("{} tc -s qdisc show dev near", within(&router));
        let text = run(&show).expect("it runs");
        let (_, dropped) = text.split_once("dropped ").expect("a count of drops");
        dropped.split(',').next().and_then(|n| n.parse().ok()).expect("a number")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in self.namespaces() {
            // Some may not have been made.
            let _ = run(&format!("ip netns delete {namespace}"));
        }
    }
}

/// The prefix of a command within a namespace: not `ip netns exec`, `ip -n` and `tc -n`, which mount
/// /sys again, as not every container allows.
fn within(namespace: &str) -> String {
    format!("nsenter --net=/run/netns/{namespace}")
}

fn run(line: &str) -> Result<String, String> {
    execute(&line.split(' ').collect::<Vec<_>>())
}

fn execute(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(arguments[0]).args(&arguments[1..]).output();
    let output = output.map_err(|e| format!("{}: {e}", arguments[0]))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
