//! Flow queues, AQM and ECN of live links, with TCP of the kernel in the virtual machine.
#![cfg(feature = "kernel")]

mod support;

#[path = "../../kernel/tests/machine/mod.rs"]
mod machine;

#[path = "support/links.rs"]
mod links;

use links::{assert_contains, count, run_with, status, trace, write};
use machine::{available, file, lacking, number, part};
use serde_json::Value;

const VOICE: (&str, u64, u64, u32) = ("voice", 5_000_000, 1, 200);

fn installed(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
        || lacking(&format!("{program} is not installed"))
}

fn drops(flow: &Value, reason: &str) -> u64 {
    flow["drop_reasons"].get(reason).map_or(0, count)
}

/// Voice is in time and loses nothing; `tc` counts what the status counts.
fn judge(part: &str) -> Value {
    assert_contains(part, &["up 0", "down 0", "as found"]);
    let sent = number(part, "sent voice", "voice");
    let got = (number(part, "got voice", "voice"), number(part, "got voice", "late"));
    assert_eq!(got, (sent, 0), "{part}");
    let status = status(part);
    assert_eq!(status["flows"]["voice"]["deadline_misses"], 0, "{status}");
    let flows = status["flows"].as_object().expect("flows").values();
    let sum = |key: &str| flows.clone().map(|flow| count(&flow[key])).sum::<u64>();
    let tc = |key| number(part, "tc ", key);
    let expected = (sum("packets"), sum("bytes"), sum("dropped"));
    assert_eq!((tc("packets"), tc("bytes"), tc("dropped")), expected, "{part}");
    let backlog = (number(part, "backlog", "bytes"), number(part, "backlog", "packets"));
    assert_eq!(backlog, (0, 0), "{part}");
    status["flows"]["other"].clone()
}

/// 16 downloads over 20 ms of 10 Mbit/s beside voice and a ping; then 400 flows of one host
/// against one of another; then ECN-capable packets with a changed bit each.
///
/// Fails when flows have no queues of their own, tried with one key for all packets: the ping then
/// takes as long as without; when the marked packet is another flow's, or the program that marks is
/// not attached: no packet arrives with CE; when packets that an AQM drops are not counted.
#[test]
fn downloads_leave_the_ping_alone() {
    if !available() || !installed("iperf3") || !installed("tcpdump") {
        return;
    }
    let calls = trace("calls.csv", 2, &[VOICE]);
    // 16 Mbit/s of 400 flows of a host.
    let flows: Vec<String> = (0..400).map(|i| format!("f{i}")).collect();
    let flood = (0..8000u64).map(|i| (i * 500_000, 1000, flows[i as usize % 400].as_str()));
    let flood = write("flood.csv", flood.collect());
    let files = [file("crates/kernel/tests/vm/aqm.toml"), calls, flood];
    let with = ["--with", "iperf3", "--with", "tcpdump", "--module", "macvlan"];
    let text = run_with(&with, "aqm.sh", &files);
    let ping = |part: &str| number(part, "ping", "mean");

    let single = part(&text, "one queue");
    judge(single);
    // TCP queues at least two packets of each, of 1.2 ms, on this host.
    assert!(ping(single) > 45, "{single}");

    let queues = part(&text, "flow queues and CoDel");
    let flow = judge(queues);
    // 20 ms of the way back and a packet or two.
    assert!(ping(queues) < 30, "{queues}");
    assert!(drops(&flow, "aqm") > 0 && flow["ecn_marks"] == 0, "{queues}");
    assert!(number(queues, "iperf3", "bit/s") > 8_000_000, "{queues}");

    let ecn = part(&text, "with ECN");
    let flow = judge(ecn);
    assert!(ping(ecn) < 30, "{ecn}");
    let marks = count(&flow["ecn_marks"]);
    assert!(marks > 0 && number(ecn, "iperf3", "marked") == marks, "{ecn}");
    let lost = |part| number(part, "iperf3", "retransmits");
    assert!(lost(ecn) < lost(queues) / 2, "{text}");
    assert!(number(ecn, "iperf3", "bit/s") > 8_000_000, "{ecn}");

    // A host's share is half, however many flows the other one has.
    let flood = part(&text, "flood");
    assert!(number(flood, "iperf3", "bit/s") > 3_500_000, "{flood}");

    let wrong = part(&text, "wrong checksums");
    assert!(number(wrong, "received", "marked") > 10, "{wrong}");
    assert!(number(wrong, "received", "both") > 0, "{wrong}");

    let killed = part(&text, "killed");
    assert_contains(killed, &["up 0", "down 0", "as found", "pins 0", "kernel content"]);
    assert!(!killed.contains("no mark"), "{killed}");
}
