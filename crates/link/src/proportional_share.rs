//! `proportional-share`: PGPS, the alternative that the paper argues against.
//!
//! After lost time a flow whose rate is just sufficient would never catch up. So until no real-time
//! packet waits, real time goes first, in the order of the fluid server's tags, and the fluid
//! server stands still. Then it goes on with all real-time flows idle, which is where the bound of
//! PGPS begins: what arrives later ends at most a packet's time after the fluid server has it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use laxity_core::{Bytes, Live, OptionTable, PolicyInfo, Rate, Span, Time, Weight};
use laxity_curve::check_gps;

use crate::buffer::DropReason;
use crate::config::{LinkConfig, LinkConfigError};
use crate::edf::fifos::Fifos;
use crate::fair::{FairQueue as _, Wfq};
use crate::ingress::{Ingress, PushOut, Route};
use crate::police::Policer;
use crate::{Departure, DropSink, LinkPolicy, Packet};

/// Name, summary and options.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "proportional-share",
    summary: "PGPS: each real-time flow its smallest sufficient rate, best effort the rest",
    source: "RTAS 2002, section 3 (the competing alternative); Parekh and Gallager 1993",
    keeps_deadlines: true,
    live: &[Live::UserLink],
    options: &[],
    table: OptionTable::None,
};

/// Weight of the whole link: rates are shares of it, those of flows rounded up.
const LINK_WEIGHT: u64 = 1 << 31;

/// PGPS over all flows: real-time flows weighted by the smallest rate that keeps their deadline,
/// best-effort classes by their share of the remainder.
#[derive(Debug)]
pub struct ProportionalShare {
    ingress: Ingress<Policer>,
    queues: Queues,
    deadlines: Box<[Span]>,
    /// Conformance time of each queued real-time packet, by flow.
    conformed: Fifos<Time>,
    /// Best effort yields to real time after a stall.
    yields_to_realtime: bool,
}

/// Real-time flows are the first classes of the fair queue.
#[derive(Debug)]
struct Queues {
    fair: Wfq,
    realtime: usize,
    weights: Box<[Weight]>,
}

impl PushOut for Queues {
    /// Pushes out of the best-effort class with the longest queue relative to its weight, never out
    /// of real time.
    fn push_out(&mut self, class: Option<usize>, out: &mut dyn FnMut(Packet)) -> bool {
        if class.is_some() {
            return false;
        }
        let load = |class: usize| {
            let work = u128::from(self.fair.class_bytes(class)) << 32;
            work / u128::from(self.weights[class].0.max(1))
        };
        let classes = self.realtime..self.weights.len();
        let longest = classes.filter(|c| self.fair.class_len(*c) > 0).max_by_key(|c| load(*c));
        let victim = longest.and_then(|class| self.fair.drop_tail(class));
        victim.map(out).is_some()
    }
}

impl ProportionalShare {
    /// A scheduler with empty queues.
    ///
    /// # Errors
    /// When the link cannot give every flow a sufficient rate and leave best effort any, or a flow
    /// has a service curve.
    pub fn new(config: &LinkConfig) -> Result<ProportionalShare, LinkConfigError> {
        if let Some(flow) = config.realtime.iter().position(|f| f.service.is_some()) {
            return Err(LinkConfigError::ServiceCurve { flow });
        }
        let ingress = Ingress::new(config)?;
        let weights = weights(config)?;
        let (realtime, best_effort) = (ingress.realtime_slots(), ingress.best_effort_slots());
        Ok(ProportionalShare {
            queues: Queues {
                fair: Wfq::new(&weights, realtime + best_effort),
                realtime: config.realtime.len(),
                weights: weights.into_boxed_slice(),
            },
            ingress,
            deadlines: config.realtime.iter().map(|f| f.deadline).collect(),
            conformed: Fifos::new(config.realtime.len().max(1), realtime, Time::ZERO),
            yields_to_realtime: false,
        })
    }

    fn release_shaped(&mut self, now: Time) {
        while let Some(entry) = self.ingress.next_conforming(now) {
            self.insert(entry.deadline, entry.packet);
        }
    }

    fn insert(&mut self, conformance: Time, packet: Packet) {
        let flow = packet.flow.index();
        // The ingress accounts for both slots.
        let kept = self.conformed.push(flow, conformance).is_ok();
        let queued = self.queues.fair.enqueue(conformance, flow, packet).is_ok();
        debug_assert!(kept && queued);
    }
}

fn weights(config: &LinkConfig) -> Result<Vec<Weight>, LinkConfigError> {
    let flows = config.flow_specs()?;
    let mut link = config.link_spec();
    // The reference server's clock moves by whole packets (see `fair`), so a packet may see its
    // start one packet later than in GPS; it counts as downstream backlog.
    let packets = flows.iter().map(|f| f.envelope.max_packet());
    let largest = packets.fold(link.best_effort_packet, Bytes::max);
    link.downstream_backlog = Bytes(link.downstream_backlog.0.saturating_add(largest.0));
    let verdict = check_gps(&link, &flows)?;
    let mut weights = Vec::with_capacity(flows.len() + config.best_effort.len());
    let mut sum = 0u64;
    for (flow, rate) in verdict.rates.iter().enumerate() {
        let rate = rate.ok_or(LinkConfigError::NoSufficientRate { flow })?;
        let share =
            (u128::from(rate.0) * u128::from(LINK_WEIGHT)).div_ceil(u128::from(config.rate.0));
        let share = u32::try_from(share).map_err(|_| LinkConfigError::NoSufficientRate { flow })?;
        sum += u64::from(share);
        weights.push(Weight(share.max(1)));
    }
    let classes = config.best_effort.len() as u64;
    let Some(rest) = LINK_WEIGHT.checked_sub(sum + classes) else {
        let rates = verdict.rates.iter().flatten().map(|r| r.0);
        let sum = Rate(rates.fold(0, u64::saturating_add));
        return Err(LinkConfigError::RatesExceedLink { sum, link: config.rate });
    };
    let all: u64 = config.best_effort.iter().map(|c| u64::from(c.weight.0)).sum();
    for class in &config.best_effort {
        let share = u128::from(rest) * u128::from(class.weight.0) / u128::from(all.max(1));
        weights.push(Weight(1 + u32::try_from(share).unwrap_or(u32::MAX - 1)));
    }
    Ok(weights)
}

impl LinkPolicy for ProportionalShare {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        self.release_shaped(now);
        match self.ingress.route(now, Time::ZERO, packet, &mut self.queues, drops) {
            Route::Realtime(packet) => self.insert(now, packet),
            Route::BestEffort(class, packet) => {
                let class = self.queues.realtime + class;
                if self.queues.fair.enqueue(now, class, packet).is_err() {
                    self.ingress.release(&packet, false);
                    drops.dropped(now, &packet, DropReason::BufferSlots);
                }
            }
            Route::Shaped(..) | Route::Dropped => {}
        }
    }

    fn handle_stall(&mut self) {
        self.yields_to_realtime = true;
    }

    fn dequeue(&mut self, now: Time, _: &mut dyn DropSink) -> Option<Departure> {
        self.release_shaped(now);
        self.yields_to_realtime &= self.conformed.len() > 0;
        let next = match self.yields_to_realtime {
            true => self.queues.fair.dequeue_without_service(self.queues.realtime),
            false => self.queues.fair.dequeue(now),
        };
        let (class, packet) = next?;
        let realtime = class < self.queues.realtime;
        self.ingress.release(&packet, realtime);
        if !realtime {
            return Some(Departure { packet, deadline: Time::MAX, realtime, dropped: false });
        }
        let conformed = self.conformed.pop(class).unwrap_or(packet.arrival);
        let deadline = conformed + self.deadlines[class];
        Some(Departure { packet, deadline, realtime, dropped: false })
    }

    fn next_event(&self) -> Option<Time> {
        self.ingress.next_event()
    }

    fn waiting(&self) -> usize {
        self.queues.fair.len() + self.ingress.shaped()
    }
}
