//! Best effort in the background, its classes ordered by a fair queue with a reference server of the
//! whole link: a second reading of "WFQ".
//!
//! That of `laxity-link` serves a byte in the reference whenever one of best effort is really sent,
//! because real-time packets use most of the link. By the textbook the reference ignores
//! them: it serves at the link's rate and is soon empty while the packets still wait, so that their
//! order comes near to that of their arrivals.

use std::collections::BTreeMap;

use laxity_core::{FlowId, Time};
use laxity_link::{Departure, DropSink, LinkPolicy, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Measure, PolicyRun, Traffic, run};

use super::REFERENCE;

/// Real-time packets by their deadlines, then the others.
pub struct Textbook {
    /// Relative deadlines in ns of the real-time flows, which come first.
    deadlines: Vec<u64>,
    reference: Reference,
    realtime: BTreeMap<(Time, u64), Packet>,
    best_effort: BTreeMap<(u128, u64), Packet>,
}

/// Generalised processor sharing at the link's rate.
struct Reference {
    /// In bits a second.
    rate: u128,
    weights: Vec<u128>,
    /// Virtual time at which each class has been served.
    finish: Vec<u128>,
    virtual_time: u128,
    now: Time,
}

/// Virtual time is in bits of a class of weight 1, times nanoseconds a second and this.
const SCALE: u128 = 1 << 20;
const BILLION: u128 = 1_000_000_000;

impl Reference {
    fn advance(&mut self, now: Time) {
        let mut left = u128::from(now.since(self.now).0) * self.rate * SCALE;
        self.now = now;
        loop {
            let busy =
                || self.finish.iter().zip(&self.weights).filter(|c| *c.0 > self.virtual_time);
            let Some(first) = busy().map(|c| *c.0).min() else { return };
            let weight: u128 = busy().map(|c| c.1).sum();
            let until = (first - self.virtual_time) * weight;
            if until > left {
                self.virtual_time += left / weight;
                return;
            }
            left -= until;
            self.virtual_time = first;
        }
    }

    /// The tag of a packet that arrives now.
    fn tag(&mut self, now: Time, class: usize, wire: u32) -> u128 {
        self.advance(now);
        let cost = u128::from(wire) * 8 * BILLION * SCALE / self.weights[class];
        self.finish[class] = self.finish[class].max(self.virtual_time) + cost;
        self.finish[class]
    }
}

impl Textbook {
    /// For the flows of a scenario.
    pub fn new(scenario: &Scenario) -> Textbook {
        let weights = scenario.best_effort.iter().map(|c| u128::from(c.weight.0.max(1)));
        let weights: Vec<u128> = weights.collect();
        Textbook {
            deadlines: scenario.realtime.iter().map(|f| f.deadline.0).collect(),
            reference: Reference {
                rate: u128::from(scenario.link.rate.0),
                finish: vec![0; weights.len()],
                weights,
                virtual_time: 0,
                now: Time::ZERO,
            },
            realtime: BTreeMap::new(),
            best_effort: BTreeMap::new(),
        }
    }

    fn deadline(&self, flow: FlowId) -> Option<u64> {
        self.deadlines.get(flow.index()).copied()
    }
}

impl LinkPolicy for Textbook {
    fn enqueue(&mut self, now: Time, packet: Packet, _: &mut dyn DropSink) {
        match self.deadline(packet.flow) {
            Some(deadline) => {
                let due = Time(now.0.saturating_add(deadline));
                self.realtime.insert((due, packet.seq), packet);
            }
            None => {
                let class = packet.flow.index() - self.deadlines.len();
                let tag = self.reference.tag(now, class, packet.wire);
                self.best_effort.insert((tag, packet.seq), packet);
            }
        }
    }

    /// Real time goes first in any case.
    fn handle_stall(&mut self) {}

    fn dequeue(&mut self, _: Time, _: &mut dyn DropSink) -> Option<Departure> {
        if let Some(((deadline, _), packet)) = self.realtime.pop_first() {
            return Some(Departure { packet, deadline, realtime: true, dropped: false });
        }
        let (_, packet) = self.best_effort.pop_first()?;
        Some(Departure { packet, deadline: Time::MAX, realtime: false, dropped: false })
    }

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn waiting(&self) -> usize {
        self.realtime.len() + self.best_effort.len()
    }
}

/// The reference scheme under this reading, on one seed.
pub fn simulate(scenario: &Scenario, seed: u64, traffic: &Traffic, control: &Control) -> PolicyRun {
    let duration = traffic.duration();
    let mut measure = Measure::new(scenario.flow_count(), duration.0);
    let mut policy = Textbook::new(scenario);
    let arrivals = Traffic::generate(scenario, seed, duration, &[]);
    let setup = scenario.setup();
    let ending = run(&mut policy, arrivals, setup.rate, setup.wire, &mut measure, control);
    let policy = REFERENCE.to_owned();
    PolicyRun { policy, seed, measure, ending, transfers: Vec::new(), duration_ns: duration.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One class has a hundred packets waiting behind real-time traffic, all served in the reference
    // meanwhile. Fails when the reference is driven by what is sent: the newcomer, of five times the
    // weight, is then served first. With the reference at the link's rate it comes last.
    #[test]
    fn the_reference_server_runs_while_packets_wait() {
        let scenario = super::super::scenario().unwrap();
        let mut policy = Textbook::new(&scenario);
        let mut ignore = |_: Time, _: &Packet, _| {};
        let mut enqueue = |at: u64, seq: u64, flow: u32| {
            let (now, wire) = (Time(at), 1250);
            let packet = Packet::new(seq, now, FlowId(flow), wire, wire);
            policy.enqueue(now, packet, &mut ignore);
        };
        // The service time of a packet is 1 ms; the third best-effort class has the least weight, the first the most.
        (0..100).for_each(|seq| enqueue(0, seq, 5));
        enqueue(101_000_000, 100, 3);
        assert_eq!(policy.waiting(), 101);
        let order: Vec<u64> = std::iter::from_fn(|| policy.dequeue(Time(0), &mut ignore))
            .map(|d| d.packet.seq)
            .collect();
        assert_eq!(order, (0..=100).collect::<Vec<_>>());
        // Before the reference is empty the weights decide: in half of it as many of the others go
        // first as the newcomer's share allows.
        let mut policy = Textbook::new(&scenario);
        let packet = |seq, flow, at| Packet::new(seq, Time(at), FlowId(flow), 1250, 1250);
        for seq in 0..100 {
            policy.enqueue(Time(0), packet(seq, 5, 0), &mut ignore);
        }
        let half = 50_000_000;
        policy.enqueue(Time(half), packet(100, 3, half), &mut ignore);
        let order = std::iter::from_fn(|| policy.dequeue(Time(half), &mut ignore));
        let place = order.map(|d| d.packet.seq).position(|seq| seq == 100);
        assert_eq!(place, Some(50));
    }
}
