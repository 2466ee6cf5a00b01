//! Shared by the simulator's tests.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::{FlowId, Time};
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Observer, PolicyRun, Traffic, simulate};
use laxity_traffic::Arrival;

/// Everything that happened, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub arrived: Vec<Packet>,
    pub sent: Vec<(Departure, Time)>,
    pub dropped: Vec<(u64, DropReason)>,
}

impl Observer for Log {
    fn arrived(&mut self, packet: &Packet) {
        self.arrived.push(*packet);
    }

    fn sent(&mut self, departure: &Departure, end: Time) {
        self.sent.push((*departure, end));
    }

    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        self.dropped.push((packet.seq, reason));
    }
}

impl Log {
    /// Packet numbers in order of departure, with the end of transmission in us.
    pub fn departures_us(&self) -> Vec<(u64, u64)> {
        self.sent.iter().map(|(d, end)| (d.packet.seq, end.0 / 1000)).collect()
    }
}

pub fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// Packets as (us, flow, bytes).
pub fn arrivals(packets: &[(u64, u32, u32)]) -> Vec<Arrival> {
    let arrival =
        |&(us, flow, bytes): &(u64, u32, u32)| Arrival::new(Time(us * 1000), FlowId(flow), bytes);
    packets.iter().map(arrival).collect()
}

pub fn replay(scenario: &Scenario, policy: &str, packets: Vec<Arrival>) -> (PolicyRun, Log) {
    let traffic = Traffic::Recorded(Arc::new(packets));
    simulated(scenario, policy, 1, &traffic)
}

pub fn simulated(
    scenario: &Scenario,
    policy: &str,
    seed: u64,
    traffic: &Traffic,
) -> (PolicyRun, Log) {
    let mut log = Log::default();
    let run = simulate(scenario, policy, seed, traffic, Some(&mut log), &Control::default());
    (run.unwrap_or_else(|e| panic!("{policy}: {e}")), log)
}

pub fn generated(millis: u64) -> Traffic {
    let duration = laxity_core::Span::from_millis(millis);
    Traffic::Generated { duration, replayed: Arc::default() }
}

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}
