//! The C headers and the Rust policies decide the same, packet by packet.

#[path = "support/random.rs"]
mod random;
mod support;

use std::collections::BTreeMap;

use laxity_core::{Bytes, LinkClock, PolicyInfo, Rate, Span, Time, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_curve::{Blocking, Bucket, Envelope, Guarantee};
use laxity_kernel::{Notice, Plan, PlanError};
use laxity_link::assign::{Assigner, Exact};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    Aqm, BestEffortClass, Buffer, Excess, FairQueue, FlowQueueing, Hosts, LinkConfig, Options,
    QueueBy, RealtimeFlow, Release, Restart, Service, Sojourn,
};
use laxity_link::ecn::Ecn;
use laxity_link::pipeline::{ByDeadline, Discipline, Pipeline};
use laxity_link::registry;
use laxity_link::{DropSink, LinkPolicy, Packet, Wire, flow_key};
use random::Random;
use support::Step;

/// As `LX_HISTORY_PACKETS`.
const REMEMBERED: usize = 1024;

fn bucket(burst: u64, rate: u64) -> Bucket {
    Bucket { burst: Bytes(burst), rate: Rate::bytes_per_second(rate) }
}

/// A link with up to five flows of a few deadlines and up to four best-effort classes.
fn setup(random: &mut Random) -> LinkConfig {
    let rate = random.of(&[1_000_000u64, 10_000_000, 100_000_000, 1_000_000_000, 7_654_321]);
    let per_ms = rate / 8 / 1000;
    let flows = random.below(6);
    let realtime = (0..flows).map(|_| {
        let size = 40 + random.below(400);
        let share = per_ms * 1000 / 8;
        let envelope = match random.below(4) {
            0 => {
                let period = Span(1_000_000 + random.below(20_000_000));
                Envelope::periodic(period, Bytes(size), Span(random.below(3_000_000)))
            }
            1 => Envelope::leaky_bucket(Bytes(size * (1 + random.below(6))), Rate(share * 4)),
            2 => Envelope::buckets(
                &[bucket(size, share), bucket(size * 4, share / 3), bucket(size * 9, share / 5)],
                Bytes(size),
            ),
            _ => {
                Envelope::buckets(&[bucket(size, share), bucket(size * 8, share / 4)], Bytes(size))
            }
        };
        let deadline = random.of(&[5u64, 8, 8, 20, 20, 60, 200]) * 1_000_000;
        let slow = 3 * 1536 * 8_000_000_000 / rate;
        RealtimeFlow {
            envelope: envelope.expect("an envelope"),
            deadline: Span(deadline + slow),
            excess: random.of(&[Excess::Delay, Excess::Demote, Excess::Drop]),
            buffer: None,
            service: None,
        }
    });
    let realtime = realtime.collect();
    let classes = 1 + random.below(4);
    let weight = |random: &mut Random| random.of(&[200_000u32, 500_000, 1_000_000, 3_000_000]);
    let best_effort = (0..classes)
        .map(|_| {
            let weight = Weight(weight(random));
            BestEffortClass::new(weight, random.of(&[None, None, Some(Bytes(3_000))]))
        })
        .collect();
    LinkConfig {
        rate: Rate(rate),
        max_packet: Bytes(1200),
        wire: random.of(&[Wire::default(), Wire { overhead: 24, min_frame: 84 }]),
        downstream_backlog: Bytes(0),
        realtime,
        best_effort,
        // Best effort is often short of room, real time sometimes.
        buffer: Some(random.of(&[
            Buffer { total: Bytes(400_000), best_effort: Bytes(60_000) },
            Buffer { total: Bytes(60_000), best_effort: Bytes(6_000) },
            Buffer { total: Bytes(30_000), best_effort: Bytes(30_000) },
        ])),
        groups: vec![],
        fair_queue: random.of(&[FairQueue::Scfq, FairQueue::Wf2qPlus]),
        blocking: random.of(&[Blocking::Paper, Blocking::Exact]),
        guarantee: random.of(&[Guarantee::Realtime, Guarantee::All]),
        release: random.of(&[Release::Arrival, Release::HeadOfLine]),
        aqm_seed: 0,
        options: Options {
            restart: random.of(&[Restart::Sooner, Restart::Sooner, Restart::Idle]),
            ..Options::default()
        },
    }
}

/// `two-segment` with the kernel's capacity.
struct Segments(Exact);

impl Assigner for Segments {
    const INFO: PolicyInfo = Exact::INFO;

    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.0.assign(release, wire)
    }

    fn raise(&mut self, release: Time, from: u32, wire: u32) -> Time {
        self.0.raise(release, from, wire)
    }

    fn settle(&mut self, release: Time, from: u32, wire: u32) {
        self.0.settle(release, from, wire);
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn restart(&mut self, at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        if head.is_none() { self.0.restart(at, in_flight, None) } else { None }
    }
}

fn pipeline(setup: &LinkConfig, discipline: impl Discipline + 'static) -> Box<dyn LinkPolicy> {
    if setup.best_effort.iter().any(BestEffortClass::is_managed) {
        Box::new(Pipeline::managed(setup, discipline).expect("a pipeline"))
    } else {
        Box::new(Pipeline::new(setup, discipline).expect("a pipeline"))
    }
}

fn policy(name: &str, setup: &LinkConfig) -> Box<dyn LinkPolicy> {
    // The kernel remembers fewer packets than the default.
    if name == "slack" {
        return pipeline(setup, laxity_kernel::bounded_slack::BoundedSlack::new(setup));
    }
    let curve = |name| registry::curve(name, setup).expect("a curve").expect("with pieces").inverse;
    let history = |name| Exact::new(&curve(name), REMEMBERED);
    match name {
        "exact" => pipeline(setup, ByDeadline(history(name))),
        "two-segment" => pipeline(setup, ByDeadline(Segments(history(name)))),
        _ => registry::build(name, setup).expect("a policy"),
    }
}

/// The same with flow queues and AQM.
fn managed_setup(random: &mut Random) -> LinkConfig {
    let mut setup = setup(random);
    let packet = Span(300 * 8 * 1_000_000_000 / setup.rate.0);
    let packets = |random: &mut Random| Span(packet.0 * random.of(&[1, 3, 10, 40]));
    for class in &mut setup.best_effort {
        if random.below(3) > 0 {
            let by = random.of(&[QueueBy::FiveTuple, QueueBy::HostAndFlow, QueueBy::HostAndFlow]);
            let hosts = random.of(&[Hosts::Source, Hosts::Destination, Hosts::Both]);
            class.flows = Some(FlowQueueing { by, hosts, queues: random.of(&[64, 128]) });
        }
        let (ecn, ingress) = (random.below(4) > 0, random.below(4) == 0);
        let sojourn = random.of(&[None, Some(Sojourn::Raw), Some(Sojourn::Link)]);
        let rtt = random.of(&[Aqm::RTT, Span(packet.0 * 20)]);
        let target = random.below(4).gt(&0).then(|| packets(random));
        class.aqm = match random.below(7) {
            0 => Aqm::None,
            1 | 2 => {
                let interval = random.below(2).gt(&0).then(|| packets(random));
                Aqm::Codel { rtt, target, interval, ecn, sojourn, ingress }
            }
            3 | 4 => Aqm::Pie { target, ecn, sojourn, ingress },
            _ => {
                let step = random.below(2).gt(&0).then(|| packets(random));
                Aqm::L4s { target, rtt, step, ecn, sojourn, ingress }
            }
        };
    }
    setup.aqm_seed = random.below(1 << 40);
    setup
}

/// The same link with a service curve for most flows: concave, convex, by points, or of one line.
fn served(mut setup: LinkConfig, random: &mut Random) -> LinkConfig {
    for flow in &mut setup.realtime {
        if random.below(4) == 0 {
            continue;
        }
        let rate = flow.envelope.rate().0 * random.of(&[1, 1, 2]) + random.below(9);
        let late = flow.deadline.0 / random.of(&[1, 2, 3]);
        let packet = setup.wire.of_bytes(flow.envelope.max_packet());
        let curve = match random.below(5) {
            0 => ServiceCurve::rate_latency(Rate(rate), Span(late)),
            1 => ServiceCurve::two_piece(Rate(rate / 3), Span(late), Rate(rate)),
            2 => ServiceCurve::two_piece(Rate(rate * 3), Span(late), Rate(rate)),
            3 => ServiceCurve::umax_dmax(Bytes(packet.0 * 2), Span(late), Rate(rate)),
            _ => {
                let (jump, flat) = (Span(late), Span(late * 2));
                let points = [(jump, Bytes(0)), (jump, packet), (flat, packet)];
                ServiceCurve::points(&points, Rate(rate))
            }
        };
        // Beside packets that block, curves that rise from 0 are hardly ever admitted.
        let later = Span(random.of(&[0, 1, 3]) * 1200 * 8_000_000_000 / setup.rate.0);
        let Ok(curve) = curve.and_then(|curve| curve.later(later)) else { continue };
        let service = Service { curve, policed: random.below(2) > 0 };
        let (envelope, excess) = (flow.envelope.clone(), flow.excess);
        let served = RealtimeFlow::served(envelope, service, setup.wire, excess, flow.buffer);
        if let Ok(served) = served {
            *flow = served;
        }
    }
    setup
}

/// The key of a packet: a few flows of a few hosts, which share the sets of the table.
fn key(random: &mut Random) -> u64 {
    let flow = random.below(12);
    let (way, set) = (random.of(&[0, 0, 1, 7]), random.below(2));
    let hash = way << 29 | flow << 9 | set;
    flow_key(hash as u32, (flow % 3) as u16, (flow % 2) as u16)
}

/// The arriving packets.
#[derive(Clone, Copy, Debug)]
enum Traffic {
    /// Any lengths, in bursts.
    Mixed,
    /// The same of flows with keys and ECN fields, and more of it.
    Keyed,
    /// Whole units, as `small_link` has them.
    Whole,
}

/// Bytes that the small link sends in a millisecond.
const UNIT: u64 = 1000;

/// Two flows and best effort of whole units, nearly as much as the link can be asked for.
fn small_link(random: &mut Random) -> LinkConfig {
    let rate = |per_mille: u64| UNIT * per_mille;
    let flow = |envelope: Result<Envelope, _>, deadline: u64| RealtimeFlow {
        envelope: envelope.expect("an envelope"),
        deadline: Span(deadline * 1_000_000),
        excess: Excess::Delay,
        buffer: None,
        service: None,
    };
    let burst = random.of(&[1, 2, 3, 5]) * UNIT;
    let slow = random.of(&[1, 2, 3, 4, 6]) * UNIT;
    let second = [bucket(UNIT, rate(1000)), bucket(slow, rate(333))];
    LinkConfig {
        rate: Rate::bytes_per_second(rate(1000)),
        max_packet: Bytes(UNIT),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: vec![
            flow(
                Envelope::leaky_bucket(Bytes(burst), Rate(rate(333) * 8)),
                random.of(&[8, 11, 14]),
            ),
            flow(Envelope::buckets(&second, Bytes(UNIT)), 3 + random.below(8)),
        ],
        best_effort: vec![BestEffortClass::new(Weight(1_000_000), None)],
        buffer: None,
        groups: vec![],
        fair_queue: FairQueue::Wf2qPlus,
        blocking: Blocking::Paper,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 0,
        options: Options::default(),
    }
}

/// Notes what happens to packets while `arrives` arrives.
struct Sink<'a> {
    lines: &'a mut Vec<String>,
    arrives: Option<u64>,
    accepted: bool,
}

impl Sink<'_> {
    fn new(lines: &mut Vec<String>, arrives: Option<u64>) -> Sink<'_> {
        Sink { lines, arrives, accepted: true }
    }
}

impl DropSink for Sink<'_> {
    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        let seq = packet.seq;
        self.lines.push(match reason {
            DropReason::Aqm => format!("a {seq}"),
            _ if self.arrives == Some(seq) => {
                self.accepted = false;
                format!("e {seq} {}", reason.index())
            }
            _ => format!("p {seq}"),
        });
    }

    fn marked(&mut self, _now: Time, packet: &Packet) {
        self.lines.push(format!("m {}", packet.seq));
    }
}

/// Drives the Rust policy as a link would, which stalls now and then if `stalls`, and notes its answers as the driver prints them.
fn drive(
    random: &mut Random,
    setup: &LinkConfig,
    policy: &mut dyn LinkPolicy,
    traffic: Traffic,
    stalls: bool,
) -> (Vec<Step>, Vec<String>) {
    let flows = (setup.realtime.len() + setup.best_effort.len()) as u64;
    let mut clock = LinkClock::new(setup.rate).expect("a rate");
    let (mut steps, mut lines) = (Vec::new(), Vec::new());
    let mut now = 1_000_000_000 + random.below(1 << 40);
    let mut next_arrival = now;
    let per_packet = 300 * 8 * 1_000_000_000 / setup.rate.0;
    let mut burst = 0;
    // The end of the present stall, and whether the link has ever stalled.
    let (mut stalled, mut ever) = (None, false);
    let (count, longest) = if let Traffic::Keyed = traffic { (1200, 400) } else { (700, 120) };
    for seq in 0..count {
        // Up to the next arrival the link sends what it can.
        loop {
            let free = clock.free_at().0.max(now).max(stalled.unwrap_or(0));
            if free >= next_arrival {
                break;
            }
            now = free;
            if stalled.take().is_some() {
                policy.handle_stall();
                steps.push(Step::Stall);
            } else if stalls && random.below(60) == 0 {
                let most = per_packet * random.of(&[1, 10, 100]);
                (stalled, ever) = (Some(now + random.below(most)), true);
                continue;
            }
            steps.push(Step::Free { now });
            match policy.dequeue(Time(now), &mut Sink::new(&mut lines, None)) {
                Some(gone) => {
                    let (seq, deadline) = (gone.packet.seq, gone.deadline.0);
                    let kind = if gone.dropped { 'x' } else { 'd' };
                    lines.push(format!("{kind} {seq} {deadline} {}", gone.packet.ecn as u8));
                    let end = clock.transmit(Time(now), Bytes(gone.packet.wire.into()));
                    assert!(
                        ever || !gone.realtime || end <= gone.deadline,
                        "{gone:?} ends at {end:?}"
                    );
                    steps.push(Step::Transmit { start: now, wire: gone.packet.wire });
                    lines.push(format!("c {}", end.0));
                }
                None => {
                    let event = policy.next_event().map_or(u64::MAX, |t| t.0);
                    lines.push(format!("n {event}"));
                    now = event.min(next_arrival);
                    if now == next_arrival {
                        break;
                    }
                }
            }
        }
        now = next_arrival;
        let flow = random.below(flows) as u32;
        let usual = if let Traffic::Keyed = traffic { 700 } else { 200 };
        let range = if random.below(40) == 0 { 1400 } else { usual };
        let bytes = match traffic {
            Traffic::Mixed | Traffic::Keyed => 20 + random.below(range) as u32,
            Traffic::Whole => [2, 1, 1][flow as usize] * UNIT as u32,
        };
        let id = laxity_core::FlowId(flow);
        let mut packet = Packet::new(seq, Time(now), id, bytes, setup.wire.of(bytes));
        if let Traffic::Keyed = traffic {
            packet.key = key(random);
            packet.ecn = random.of(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
            let (key, ecn) = (packet.key, packet.ecn as u8);
            steps.push(Step::Keyed { now, flow, bytes, key, ecn });
        } else {
            steps.push(Step::Arrival { now, flow, bytes });
        }
        let mut sink = Sink::new(&mut lines, Some(seq));
        policy.enqueue(Time(now), packet, &mut sink);
        if sink.accepted {
            lines.push(format!("e {seq} 99"));
        }
        if let Traffic::Whole = traffic {
            next_arrival += random.of(&[0, 1, 1, 1, 1, 2, 2, 3, 9]) * 1_000_000;
            continue;
        }
        burst = if burst > 0 { burst - 1 } else { random.below(longest) };
        if burst == 0 {
            // Sometimes long enough for the wire to become idle.
            let pause = per_packet * random.of(&[1, 4, 60, 900]);
            next_arrival += random.below(pause);
        } else {
            next_arrival += random.below(per_packet / 2 + 1);
        }
    }
    (steps, lines)
}

/// Every policy, fair queue, policer, limit and release over random links: the same packets go in
/// the same order, with the same deadlines, and are dropped for the same reasons.
///
/// Fails when a window keeps no entry that a newer one cannot overtake, or never lets go of those
/// that have left its piece; when `lx_fair_promote` leaves virtual time behind the least start tag;
/// when a token bucket rounds its wait down; when a demoted packet counts with the first class; when
/// the clock forgets its remainder; when a tie in the tournament goes to the greater number. With
/// stalls, when best effort does not yield in the headers, when the head keeps its deadline or its
/// release at the end of it, when `slack` keeps its lower bound. All tried.
#[test]
fn headers_decide_as_the_policies() {
    decide_alike(setup, Traffic::Mixed, false, 130);
}

#[test]
fn headers_decide_as_the_policies_after_stalls() {
    decide_alike(setup, Traffic::Mixed, true, 130);
}

#[test]
fn flow_queues_and_aqm_decide_as_the_policies() {
    let kinds = decide_alike(managed_setup, Traffic::Keyed, false, 300);
    // Dropped by an AQM, charged for it, marked; refused by the class.
    for kind in ["a", "x", "m"] {
        assert!(kinds.get(kind).is_none_or(|n| *n > 200), "too few of {kind}: {kinds:?}");
    }
}

#[test]
fn flow_queues_and_aqm_decide_as_the_policies_after_stalls() {
    decide_alike(managed_setup, Traffic::Keyed, true, 300);
}

/// Flows with service curves beside others: the same order, deadlines and drops, and in `drive` no
/// packet late, of those without a policer either.
///
/// Fails when the packet on the wire does not continue its flow's backlog, when deadlines of best
/// effort restart beside it, when an idle link keeps the starts, when an envelope that is not enforced
/// polices, when a flow with a curve shares the class of another. With stalls, when the end of one
/// forgets starts. All tried.
#[test]
fn service_curves_decide_as_the_policies() {
    decide_alike(|random| served(setup(random), random), Traffic::Mixed, false, 200);
}

#[test]
fn service_curves_decide_as_the_policies_after_stalls() {
    decide_alike(|random| served(setup(random), random), Traffic::Mixed, true, 200);
}

#[test]
fn service_curves_beside_flow_queues_decide_as_the_policies() {
    decide_alike(|random| served(managed_setup(random), random), Traffic::Keyed, false, 200);
}

/// Returns how many answers of each kind there were; none without a compiler.
fn decide_alike(
    setup: impl Fn(&mut Random) -> LinkConfig,
    traffic: Traffic,
    stalls: bool,
    enough: usize,
) -> BTreeMap<String, usize> {
    let (mut admitted, mut compared, mut curves) = (0, 0, 0);
    let mut kinds = BTreeMap::<String, usize>::new();
    for seed in 0..1000 {
        let mut random = Random(seed);
        let setup = setup(&mut random);
        for name in laxity_kernel::plan::policies() {
            let plan = match Plan::of_link(&setup, name, &[], 0) {
                Ok(plan) => plan,
                // The latter: real time alone may need more than the buffer.
                Err(PlanError::NotAdmitted(_) | PlanError::Build(_)) => continue,
                Err(PlanError::CurvesUnder { .. }) if name == "slack" => continue,
                Err(PlanError::OutOfRange { what, .. }) if what.contains("service curve") => {
                    continue;
                }
                Err(error) => panic!("seed {seed}, {name}: {error}"),
            };
            // Periodic flows have many corners; with fewer of them deadlines come later.
            if plan.notices.iter().any(|n| matches!(n, Notice::FewerCorners { .. })) {
                continue;
            }
            admitted += 1;
            curves += plan.served.len();
            let mut policy = policy(name, &setup);
            let (steps, expected) = drive(&mut random, &setup, &mut *policy, traffic, stalls);
            let Some(answers) = support::answers(&plan, &steps) else { return kinds };
            for (i, (answer, wanted)) in answers.iter().zip(&expected).enumerate() {
                assert_eq!(answer, wanted, "seed {seed}, {name}, answer {i}, {setup:?}");
            }
            assert_eq!(answers.len(), expected.len(), "seed {seed}, {name}");
            compared += answers.len();
            for answer in &answers {
                // The kind of answer, and the reasons of refusals.
                let mut words = answer.split(' ');
                let kind = words.next().unwrap_or_default();
                let why = words.nth(1).filter(|_| kind == "e").unwrap_or_default();
                *kinds.entry(format!("{kind}{why}")).or_default() += 1;
            }
        }
        if admitted > enough {
            break;
        }
    }
    assert!(admitted > enough, "only {admitted} links were admitted");
    eprintln!("{admitted} links, {curves} curves, {compared} answers: {kinds:?}");
    // Total, own limit, oversize, excess; accepted, pushed out, sent, nothing to send.
    for kind in ["e0", "e2", "e4", "e5", "e99", "p", "d", "n"] {
        assert!(kinds.get(kind).is_some_and(|n| *n > 20), "too few of {kind}: {kinds:?}");
    }
    kinds
}

/// `slack` on links of whole units, where its bound between searches is tight: the same answers, and
/// no real-time packet late in `drive`.
///
/// Fails when best-effort bytes are not taken from the bound, tried in the twin: a packet is late;
/// when the slow line of a flow takes the fast bucket's level from the policer.
/// `headers_decide_as_the_policies` notices when future work is left out of both. Neither notices
/// when a real-time packet due later does not lower the bound: no answer here depends on that.
#[test]
fn slack_keeps_deadlines_on_small_links() {
    let mut admitted = 0;
    for seed in 0..300 {
        let mut random = Random(seed);
        let setup = small_link(&mut random);
        let plan = match Plan::of_link(&setup, "slack", &[], 0) {
            Ok(plan) => plan,
            Err(PlanError::NotAdmitted(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        admitted += 1;
        let mut policy = policy("slack", &setup);
        let (steps, expected) = drive(&mut random, &setup, &mut *policy, Traffic::Whole, false);
        let Some(answers) = support::answers(&plan, &steps) else { return };
        assert_eq!(answers, expected, "seed {seed}");
    }
    assert!(admitted > 20, "only {admitted} links were admitted");
}

/// The pace of a link of 1000 B a millisecond with a credit of 2 ms, in ms: what is due in time, late
/// within the credit and beyond it, after idling, and while a shaper holds back what waits.
///
/// Fails when an idle link loses time, when what is lost counts from the end of the last packet
/// instead of from when one waited, when the credit is not subtracted, when a link that is late
/// does not catch up.
#[test]
fn time_beyond_the_credit_is_lost() {
    let mut random = Random(7);
    let setup = LinkConfig { realtime: Vec::new(), ..small_link(&mut random) };
    let plan = Plan::of_link(&setup, "background", &[], 2_000_000).expect("a plan");
    // When a packet waits, when one is taken; then its start, all that was lost so far, its end.
    let cases = [
        ((100, 100), (100, 0, 101)), // nothing to catch up after an idle link
        ((0, 101), (101, 0, 102)),
        ((0, 103), (102, 0, 103)), // a timer 1 ms late
        ((0, 106), (104, 1, 105)), // 3 ms late: one of them is lost
        ((0, 106), (105, 1, 106)), // and the credit is caught up
        ((120, 121), (120, 1, 121)),
        ((130, 137), (135, 6, 136)), // waited for 7 ms while nothing was sent
        ((140, 200), (198, 64, 199)),
    ];
    let (mut steps, mut expected) = (Vec::new(), Vec::new());
    for ((since, now), (start, lost, end)) in cases {
        steps.push(Step::Waits { since: since * 1_000_000 });
        steps.push(Step::Send { now: now * 1_000_000, wire: UNIT as u32 });
        let [start, lost, end] = [start, lost, end].map(|ms: u64| ms * 1_000_000);
        expected.push(format!("s {start} {lost} {end}"));
    }
    let Some(answers) = support::answers(&plan, &steps) else { return };
    assert_eq!(answers, expected);
}
