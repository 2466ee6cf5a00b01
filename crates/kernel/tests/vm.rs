//! The qdisc in the virtual machine: what the verifier makes of it, and live traffic.
//!
//! Built with the feature `kernel` only. Skipped, with the reason, where the virtual machine
//! cannot be had; `LAXITY_REQUIRE_ALL=1` makes that a failure.
#![cfg(feature = "kernel")]

mod machine;
#[path = "support/verified.rs"]
mod verified;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use machine::{VmOutput, available, number, part, tool};

fn package_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a script of `tests/vm` with programs of `tools/kernel`.
fn run(script: &str, files: &[PathBuf]) -> VmOutput {
    machine::run(script, &["kernel-link", "traffic"].map(tool), files)
}

/// The verifier's cost is as recorded in `bpf/verifier-cost.txt` if kernel and compiler are the
/// same, and always below half of what the kernel allows.
///
/// Fails when loop counters start from a zero that the verifier knows: it then follows the loop
/// iteration by iteration and gives up.
#[test]
fn verifier_cost_is_as_recorded() {
    if !available() {
        return;
    }
    let scenarios =
        ["queues", "curves"].map(|n| package_folder().join(format!("tests/vm/{n}.toml")));
    let options = ["--in-real-time"];
    let text = machine::run_with(&options, "verify.sh", &[], &[tool("kernel-link")], &scenarios);
    verified::verified(&text, "bpf/verifier-cost.txt", 49);
}

/// A small generator: the same traces on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A packet every `period` ns in bursts of up to `burst`, for `seconds`.
fn flow(
    packets: &mut Vec<(u64, u32, &'static str)>,
    name: &'static str,
    seconds: u64,
    period: impl FnMut() -> u64,
    (least, most, bytes): (u64, u64, u32),
    random: &mut Random,
) {
    let mut period = period;
    let mut at = 0;
    while at < seconds * 1_000_000_000 {
        for i in 0..least + random.below(most - least + 1) {
            packets.push((at + i * 1000, bytes, name));
        }
        at += period();
    }
}

/// Voice every `voice` ns, video in frames, and best effort times `load`.
fn trace(path: &Path, seconds: u64, voice: u64, load: u64) {
    let mut random = Random(7);
    let mut other = Random(11);
    let mut packets = Vec::new();
    flow(&mut packets, "voice", seconds, || voice, (1, 1, 200), &mut random);
    flow(&mut packets, "video", seconds, || 100_000_000, (45, 45, 1400), &mut random);
    let gap = |mean: u64| move |r: &mut Random| mean / 2 + r.below(mean);
    let (http, bulk) = (gap(20_000_000 / load), gap(15_000_000 / load));
    flow(&mut packets, "http", seconds, || http(&mut other), (1, 8, 1000), &mut random);
    flow(&mut packets, "bulk", seconds, || bulk(&mut other), (2, 2, 1400), &mut random);
    packets.sort();
    let mut text = String::from("time_ns,bytes,flow\n");
    for (time, bytes, name) in packets {
        writeln!(text, "{time},{bytes},{name}").expect("memory");
    }
    std::fs::write(path, text).expect("a trace");
}

/// Every packet sent is counted as transmitted or as dropped with its reason.
fn all_losses_are_counted(part: &str) {
    for flow in ["voice", "video", "http", "bulk"] {
        let sent = number(part, &format!("sent {flow}"), flow);
        let start = format!("{flow} ");
        let counted = number(part, &start, "packets") + number(part, &start, "dropped");
        assert_eq!(sent, counted, "{flow}: {part}");
        assert_eq!(number(part, &start, "packets"), number(part, &format!("got {flow}"), flow));
    }
}

fn realtime_is_in_time(part: &str, flows: &[&str]) {
    for flow in flows {
        let got = format!("got {flow}");
        assert_eq!(number(part, &got, "late"), 0, "{part}");
        assert_eq!(number(part, &format!("{flow} "), "late"), 0, "{part}");
        assert_eq!(number(part, &format!("{flow} "), "dropped"), 0, "{part}");
        let sent = number(part, &format!("sent {flow}"), flow);
        assert_eq!(number(part, &got, flow), sent, "{part}");
    }
}

fn best_effort_mean(part: &str) -> u64 {
    let weighted = ["http", "bulk"].map(|flow| {
        let start = format!("got {flow}");
        (number(part, &start, flow), number(part, &start, "mean_us"))
    });
    let packets: u64 = weighted.iter().map(|(n, _)| n).sum();
    weighted.iter().map(|(n, mean)| n * mean).sum::<u64>() / packets
}

/// Live traffic over a link of 10 Mbit/s with a wire of that rate behind it: no real-time packet
/// late or lost, each packet accounted for, the interface afterwards as it was found.
///
/// Fails when policing is left out, tried with `conforms = now` in `lx_enqueue`: the flow that lies
/// then makes 34 of 450 video packets late; when what is to be dropped waits instead, tried without
/// `LX_DROP` there.
#[test]
fn live_traffic_keeps_its_deadlines() {
    if !available() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let traces: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::from([
        ("mixed.csv", (2, 5_000_000, 1)),
        // Voice at five times its contract.
        ("liar.csv", (1, 1_000_000, 1)),
        // Best effort of some ten times the link.
        ("flood.csv", (1, 5_000_000, 30)),
    ]);
    let mut files = Vec::new();
    for (name, (seconds, voice, load)) in traces {
        files.push(folder.join(name));
        trace(&folder.join(name), seconds, voice, load);
    }
    let text = run("live.sh", &files);

    let policies = ["background", "exact", "slack"].map(|p| part(&text, &format!("{p} mixed.csv")));
    for part in policies {
        all_losses_are_counted(part);
        realtime_is_in_time(part, &["voice", "video"]);
    }
    let [background, exact, slack] = policies.map(best_effort_mean);
    assert!(exact < background && slack < background, "{text}");

    let liar = part(&text, "exact liar.csv");
    all_losses_are_counted(liar);
    realtime_is_in_time(liar, &["video"]);
    assert_eq!(number(liar, "voice ", "late"), 0, "late from conformance: {liar}");
    assert!(number(liar, "got voice", "late") > 100, "its own packets wait: {liar}");

    let demoted = part(&text, "exact liar.csv demote");
    let dropped = part(&text, "exact liar.csv drop");
    for part in [demoted, dropped] {
        all_losses_are_counted(part);
        realtime_is_in_time(part, &["video"]);
        assert_eq!(number(part, "voice ", "late"), 0, "{part}");
    }
    assert!(number(demoted, "voice ", "demoted") > 500, "{demoted}");
    // Within the deadline, as none is late; demoted packets, which may take longer, are apart.
    assert!(number(demoted, "voice ", "max_us") <= 10_000, "{demoted}");
    assert!(number(demoted, "voice ", "demoted_max_us") > 0, "{demoted}");
    let excess = number(dropped, "  excess", "excess");
    assert!(excess > 500 && excess == number(dropped, "voice ", "dropped"), "{dropped}");

    let flood = part(&text, "exact flood.csv");
    all_losses_are_counted(flood);
    realtime_is_in_time(flood, &["voice", "video"]);
    assert!(
        number(flood, "http ", "dropped") + number(flood, "bulk ", "dropped") > 1000,
        "{flood}"
    );
    assert!(flood.contains("pushed-out"), "{flood}");

    let refusals = part(&text, "refusals");
    assert!(!refusals.contains("let in") && !refusals.contains("stolen"), "{refusals}");
    assert!(refusals.contains("pfifo") && refusals.contains("has a link already"), "{refusals}");
    assert!(refusals.contains("700 0\n700 0\n"), "{refusals}");
    assert!(number(part(&text, "flushed"), "  flushed", "flushed") > 10, "{text}");
    assert!(text.ends_with("as found\nkernel content\n"), "{text}");
}

/// Two service curves, convex and concave, beside a deadline and more best effort than the link sends:
/// no packet is late by its curve as the qdisc counts, nor by what the curve gives a whole burst as the
/// receiver measures, and the flows without a policer lose none.
///
/// Fails when flows with curves have the deadlines of their delay bounds, tried in
/// `lx_realtime_deadline`: a fourth of the voice packets is late then.
#[test]
fn live_service_curves_are_kept() {
    if !available() {
        return;
    }
    let text = run("curves.sh", &[package_folder().join("tests/vm/curves.toml")]);
    let part_of = part(&text, "exact");
    realtime_is_in_time(part_of, &["concave", "convex", "voice"]);
    assert_eq!(number(part_of, "sent concave", "concave"), 340, "{text}");
    assert!(number(part_of, "bulk ", "dropped") + number(part_of, "bulk ", "packets") > 1900);
    assert!(part(&text, "slack").contains("choose `exact`"), "{text}");
    assert!(text.ends_with("kernel content\n"), "{text}");
}

/// Ten packets of each kind are counted in the class whose rule matches them, for IPv4, IPv6, one
/// VLAN tag or two.
///
/// Fails when the first of two tags is read at the network header.
#[test]
fn packets_are_classified() {
    if !available() {
        return;
    }
    let text = run("classes.sh", &[package_folder().join("tests/vm/rules.toml")]);
    let classes = [
        ("mark", "mark"),
        ("priority", "priority"),
        ("dscp", "dscp"),
        ("dscp6", "dscp"),
        ("ports", "ports"),
        ("ports6", "ports"),
        ("beyond", "other"),
        ("six", "six"),
        ("prefix", "prefix"),
        ("vlan", "ports"),
        ("vlan6", "ports"),
        ("stacked", "ports"),
        ("stacked-dscp", "dscp"),
        ("ping", "ping"),
    ];
    for (sent, class) in classes {
        let start = format!("{sent}: ");
        let line = text.lines().find(|l| l.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("no {sent} in {text}"));
        // The kernel may have had questions of its own meanwhile.
        let packets = number(line, &start, class);
        assert!(packets == 10 || (class == "other" && packets > 10), "{line}");
    }
    assert!(text.contains("segments: gso_max_segs 1\n"), "{text}");
}
