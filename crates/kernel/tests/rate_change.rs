//! Changes of the link's rate in the C headers: no real-time packet that is accepted under a plan is
//! late under it, whenever the rate falls and rises and whichever flows are shed.

#[path = "support/headers.rs"]
mod headers;
#[path = "support/random.rs"]
mod random;

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_curve::{Blocking, Bucket, Envelope, Guarantee};
use laxity_kernel::plan::QueueMemory;
use laxity_kernel::{Plan, PlanError};
use laxity_link::Wire;
use laxity_link::config::{
    Aqm, BestEffortClass, Excess, FairQueue, LinkConfig, Options, RealtimeFlow, Release, Service,
};
use random::Random;

const MS: u64 = 1_000_000;
const POLICIES: [&str; 5] = ["background", "shifted-line", "two-segment", "exact", "slack"];

/// A flow of packets of `packet` bytes: a bucket of `burst` bytes, 1000 B/s times `rate`.
fn flow(burst: u64, rate: u64, packet: u64, deadline_ms: u64, excess: Excess) -> RealtimeFlow {
    let bucket = Bucket { burst: Bytes(burst), rate: Rate::bytes_per_second(rate * 1000) };
    RealtimeFlow {
        envelope: Envelope::buckets(&[bucket], Bytes(packet)).expect("an envelope"),
        deadline: Span(deadline_ms * MS),
        excess,
        buffer: None,
        service: None,
    }
}

/// A link of 1000 B a millisecond.
fn link(realtime: Vec<RealtimeFlow>) -> LinkConfig {
    LinkConfig {
        rate: Rate::bytes_per_second(1_000_000),
        max_packet: Bytes(1000),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime,
        best_effort: vec![BestEffortClass::new(Weight(1_000_000), None); 2],
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

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request { at: u64, plan: usize },
    Arrival { at: u64, flow: u32, bytes: u32 },
}

impl Event {
    fn at(self) -> u64 {
        match self {
            Event::Request { at, .. } | Event::Arrival { at, .. } => at,
        }
    }
}

/// Events of a run.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// Packet, whether it was real time, end, late, rate below that of the plan in force.
    sent: Vec<(usize, bool, u64, bool, bool)>,
    refused: usize,
    takeovers: Vec<(u64, usize)>,
    misses: u64,
    late_rate_change: u64,
}

/// Runs a link under plans; `None` without a C compiler.
fn outcomes(plans: &[Plan], runs: &[Vec<Event>]) -> Option<Vec<Outcome>> {
    let mut input = Vec::new();
    let rule = plans.iter().map(|p| p.rule.number()).max().expect("a plan");
    let QueueMemory { managed, flow_queues, flow_orders, host_tables } = plans[0].queues;
    let served = &plans[0].served;
    let counts = [plans.len() as u32, served.len() as u32];
    let sizes = [managed.into(), flow_queues, flow_orders, host_tables];
    for word in [&[rule, plans[0].slots][..], &sizes, &counts].concat() {
        input.extend_from_slice(&word.to_ne_bytes());
    }
    input.extend_from_slice(&served.concat());
    for plan in plans {
        input.extend_from_slice(&plan.config);
        input.extend_from_slice(&plan.shed.to_ne_bytes());
    }
    for run in runs {
        input.extend_from_slice(&(run.len() as u64).to_ne_bytes());
        for event in run {
            let words = match *event {
                Event::Request { at, plan } => [at, plan as u64, 1],
                Event::Arrival { at, flow, bytes } => {
                    [at, u64::from(flow) << 32 | u64::from(bytes), 0]
                }
            };
            words.iter().for_each(|w| input.extend_from_slice(&w.to_ne_bytes()));
        }
    }
    let mut all = Vec::new();
    let mut now = Outcome::default();
    for line in headers::ask("rate_change.c", input)? {
        let mut words = line.split(' ');
        let kind = words.next().expect("a kind");
        let n: Vec<u64> = words.map(|w| w.parse().expect("a number")).collect();
        match (kind, &n[..]) {
            ("d", [packet, realtime, end, late, slowed]) => {
                now.sent.push((*packet as usize, *realtime > 0, *end, *late > 0, *slowed > 0));
            }
            ("t", [at, plan]) => now.takeovers.push((*at, *plan as usize)),
            ("x" | "p", _) => now.refused += 1,
            ("r", [misses, late]) => {
                (now.misses, now.late_rate_change) = (*misses, *late);
                all.push(std::mem::take(&mut now));
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(all.len(), runs.len());
    Some(all)
}

/// Invariants of every run. Returns the packets counted as late because the rate fell.
fn assert_kept(setup: &LinkConfig, plans: &[Plan], run: &[Event], outcome: &Outcome) -> u64 {
    let arrivals: Vec<(u64, u32)> = run
        .iter()
        .filter_map(|e| match *e {
            Event::Arrival { at, flow, .. } => Some((at, flow)),
            Event::Request { .. } => None,
        })
        .collect();
    let context = || format!("{run:?} {outcome:?} {setup:?}");
    assert_eq!(outcome.misses, 0, "{}", context());
    assert_eq!(outcome.sent.len() + outcome.refused, arrivals.len(), "{}", context());
    let mut requests = run.iter().filter_map(|e| match *e {
        Event::Request { plan, .. } => Some(plan),
        Event::Arrival { .. } => None,
    });
    // After the last takeover: the plan requested last, unless the link never became free again.
    if let (Some(last), Some((_, plan))) = (requests.next_back(), outcome.takeovers.last()) {
        let end = outcome.sent.iter().map(|s| s.2).max().unwrap_or(0);
        let request = run.iter().rev().find(|e| matches!(e, Event::Request { .. }));
        if request.is_some_and(|e| e.at() + 100 * MS < end) {
            assert_eq!(*plan, last, "{}", context());
        }
    }
    for (packet, realtime, end, _, slowed) in &outcome.sent {
        let (at, flow) = arrivals[*packet];
        let Some(spec) = setup.realtime.get(flow as usize) else {
            assert!(!realtime, "{}", context());
            continue;
        };
        // From the arrival: flows here conform.
        if *realtime && !slowed && spec.excess == Excess::Drop {
            assert!(*end <= at + spec.deadline.0, "{packet} {}", context());
        }
        let last_request = run.iter().rev().find(|e| matches!(e, Event::Request { .. }));
        let settled = outcome.takeovers.last().map_or(0, |t| t.0);
        if last_request.is_none_or(|e| e.at() <= settled) && at > settled {
            assert!(!slowed, "{packet} {}", context());
        }
        let taken = outcome.takeovers.iter().rev().find(|(t, _)| t <= &at).map_or(0, |t| t.1);
        let next = outcome.takeovers.iter().find(|(t, _)| t > &at);
        if plans[taken].shed >> flow & 1 > 0 && next.is_none() {
            assert!(!realtime, "{packet} of a shed flow: {}", context());
        }
    }
    outcome.late_rate_change
}

/// The plans of a link at rates in bytes a millisecond, with the flows that lose their reservation;
/// `None` where one is not admitted.
fn plans(setup: &LinkConfig, policy: &str, rates: &[(u64, &[usize])]) -> Option<Vec<Plan>> {
    let plan = |(rate, shed): &(u64, &[usize])| {
        let setup = LinkConfig { rate: Rate::bytes_per_second(rate * 1000), ..setup.clone() };
        match Plan::of_flows(&setup, policy, &[], 0, shed) {
            Ok(plan) => Some(plan),
            Err(PlanError::NotAdmitted(_) | PlanError::Build(_)) => None,
            Err(error) => panic!("{policy}: {error}"),
        }
    };
    rates.iter().map(plan).collect()
}

/// A flow's packets, as early as its bucket allows from each of some instants on.
fn greedy(flow: u32, spec: &RealtimeFlow, starts: &[u64], until: u64) -> Vec<Event> {
    let lines = spec.envelope.lines().expect("buckets");
    let (burst, rate) = (lines[0].burst.0 * 8_000_000_000, lines[0].rate.0);
    let bytes = spec.envelope.max_packet().0;
    let cost = bytes * 8_000_000_000;
    let (mut level, mut last, mut events) = (burst, 0, Vec::new());
    for (i, start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(until);
        let mut at = *start;
        loop {
            let now = (level + (at - last) * rate).min(burst);
            if now < cost {
                at += (cost - now).div_ceil(rate);
                if at >= end {
                    break;
                }
                continue;
            }
            (level, last) = (now - cost, at);
            events.push(Event::Arrival { at, flow, bytes: bytes as u32 });
        }
    }
    events
}

/// Best effort that always has packets of these sizes waiting.
fn best_effort(flow: u32, sizes: &[u32], until: u64) -> Vec<Event> {
    let at =
        |i: u64| Event::Arrival { at: i * 2 * MS, flow, bytes: sizes[i as usize % sizes.len()] };
    (0..until / (2 * MS)).map(at).collect()
}

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|e| (e.at(), *e));
    events
}

/// A fall at every half of a millisecond, a rise at every later millisecond, while flows send as early
/// as they may: nothing that is accepted under a plan is late under it, and packets caught by the
/// fall are counted apart.
///
/// Fails when a new rate takes over while real time waits, tried without `lx_blocks_rate_change`; when
/// shed flows stay real time, tried with `lx_is_shed` always 0; when packets count as caught by the
/// fall after the takeover, tried without `link.slowed = 0`.
#[test]
fn no_accepted_packet_is_late_when_the_rate_changes_at_any_instant() {
    // Either is admitted without a byte to spare: 8 ms at the lower rate, 3 ms at the higher one.
    let mut late = 0;
    for (deadlines, rates) in [
        ([8, 12], [(1000, &[][..]), (375, &[1][..])]),
        ([3, 12], [(1000, &[][..]), (375, &[0, 1][..])]),
    ] {
        let Some(caught) = check_every_instant(deadlines, &rates) else { return };
        late += caught;
    }
    assert!(late > 0, "no packet was caught by a fall");
}

fn check_every_instant(deadlines: [u64; 2], rates: &[(u64, &[usize])]) -> Option<u64> {
    let setup = link(vec![
        flow(2000, 100, 500, deadlines[0], Excess::Drop),
        flow(3000, 200, 1000, deadlines[1], Excess::Drop),
    ]);
    let until = 60 * MS;
    let patterns: [[&[u64]; 2]; 3] =
        [[&[0, 30 * MS], &[0]], [&[5 * MS], &[9 * MS, 33 * MS]], [&[0], &[11 * MS]]];
    let mut late = 0;
    for policy in POLICIES {
        // Without a byte to spare `two-segment` has no line.
        let Some(plans) = plans(&setup, policy, rates) else {
            assert_eq!(policy, "two-segment");
            continue;
        };
        let mut runs = Vec::new();
        for starts in &patterns {
            let mut base = best_effort(2, &[1000, 300, 700], until);
            for (i, starts) in starts.iter().enumerate() {
                base.extend(greedy(i as u32, &setup.realtime[i], starts, until));
            }
            for fall in 0..60 {
                for rise in (fall / 2 + 1..34).step_by(3) {
                    let mut run = base.clone();
                    run.push(Event::Request { at: fall * MS / 2 + 1, plan: 1 });
                    run.push(Event::Request { at: rise * MS, plan: 0 });
                    runs.push(sorted(run));
                }
            }
        }
        let outcomes = outcomes(&plans, &runs)?;
        for (run, outcome) in runs.iter().zip(&outcomes) {
            late += assert_kept(&setup, &plans, run, outcome);
        }
    }
    Some(late)
}

/// The same on random links, in chains of changes, with flows that are delayed or demoted beyond their
/// envelope, and with an AQM of the class of shed flows.
///
/// Fails as the test above, and when a rate takes over while a packet is being sent at another one,
/// tried without `link.pace.clock.free > now`.
#[test]
fn no_accepted_packet_is_late_in_chains_of_rate_changes() {
    let (mut admitted, mut late) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let flows = 1 + random.below(3);
        let realtime: Vec<RealtimeFlow> = (0..flows)
            .map(|_| {
                let packet = random.of(&[200, 500, 1000]);
                let burst = packet * (1 + random.below(4));
                let excess = random.of(&[Excess::Drop, Excess::Delay, Excess::Demote]);
                flow(burst, 20 + random.below(150), packet, 8 + random.below(30), excess)
            })
            .collect();
        let mut setup = link(realtime);
        if seed % 3 == 0 {
            setup.best_effort[1].aqm = Aqm::CODEL;
        }
        let all: Vec<usize> = (0..setup.realtime.len()).collect();
        let rates = [
            (1000, &[][..]),
            (random.of(&[300, 500, 800]), &all[random.below(flows) as usize..]),
            (random.of(&[100, 200, 500]), &all[..]),
            (random.of(&[700, 1500, 3000]), &[][..]),
        ];
        for policy in POLICIES {
            let Some(plans) = plans(&setup, policy, &rates) else { continue };
            admitted += 1;
            let until = 200 * MS;
            let runs: Vec<Vec<Event>> = (0..12)
                .map(|_| {
                    let mut run = best_effort(flows as u32, &[1000, 200], until);
                    for (i, spec) in setup.realtime.iter().enumerate() {
                        let starts = [random.below(20) * MS, (30 + random.below(90)) * MS];
                        // Flows that may exceed their envelope do so.
                        let beyond = RealtimeFlow {
                            envelope: flow(4000, 200, spec.envelope.max_packet().0, 9, spec.excess)
                                .envelope,
                            ..spec.clone()
                        };
                        let sends = if spec.excess == Excess::Drop { spec } else { &beyond };
                        run.extend(greedy(i as u32, sends, &starts, until));
                    }
                    for _ in 0..1 + random.below(8) {
                        let (at, plan) = (random.below(until), random.below(4) as usize);
                        run.push(Event::Request { at, plan });
                    }
                    sorted(run)
                })
                .collect();
            let Some(outcomes) = outcomes(&plans, &runs) else { return };
            for (run, outcome) in runs.iter().zip(&outcomes) {
                late += assert_kept(&setup, &plans, run, outcome);
            }
        }
    }
    assert!(admitted > 50 && late > 0, "{admitted} links, {late} packets caught by a fall");
}

/// The same for flows with service curves, which send what they like, beside one with a deadline: a
/// change of the rate keeps their starts.
///
/// Fails when only the first start of a busy link counts.
#[test]
fn no_service_curve_is_missed_in_chains_of_rate_changes() {
    let mut admitted = 0;
    for seed in 0..40 {
        let mut random = Random(seed);
        let flows = 1 + random.below(3);
        let mut realtime: Vec<RealtimeFlow> = (0..flows)
            .map(|_| {
                let (packet, rate) = (random.of(&[200, 500, 1000]), 20_000 + random.below(150_000));
                let [first, last] = random.of(&[[0, rate], [3 * rate, rate], [rate, rate]]);
                let [first, last] = [first, last].map(Rate::bytes_per_second);
                let time = Span((2 + random.below(20)) * MS);
                let curve = ServiceCurve::two_piece(first, time, last).expect("a curve");
                let curve = curve.later(Span(random.below(12) * MS)).expect("a curve");
                let spec = flow(packet, 10, packet, 9, Excess::Delay);
                let service = Service { curve, policed: false };
                RealtimeFlow::served(spec.envelope, service, Wire::default(), spec.excess, None)
                    .expect("a flow")
            })
            .collect();
        realtime.push(flow(1000, 20, 500, 15 + random.below(20), Excess::Drop));
        let setup = link(realtime);
        let rates = [(1000, &[][..]), (random.of(&[500, 700, 800]), &[][..]), (2000, &[][..])];
        for policy in POLICIES.into_iter().filter(|policy| *policy != "slack") {
            let Some(plans) = plans(&setup, policy, &rates) else { continue };
            assert!(plans.iter().all(|plan| plan.served == plans[0].served), "{policy}");
            admitted += 1;
            let until = 200 * MS;
            let runs: Vec<Vec<Event>> = (0..12)
                .map(|_| {
                    let mut run = best_effort(flows as u32 + 1, &[1000, 200], until);
                    for (i, spec) in setup.realtime.iter().enumerate() {
                        let starts = [random.below(20) * MS, (30 + random.below(90)) * MS];
                        if spec.service.is_none() {
                            run.extend(greedy(i as u32, spec, &starts, until));
                            continue;
                        }
                        let bytes = spec.envelope.max_packet().0 as u32;
                        let mut at = starts[0];
                        while at < until {
                            let wait = random.of(&[0, 1, 2, 5, 30]);
                            run.push(Event::Arrival { at, flow: i as u32, bytes });
                            at += random.below(wait * MS + 1);
                        }
                    }
                    for _ in 0..1 + random.below(8) {
                        let (at, plan) = (random.below(until), random.below(3) as usize);
                        run.push(Event::Request { at, plan });
                    }
                    sorted(run)
                })
                .collect();
            let Some(outcomes) = outcomes(&plans, &runs) else { return };
            for (run, outcome) in runs.iter().zip(&outcomes) {
                assert_kept(&setup, &plans, run, outcome);
            }
        }
    }
    assert!(admitted > 30, "{admitted} links");
}

/// Fails when the limits of a link depend on its rate or its shed flows: packets that wait across a
/// change are counted under both.
#[test]
fn limits_and_shares_do_not_depend_on_the_rate() {
    let setup =
        link(vec![flow(2000, 100, 500, 8, Excess::Drop), flow(3000, 200, 1000, 12, Excess::Delay)]);
    for policy in POLICIES {
        let all =
            plans(&setup, policy, &[(1000, &[]), (520, &[1]), (300, &[0, 1])]).expect("plans");
        for plan in &all[1..] {
            assert_eq!((plan.slots, plan.realtime_slots), (all[0].slots, all[0].realtime_slots));
            // struct lx_limits, and struct lx_shares, as bpf/qdisc/intf.h has them.
            assert_eq!(plan.config[16..64], all[0].config[16..64], "{policy}");
            assert_eq!(plan.config[592..1384], all[0].config[592..1384], "{policy}");
        }
    }
}
