//! What serves the examples: a policy of a scenario, or the model of HFSC.

use std::sync::Arc;

use laxity_core::{FlowId, Time};
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::disciplines::{Discipline, HfscClass, LeafQueue, Tree};
use laxity_sim::link::{Observer, Traffic, simulate, simulate_policy};
use laxity_traffic::Arrival;

use crate::ExperimentError;

/// Packets that arrive together.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    at: u64,
    flow: u32,
    bytes: u32,
    packets: usize,
}

impl Burst {
    /// `packets` of `bytes` at `at` ns.
    pub fn new(at: u64, flow: u32, bytes: u32, packets: usize) -> Burst {
        Burst { at, flow, bytes, packets }
    }
}

/// A packet that was sent; times in ns.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub flow: usize,
    pub arrival: u64,
    pub end: u64,
    pub bytes: u32,
}

/// What serves the packets.
#[derive(Clone, Debug)]
pub enum Contender {
    /// A policy by its name.
    Policy(&'static str),
    /// HFSC in Linux, by its model.
    Hfsc(Vec<HfscClass>),
}

#[derive(Default)]
struct Log(Vec<Sent>);

impl Observer for Log {
    fn arrived(&mut self, _: &Packet) {}

    fn sent(&mut self, departure: &Departure, end: Time) {
        let Packet { flow, arrival, bytes, .. } = departure.packet;
        self.0.push(Sent { flow: flow.index(), arrival: arrival.0, end: end.0, bytes });
    }

    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {}
}

impl Contender {
    /// Serves the bursts; the packets in the order in which they were sent.
    pub fn run(
        &self,
        scenario: &Scenario,
        bursts: &[Burst],
        control: &Control,
    ) -> Result<Vec<Sent>, ExperimentError> {
        let mut bursts = bursts.to_vec();
        bursts.sort_by_key(|b| b.at);
        let packets = bursts.iter().flat_map(|b| {
            std::iter::repeat_n(Arrival::new(Time(b.at), FlowId(b.flow), b.bytes), b.packets)
        });
        let traffic = Traffic::Recorded(Arc::new(packets.collect()));
        let mut log = Log::default();
        match self {
            Contender::Policy(name) => {
                simulate(scenario, name, 1, &traffic, Some(&mut log), control)?
            }
            Contender::Hfsc(classes) => {
                let flows = scenario.flow_count();
                let none = HfscClass { rt: None, ls: None };
                let all = classes.iter().copied().chain(std::iter::repeat(none)).take(flows);
                let tree = Tree {
                    classes: (0..flows).collect(),
                    queues: vec![LeafQueue::Fifo { limit: 10_000_000 }; flows],
                    discipline: Discipline::Hfsc(all.collect()),
                };
                let model = tree.policy(scenario.link.rate.0).map_err(|error| {
                    ExperimentError::sheet(super::PAPER.name, error.to_string())
                })?;
                simulate_policy(scenario, ("hfsc", model), 1, &traffic, Some(&mut log), control)?
            }
        };
        Ok(log.0)
    }
}
