//! The best-effort slot in C on small links: no real-time packet is late, whichever candidate is
//! dropped or replaced, and when; rules that differ from the slot's in one point are found.
//!
//! The twin of the tests of `crates/link/src/slot`, through the plan of the kernel.

#[path = "support/headers.rs"]
mod headers;

use std::collections::BTreeMap;

use laxity_core::{Bytes, Rate, Span, Time, Weight};
use laxity_curve::service::{ServiceCurve, check_flows};
use laxity_curve::{Blocking, Bucket, Envelope, Guarantee};
use laxity_kernel::Plan;
use laxity_kernel::plan::QueueMemory;
use laxity_link::Wire;
use laxity_link::config::{
    BestEffortClass, Buffer, Excess, FairQueue, FlowQueueing, LinkConfig, Options, RealtimeFlow,
    Release, Restart, Service,
};
use laxity_link::police::Policer;

/// A byte a nanosecond.
const BYTE_PER_NS: u64 = 8_000_000_000;

/// As `slot.c` reads it: kind, instant, flow and bytes, hash.
type Step = [u64; 4];
/// The drops of the AQM, and the steps.
type Trace = (u64, Vec<Step>);

fn arrival(at: u64, flow: u64, bytes: u64, hash: u64) -> Step {
    [0, at, flow << 32 | bytes, hash]
}

fn discard(at: u64) -> Step {
    [1, at, 0, 0]
}

fn flow(burst: u64, (num, den): (u64, u64), deadline: u64, packet: u64) -> RealtimeFlow {
    let bucket = [Bucket { burst: Bytes(burst), rate: Rate(BYTE_PER_NS * num / den) }];
    let envelope = Envelope::buckets(&bucket, Bytes(packet)).expect("an envelope");
    let envelope = envelope.with_min_packet(Bytes(1)).expect("an envelope");
    RealtimeFlow {
        envelope,
        deadline: Span(deadline),
        excess: Excess::Drop,
        buffer: None,
        service: None,
    }
}

fn periodic(period: u64, size: u64, jitter: u64) -> RealtimeFlow {
    let envelope = Envelope::periodic(Span(period), Bytes(size), Span(jitter));
    let envelope = envelope.expect("an envelope");
    RealtimeFlow { envelope, deadline: Span(60), excess: Excess::Drop, buffer: None, service: None }
}

/// A curve through points, then of a slope in bytes a nanosecond.
fn curve(points: &[(u64, u64)], (num, den): (u64, u64)) -> ServiceCurve {
    let points: Vec<_> = points.iter().map(|(t, w)| (Span(*t), Bytes(*w))).collect();
    ServiceCurve::points(&points, Rate(BYTE_PER_NS * num / den)).expect("a curve")
}

/// A flow that may send what it likes of packets up to `packet` bytes, with a curve later by `ns`.
fn served(curve: &ServiceCurve, packet: u64, ns: u64) -> RealtimeFlow {
    let envelope = Envelope::leaky_bucket(Bytes(packet), Rate(1)).expect("an envelope");
    let envelope = envelope.with_min_packet(Bytes(1)).expect("an envelope");
    let service = Service { curve: curve.later(Span(ns)).expect("a curve"), policed: false };
    let served = RealtimeFlow::served(envelope, service, Wire::default(), Excess::Drop, None);
    served.expect("a flow")
}

/// A link with one class of 64 flow queues.
fn link(realtime: Vec<RealtimeFlow>, largest: u64, blocking: Blocking) -> LinkConfig {
    let mut class = BestEffortClass::new(Weight::ONE, None);
    class.flows = Some(FlowQueueing { queues: 64, ..FlowQueueing::default() });
    LinkConfig {
        rate: Rate(BYTE_PER_NS),
        max_packet: Bytes(largest),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime,
        best_effort: vec![class],
        buffer: Some(Buffer { total: Bytes(8000), best_effort: Bytes(4000) }),
        groups: vec![],
        fair_queue: FairQueue::Wf2qPlus,
        blocking,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 0,
        options: Options::default(),
    }
}

fn admitted(config: &LinkConfig) -> bool {
    let flows = config.link_flows().expect("flows");
    check_flows(&config.link_spec(), &flows).expect("a check").admitted
}

/// Shortens deadlines one after the other while the link is admitted.
fn tighten(config: &mut LinkConfig) {
    for k in 0..config.realtime.len() {
        while config.realtime[k].deadline.0 > 1 && config.realtime[k].service.is_none() {
            config.realtime[k].deadline.0 -= 1;
            if !admitted(config) {
                config.realtime[k].deadline.0 += 1;
                break;
            }
        }
    }
}

/// Plays traces in C under a rule of the slot; by how much a packet was late in each, and how many
/// packets left.
fn play(plan: &Plan, rule: &str, traces: &[Trace]) -> Option<Vec<(u64, u64)>> {
    let QueueMemory { flow_queues, flow_orders, host_tables, .. } = plan.queues;
    let served = plan.served.len() as u32;
    let head = [plan.rule.number(), plan.slots, 1, flow_queues, flow_orders, host_tables, served];
    let mut input: Vec<u8> = head.iter().flat_map(|w| w.to_ne_bytes()).collect();
    input.extend_from_slice(&plan.config);
    input.extend_from_slice(&plan.served.concat());
    for (script, steps) in traces {
        let words =
            [steps.len() as u64, *script].into_iter().chain(steps.iter().flatten().copied());
        words.for_each(|w| input.extend_from_slice(&w.to_ne_bytes()));
    }
    let rule = format!("-DLX_SLOT_RULE={rule}");
    let answers = headers::ask_with("slot.c", &[&rule], input)?;
    assert_eq!(answers.len(), traces.len());
    let number = |word: Option<&str>| word.and_then(|w| w.parse().ok()).expect("a number");
    let pair = |line: String| {
        let mut words = line.split(' ');
        (number(words.next()), number(words.next()))
    };
    Some(answers.into_iter().map(pair).collect())
}

/// All that a flow may send before `horizon`, at most `most` packets.
fn conforming(real: &RealtimeFlow, k: u64, horizon: u64, most: usize) -> Vec<Vec<Step>> {
    let mut all = vec![(vec![], Policer::new(&real.envelope), 0)];
    let largest = real.envelope.max_packet().0;
    let least = if real.envelope.lines().is_some() { 1 } else { largest };
    let mut from = 0;
    for _ in 0..most {
        let end = all.len();
        for i in from..end {
            for at in all[i].2..horizon {
                for bytes in least..=largest {
                    let (mut steps, mut policer, _): (Vec<Step>, _, _) = all[i].clone();
                    if real.service.is_some() {
                        steps.push(arrival(at, k, bytes, 0));
                        all.push((steps, policer, at));
                    } else if policer.conforms_at(Time(at), bytes as u32) == Some(Time(at)) {
                        policer.take(Time(at), bytes as u32);
                        steps.push(arrival(at, k, bytes, 0));
                        all.push((steps, policer, at));
                    }
                }
            }
        }
        from = end;
    }
    all.into_iter().map(|(steps, ..)| steps).collect()
}

/// Every pattern of `count` best-effort packets of 1 or `largest` bytes in two flow queues.
fn best_effort(k: u64, largest: u64, horizon: u64, count: usize) -> Vec<Vec<Step>> {
    let mut all = vec![vec![]];
    for _ in 0..count {
        let mut longer = vec![];
        for steps in &all {
            let from = steps.last().map_or(0, |step: &Step| step[1]);
            for at in from..horizon {
                for (bytes, hash) in [(1, 1), (largest, 1), (1, 2), (largest, 2)] {
                    let mut steps = steps.clone();
                    steps.push(arrival(at, k, bytes, hash));
                    longer.push(steps);
                }
            }
        }
        all = longer;
    }
    all
}

/// Traces of a link: all that its flows may send, with best effort, and with scripts and drops that
/// take turns.
fn traces(config: &LinkConfig, most: usize) -> Vec<Trace> {
    let horizon = if config.realtime.len() > 1 { 4 } else { 6 };
    let sent_by = |k: usize| match config.realtime.get(k) {
        Some(real) => conforming(real, k as u64, horizon, most),
        None => vec![vec![]],
    };
    let (class, largest) = (config.realtime.len() as u64, config.max_packet.0);
    let mut best = best_effort(class, largest, 3, 2);
    best.extend(best_effort(class, largest, 2, 3).into_iter().step_by(5));
    let (mut traces, mut turn) = (vec![], 0);
    for a in &sent_by(0) {
        for b in &sent_by(1) {
            for c in &best {
                turn += 1;
                let mut steps = [&a[..], b, c].concat();
                steps.sort_by_key(|step| step[1]);
                traces.push((turn % 8, steps.clone()));
                traces.push((turn / 3 % 16, steps.clone()));
                steps.push(discard(turn % (horizon + 2)));
                steps.sort_by_key(|step| step[1]);
                traces.push((turn / 8 % 2, steps));
            }
        }
    }
    traces
}

/// Plays a seventh of the traces of each small link under every policy; `LAXITY_SEARCH_EVERY=1` plays
/// all.
fn explore(change: impl Fn(&mut LinkConfig)) {
    let links = [
        (vec![flow(3, (1, 4), 60, 2)], 3, 3),
        (vec![flow(2, (1, 4), 60, 2)], 4, 3),
        (vec![periodic(5, 2, 3)], 3, 4),
        (vec![flow(1, (1, 8), 60, 1), flow(3, (1, 8), 60, 3)], 3, 2),
    ];
    let mut tried = BTreeMap::new();
    for (realtime, largest, most) in links {
        let mut config = link(realtime, largest, Blocking::Paper);
        change(&mut config);
        assert!(admitted(&config));
        tighten(&mut config);
        if !play_all(&config, most, &mut tried) {
            return;
        }
    }
    let count: usize = tried.values().sum();
    println!("{count} traces");
    assert!(count > 100_000, "{count}");
}

/// Plays traces of a link and counts them by policy; false without a compiler.
fn play_all(config: &LinkConfig, most: usize, tried: &mut BTreeMap<&'static str, usize>) -> bool {
    let every = std::env::var("LAXITY_SEARCH_EVERY").ok().and_then(|v| v.parse().ok()).unwrap_or(7);
    let all = traces(config, most);
    for (turn, name) in laxity_kernel::plan::policies().enumerate() {
        // Where no line is safe there is no policy of that name.
        let Ok(plan) = Plan::of_link(config, name, &[], 0) else { continue };
        let some: Vec<Trace> = all.iter().skip(turn % every).step_by(every).cloned().collect();
        let Some(answers) = play(&plan, "LX_SLOT_SAFE", &some) else { return false };
        for ((late, gone), (script, steps)) in answers.iter().zip(&some) {
            let arrivals = steps.iter().filter(|step| step[0] == 0).count() as u64;
            assert_eq!((*late, *gone), (0, arrivals), "{name}: {steps:?} {script:b} {config:?}");
        }
        *tried.entry(name).or_default() += some.len();
    }
    true
}

/// Flows with curves that begin as early as they are admitted, whatever they send, beside each other, a
/// flow with a deadline and best effort. Deadlines of best effort come from all corners of the
/// residual capacity, or from those that the programs hold.
///
/// Fails when only the first start of a busy link counts, or when the packet on the wire continues its
/// flow's backlog after its end, so that the next start is left out. Both tried.
#[test]
fn no_service_curve_is_missed() {
    let one = |points: &[(u64, u64)], slope, packet| (curve(points, slope), packet);
    let sets = [
        (vec![one(&[(4, 0)], (1, 2), 2)], vec![], 3, 3),
        (vec![one(&[(6, 0), (6, 2), (9, 2), (11, 3)], (1, 4), 3)], vec![], 2, 2),
        (vec![one(&[(2, 2)], (1, 4), 2), one(&[(5, 0)], (2, 3), 1)], vec![], 2, 2),
        (vec![one(&[(3, 0), (3, 1), (8, 1)], (3, 7), 2)], vec![flow(1, (1, 5), 40, 1)], 3, 2),
    ];
    let mut tried = BTreeMap::new();
    for blocking in [Blocking::Exact, Blocking::Paper] {
        for (curves, others, largest, most) in &sets {
            let build = |late: &[u64]| {
                let served = curves.iter().zip(late).map(|((c, p), ns)| served(c, *p, *ns));
                let mut config = link(served.chain(others.clone()).collect(), *largest, blocking);
                config.guarantee = Guarantee::All;
                config
            };
            let mut late = vec![60; curves.len()];
            assert!(admitted(&build(&late)), "{curves:?}");
            for k in 0..late.len() {
                while late[k] > 0 {
                    late[k] -= 1;
                    if !admitted(&build(&late)) {
                        late[k] += 1;
                        break;
                    }
                }
            }
            let mut config = build(&late);
            tighten(&mut config);
            if !play_all(&config, *most, &mut tried) {
                return;
            }
        }
    }
    println!("{tried:?}");
    assert!(tried["exact"] > 50_000 && tried.len() >= 3, "{tried:?}");
}

/// Fails when a larger candidate keeps the deadline, when what follows a drop is not asked for, or
/// when a slot outlives its last packet.
#[test]
fn no_realtime_packet_is_late_with_exact_blocking() {
    explore(|config| config.blocking = Blocking::Exact);
}

/// The same.
#[test]
fn no_realtime_packet_is_late_with_the_papers_blocking() {
    explore(|config| config.release = Release::HeadOfLine);
}

/// Late with another rule of the slot, in time with its own.
fn only_the_other_rule_is_late(
    realtime: Vec<RealtimeFlow>,
    largest: u64,
    rule: &str,
    (script, steps): Trace,
) {
    let mut found = 0;
    for blocking in [Blocking::Exact, Blocking::Paper] {
        let mut config = link(realtime.clone(), largest, blocking);
        // The rules are about the history.
        config.options.restart = Restart::Idle;
        if !admitted(&config) {
            continue;
        }
        let plan = Plan::of_link(&config, "exact", &[], 0).expect("a plan");
        let trace = [(script, steps.clone())];
        let Some(safe) = play(&plan, "LX_SLOT_SAFE", &trace) else { return };
        assert_eq!(safe[0].0, 0, "{blocking:?}");
        let Some(other) = play(&plan, rule, &trace) else { return };
        found += usize::from(other[0].0 > 0);
    }
    assert!(found > 0, "{rule}");
}

/// At 2 the candidate of 3 bytes is dropped for one of 4. Fails when a larger candidate does not
/// raise the deadline.
#[test]
fn a_larger_candidate_must_raise_the_deadline() {
    let steps = vec![
        arrival(1, 1, 1, 1),
        arrival(1, 1, 3, 1),
        arrival(1, 1, 4, 1),
        arrival(1, 0, 2, 0),
        discard(2),
    ];
    let flows = vec![flow(2, (1, 4), 6, 2)];
    only_the_other_rule_is_late(flows, 4, "LX_SLOT_KEEPS_WHEN_LARGER", (0, steps));
}

/// The AQM drops 2 bytes after a yes, and 5 bytes follow. Fails when they are not asked for.
#[test]
fn the_successor_of_a_drop_must_be_asked_for() {
    let steps =
        vec![arrival(0, 1, 1, 1), arrival(0, 1, 2, 1), arrival(0, 1, 5, 1), arrival(0, 0, 2, 0)];
    let flows = vec![flow(2, (1, 6), 7, 2)];
    only_the_other_rule_is_late(flows, 5, "LX_SLOT_UNASKED", (0b10, steps));
}

/// Fails when the last best-effort packet takes the history with it.
#[test]
fn a_drop_must_not_reset_the_history() {
    let steps = vec![
        arrival(0, 1, 1, 1),
        arrival(0, 0, 4, 0),
        arrival(0, 0, 4, 0),
        arrival(1, 1, 1, 1),
        discard(1),
        arrival(5, 1, 1, 1),
    ];
    let flows = vec![flow(8, (1, 2), 9, 4)];
    only_the_other_rule_is_late(flows, 1, "LX_SLOT_RESETS_ON_DROP", (0, steps));
}

/// Lowering the deadline of pending work is rare to fail. At 14 the first candidate is dropped, at 21
/// a smaller one follows with an earlier deadline. Fails when a smaller candidate lowers the deadline.
#[test]
fn a_smaller_candidate_must_not_lower_the_deadline() {
    let steps = vec![
        arrival(5, 1, 2, 0),
        arrival(5, 1, 2, 0),
        arrival(9, 2, 3, 0),
        arrival(9, 2, 3, 0),
        arrival(10, 3, 2, 1),
        arrival(10, 3, 2, 1),
        arrival(10, 3, 3, 1),
        arrival(10, 3, 2, 1),
        discard(14),
        arrival(15, 0, 3, 0),
        arrival(15, 0, 2, 0),
        arrival(15, 0, 2, 0),
        discard(21),
    ];
    let flows = vec![flow(7, (1, 29), 10, 3), flow(4, (1, 66), 21, 2), flow(7, (1, 38), 23, 3)];
    only_the_other_rule_is_late(flows, 3, "LX_SLOT_LOWERS_WHEN_SMALLER", (0, steps));
}
