//! Whether a recorded run of a link is legal, and whether the premises held under which nothing is late.
//!
//! A run is legal if one packet is sent at a time, the link does not idle while something waits, and what starts
//! has the least deadline of what waits (`proofs/link/Edf.v`). The premises are that each flow kept its
//! envelope and its deadlines, no packet was lost or larger than admission assumed, and the flows are
//! admitted. That the deadlines of best effort are safe is a premise too, which is not judged. All of it is
//! decided from the record and the scenario, without the scheduler, in `n log n`.
//!
//! Deadlines that a policy assigns to best effort are taken as they are; where it may lower them, where it
//! assigns none, and where an upper limit holds classes back, only real-time packets are compared with each other and with best effort that starts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::error::Error;
use std::fmt;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, OptionValue, PolicyOptions as _, Time};
use laxity_curve::service::LinkFlow;
use laxity_curve::{CurveError, Envelope, FlowSpec};
use laxity_link::buffer::DropReason;
use laxity_link::config::Excess;
use laxity_results::csv::PacketRecord;
use laxity_scenario::link::Scenario;
use laxity_sim::link::measure::UNSERVED;

use super::conformance::Conformance;
use super::promises;

/// Ends of transmissions are whole ns, starts follow from them: both may be off by a ns.
const ROUNDING: i128 = 2;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// How many packets were sent.
    pub packets: usize,
    /// The first instant at which the run was not legal.
    pub illegal: Option<Fault>,
    /// The first break of each premise, in order of time.
    pub broken: Vec<Premise>,
    /// Real-time packets that were late by more than the tolerance, those that waited to the end of the run
    /// beyond their deadlines among them.
    pub late: Vec<u64>,
}

/// Why a run is not legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A packet was on the link together with the one before, or faster than the link's rate.
    Together {
        /// When it began.
        at: Time,
        /// Its number.
        packet: u64,
    },
    /// A packet began before it was released.
    Early {
        /// When it began.
        at: Time,
        /// Its number.
        packet: u64,
    },
    /// The link idled while a packet waited.
    Idle {
        /// Since when.
        at: Time,
        /// The packet that waited.
        waiting: u64,
    },
    /// Another packet should have gone.
    Wrong {
        /// When it began.
        at: Time,
        /// The packet that went.
        packet: u64,
        /// The one that waited and was due earlier.
        waiting: u64,
    },
}

/// A premise that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Premise {
    /// The flows of the scenario are not admitted under this policy.
    Admission,
    /// A flow sent more than its envelope.
    Envelope {
        /// The flow.
        flow: String,
        /// The packet that exceeded it.
        packet: u64,
        /// When it was released.
        at: Time,
    },
    /// A packet was larger than admission assumed.
    Size {
        /// Its flow.
        flow: String,
        /// Its number.
        packet: u64,
    },
    /// A packet had another deadline than its flow, or none.
    Deadline {
        /// Its flow.
        flow: String,
        /// Its number.
        packet: u64,
    },
    /// A packet was not sent, for another reason than that its flow drops what exceeds its envelope.
    Dropped {
        /// Its flow.
        flow: String,
        /// Its number.
        packet: u64,
        /// The reason in the record.
        reason: String,
    },
    /// A packet became best effort although it kept the envelope, or its flow does not demote.
    Demoted {
        /// Its flow.
        flow: String,
        /// Its number.
        packet: u64,
    },
}

/// Why a record cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidateError {
    /// A packet is of a flow or class that the scenario has not.
    UnknownFlow {
        /// Its name in the record.
        flow: String,
        /// The number of the packet.
        packet: u64,
    },
    /// An envelope on the wire leaves the range of its type.
    Curve(CurveError),
}

impl fmt::Display for ValidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidateError::UnknownFlow { flow, packet } => write!(
                f,
                "packet {packet} is of `{flow}`, which is no flow or class of the scenario; give the scenario of \
                 this run"
            ),
            ValidateError::Curve(error) => error.fmt(f),
        }
    }
}

impl Error for ValidateError {}

impl From<CurveError> for ValidateError {
    fn from(error: CurveError) -> ValidateError {
        ValidateError::Curve(error)
    }
}

impl Fault {
    /// When it happened.
    pub fn at(self) -> Time {
        match self {
            Fault::Together { at, .. }
            | Fault::Early { at, .. }
            | Fault::Idle { at, .. }
            | Fault::Wrong { at, .. } => at,
        }
    }
}

/// A packet that was sent, or waited to the end of the run.
#[derive(Clone, Copy, Debug)]
struct Packet {
    seq: u64,
    /// The real-time flow; none for best effort.
    flow: Option<usize>,
    wire: u64,
    release: i128,
    /// Of one that was not sent, the end of the run, as `end`.
    start: i128,
    end: i128,
    deadline: Option<i128>,
    sent: bool,
}

/// How the record of a policy is read.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Best effort has deadlines that do not fall, so it may be told to have waited.
    best_effort_by_deadline: bool,
    /// Best effort without a deadline may pass waiting real time, as under `slack`.
    best_effort_passes: bool,
    /// The link sends whenever anything waits, not only when real time does.
    work_conserving: bool,
}

impl Rules {
    fn of(scenario: &Scenario, policy: &str) -> Rules {
        let option = |name| scenario.policy.options.get(policy, name);
        let restarts = policy == "exact" && option("restart") != Some(OptionValue::Choice("idle"));
        let managed = scenario
            .best_effort
            .iter()
            .any(|class| class.flows.is_some() || class.aqm != laxity_link::config::Aqm::default());
        let limited = scenario.best_effort.iter().any(|class| class.sharing.limit.is_some())
            || scenario.groups.iter().any(|group| group.sharing.limit.is_some());
        Rules {
            // What an upper limit holds back waits behind later deadlines.
            best_effort_by_deadline: !restarts && !managed && !limited,
            best_effort_passes: policy == "slack",
            work_conserving: option("always-check") != Some(OptionValue::Bool(true)) && !limited,
        }
    }
}

fn signed(time: Time) -> i128 {
    time.0.into()
}

fn time(ns: i128) -> Time {
    Time(u64::try_from(ns).unwrap_or(0))
}

/// Judges the rows of one policy. Timestamps may be off by `tolerance` ns, beyond the rounding of a simulation.
///
/// # Errors
/// See [`ValidateError`].
pub fn validate(
    scenario: &Scenario,
    policy: &str,
    rows: &[PacketRecord],
    tolerance: u64,
) -> Result<Validation, ValidateError> {
    let tolerance = i128::from(tolerance);
    let slack = ROUNDING + tolerance;
    let rules = Rules::of(scenario, policy);
    let flows = scenario.setup().link_flows()?;
    let mut broken = Vec::new();
    if !promises(scenario, policy) {
        broken.push(Premise::Admission);
    }
    let packets = packets(scenario, rows, &flows, slack, &mut broken)?;
    envelopes(scenario, &packets, &flows, slack, &mut broken);
    let late = packets
        .iter()
        .filter(|p| p.flow.is_some() && p.deadline.is_some_and(|d| p.end > d + slack));
    Ok(Validation {
        packets: packets.iter().filter(|p| p.sent).count(),
        illegal: illegal(&packets, rules, slack, tolerance),
        broken,
        late: late.map(|p| p.seq).collect(),
    })
}

/// The first break of a kind, in the order of rows.
#[derive(Default)]
struct First(Option<(usize, Premise)>);

impl First {
    fn see(&mut self, row: usize, premise: impl FnOnce() -> Premise) {
        if self.0.as_ref().is_none_or(|(first, _)| row < *first) {
            self.0 = Some((row, premise()));
        }
    }
}

/// What a row says of a real-time packet.
#[derive(Clone, Copy, Debug)]
struct Promised {
    flow: usize,
    release: i128,
    deadline: Option<i128>,
}

/// The packets in the order in which they were sent, then those that waited to the end of the run; with releases
/// that follow from their deadlines.
fn packets(
    scenario: &Scenario,
    rows: &[PacketRecord],
    flows: &[LinkFlow],
    slack: i128,
    broken: &mut Vec<Premise>,
) -> Result<Vec<Packet>, ValidateError> {
    let link = scenario.link.wire();
    let rate = i128::from(scenario.link.rate.0.max(1));
    let names: HashMap<&str, usize> =
        scenario.flow_names().enumerate().map(|(i, name)| (name, i)).collect();
    let mut by_flow: Vec<Vec<usize>> = vec![Vec::new(); flows.len()];
    let mut until = 0;
    for (index, row) in rows.iter().enumerate() {
        let Some(flow) = names.get(row.flow.as_str()) else {
            return Err(ValidateError::UnknownFlow { flow: row.flow.clone(), packet: row.seq });
        };
        if let Some(own) = by_flow.get_mut(*flow) {
            own.push(index);
        }
        until = until.max(signed(row.departure.unwrap_or(row.arrival).max(row.arrival)));
    }
    let wires: Vec<Bytes> = rows.iter().map(|row| link.of_bytes(row.bytes)).collect();
    let mut promised = vec![None; rows.len()];
    let (mut sizes, mut deadlines, mut missing) =
        (First::default(), First::default(), First::default());
    for (flow, mut own) in by_flow.into_iter().enumerate() {
        own.sort_by_key(|i| (rows[*i].arrival, rows[*i].seq));
        let excess = scenario.realtime[flow].excess;
        let found = match &flows[flow] {
            LinkFlow::Deadline(spec) => {
                let read = Read { rows, wires: &wires, excess, slack };
                read.deadlines(flow, spec, &own, &mut deadlines, &mut missing)
            }
            LinkFlow::Service(_) => curves(flow, rows, &own, &mut deadlines, &mut missing),
        };
        for (index, found) in found {
            promised[index] = Some(found);
        }
    }
    let best_effort = link.of_bytes(scenario.link.max_packet);
    let mut packets = Vec::with_capacity(rows.len());
    for (index, (row, promised)) in rows.iter().zip(promised).enumerate() {
        if row.departure.is_none() && row.reason != UNSERVED {
            continue;
        }
        let flow = promised.map(|p| p.flow);
        let wire = wires[index];
        if wire > flow.map_or(best_effort, |flow| flows[flow].max_packet()) {
            sizes.see(index, || Premise::Size { flow: row.flow.clone(), packet: row.seq });
        }
        let duration = (i128::from(wire.0) * NANOBITS_PER_BYTE + rate - 1) / rate;
        let end = row.departure.map_or(until, signed);
        packets.push(Packet {
            seq: row.seq,
            flow,
            wire: wire.0,
            release: promised.map_or(signed(row.arrival), |p| p.release),
            start: if row.departure.is_some() { end - duration } else { until },
            end,
            deadline: promised.map_or(row.deadline.map(signed), |p| p.deadline),
            sent: row.departure.is_some(),
        });
    }
    broken.extend([sizes, deadlines, missing].into_iter().filter_map(|f| f.0).map(|(_, p)| p));
    packets.sort_by_key(|p| (!p.sent, p.end, p.seq));
    Ok(packets)
}

/// How the rows of a flow with an envelope and a deadline are read.
struct Read<'a> {
    rows: &'a [PacketRecord],
    /// Their sizes on the wire.
    wires: &'a [Bytes],
    excess: Excess,
    slack: i128,
}

impl Read<'_> {
    /// The packets of a flow that it sent as real time, given its rows in the order of their arrival.
    fn deadlines(
        &self,
        flow: usize,
        spec: &FlowSpec,
        own: &[usize],
        deadlines: &mut First,
        missing: &mut First,
    ) -> Vec<(usize, Promised)> {
        let (slack, within) = (self.slack, i128::from(spec.deadline.0));
        let mut sent = Conformance::new(&spec.envelope);
        let mut found = Vec::new();
        for index in own {
            let row = &self.rows[*index];
            let (wire, arrival) = (self.wires[*index].0, signed(row.arrival));
            let conforms = sent.conforms(wire);
            let unserved = row.departure.is_none() && row.reason == UNSERVED;
            let beyond = |by: i128| conforms.is_none_or(|at| at > arrival + by);
            // A packet that is demoted and stays has no other mark than that it does not conform.
            if row.demoted || (unserved && self.excess == Excess::Demote && beyond(slack)) {
                if self.excess != Excess::Demote || !beyond(-slack) {
                    missing.see(*index, || Premise::Demoted {
                        flow: row.flow.clone(),
                        packet: row.seq,
                    });
                }
                continue;
            }
            if row.departure.is_none() && !unserved {
                let excess = row.reason == DropReason::Excess.name();
                if !(excess && self.excess == Excess::Drop && beyond(-slack)) {
                    missing.see(*index, || dropped(row));
                }
                continue;
            }
            let earliest = conforms.map_or(arrival, |at| at.max(arrival));
            let stated = match unserved {
                true => Some(earliest),
                false => row.deadline.map(|deadline| signed(deadline) - within),
            };
            let latest = if self.excess == Excess::Delay { earliest } else { arrival };
            if !stated.is_some_and(|at| arrival - slack <= at && at <= latest + slack) {
                deadlines
                    .see(*index, || Premise::Deadline { flow: row.flow.clone(), packet: row.seq });
            }
            let release = stated.map_or(arrival, |at| at.max(arrival));
            sent.take(release.min(earliest + slack), wire);
            let deadline = match unserved {
                true => Some(release + within),
                false => row.deadline.map(signed),
            };
            found.push((*index, Promised { flow, release, deadline }));
        }
        found
    }
}

/// The packets of a flow with a service curve. Their deadlines are in the record alone, so one that was not sent
/// cannot be judged.
fn curves(
    flow: usize,
    rows: &[PacketRecord],
    own: &[usize],
    deadlines: &mut First,
    missing: &mut First,
) -> Vec<(usize, Promised)> {
    let mut found = Vec::new();
    for index in own {
        let row = &rows[*index];
        let deadline = row.deadline.map(signed);
        if row.demoted {
            missing.see(*index, || Premise::Demoted { flow: row.flow.clone(), packet: row.seq });
            continue;
        }
        if row.departure.is_none() {
            missing.see(*index, || dropped(row));
        } else if deadline.is_none() {
            deadlines.see(*index, || Premise::Deadline { flow: row.flow.clone(), packet: row.seq });
        }
        found.push((*index, Promised { flow, release: signed(row.arrival), deadline }));
    }
    found
}

fn dropped(row: &PacketRecord) -> Premise {
    let (flow, reason) = (row.flow.clone(), row.reason.clone());
    Premise::Dropped { flow, packet: row.seq, reason }
}

/// The first instant at which the run is not legal.
fn illegal(sent: &[Packet], rules: Rules, slack: i128, tolerance: i128) -> Option<Fault> {
    let counts =
        |p: &Packet| p.flow.is_some() || (rules.best_effort_by_deadline && p.deadline.is_some());
    // From each packet on, the one that was released first of those for which the link must not idle.
    let mut first_released: Vec<Option<(i128, u64)>> = vec![None; sent.len() + 1];
    for (i, p) in sent.iter().enumerate().rev() {
        let own = (rules.work_conserving || p.flow.is_some()).then_some((p.release, p.seq));
        first_released[i] = match (own, first_released[i + 1]) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    let mut by_release: Vec<usize> = (0..sent.len()).filter(|i| counts(&sent[*i])).collect();
    by_release.sort_by_key(|i| sent[*i].release);
    let mut released = by_release.into_iter().peekable();
    let mut waiting: BinaryHeap<Reverse<(i128, usize)>> = BinaryHeap::new();
    let mut free = i128::MIN;
    for (i, p) in sent.iter().enumerate() {
        let at = time(p.start);
        if p.sent && p.start + slack < free {
            return Some(Fault::Together { at, packet: p.seq });
        }
        if p.sent && p.start + slack < p.release {
            return Some(Fault::Early { at, packet: p.seq });
        }
        if let Some((release, seq)) = first_released[i] {
            let since = release.max(free);
            if since + slack < p.start {
                return Some(Fault::Idle { at: time(since), waiting: seq });
            }
        }
        if !p.sent {
            // Nothing was sent from here to the end of the run.
            return None;
        }
        free = p.end;
        while let Some(next) = released.next_if(|i| sent[*i].release + slack <= p.start) {
            waiting.push(Reverse((sent[next].deadline.unwrap_or(i128::MAX), next)));
        }
        while waiting.peek().is_some_and(|Reverse((_, index))| *index <= i) {
            waiting.pop();
        }
        if p.flow.is_none() && p.deadline.is_none() && rules.best_effort_passes {
            continue;
        }
        let own = p.deadline.unwrap_or(i128::MAX);
        if let Some(Reverse((deadline, index))) = waiting.peek() {
            if deadline.saturating_add(tolerance) < own {
                return Some(Fault::Wrong { at, packet: p.seq, waiting: sent[*index].seq });
            }
        }
    }
    None
}

/// The first packet of each flow that exceeds its envelope, counted where the packets are released.
fn envelopes(
    scenario: &Scenario,
    packets: &[Packet],
    flows: &[LinkFlow],
    slack: i128,
    broken: &mut Vec<Premise>,
) {
    let mut by_flow: Vec<Vec<&Packet>> = vec![Vec::new(); flows.len()];
    for packet in packets {
        if let Some(flow) = packet.flow {
            by_flow[flow].push(packet);
        }
    }
    let mut first: Vec<(i128, Premise)> = Vec::new();
    for (index, mut packets) in by_flow.into_iter().enumerate() {
        // A flow with a service curve harms only itself.
        let LinkFlow::Deadline(spec) = &flows[index] else { continue };
        packets.sort_by_key(|p| (p.release, p.seq));
        if let Some(packet) = exceeds(&spec.envelope, &packets, slack) {
            let (flow, at) = (scenario.realtime[index].name.clone(), time(packet.release));
            let premise = Premise::Envelope { flow, packet: packet.seq, at };
            first.push((packet.release, premise));
        }
    }
    first.sort_by_key(|(at, _)| *at);
    broken.extend(first.into_iter().map(|(_, premise)| premise));
}

fn exceeds<'a>(envelope: &Envelope, packets: &[&'a Packet], slack: i128) -> Option<&'a Packet> {
    match envelope.lines() {
        Some(buckets) => {
            // For each bucket what was sent beyond its rate.
            let mut levels = vec![(0i128, i128::MIN); buckets.len()];
            packets.iter().copied().find(|p| {
                levels.iter_mut().zip(buckets).any(|((level, before), bucket)| {
                    let rate = i128::from(bucket.rate.0);
                    let passed = if *before == i128::MIN { 0 } else { p.release - *before };
                    *level = (*level - rate.saturating_mul(passed)).max(0);
                    *level += i128::from(p.wire) * NANOBITS_PER_BYTE;
                    *before = p.release;
                    *level > nanobits(bucket.burst) + rate.saturating_mul(slack)
                })
            })
        }
        None => {
            let Envelope::Periodic { period, size, jitter, .. } = envelope else { return None };
            // The latest nominal release that earlier packets imply.
            let mut nominal: Option<i128> = None;
            packets.iter().copied().find(|p| {
                let next = nominal.map_or(p.release, |n| (n + i128::from(period.0)).max(p.release));
                nominal = Some(next);
                Bytes(p.wire) > *size || p.release + i128::from(jitter.0) + slack < next
            })
        }
    }
}

fn nanobits(bytes: Bytes) -> i128 {
    i128::from(bytes.0) * NANOBITS_PER_BYTE
}
