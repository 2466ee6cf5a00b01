//! `laxity link bridge` as it is run: started, queried, killed, restarted, stopped.
#![cfg(target_os = "linux")]

#[path = "../../userlink/tests/support/mod.rs"]
mod network;
mod support;

use std::process::{Command, Stdio};

use laxity_core::Span;
use network::offloads::features;
use network::scenarios::{FLOWS, VOICE, family_with, parsed};
use network::traffic::{self, Receivers};
use network::{LINK, Network, RECEIVER, SENDER, until};
use rustix::process::Signal;
use serde_json::Value;
use support::{Folder, Process, Ran, file, laxity};

/// Without a credit, so that the command finds one.
fn scenario() -> String {
    family_with("credit = \"1 ms\"\n", "").replace("\"exact\"", "\"slack\"")
}

fn start(network: &Network, scenario: &str, more: &[&str]) -> Process {
    let mut command = network.command(LINK, env!("CARGO_BIN_EXE_laxity"));
    command.args(["link", "bridge", scenario, "--in", "in", "--out", "out"]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Process::new(command.spawn().expect("it starts"))
}

fn end(process: Process, signal: Signal) -> Ran {
    process.signal(signal);
    process.ended()
}

/// Sends the traffic of the scenario's sources from a namespace; returns the voice packets received. All
/// come, but for those that the interfaces lost and counted.
fn pass(network: &Network, role: usize) -> u64 {
    let receivers = Receivers::start(network, FLOWS);
    let arrivals = traffic::arrivals(&parsed(&scenario()), 1, Span::from_millis(400));
    let sent = traffic::send_from(network, role, arrivals, FLOWS).join().expect("it sends")[VOICE];
    receivers.wait(network, &[sent]);
    let before = receivers.lost;
    let came = receivers.finish()[VOICE].packets;
    let lost = network.lost() - before;
    assert!(came <= sent && came + lost >= sent, "{came} of {sent} came, {lost} were lost");
    came
}

/// The status, once it shows so many voice packets.
fn status(path: &str, voice: u64) -> Value {
    let mut seen = Value::Null;
    until("the status shows what was sent", || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        seen = serde_json::from_str(&text).unwrap_or_default();
        seen["links"][0]["flows"]["voice"]["packets"].as_u64() >= Some(voice)
    });
    seen
}

/// Processes whose links `laxity link status` shows in the namespace of the link.
fn shown(network: &Network) -> Vec<u64> {
    let mut status = network.command(LINK, env!("CARGO_BIN_EXE_laxity"));
    let ran = Ran::of(status.args(["link", "status", "--json"]).output().expect("it starts"));
    let links: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let links = links["links"].as_array().into_iter().flatten();
    links.filter_map(|link| link["process"]["id"].as_u64()).collect()
}

/// Fails when a killed link leaves a program or a socket on the interfaces, is still shown, or was not
/// shown before, when it cannot be started again, or when features do not come back in the end.
#[test]
fn a_killed_bridge_leaves_no_trace_after_restart() {
    let folder = Folder::new("bridge");
    let path = folder.write("link.toml", scenario());
    for io in ["packet", "xdp"] {
        let Some(network) = network::network() else { return };
        let before = features(&network);
        let mut process = start(&network, &path, &["--io", io]);
        traffic::warm_up(&network);
        pass(&network, SENDER);
        assert_eq!(shown(&network), [u64::from(process.child().id())]);
        // In the midst of traffic.
        let arrivals = traffic::arrivals(&parsed(&scenario()), 2, Span::from_millis(200));
        let sending = traffic::send(&network, arrivals, FLOWS);
        let killed = end(process, Signal::KILL);
        assert_eq!(killed.code, None, "{killed:?}");
        assert!(shown(&network).is_empty());
        sending.join().expect("it sends");
        for device in ["in", "out"] {
            // The kernel cleans up after a process with a delay.
            until(&format!("{device} is free of programs and sockets by {io}"), || {
                let shown = network.ip(LINK, &format!("link show {device}")).expect("it is there");
                !shown.contains("xdp") && !shown.contains("PROMISC")
            });
        }
        let file = folder.path(&format!("status-{io}.json"));
        let more = ["--io", io, "--status", &file, "--policy", "exact", "--compare"];
        let process = start(&network, &path, &more);
        traffic::warm_up(&network);
        let came = pass(&network, SENDER);
        let seen = status(&file, came);
        let ended = end(process, Signal::TERM);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains("voice") && ended.out.contains("simulated"), "{}", ended.out);
        assert!(ended.err.contains("passed on as it comes"), "{}", ended.err);
        let link = &seen["links"][0];
        assert_eq!((&link["device"], &link["policy"]), (&"out".into(), &"exact".into()));
        let thread = &seen["threads"]["in"];
        let excused = thread["stall_total_ms"].as_f64() > Some(0.0);
        assert!(excused || link["flows"]["voice"]["dropped"] == 0, "{io}: {seen}");
        assert_eq!(thread["io"], io);
        assert_eq!(features(&network), before, "{io}: features are as they were");
    }
}

/// Fails when a removed interface is not named, or the link goes on without it.
#[test]
fn a_removed_interface_is_named() {
    let folder = Folder::new("removed");
    let path = folder.write("link.toml", scenario());
    for with_its_namespace in [false, true] {
        let Some(network) = network::network() else { return };
        let file = folder.path(&format!("status-{with_its_namespace}.json"));
        let more = ["--reverse", &path, "--json", "--status", &file];
        let process = start(&network, &path, &more);
        traffic::warm_up(&network);
        let arrivals = traffic::arrivals(&parsed(&scenario()), 3, Span::from_millis(1500));
        let sending = traffic::send(&network, arrivals, FLOWS);
        status(&file, 6);
        if with_its_namespace {
            // The other end of the pair goes with it, and so does `out`.
            network.remove(RECEIVER);
        } else {
            network.ip(LINK, "link delete out").expect("it goes");
        }
        let ended = process.ended();
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.err.contains("the interface out was removed"), "{}", ended.err);
        let status: Value = serde_json::from_str(&ended.out).expect("what was done is printed");
        let links = status["links"].as_array().expect("both directions");
        assert_eq!(links.len(), 2, "{status}");
        assert!(links[0]["flows"]["voice"]["packets"].as_u64() > Some(5), "{status}");
        sending.join().expect("it sends");
    }
}

/// Fails when a tunnel outlives its link, or its packets do not come.
#[test]
fn a_tunnel_goes_with_its_link() {
    let Some(network) = network::network_with_tunnels() else { return };
    network.ip(LINK, "address add 10.9.0.1/24 dev out").expect("an address");
    let folder = Folder::new("tunnel");
    let path = folder.write("link.toml", scenario());
    for signal in [Signal::KILL, Signal::TERM] {
        let mut command = network.command(LINK, env!("CARGO_BIN_EXE_laxity"));
        command.args(["link", "tun", &path, "--name", "tun7", "--out", "out", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::new(command.spawn().expect("it starts"));
        until("there is a tunnel", || {
            let ended = process.child().try_wait().expect("a child");
            assert_eq!(ended, None, "it ended without a tunnel");
            network.ip(LINK, "link set tun7 up").is_ok()
        });
        network.ip(LINK, "route add 10.9.0.2/32 dev tun7 src 10.9.0.1").expect("it is up");
        let came = pass(&network, LINK);
        let ended = end(process, signal);
        until("the tunnel is removed", || network.ip(LINK, "link show tun7").is_err());
        if signal == Signal::TERM {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let status: Value = serde_json::from_str(&ended.out).expect("it is JSON");
            assert_eq!(status["links"][0]["device"], "out");
            assert_eq!(status["threads"]["tun7"]["io"], "tun");
            let went = status["links"][0]["flows"]["voice"]["packets"].as_u64();
            assert!(went >= Some(came), "{came} came: {status}");
        }
    }
    let bad = ["link", "tun", &path, "--name", "a/b", "--out", "lo"];
    laxity(&bad).fails(2, &["a/b", "letters"]);
}

/// Fails when an invalid bridge is started, or an error lacks a remedy.
#[test]
fn invalid_bridges_are_refused_with_a_reason() {
    let folder = Folder::new("refused");
    let path = folder.write("link.toml", scenario());
    let tight = scenario().replace("deadline = \"10 ms\"", "deadline = \"1 ms\"");
    let tight = folder.write("tight.toml", tight);
    let bridge = |scenario: &str, input: &str, output: &str| {
        laxity(&["link", "bridge", scenario, "--in", input, "--out", output])
    };
    bridge(&path, "eth-no", "eth-none").fails(2, &["eth-no", "ip link"]);
    bridge(&path, "lo", "eth-none").fails(2, &["lo", "Ethernet"]);
    bridge(&path, "lo", "lo").fails(2, &["same interface"]);
    bridge(&tight, "lo", "eth-none").fails(1, &["not admitted", "laxity check"]);
    bridge(&file("scenarios/media-server.toml"), "lo", "no").fails(2, &["[link]"]);
    let marked = scenario().replace("dport = 49153", "mark = 7");
    bridge(&folder.write("marked.toml", &marked), "no-in", "no-out").fails(2, &["mark", "note"]);
    let unprivileged = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", env!("CARGO_BIN_EXE_laxity")])
        .args(["link", "bridge", &path, "--in", "eth0", "--out", "eth0.1"])
        .output();
    // Where other users can read the program and there is such an interface.
    if let Ok(output) = unprivileged {
        let ran = Ran::of(output);
        assert!(ran.code != Some(0) && !ran.err.contains("panicked"), "{ran:?}");
    }
}
