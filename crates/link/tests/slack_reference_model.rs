//! `slack` against its definition, in every decision.

use crate::common::random::{Rng, Source, best_effort, conforming_source, envelope};
use crate::common::reference_model::ReferenceModel;
use crate::common::{
    Arrival, BYTE_PER_NS, Link, admitted, arrival, backlogs, config, conforming, flow, leaky,
    merge, periodic, tighten, try_build, tspec,
};
use laxity_core::{Bytes, Rate, Time};
use laxity_curve::{Bucket, Envelope};
use laxity_link::config::{Buffer, Excess, LinkConfig, RealtimeFlow};
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::pipeline::{Discipline, Head, Pipeline};
use laxity_link::slack::Slack;
use laxity_link::{LinkPolicy, Wire};

/// Asks both in every decision.
struct Both {
    fast: Slack,
    reference_model: ReferenceModel,
    /// The bytes that the link sends in the part of a nanosecond by which a decision may come after the end
    /// of the packet before it: the bound counts bytes, the definition whole nanoseconds.
    tolerance: i128,
    /// Nanobits (of 8e9 in a byte) by which lines are rounded up: those stretched to the wire, and
    /// those of periodic flows, whose rates are not whole.
    rounding: i128,
    decisions: u64,
    refusals: u64,
}

impl Both {
    fn new(config: &LinkConfig) -> Both {
        let (fast, reference_model) = (Slack::new(config).unwrap(), ReferenceModel::new(config));
        let tolerance = if config.rate.0 == BYTE_PER_NS { 0 } else { i128::from(config.rate.0) };
        let whole = config.realtime.iter().all(|f| f.envelope.lines().is_some());
        let rounding = if whole && config.wire == Wire::default() { 0 } else { 100_000 };
        Both { fast, reference_model, tolerance, rounding, decisions: 0, refusals: 0 }
    }
}

impl Discipline for Both {
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.fast.assign(release, wire)
    }

    fn reset(&mut self) {
        self.fast.reset();
    }

    fn on_stall(&mut self) -> bool {
        self.fast.on_stall()
    }

    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        let margin = self.reference_model.margin(now, head.packet.wire, realtime);
        let goes = self.fast.serves_best_effort(now, head, realtime);
        let right = if goes { margin >= -self.tolerance } else { margin < self.rounding };
        let queued = || realtime.iter_merged().collect::<Vec<_>>();
        assert!(
            right,
            "{goes} with {margin} at {now:?} for {head:?} with {:?} and {:#?}",
            queued(),
            self.reference_model
        );
        self.decisions += 1;
        self.refusals += u64::from(!goes);
        goes
    }

    fn on_realtime_release(&mut self, at: Time, entry: &Entry) {
        self.fast.on_realtime_release(at, entry);
        self.reference_model.released(at, entry);
    }

    fn on_realtime_start(&mut self, now: Time, entry: &Entry) {
        self.fast.on_realtime_start(now, entry);
    }
}

/// Fails when a byte of queued work is forgotten, when the bound is not lowered by best effort or
/// survives an idle link, when the interval that refused keeps work that has been sent, when
/// `always-check` sends unasked.
#[test]
fn every_decision_on_tiny_links() {
    let quarter = BYTE_PER_NS / 4;
    let systems: [(Vec<RealtimeFlow>, &[u64]); 5] = [
        (vec![flow(leaky(2, 3, quarter), 40)], &[0]),
        (vec![flow(leaky(2, 3, quarter), 40)], &[1]),
        (vec![flow(tspec(2, BYTE_PER_NS / 2, 4, quarter), 40)], &[1]),
        (vec![flow(periodic(5, 2, 3), 40), flow(leaky(1, 1, quarter / 2), 40)], &[0, 2]),
        (vec![flow(leaky(2, 2, quarter / 2), 40), flow(leaky(1, 2, quarter), 40)], &[6, 1]),
    ];
    let (mut decisions, mut refusals) = (0, 0);
    for (realtime, room) in systems {
        for always_check in [false, true] {
            let mut config = config(BYTE_PER_NS, 3, realtime.clone());
            config.options.always_check = always_check;
            assert!(tighten(&mut config));
            for (flow, more) in config.realtime.iter_mut().zip(room) {
                flow.deadline.0 += more;
            }
            let horizon = if config.realtime.len() == 1 { 7 } else { 6 };
            let flows: Vec<_> = (0..)
                .zip(&config.realtime)
                .map(|(k, f)| conforming(&f.envelope, horizon, 3, k))
                .collect();

            let nothing = vec![vec![]];
            let best = backlogs(&[1, 3], 4, 2, flows.len() as u32);
            let fresh = || Link::new(Pipeline::new(&config, Both::new(&config)).unwrap(), &config);
            let mut link = fresh();
            let mut trace = vec![];
            for a in &flows[0] {
                for b in flows.get(1).unwrap_or(&nothing) {
                    for c in &best {
                        merge(&[a, b, c], &mut trace);
                        link.run(&trace);
                        assert!(link.late_realtime().is_none(), "{config:?} {trace:?}");
                        link.rest(64);
                        if link.policy.waiting() > 0 {
                            assert!(always_check);
                            decisions += link.policy.discipline().decisions;
                            refusals += link.policy.discipline().refusals;
                            link = fresh();
                        }
                    }
                }
            }
            decisions += link.policy.discipline().decisions;
            refusals += link.policy.discipline().refusals;
            println!("{decisions} decisions, {refusals} refusals so far");
        }
    }
    assert!(decisions > 100_000 && refusals > 5_000);
}

/// Up to six flows of all kinds, overhead and smallest frames, shaped packets, at 95 % load.
fn random_config(rng: &mut Rng) -> LinkConfig {
    loop {
        let flows = rng.range(1, 6);
        let rate = BYTE_PER_NS * rng.range(1, 4);
        let share = rate * rng.range(3, 9) / 10 / flows;
        let mut realtime = vec![];
        for _ in 0..flows {
            let mut flow = flow(envelope(rng, 60, share), rng.range(60, 3_000));
            flow.excess = rng.pick(&[Excess::Delay, Excess::Drop, Excess::Demote]);
            realtime.push(flow);
        }
        let mut config = config(rate, 60, realtime);
        config.buffer = Some(Buffer { total: Bytes(100_000), best_effort: Bytes(40_000) });
        if rng.chance(1, 2) {
            config.wire =
                Wire { overhead: rng.range(0, 9) as u32, min_frame: rng.range(0, 30) as u32 };
        }
        if rng.chance(1, 3) {
            config.downstream_backlog = Bytes(rng.range(0, 40));
        }
        config.options.always_check = rng.chance(1, 3);
        if config.flow_specs().is_ok() && tighten(&mut config) {
            for flow in &mut config.realtime {
                flow.deadline.0 += rng.pick(&[0, 0, 50, 400]);
            }
            assert!(admitted(&config));
            return config;
        }
    }
}

fn random_trace(rng: &mut Rng, config: &LinkConfig) -> Vec<Arrival> {
    let mut parts = vec![];
    for (k, f) in (0..).zip(&config.realtime) {
        let source = rng.pick(&[Source::Greedy, Source::Bursts, Source::Random]);
        let mut part = conforming_source(rng, k, f, source, 4_000, 100);
        if rng.chance(1, 3) {
            // Beyond the envelope too: twice as many, half of them early.
            let early = part.iter().map(|a| arrival(a.at / 2, k, a.bytes)).collect::<Vec<_>>();
            part.extend(early);
            part.sort_by_key(|a| a.at);
        }
        parts.push(part);
    }
    // Now and then the queue of best effort runs dry, so that real time goes on a known bound.
    let rate = config.rate.0 / rng.pick(&[1, 4, 10]);
    parts.push(best_effort(rng, config.realtime.len() as u32, 60, rate, 4_000, 300));
    let mut trace = vec![];
    merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
    trace
}

/// Fails when the overhead is left out of what flows can still send, when `downstream_backlog` is ignored, when
/// the bound ignores real-time packets due late, when a range that begins at a change is judged by
/// the line before it.
#[test]
fn every_decision_on_random_links() {
    let (mut decisions, mut refusals, mut checks) = (0, 0, 0);
    for seed in 0..250 {
        let mut rng = Rng(seed);
        let config = random_config(&mut rng);
        let trace = random_trace(&mut rng, &config);
        let mut link = Link::new(Pipeline::new(&config, Both::new(&config)).unwrap(), &config);
        link.run(&trace);
        assert!(link.late_realtime().is_none(), "seed {seed}: {:?}", link.late_realtime());
        let both = link.policy.discipline();
        decisions += both.decisions;
        refusals += both.refusals;
        checks += both.fast.searches();
    }
    println!("{decisions} decisions, {refusals} refusals, {checks} computed");
    assert!(decisions > 10_000 && refusals > 1_000);
}

/// Six buckets: whatever part of them the sweep looks at, it must not overlook an `x`.
///
/// Fails when the slowest of them is left out of the demand (a real-time packet is late), when the
/// nanosecond before a knee is overlooked, when the flattest line is taken instead of the lowest.
#[test]
fn every_decision_with_many_buckets() {
    let bucket = |burst, rate: u64| Bucket { burst: Bytes(burst), rate: Rate(rate) };
    let tenth = BYTE_PER_NS / 10;
    let buckets = [
        bucket(10, 30 * tenth),
        bucket(20, 20 * tenth),
        bucket(40, 16 * tenth),
        bucket(60, 13 * tenth),
        bucket(100, 8 * tenth),
        bucket(200, 4 * tenth),
    ];
    let envelope = Envelope::buckets(&buckets, Bytes(10)).unwrap();
    let envelope = envelope.with_min_packet(Bytes(1)).unwrap();
    for seed in 0..20 {
        let mut rng = Rng(seed);
        let mut config = config(BYTE_PER_NS, 10, vec![flow(envelope.clone(), 300)]);
        assert!(tighten(&mut config));
        config.realtime[0].deadline.0 += rng.range(0, 60);
        let mut trace = vec![];
        let real = conforming_source(&mut rng, 0, &config.realtime[0], Source::Bursts, 3_000, 200);
        let best = best_effort(&mut rng, 1, 10, BYTE_PER_NS, 3_000, 300);
        merge(&[&real, &best], &mut trace);
        let mut link = Link::new(Pipeline::new(&config, Both::new(&config)).unwrap(), &config);
        link.run(&trace);
        assert!(link.late_realtime().is_none(), "seed {seed}: {:?}", link.late_realtime());
    }
}

/// The bound must fall with real-time packets that are due late. A unit is 10 ns and 30 B, so that
/// thirds are exact: flows (M, p, b, r, d) = (2, 1/3, 5, 1/3, 11) and (1, 1, 2, 1/3, 6), best
/// effort of size 1. One best-effort packet goes, then the real-time packet of size 2 due at 11;
/// while it is sent a packet of the second flow arrives, and four more best-effort packets. On a
/// bound that counts only best effort all four would pass, and the second flow would be late.
///
/// Fails when `on_realtime_start` is ignored.
#[test]
fn the_bound_counts_real_time_packets_that_are_due_late() {
    let (rate, third) = (3 * BYTE_PER_NS, BYTE_PER_NS);
    let realtime =
        vec![flow(tspec(60, third, 150, third), 110), flow(tspec(30, rate, 60, third), 60)];
    let mut config = config(rate, 30, realtime);
    config.blocking = laxity_curve::Blocking::Exact;
    assert!(admitted(&config));
    let mut refusals = 0;
    for always_check in [false, true] {
        config.options.always_check = always_check;
        // Asked with nothing queued, the bound is the slack itself; asked with the packet in the
        // queue, it may be less. The first instant after the decision at 10 is the worst one.
        for (first, second) in (11..30).flat_map(|second| [(0, second), (5, second)]) {
            let mut trace = vec![arrival(0, 2, 30), arrival(first, 0, 60), arrival(second, 1, 30)];
            trace.extend((0..4).map(|_| arrival(second, 2, 30)));
            let mut link = Link::new(Pipeline::new(&config, Both::new(&config)).unwrap(), &config);
            link.run(&trace);
            assert!(link.late_realtime().is_none(), "{trace:?}\n{:?}", link.sent);
            let order: Vec<_> = link.sent.iter().map(|s| s.departure.packet.flow.0).collect();
            assert_eq!(order[..2], [2, 0], "best effort first, then the packet that is due late");
            refusals += link.policy.discipline().refusals;
            // And without anybody to ask: `slack` itself.
            let mut link = Link::new(try_build("slack", &config).unwrap(), &config);
            link.run(&trace);
            assert!(link.late_realtime().is_none(), "{trace:?}\n{:?}", link.sent);
        }
    }
    println!("{refusals} refusals");
    assert!(refusals > 0);
}
