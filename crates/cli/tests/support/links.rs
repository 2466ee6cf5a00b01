//! Scripts about live links in the virtual machine: what they send, and the status that they print.
#![allow(dead_code)]

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::machine::{self, VmOutput, file, stripped, tool};

/// Packets that conform, for so many seconds: so many of so many bytes at once, every `period` ns.
pub fn trace(name: &str, seconds: u64, flows: &[(&str, u64, u64, u32)]) -> PathBuf {
    trace_ms(name, seconds * 1000, flows)
}

/// The same for a part of a second.
pub fn trace_ms(name: &str, ms: u64, flows: &[(&str, u64, u64, u32)]) -> PathBuf {
    let mut packets = Vec::new();
    for (flow, period, many, bytes) in flows {
        for at in (0..ms * 1_000_000).step_by(*period as usize) {
            packets.extend((0..*many).map(|i| (at + i * 1000, *bytes, *flow)));
        }
    }
    write(name, packets)
}

pub fn write<B: Ord + Display>(name: &str, mut packets: Vec<(u64, B, &str)>) -> PathBuf {
    packets.sort();
    let mut text = String::from("time_ns,bytes,flow\n");
    for (time, bytes, flow) in packets {
        writeln!(text, "{time},{bytes},{flow}").expect("memory");
    }
    // Another test may take one of the same name along at this time.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let made = path.with_extension(format!("{}-{number}", std::process::id()));
    std::fs::write(&made, text).expect("a trace");
    std::fs::rename(&made, &path).expect("a trace");
    path
}

/// Runs a script with the command and the programs that send and receive.
pub fn run(script: &str, files: &[PathBuf]) -> VmOutput {
    run_with(&[], script, files)
}

pub fn run_with(options: &[&str], script: &str, files: &[PathBuf]) -> VmOutput {
    let laxity = stripped(Path::new(env!("CARGO_BIN_EXE_laxity")));
    let programs = ["kernel-link", "traffic"].map(|name| stripped(&tool(name)));
    let programs = [&[laxity, "setpriv".into()], &programs[..]].concat();
    let own = ["more.toml", "slow.toml", "link.sh"];
    let own = own.map(|f| file("crates/kernel/tests/vm").join(f));
    machine::run_with(options, script, &[], &programs, &[&own[..], files].concat())
}

/// The status in JSON that a part of the output holds, by interface.
pub fn statuses(part: &str) -> Vec<Value> {
    let text = &part[part.find('{').expect("JSON")..];
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let all: Value = values.next().expect("JSON").expect("JSON");
    all["links"].as_array().expect("links").clone()
}

pub fn status(part: &str) -> Value {
    statuses(part).remove(0)
}

pub fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

pub fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// Sent by the qdisc under all scenarios.
pub fn all_packets(status: &Value) -> u64 {
    let flows = status["flows"].as_object().expect("flows").values();
    let all = flows.chain([&status["previous"]]);
    all.map(|flow| count(&flow["packets"])).sum()
}

#[track_caller]
pub fn assert_contains(part: &str, lines: &[&str]) {
    for line in lines {
        assert!(part.lines().any(|l| l.starts_with(line)), "no `{line}` in {part}");
    }
}

pub const VOICE: (&str, u64, u64, u32) = ("voice", 5_000_000, 1, 200);
pub const VIDEO: (&str, u64, u64, u32) = ("video", 100_000_000, 45, 1400);
