//! `slack` beside flows with service curves: against its definition in every decision, and no
//! admitted curve missed.

use crate::common::random::{Rng, Source, best_effort, conforming_source};
use crate::common::service_model::ServiceModel;
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, Link, admits, arrival, backlogs, config, flow, leaky, merge,
    points, served, try_build,
};
use laxity_core::{Bytes, Rate, Span, Time};
use laxity_curve::Blocking;
use laxity_curve::service::ServiceCurve;
use laxity_link::config::{Buffer, LinkConfig, RealtimeFlow};
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::pipeline::{Discipline, Head, Pipeline};
use laxity_link::slack::Slack;
use laxity_link::{LinkPolicy as _, Wire};

const HALF: u64 = BYTE_PER_NS / 2;
const QUARTER: u64 = BYTE_PER_NS / 4;

/// Asks both in every decision.
struct Both {
    fast: Slack,
    model: ServiceModel,
    /// Nanobits that the link sends in the part of a nanosecond by which a decision may come after
    /// the end of the packet before it.
    tolerance: i128,
    decisions: u64,
    refusals: u64,
}

/// Nanobits by which slopes and lines are rounded up, far below a byte's 8e9.
const ROUNDING: i128 = 1_000_000;

impl Both {
    fn new(config: &LinkConfig, beyond: u64) -> Both {
        let (fast, model) = (Slack::new(config).unwrap(), ServiceModel::new(config, beyond));
        let tolerance = if config.rate.0 == BYTE_PER_NS { 0 } else { i128::from(config.rate.0) };
        Both { fast, model, tolerance, decisions: 0, refusals: 0 }
    }
}

impl Discipline for Both {
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.fast.assign(release, wire)
    }

    fn reset(&mut self) {
        self.fast.reset();
        self.model.reset();
    }

    fn on_idle(&mut self) {
        self.fast.on_idle();
        self.model.completed();
    }

    fn on_stall(&mut self) -> bool {
        self.fast.on_stall()
    }

    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        self.model.completed();
        let margin = self.model.margin(now, head.packet.wire, realtime);
        let goes = self.fast.serves_best_effort(now, head, realtime);
        let right = if goes { margin >= -self.tolerance - ROUNDING } else { margin < ROUNDING };
        let queued = || realtime.iter_merged().collect::<Vec<_>>();
        assert!(right, "{goes} with {margin} at {now:?} for {head:?} with {:?}", queued());
        self.decisions += 1;
        self.refusals += u64::from(!goes);
        goes
    }

    fn on_realtime_release(&mut self, at: Time, entry: &Entry) {
        self.fast.on_realtime_release(at, entry);
        self.model.released(at, entry);
    }

    fn on_realtime_start(&mut self, now: Time, entry: &Entry) {
        self.fast.on_realtime_start(now, entry);
        self.model.started(entry);
    }
}

/// Runs a trace under both, and under `slack` itself; returns decisions and refusals.
fn run(config: &LinkConfig, trace: &[Arrival], what: &str) -> (u64, u64) {
    let mut link = Link::new(try_build("slack", config).unwrap(), config);
    link.run(trace);
    let late = link.late_realtime();
    assert!(late.is_none(), "{what}: {late:?}\n{config:#?}\n{trace:?}\n{:?}", link.sent);
    let sent = link.sent;
    let mut link = Link::new(Pipeline::new(config, Both::new(config, 1500)).unwrap(), config);
    link.run(trace);
    assert_eq!(link.sent, sent, "{what}");
    let both = link.policy.discipline();
    (both.decisions, both.refusals)
}

fn free(curve: ServiceCurve, packet: u64, smallest: u64) -> RealtimeFlow {
    let envelope = leaky(packet, packet, QUARTER / 4).with_min_packet(Bytes(smallest)).unwrap();
    served(curve, envelope, false, Wire::default())
}

/// A backlogged flow's next packet is due sooner than a first one would be. A unit is 100 ns and
/// 100 B: C = 1, one flow with packets of 1, its curve through (10, 0), (10, 1), (11, 9), then 1/8.
/// It sends one packet and best effort thirty at 0, the flow eight more at 2.02.
///
/// Fails when demand counts only from the least deadline on: tried with the changes of a flow with
/// a service curve before that left out.
#[test]
fn a_backlogged_flow_demands_before_the_least_deadline() {
    let curve = points(&[(1000, 0), (1000, 100), (1100, 900)], BYTE_PER_NS / 8);
    let mut config = config(BYTE_PER_NS, 100, vec![free(curve, 100, 100)]);
    config.blocking = Blocking::Exact;
    config.buffer = Some(Buffer { total: Bytes(60_000), best_effort: Bytes(20_000) });
    assert!(admits(&config));
    let mut trace = vec![arrival(0, 0, 100)];
    trace.extend((0..30).map(|_| arrival(0, 1, 100)));
    trace.extend((0..8).map(|_| arrival(202, 0, 100)));
    let (decisions, refusals) = run(&config, &trace, "backlogged");
    assert!(decisions >= 30 && refusals > 0);
}

/// An idle flow's next packets count. A unit is 100 ns and 100 B: A = rate-latency(1/4, 20) with
/// packets of 2, B through (6, 0), (6, 4), then 1/4, with packets of 1 to 2, best effort of 2. A
/// sends at 0, B eight packets at 22.02.
///
/// Fails when a flow of which nothing waits has no demand (tried).
#[test]
fn an_idle_flow_is_not_forgotten() {
    let a = free(points(&[(2000, 0)], QUARTER), 200, 200);
    let b = free(points(&[(600, 0), (600, 400)], QUARTER), 200, 100);
    let mut config = config(BYTE_PER_NS, 200, vec![a, b]);
    config.blocking = Blocking::Exact;
    config.buffer = Some(Buffer { total: Bytes(60_000), best_effort: Bytes(20_000) });
    assert!(admits(&config));
    let mut refusals = 0;
    for sizes in [100, 200] {
        let mut trace = vec![arrival(0, 0, 200)];
        trace.extend((0..60).map(|_| arrival(0, 2, 200)));
        trace.extend((0..8).map(|_| arrival(2202, 1, sizes)));
        refusals += run(&config, &trace, "idle").1;
    }
    assert!(refusals > 0);
}

/// A start that a flow left behind lowers its demand as long as the link is busy: the flow has used
/// its burst, and best effort need not wait for another one.
///
/// Fails when the starts of an idle flow are left out of the minimum, on the last line or before it
/// (both tried).
#[test]
fn a_spent_burst_does_not_come_back_while_the_link_is_busy() {
    // The start is on the curve's last line, or before it.
    let curves = [
        points(&[(300, 0), (300, 255)], BYTE_PER_NS / 16),
        points(&[(300, 0), (300, 255), (5000, 300)], BYTE_PER_NS / 16),
    ];
    for curve in curves {
        let other = flow(leaky(10, 10, QUARTER), 200);
        let mut config = config(BYTE_PER_NS, 10, vec![free(curve, 5, 5), other]);
        config.blocking = Blocking::Exact;
        config.buffer = Some(Buffer { total: Bytes(60_000), best_effort: Bytes(20_000) });
        assert!(admits(&config));
        let mut trace: Vec<Arrival> = (0..51).map(|_| arrival(0, 0, 5)).collect();
        trace.extend((0..80).map(|_| arrival(250, 2, 10)));
        trace.extend((0..20).map(|i| arrival(260 + 40 * i, 1, 10)));
        trace.sort_by_key(|a| a.at);
        assert!(run(&config, &trace, "spent").0 > 80);
    }
}

/// All traffic of tiny links at every decision.
///
/// Fails when a flow's demand before the least deadline, or that of an idle flow, is left out (both
/// tried).
#[test]
fn every_decision_on_tiny_links() {
    let stairs = || free(points(&[(5, 0), (5, 1), (6, 4)], QUARTER), 1, 1);
    let convex = || free(points(&[(6, 0), (9, 1)], HALF), 2, 1);
    let systems = [
        vec![stairs()],
        vec![convex()],
        vec![free(points(&[(9, 0)], QUARTER), 2, 2), stairs()],
        vec![flow(leaky(1, 2, QUARTER), 9), free(points(&[(7, 0), (7, 2)], QUARTER), 2, 1)],
    ];
    let (mut decisions, mut refusals, mut traces) = (0, 0, 0);
    for (realtime, always_check) in
        systems.iter().flat_map(|s| [false, true].map(|always_check| (s, always_check)))
    {
        let mut config = config(BYTE_PER_NS, 2, realtime.clone());
        config.blocking = Blocking::Exact;
        config.options.always_check = always_check;
        config.options.release_idle = Span(0);
        while !admits(&config) {
            for flow in &mut config.realtime {
                match &mut flow.service {
                    Some(service) => service.curve = service.curve.later(Span(1)).unwrap(),
                    None => flow.deadline.0 += 1,
                }
            }
        }
        let (two, sizes): (bool, [&[u32]; 2]) = (config.realtime.len() == 2, [&[1], &[2]]);
        let bytes = |f: &RealtimeFlow| sizes[f.envelope.max_packet().0 as usize - 1];
        let most = if two { 2 } else { 4 };
        let flows: Vec<_> =
            (0..).zip(&config.realtime).map(|(k, f)| backlogs(bytes(f), 7, most, k)).collect();
        let nothing = vec![vec![]];
        let best: Vec<Vec<Arrival>> = [0, 2, 9]
            .into_iter()
            .flat_map(|n| [0, 3].map(|at| vec![arrival(at, flows.len() as u32, 2); n]))
            .collect();
        let mut trace = vec![];
        // A whole packet of 1 B is followed for 33 steps at a quarter of the link.
        let both = || Both::new(&config, 33 * 4 + 12);
        let fresh = || Link::new(Pipeline::new(&config, both()).unwrap(), &config);
        let mut link = fresh();
        for a in &flows[0] {
            for b in flows.get(1).unwrap_or(&nothing) {
                for c in &best {
                    merge(&[a, b, c], &mut trace);
                    link.run(&trace);
                    assert!(link.late_realtime().is_none(), "{config:#?} {trace:?}");
                    link.rest(64);
                    traces += 1;
                    let both = link.policy.discipline();
                    if link.policy.waiting() > 0 || both.decisions > 10_000 {
                        assert!(always_check || link.policy.waiting() == 0);
                        decisions += both.decisions;
                        refusals += both.refusals;
                        link = fresh();
                    }
                }
            }
        }
    }
    println!("{traces} traces, {decisions} decisions, {refusals} refusals");
    assert!(decisions > 50_000 && refusals > 5_000, "{decisions} {refusals}");
}

/// A curve of a random kind: jumps, convex, concave, latency.
fn curve(rng: &mut Rng, rate: u64, largest: u64) -> ServiceCurve {
    let curve = match rng.range(0, 4) {
        0 => ServiceCurve::rate_latency(Rate(rate), Span(rng.range(1, 60))),
        1 => ServiceCurve::two_piece(
            Rate(rate * rng.range(11, 40) / 10),
            Span(rng.range(5, 80)),
            Rate(rate),
        ),
        2 => ServiceCurve::two_piece(
            Rate(rate / rng.range(2, 9)),
            Span(rng.range(5, 80)),
            Rate(rate),
        ),
        _ => {
            let (mut at, mut work) = (0, 0);
            let mut list = vec![];
            for _ in 0..rng.range(1, 5) {
                at += rng.range(1, 25);
                list.push((at, work));
                work += rng.range(0, 4 * largest);
                list.push((at, work));
                if rng.chance(1, 2) {
                    at += rng.range(1, 9);
                    work += rng.range(0, 4 * largest);
                    list.push((at, work));
                }
            }
            list.dedup();
            return points(&list, rate);
        }
    };
    curve.unwrap()
}

/// One to four flows of both kinds on a small link, all curves and deadlines as early as admission
/// permits when moved together.
fn random_config(rng: &mut Rng) -> LinkConfig {
    let flows = rng.range(1, 4);
    let rate = BYTE_PER_NS * rng.range(1, 2);
    let share = rate * rng.range(3, 10) / 10 / flows;
    let wire = match rng.chance(1, 4) {
        true => Wire { overhead: rng.range(0, 3) as u32, min_frame: rng.range(0, 5) as u32 },
        false => Wire::default(),
    };
    let mut realtime = vec![];
    for k in 0..flows {
        let largest = rng.range(1, 8);
        let smallest = Bytes(rng.range(1, largest));
        let stretched = wire.of_bytes(smallest).0.div_ceil(smallest.0);
        let bucket = share / stretched / rng.range(1, 8);
        let envelope = leaky(largest, largest * rng.range(1, 5), bucket);
        let envelope = envelope.with_min_packet(smallest).unwrap();
        if k > 0 && rng.chance(1, 4) {
            realtime.push(flow(envelope, rng.range(1, 80)));
        } else {
            let curve = curve(rng, share, largest);
            realtime.push(served(curve, envelope, rng.chance(1, 4), wire));
        }
    }
    let mut config = config(rate, rng.range(1, 9), realtime);
    config.wire = wire;
    config.buffer = Some(Buffer { total: Bytes(40_000), best_effort: Bytes(20_000) });
    config.blocking = rng.pick(&BLOCKINGS);
    if rng.chance(1, 3) {
        config.downstream_backlog = Bytes(rng.range(0, 6));
    }
    config.options.always_check = rng.chance(1, 4);
    config.options.allow_overtaking = rng.chance(1, 6);
    while !admits(&config) {
        for flow in &mut config.realtime {
            match &mut flow.service {
                Some(service) => service.curve = service.curve.later(Span(3)).unwrap(),
                None => flow.deadline.0 += 3,
            }
        }
    }
    config
}

fn random_trace(rng: &mut Rng, config: &LinkConfig) -> Vec<Arrival> {
    let until = 1_500;
    let mut parts = vec![];
    for (k, f) in (0..).zip(&config.realtime) {
        if f.service.is_none() {
            let source = rng.pick(&[Source::Greedy, Source::Bursts, Source::Random]);
            parts.push(conforming_source(rng, k, f, source, until, 60));
            continue;
        }
        let largest = f.envelope.max_packet().0;
        let (mut at, mut part) = (rng.range(0, until / 3), vec![]);
        while at < until && part.len() < 60 {
            for _ in 0..rng.range(1, 12) {
                let bytes = if rng.chance(1, 2) { largest } else { rng.range(1, largest) };
                part.push(arrival(at, k, bytes as u32));
                at += if rng.chance(1, 3) { rng.range(0, 6) } else { 0 };
            }
            at += rng.range(0, 150);
        }
        parts.push(part);
    }
    let (k, largest) = (config.realtime.len() as u32, config.max_packet.0);
    let rate = config.rate.0 / rng.pick(&[1, 1, 2, 6]);
    parts.push(best_effort(rng, k, largest, rate, until, 200));
    let mut trace = vec![];
    merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
    trace
}

/// Fails when the demand of an idle flow, its starts, or the demand of a backlogged one before the
/// least deadline is left out; when whole packets, the overhead or the buckets of a policed flow are;
/// when work due later than any delay bound is; when starts outlive an idle link: all tried.
#[test]
fn every_decision_on_random_links() {
    let (mut decisions, mut refusals) = (0, 0);
    for seed in 0..100 {
        let mut rng = Rng(7 << 32 | seed);
        let mut config = random_config(&mut rng);
        config.options.allow_overtaking = false;
        // What silent flows lend is no part of the definition.
        config.options.release_idle = Span(0);
        let trace = random_trace(&mut rng, &config);
        let counts = run(&config, &trace, &format!("seed {seed}"));
        decisions += counts.0;
        refusals += counts.1;
    }
    println!("{decisions} decisions, {refusals} refusals");
    assert!(decisions > 10_000 && refusals > 500, "{decisions} {refusals}");
}

/// Fails when the demand of an idle flow, or of a backlogged one before the least deadline, is left
/// out; when the bound ignores real-time packets due late; when a flow that lends its place is not
/// held back, is not counted as due later, or has later packets overtake the held ones: all tried.
#[test]
fn no_curve_is_missed_on_thousands_of_random_links() {
    let (mut packets, mut tight) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng(8 << 32 | seed);
        let mut config = random_config(&mut rng);
        config.options.release_idle = Span(rng.pick(&[0, 1, 100]));
        let trace = random_trace(&mut rng, &config);
        let mut link = Link::new(try_build("slack", &config).unwrap(), &config);
        link.run(&trace);
        let late = link.late_realtime();
        assert!(late.is_none(), "seed {seed}: {late:?}\n{config:#?}\n{:?}", link.sent);
        // What silent flows lend keeps best effort from waiting for ever.
        let waits = config.options.always_check && config.options.release_idle == Span(0);
        assert!(waits || link.policy.waiting() == 0, "seed {seed}: waits for ever\n{config:#?}");
        for k in 0..config.realtime.len() {
            let own = link.sent.iter().map(|s| s.departure.packet);
            let own = own.filter(|p| p.flow.index() == k && !p.demoted).map(|p| p.seq);
            assert!(own.is_sorted(), "seed {seed}: packets of flow {k} in another order");
        }
        packets += link.sent.len();
        let real = link.sent.iter().filter(|s| s.realtime());
        tight += real.filter(|s| s.end == s.departure.deadline).count();
    }
    println!("{packets} packets, {tight} exactly by their deadlines");
    assert!(packets > 300_000 && tight > 500, "{packets} {tight}");
}
