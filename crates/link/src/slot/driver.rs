//! A link of a byte a nanosecond with flow queues, driven by hand: arrivals, drops by a script of
//! the AQM, and drops at any instant.

use alloc::boxed::Box;
use alloc::vec::Vec;

use laxity_core::{Bytes, FlowId, PolicyInfo, Rate, Span, Time, Weight};
use laxity_curve::{
    Blocking, Bucket, Envelope, Guarantee, InverseCurve, check, fit_line, fit_shifted_line,
    fit_two_segment,
};

use super::Variant;
use crate::aqm::Aqm;
use crate::assign::{
    Algorithm3, Assigner, Background, Exact, Shifted, TotalBandwidthServer, TwoSegments,
};
use crate::buffer::DropReason;
use crate::config::{
    BestEffortClass, Excess, FairQueue, FlowQueueing, LinkConfig, Options, RealtimeFlow, Release,
};
use crate::pipeline::{ByDeadline, Discipline, Managed, Pipeline};
use crate::slack::Slack;
use crate::{Departure, LinkPolicy, Packet, Wire};

/// One byte a nanosecond.
pub(super) const BYTE_PER_NS: u64 = 8_000_000_000;

/// An event of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A packet of a flow arrives, with the key of its flow queue.
    Arrival { at: u64, flow: u32, bytes: u32, key: u64 },
    /// The candidate is dropped, as by push-out.
    Discard { at: u64 },
}

impl Step {
    pub(super) fn at(&self) -> u64 {
        match self {
            Step::Arrival { at, .. } | Step::Discard { at } => *at,
        }
    }
}

/// A policy of which tests see the slot.
pub(super) trait Probe: LinkPolicy {
    fn discard(&mut self, now: Time);
    fn script(&mut self, drops: u64);
    fn set_variant(&mut self, variant: Variant);
}

impl<D: Discipline> Probe for Pipeline<D, Managed> {
    fn discard(&mut self, now: Time) {
        Pipeline::discard(self, now);
    }

    fn script(&mut self, drops: u64) {
        self.managed_queues().queues.set_aqm(0, Aqm::script(drops));
    }

    fn set_variant(&mut self, variant: Variant) {
        self.managed_queues().slot.variant = variant;
    }
}

pub(super) const POLICIES: [&str; 7] =
    ["exact", "two-segment", "algorithm-3", "tbs", "shifted-line", "background", "slack"];

/// Algorithm 1 from its definition, which takes back what was not sent, as the fourth alternative
/// needs.
#[derive(Debug)]
pub(super) struct Textbook {
    service: InverseCurve,
    /// Release of each packet, and the work before it.
    history: Vec<(Time, u64)>,
    work: u64,
}

impl Textbook {
    pub(super) fn new(service: InverseCurve) -> Textbook {
        Textbook { service, history: Vec::new(), work: 0 }
    }

    fn deadline(&self) -> Time {
        let at = |(r, before): &(Time, u64)| Some(*r + self.service.at(self.work - before)?);
        let all: Option<Vec<Time>> = self.history.iter().map(at).collect();
        all.map_or(Time::MAX, |all| all.into_iter().max().unwrap_or(Time::ZERO))
    }
}

impl Assigner for Textbook {
    const INFO: PolicyInfo = Exact::INFO;

    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.history.push((release, self.work));
        self.work += u64::from(wire);
        self.deadline()
    }

    fn raise(&mut self, _: Time, from: u32, wire: u32) -> Time {
        self.work += u64::from(wire - from);
        self.deadline()
    }

    fn settle(&mut self, _: Time, from: u32, wire: u32) {
        self.work -= u64::from(from - wire);
        if wire == 0 {
            self.history.pop();
        }
    }

    fn reset(&mut self) {
        self.history.clear();
        self.work = 0;
    }
}

/// A policy with slots; `None` when no line is safe for it.
pub(super) fn build(name: &str, config: &LinkConfig) -> Option<Box<dyn Probe>> {
    fn by_deadline<A: Assigner + 'static>(config: &LinkConfig, a: A) -> Option<Box<dyn Probe>> {
        Some(Box::new(Pipeline::managed(config, ByDeadline(a)).unwrap()))
    }
    let (residual, all) = (config.residual().ok()?, config.guarantee);
    let two = || fit_two_segment(&residual, all).ok();
    match name {
        "exact" => by_deadline(config, Exact::new(&residual.service(all).ok()?, 64)),
        "two-segment" => by_deadline(config, TwoSegments::new(&two()?, 64).ok()?),
        "algorithm-3" => by_deadline(config, Algorithm3::new(&two()?)),
        "tbs" => by_deadline(config, TotalBandwidthServer::new(fit_line(&residual, all).ok()?)),
        "shifted-line" => {
            by_deadline(config, Shifted::new(&fit_shifted_line(&residual, all).ok()?))
        }
        "textbook" => by_deadline(config, Textbook::new(residual.service(all).ok()?)),
        "background" => by_deadline(config, Background),
        _ => Some(Box::new(Pipeline::managed(config, Slack::new(config).unwrap()).unwrap())),
    }
}

/// Burst, rate as a fraction of the link's, deadline and largest packet of a flow.
pub(super) fn flow(burst: u64, (num, den): (u64, u64), deadline: u64, packet: u64) -> RealtimeFlow {
    let bucket = [Bucket { burst: Bytes(burst), rate: Rate(BYTE_PER_NS * num / den) }];
    let envelope = Envelope::buckets(&bucket, Bytes(packet)).unwrap();
    let envelope = envelope.with_min_packet(Bytes(1)).unwrap();
    RealtimeFlow {
        envelope,
        deadline: Span(deadline),
        excess: Excess::Drop,
        buffer: None,
        service: None,
    }
}

/// A periodic flow.
pub(super) fn periodic(period: u64, size: u64, jitter: u64, deadline: u64) -> RealtimeFlow {
    let envelope = Envelope::periodic(Span(period), Bytes(size), Span(jitter)).unwrap();
    RealtimeFlow {
        envelope,
        deadline: Span(deadline),
        excess: Excess::Drop,
        buffer: None,
        service: None,
    }
}

/// A link with one class of 64 flow queues.
pub(super) fn link(realtime: Vec<RealtimeFlow>, largest: u64, blocking: Blocking) -> LinkConfig {
    let mut class = BestEffortClass::new(Weight::ONE, None);
    class.flows = Some(FlowQueueing { queues: 64, ..FlowQueueing::default() });
    LinkConfig {
        rate: Rate(BYTE_PER_NS),
        max_packet: Bytes(largest),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime,
        best_effort: alloc::vec![class],
        buffer: Some(crate::config::Buffer { total: Bytes(8000), best_effort: Bytes(4000) }),
        groups: alloc::vec![],
        fair_queue: FairQueue::Wfq,
        blocking,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 0,
        options: Options::default(),
    }
}

pub(super) fn admitted(config: &LinkConfig) -> bool {
    check(&config.link_spec(), &config.flow_specs().unwrap()).unwrap().admitted
}

/// Shortens deadlines one after the other while the link is admitted.
pub(super) fn tighten(config: &mut LinkConfig) -> bool {
    if !admitted(config) {
        return false;
    }
    for k in 0..config.realtime.len() {
        while config.realtime[k].deadline.0 > 1 {
            config.realtime[k].deadline.0 -= 1;
            if !admitted(config) {
                config.realtime[k].deadline.0 += 1;
                break;
            }
        }
    }
    true
}

/// A departure of a run: start, end and packet.
pub(super) type Sent = (u64, u64, Departure);

/// Plays steps in order of time from `base` on until the link idles; times are relative to it.
/// Steps of an instant come before its decision. Returns the departures, and the packets dropped.
pub(super) fn run(policy: &mut dyn Probe, base: u64, steps: &[Step]) -> (Vec<Sent>, usize) {
    let (mut sent, mut dropped) = (Vec::new(), 0);
    let mut drops = |_: Time, _: &Packet, why: DropReason| {
        assert!(why != DropReason::Excess, "the trace does not conform");
        dropped += 1;
    };
    let (mut next, mut now, mut free) = (0, 0, 0);
    loop {
        while let Some(step) = steps.get(next).filter(|step| step.at() <= now) {
            let at = Time(base + now);
            match *step {
                Step::Arrival { flow, bytes, key, .. } => {
                    let packet = Packet::new(next as u64, at, FlowId(flow), bytes, bytes);
                    policy.enqueue(at, Packet { key, ..packet }, &mut drops);
                }
                Step::Discard { .. } => policy.discard(at),
            }
            next += 1;
        }
        if now >= free {
            if let Some(departure) = policy.dequeue(Time(base + now), &mut drops) {
                free = now + u64::from(departure.packet.wire);
                sent.push((now, free, departure));
            }
        }
        let due = steps.get(next).map(|step| step.at());
        let wake = (free > now).then_some(free);
        let Some(at) = due.into_iter().chain(wake).min() else { break };
        now = at;
    }
    // The link idles, so the history is forgotten.
    assert_eq!(policy.waiting(), 0);
    (sent, dropped)
}

/// The first real-time packet that is late.
pub(super) fn late(base: u64, sent: &[Sent]) -> Option<&Sent> {
    sent.iter().find(|(_, end, d)| d.realtime && base + end > d.deadline.0)
}

/// SplitMix64.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub(super) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }
}
