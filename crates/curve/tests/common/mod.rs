//! Shared by the tests: the paper's flows and short constructors.
#![allow(dead_code)]

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Blocking, Envelope, FlowSpec, LinkSpec};

pub fn tspec(packet: u64, peak: u64, burst: u64, rate: u64) -> Envelope {
    let rate_of = Rate::bytes_per_second;
    Envelope::tspec(Bytes(packet), rate_of(peak), Bytes(burst), rate_of(rate)).unwrap()
}

pub fn flow(envelope: Envelope, deadline_ms: u64) -> FlowSpec {
    FlowSpec { envelope, deadline: Span::from_millis(deadline_ms) }
}

/// Table 3 of the paper: transactions, video, voice.
pub fn table3() -> Vec<FlowSpec> {
    vec![
        flow(tspec(700, 150_000, 45_000, 50_000), 20),
        flow(tspec(1536, 800_000, 15_000, 600_000), 30),
        flow(tspec(100, 250_000, 300, 150_000), 5),
    ]
}

pub fn link(rate: Rate, packet: u64, blocking: Blocking) -> LinkSpec {
    LinkSpec { rate, best_effort_packet: Bytes(packet), downstream_backlog: Bytes(0), blocking }
}

/// The paper's link: 10 Mbit/s, best-effort packets up to 1536 B.
pub fn ten_megabit(blocking: Blocking) -> LinkSpec {
    link(Rate(10_000_000), 1536, blocking)
}
