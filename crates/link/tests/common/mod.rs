//! A link driven by hand, small systems whose numbers are exact, and what conforming flows can do.
#![allow(dead_code)]

pub mod adversary;
pub mod random;
pub mod reference_model;
pub mod scopes;
pub mod service_model;

use laxity_core::{Bytes, FlowId, LinkClock, Rate, Span, Time};
use laxity_curve::service::{ServiceCurve, check_flows};
use laxity_curve::{Blocking, Envelope, Guarantee, check};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    BestEffortClass, Buffer, Excess, FairQueue, LinkConfig, Options, RealtimeFlow, Release, Service,
};
use laxity_link::police::Policer;
use laxity_link::registry::{BuildError, POLICIES, build};
use laxity_link::{Departure, LinkPolicy, Packet, Wire, flow_key};

/// One byte each nanosecond.
pub const BYTE_PER_NS: u64 = 8_000_000_000;

/// Both ways to count blocking.
pub const BLOCKINGS: [Blocking; 2] = [Blocking::Paper, Blocking::Exact];
/// Both sets of guaranteed deadlines.
pub const GUARANTEES: [Guarantee; 2] = [Guarantee::Realtime, Guarantee::All];
/// Both release instants.
pub const RELEASES: [Release; 2] = [Release::Arrival, Release::HeadOfLine];

/// A packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub at: u64,
    pub flow: u32,
    pub bytes: u32,
}

pub fn arrival(at: u64, flow: u32, bytes: u32) -> Arrival {
    Arrival { at, flow, bytes }
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub start: Time,
    pub end: Time,
    pub departure: Departure,
}

impl Sent {
    pub fn late(&self) -> bool {
        self.end > self.departure.deadline
    }

    pub fn realtime(&self) -> bool {
        self.departure.realtime
    }
}

/// The link sends nothing new from `at` on for `length` ns; a packet on its way ends as it would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    pub at: u64,
    pub length: u64,
}

/// The end of a stall in which packets waited.
#[derive(Clone, Copy, Debug)]
pub struct Resumed {
    pub at: Time,
    /// For how long packets had waited while nothing was sent.
    pub lost: u64,
    /// How many packets had been sent before.
    pub sent: usize,
}

/// A link with its policy. Traces run one after the other, far enough apart that all buckets are
/// full again, so nothing is allocated between them.
pub struct Link<P> {
    pub policy: P,
    wire: Wire,
    clock: LinkClock,
    /// Packets belong to so many flows in turn, for classes with flow queues.
    pub flows: u64,
    /// The instant that counts as zero in the current trace.
    pub base: u64,
    pub sent: Vec<Sent>,
    pub dropped: Vec<(Time, Packet, DropReason)>,
    pub resumed: Vec<Resumed>,
}

impl<P: LinkPolicy> Link<P> {
    pub fn new(policy: P, config: &LinkConfig) -> Link<P> {
        let clock = LinkClock::new(config.rate).unwrap();
        let (sent, dropped, resumed) = (vec![], vec![], vec![]);
        Link { policy, wire: config.wire, clock, flows: 1, base: 0, sent, dropped, resumed }
    }

    /// Runs a trace, sorted by time, until nothing waits; answers are in `sent` and `dropped`.
    pub fn run(&mut self, arrivals: &[Arrival]) {
        self.run_from(arrivals, 0);
    }

    /// The same with sequence numbers from `first` on.
    pub fn run_from(&mut self, arrivals: &[Arrival], first: u64) {
        self.run_stalled(arrivals, first, &[]);
    }

    /// The same while the link stalls now and then; stalls are in order and do not overlap.
    pub fn run_stalled(&mut self, arrivals: &[Arrival], first: u64, stalls: &[Stall]) {
        self.sent.clear();
        self.dropped.clear();
        self.resumed.clear();
        let mut stalls = stalls.iter().map(|s| (self.base + s.at, self.base + s.at + s.length));
        let mut stall = stalls.next();
        // Since when packets have waited in the present stall.
        let mut waits: Option<u64> = None;
        let (mut next, mut busy, mut now) = (0, false, self.base);
        loop {
            let due = arrivals.get(next).map(|a| self.base + a.at);
            let stalled = stall.filter(|(from, end)| (*from..*end).contains(&now));
            let wake = if busy {
                Some(self.clock.free_at().0)
            } else if let Some((_, end)) = stalled {
                Some(end)
            } else {
                self.policy.next_event().map(|t| t.0)
            };
            let Some(at) = due.into_iter().chain(wake).min() else { break };
            assert!(busy || Some(at) == due || at > now, "next_event does not advance");
            now = at;
            while stall.is_some_and(|(_, end)| end <= now) {
                stall = stalls.next();
                if let Some(since) = waits.take() {
                    self.policy.handle_stall();
                    let (at, sent) = (Time(now), self.sent.len());
                    self.resumed.push(Resumed { at, lost: now - since, sent });
                }
            }
            while let Some(a) = arrivals.get(next).filter(|a| self.base + a.at == now) {
                let (seq, wire) = (first + next as u64, self.wire.of(a.bytes));
                let packet = Packet::new(seq, Time(now), FlowId(a.flow), a.bytes, wire);
                let packet = Packet { key: flow_key((seq % self.flows) as u32, 0, 0), ..packet };
                let dropped = &mut self.dropped;
                let mut drops =
                    |now: Time, p: &Packet, why: DropReason| dropped.push((now, *p, why));
                self.policy.enqueue(Time(now), packet, &mut drops);
                next += 1;
            }
            if busy && self.clock.free_at().0 > now {
                continue;
            }
            busy = false;
            if stall.is_some_and(|(from, end)| (from..end).contains(&now)) {
                if self.policy.waiting() > 0 {
                    waits.get_or_insert(now);
                }
                continue;
            }
            let dropped = &mut self.dropped;
            let mut drops = |now: Time, p: &Packet, why: DropReason| dropped.push((now, *p, why));
            if let Some(departure) = self.policy.dequeue(Time(now), &mut drops) {
                let work = Bytes(u64::from(departure.packet.wire));
                let end = self.clock.transmit(Time(now), work);
                self.sent.push(Sent { start: Time(now), end, departure });
                busy = true;
            }
        }
    }

    /// Moves zero `gap` past the end of everything so far.
    pub fn rest(&mut self, gap: u64) {
        self.base = self.clock.free_at().0.max(self.base) + gap;
    }

    pub fn late_realtime(&self) -> Option<&Sent> {
        self.sent.iter().find(|s| s.realtime() && s.late())
    }

    pub fn late_best_effort(&self) -> Option<&Sent> {
        self.sent.iter().find(|s| !s.realtime() && s.late())
    }
}

/// A real-time flow that is policed by dropping.
pub fn flow(envelope: Envelope, deadline: u64) -> RealtimeFlow {
    RealtimeFlow {
        envelope,
        deadline: Span(deadline),
        excess: Excess::Drop,
        buffer: None,
        service: None,
    }
}

/// A leaky bucket with packets of at most `packet` bytes, at `num / den` of a byte a nanosecond
/// times `unit`.
pub fn leaky(packet: u64, burst: u64, rate: u64) -> Envelope {
    let bucket = [laxity_curve::Bucket { burst: Bytes(burst), rate: Rate(rate) }];
    let envelope = Envelope::buckets(&bucket, Bytes(packet)).unwrap();
    envelope.with_min_packet(Bytes(1)).unwrap()
}

/// A TSpec in bytes and bit/s, counting single bytes.
pub fn tspec(packet: u64, peak: u64, burst: u64, rate: u64) -> Envelope {
    let tspec = Envelope::tspec(Bytes(packet), Rate(peak), Bytes(burst), Rate(rate)).unwrap();
    tspec.with_min_packet(Bytes(1)).unwrap()
}

pub fn periodic(period: u64, size: u64, jitter: u64) -> Envelope {
    Envelope::periodic(Span(period), Bytes(size), Span(jitter)).unwrap()
}

/// A link with one best-effort class and small buffers.
pub fn config(rate: u64, max_packet: u64, realtime: Vec<RealtimeFlow>) -> LinkConfig {
    LinkConfig {
        rate: Rate(rate),
        max_packet: Bytes(max_packet),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime,
        best_effort: vec![BestEffortClass::new(laxity_core::Weight::ONE, None)],
        buffer: Some(Buffer { total: Bytes(4000), best_effort: Bytes(2600) }),
        groups: vec![],
        fair_queue: FairQueue::Wfq,
        blocking: Blocking::Paper,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 0,
        options: Options::default(),
    }
}

/// Whether the admission test of the policy holds: `slack` with `always-check` needs no room for
/// blocking by best effort.
pub fn admitted(config: &LinkConfig) -> bool {
    let mut link = config.link_spec();
    if config.options.always_check {
        link.best_effort_packet = Bytes(0);
    }
    check(&link, &config.flow_specs().unwrap()).unwrap().admitted
}

/// A flow with a service curve, whose envelope tells no more than its sizes unless it is policed.
pub fn served(curve: ServiceCurve, envelope: Envelope, policed: bool, wire: Wire) -> RealtimeFlow {
    let service = Service { curve, policed };
    RealtimeFlow::served(envelope, service, wire, Excess::Drop, None).unwrap()
}

/// The curve through points `(ns, bytes)`, with a rate in bit/s after the last.
pub fn points(list: &[(u64, u64)], rate: u64) -> ServiceCurve {
    let list: Vec<_> = list.iter().map(|(t, w)| (Span(*t), Bytes(*w))).collect();
    ServiceCurve::points(&list, Rate(rate)).unwrap()
}

/// Whether the admission test holds with curves as such, under `always-check` without room for
/// blocking by best effort.
pub fn admits(config: &LinkConfig) -> bool {
    let mut link = config.link_spec();
    if config.options.always_check {
        link.best_effort_packet = Bytes(0);
    }
    check_flows(&link, &config.link_flows().unwrap()).unwrap().admitted
}

/// Shortens deadlines, one flow after the other, while the set stays admitted.
pub fn tighten(config: &mut LinkConfig) -> bool {
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

/// Every policy that promises to keep deadlines, by its registry name.
pub fn safe_policies() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|p| p.keeps_deadlines).map(|p| p.name)
}

/// Builds a policy; `None` when no line is safe for it or PGPS cannot carry the flows.
pub fn try_build(name: &str, config: &LinkConfig) -> Option<Box<dyn LinkPolicy + Send>> {
    use laxity_link::config::LinkConfigError::{NoSufficientRate, RatesExceedLink};
    match build(name, config) {
        Ok(policy) => Some(policy),
        Err(BuildError::Fit { .. }) => None,
        Err(BuildError::LinkConfig(NoSufficientRate { .. } | RatesExceedLink { .. })) => None,
        Err(e) => panic!("{name}: {e}"),
    }
}

/// Everything that a flow may send by `horizon`, at most `most` packets: every instant, every
/// sequence of sizes (falling within an instant; the order there decides nothing).
pub fn conforming(envelope: &Envelope, horizon: u64, most: usize, flow: u32) -> Vec<Vec<Arrival>> {
    let mut found = vec![];
    let mut prefix = vec![];
    extend(&Policer::new(envelope), envelope, 0, horizon, most, flow, &mut prefix, &mut found);
    found
}

#[allow(clippy::too_many_arguments)]
fn extend(
    policer: &Policer,
    envelope: &Envelope,
    from: u64,
    horizon: u64,
    most: usize,
    flow: u32,
    prefix: &mut Vec<Arrival>,
    found: &mut Vec<Vec<Arrival>>,
) {
    found.push(prefix.clone());
    if prefix.len() == most {
        return;
    }
    let largest = envelope.max_packet().0 as u32;
    let smallest = if envelope.lines().is_some() { 1 } else { largest };
    for at in from..horizon {
        for bytes in smallest..=largest {
            let again = prefix.last().is_some_and(|a| a.at == at && a.bytes < bytes);
            if again || policer.conforms_at(Time(at), bytes) != Some(Time(at)) {
                continue;
            }
            let mut policer = policer.clone();
            policer.take(Time(at), bytes);
            prefix.push(arrival(at, flow, bytes));
            extend(&policer, envelope, at, horizon, most, flow, prefix, found);
            prefix.pop();
        }
    }
}

/// Everything that best effort may bring: up to `most` packets of these sizes before `horizon`.
pub fn backlogs(sizes: &[u32], horizon: u64, most: usize, flow: u32) -> Vec<Vec<Arrival>> {
    let mut found = vec![vec![]];
    let mut newest = vec![vec![]];
    for _ in 0..most {
        let mut longer = vec![];
        for prefix in &newest {
            let from = prefix.last().map_or(0, |a: &Arrival| a.at);
            for at in from..horizon {
                for &bytes in sizes {
                    let mut trace = prefix.clone();
                    trace.push(arrival(at, flow, bytes));
                    longer.push(trace);
                }
            }
        }
        found.extend(longer.iter().cloned());
        newest = longer;
    }
    found
}

/// Traces in one, in order of time.
pub fn merge(traces: &[&[Arrival]], into: &mut Vec<Arrival>) {
    into.clear();
    for trace in traces {
        into.extend_from_slice(trace);
    }
    into.sort_by_key(|a| a.at);
}
