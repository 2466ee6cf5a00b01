//! Whether a recorded run of a link is legal, and whether the premises held under which nothing is late.
//!
//! A run is legal if one packet is sent at a time, the link does not idle while something waits, and what starts
//! has the least deadline of what waits (`proofs/link/Edf.v`). The premises are that each flow kept its
//! envelope and its deadlines, no packet was larger than admission was told, and the flows are admitted. All
//! of it is decided from the record and the scenario, without the scheduler, in `n log n`.
//!
//! Deadlines that a policy assigns to best effort are taken as they are; where it may lower them, or assigns
//! none, only real-time packets are compared with each other and with best effort that starts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use laxity_core::{Bytes, NANOBITS_PER_BYTE, OptionValue, PolicyOptions as _, Time};
use laxity_curve::service::LinkFlow;
use laxity_curve::{CurveError, Envelope};
use laxity_link::config::Excess;
use laxity_results::csv::PacketRecord;
use laxity_scenario::link::Scenario;

use super::promises;

/// Ends of transmissions are whole ns, starts follow from them: both may be off by a ns.
const ROUNDING: i128 = 2;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// Packets that were sent.
    pub packets: usize,
    /// The first instant at which the run was not legal.
    pub illegal: Option<Fault>,
    /// The first break of each premise, in order of time.
    pub broken: Vec<Premise>,
    /// Real-time packets that were late, by more than the tolerance.
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
    /// A packet was larger than admission was told.
    Size {
        /// Its flow.
        flow: String,
        /// Its number.
        packet: u64,
    },
    /// A packet had another deadline than its flow.
    Deadline {
        /// Its flow.
        flow: String,
        /// Its number.
        packet: u64,
    },
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

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u64,
    /// The real-time flow; none for best effort.
    flow: Option<usize>,
    wire: u64,
    release: i128,
    start: i128,
    end: i128,
    deadline: Option<i128>,
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
            best_effort_by_deadline: !restarts && !managed,
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
/// An envelope on the wire that leaves the range of its type.
pub fn validate(
    scenario: &Scenario,
    policy: &str,
    rows: &[PacketRecord],
    tolerance: u64,
) -> Result<Validation, CurveError> {
    let slack = ROUNDING + i128::from(tolerance);
    let rules = Rules::of(scenario, policy);
    let flows = scenario.setup().link_flows()?;
    let mut broken = Vec::new();
    let sent = sent(scenario, rows, &flows, slack, &mut broken);
    if !promises(scenario, policy) {
        broken.insert(0, Premise::Admission);
    }
    envelopes(scenario, &sent, &flows, slack, &mut broken);
    let late =
        sent.iter().filter(|p| p.flow.is_some() && p.deadline.is_some_and(|d| p.end > d + slack));
    Ok(Validation {
        packets: sent.len(),
        illegal: illegal(&sent, rules, slack),
        broken,
        late: late.map(|p| p.seq).collect(),
    })
}

/// The packets in the order in which they were sent, with releases that follow from their deadlines.
fn sent(
    scenario: &Scenario,
    rows: &[PacketRecord],
    flows: &[LinkFlow],
    slack: i128,
    broken: &mut Vec<Premise>,
) -> Vec<Sent> {
    let link = scenario.link.wire();
    let rate = i128::from(scenario.link.rate.0.max(1));
    let names: HashMap<&str, usize> =
        scenario.realtime.iter().enumerate().map(|(i, flow)| (flow.name.as_str(), i)).collect();
    let best_effort = link.of_bytes(scenario.link.max_packet);
    let (mut sizes, mut deadlines) = (None, None);
    let mut sent = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(end) = row.departure.map(signed) else { continue };
        let flow = names.get(row.flow.as_str()).copied().filter(|_| !row.demoted);
        let wire = link.of_bytes(row.bytes);
        let duration = (i128::from(wire.0) * NANOBITS_PER_BYTE + rate - 1) / rate;
        let deadline = row.deadline.map(signed);
        let mut release = signed(row.arrival);
        let largest = flow.map_or(best_effort, |flow| flows[flow].max_packet());
        if wire > largest && sizes.is_none() {
            sizes = Some(Premise::Size { flow: row.flow.clone(), packet: row.seq });
        }
        if let Some((flow, LinkFlow::Deadline(spec))) = flow.map(|flow| (flow, &flows[flow])) {
            let conforms = deadline.map(|deadline| deadline - signed(Time(spec.deadline.0)));
            let delayed = scenario.realtime[flow].excess == Excess::Delay;
            let right = conforms
                .is_some_and(|at| at >= release - slack && (delayed || at <= release + slack));
            if !right && deadlines.is_none() {
                deadlines = Some(Premise::Deadline { flow: row.flow.clone(), packet: row.seq });
            }
            release = conforms.map_or(release, |at| at.max(release));
        }
        let (seq, wire) = (row.seq, wire.0);
        sent.push(Sent { seq, flow, wire, release, start: end - duration, end, deadline });
    }
    broken.extend(sizes);
    broken.extend(deadlines);
    sent.sort_by_key(|p| (p.end, p.seq));
    sent
}

/// The first instant at which the run is not legal.
fn illegal(sent: &[Sent], rules: Rules, slack: i128) -> Option<Fault> {
    let counts =
        |p: &Sent| p.flow.is_some() || (rules.best_effort_by_deadline && p.deadline.is_some());
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
        if p.start + slack < free {
            return Some(Fault::Together { at, packet: p.seq });
        }
        if p.start + slack < p.release {
            return Some(Fault::Early { at, packet: p.seq });
        }
        if let Some((release, seq)) = first_released[i] {
            let since = release.max(free);
            if since + slack < p.start {
                return Some(Fault::Idle { at: time(since), waiting: seq });
            }
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
            if *deadline < own {
                return Some(Fault::Wrong { at, packet: p.seq, waiting: sent[*index].seq });
            }
        }
    }
    None
}

/// The first packet of each flow that exceeds its envelope, counted where the packets are released.
fn envelopes(
    scenario: &Scenario,
    sent: &[Sent],
    flows: &[LinkFlow],
    slack: i128,
    broken: &mut Vec<Premise>,
) {
    let mut first: Vec<Premise> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        // A flow with a service curve harms only itself.
        let LinkFlow::Deadline(spec) = flow else { continue };
        let mut packets: Vec<&Sent> = sent.iter().filter(|p| p.flow == Some(index)).collect();
        packets.sort_by_key(|p| (p.release, p.seq));
        if let Some(packet) = exceeds(&spec.envelope, &packets, slack) {
            let flow = scenario.realtime[index].name.clone();
            first.push(Premise::Envelope { flow, packet: packet.seq, at: time(packet.release) });
        }
    }
    first.sort_by_key(|premise| match premise {
        Premise::Envelope { at, .. } => *at,
        _ => Time::ZERO,
    });
    broken.extend(first);
}

fn exceeds<'a>(envelope: &Envelope, packets: &[&'a Sent], slack: i128) -> Option<&'a Sent> {
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
