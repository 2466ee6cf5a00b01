//! Fair Service Curve in the pipeline: no admitted real-time packet is late, whatever curves, groups
//! and upper limits best effort has.

use crate::common::random::{Rng, Source, best_effort, conforming_source, envelope};
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, GUARANTEES, Link, RELEASES, admitted, arrival, config, flow,
    leaky, merge, safe_policies, try_build,
};
use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_link::Wire;
use laxity_link::config::{
    Aqm, BestEffortClass, Buffer, Excess, FairQueue, FlowQueueing, FscOrder, Group, LinkConfig,
    LinkConfigError, RealtimeFlow, Service, Sharing,
};
use laxity_link::pipeline::{ByDeadline, Pipeline};

/// A curve of a few bytes and ns: concave, convex, or with a latency.
fn curve(rng: &mut Rng) -> ServiceCurve {
    let rate = |rng: &mut Rng| Rate(BYTE_PER_NS * rng.range(1, 9) / 10);
    let d = Span(rng.range(0, 4_000));
    let (m1, m2) = (rate(rng), rate(rng));
    let curve = match rng.range(0, 2) {
        0 => ServiceCurve::rate_latency(m2, d),
        _ => ServiceCurve::two_piece(m1, d, m2),
    };
    curve.unwrap()
}

/// One to four flows on nearly all of the link, and two to five classes in up to three groups.
fn random_config(rng: &mut Rng, limits: bool) -> LinkConfig {
    loop {
        let flows = rng.range(1, 4);
        let share = BYTE_PER_NS * rng.range(4, 9) / 10 / flows;
        let mut realtime = vec![];
        for _ in 0..flows {
            realtime.push(flow(envelope(rng, 400, share), rng.range(1_000, 20_000)));
        }
        let mut config = config(BYTE_PER_NS, 400, realtime);
        config.buffer = Some(Buffer { total: Bytes(200_000), best_effort: Bytes(100_000) });
        if !admitted(&config) {
            continue;
        }
        let order = rng.pick(&[FscOrder::Finish, FscOrder::Start]);
        config.fair_queue = FairQueue::Fsc(order);
        let groups = rng.range(0, 3);
        let sharing = |rng: &mut Rng, below: u64| Sharing {
            curve: rng.chance(1, 2).then(|| curve(rng)),
            limit: (limits && rng.chance(1, 2)).then(|| curve(rng)),
            group: (below > 0 && rng.chance(1, 2)).then(|| rng.range(0, below - 1) as usize),
        };
        for below in 0..groups {
            config.groups.push(Group { weight: Weight::ONE, sharing: sharing(rng, below) });
        }
        let class = |rng: &mut Rng| BestEffortClass {
            sharing: sharing(rng, groups),
            flows: rng.chance(1, 4).then(FlowQueueing::default),
            aqm: rng.pick(&[Aqm::None, Aqm::CODEL]),
            ..BestEffortClass::new(Weight(rng.range(1, 4) as u32), None)
        };
        config.best_effort = (0..rng.range(2, 5)).map(|_| class(rng)).collect();
        return config;
    }
}

fn random_trace(rng: &mut Rng, config: &LinkConfig, source: Source) -> Vec<Arrival> {
    let classes = config.realtime.len() as u32..;
    let mut parts = vec![];
    for (k, f) in (0..).zip(&config.realtime) {
        parts.push(conforming_source(rng, k, f, source, 60_000, 150));
    }
    for (class, _) in classes.zip(&config.best_effort) {
        parts.push(best_effort(rng, class, 400, BYTE_PER_NS / 2, 60_000, 80));
    }
    let mut trace = vec![];
    merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
    trace
}

/// Fails when what a limit lets go counts as released on its arrival, when the slot stays open while
/// a limit holds everything back, or a packet that waits for a limit is never sent.
#[test]
fn no_realtime_packet_is_late_beside_curves_groups_and_limits() {
    let (mut sent, mut runs) = (0, 0);
    for seed in 0..60 {
        let mut rng = Rng(seed);
        let mut config = random_config(&mut rng, seed % 3 > 0);
        for source in [Source::Greedy, Source::Bursts, Source::Random] {
            (config.blocking, config.guarantee, config.release) =
                (rng.pick(&BLOCKINGS), rng.pick(&GUARANTEES), rng.pick(&RELEASES));
            let trace = random_trace(&mut rng, &config, source);
            for name in safe_policies() {
                let Some(policy) = try_build(name, &config) else { continue };
                let mut link = Link::new(policy, &config);
                link.run(&trace);
                let late = link.late_realtime();
                assert!(late.is_none(), "{name}, seed {seed}: {late:?}");
                assert_eq!(link.sent.len() + link.dropped.len(), trace.len(), "{name}, {seed}");
                sent += link.sent.len();
                runs += 1;
            }
        }
    }
    println!("{runs} runs, {sent} packets");
    assert!(runs > 1000 && sent > 100_000, "{runs} runs, {sent} packets");
}

/// A class that is held back for 40 us lets forty packets go at once while a burst of real time
/// comes. With deadlines from their arrival they would be due long before.
fn held_back(buffer: u64) -> (LinkConfig, Vec<Arrival>) {
    let voice = flow(leaky(400, 4_000, BYTE_PER_NS * 6 / 10), 5_000);
    let mut config = config(BYTE_PER_NS, 400, vec![voice]);
    assert!(admitted(&config));
    config.fair_queue = FairQueue::Fsc(FscOrder::Finish);
    config.buffer = Some(Buffer { total: Bytes(buffer), best_effort: Bytes(buffer) });
    let limit = ServiceCurve::rate_latency(Rate(10 * BYTE_PER_NS), Span(40_000)).unwrap();
    config.best_effort[0].sharing.limit = Some(limit);
    let trace = (0..40).map(|_| arrival(0, 1, 400));
    let voice = (0..10).map(|k| arrival(40_001 + k, 0, 400));
    (config, trace.chain(voice).collect())
}

fn held_back_and_in_time(config: &LinkConfig, trace: &[Arrival], dropped: usize) {
    for name in safe_policies() {
        let Some(policy) = try_build(name, config) else { continue };
        // Proportional share knows weights alone.
        if name == laxity_link::proportional_share::INFO.name {
            continue;
        }
        let mut link = Link::new(policy, config);
        link.run(trace);
        assert!(link.late_realtime().is_none(), "{name}: {:?}", link.late_realtime());
        let mut sent = link.sent.iter().filter(|s| s.departure.packet.flow.0 == 1);
        assert!(sent.nth(1).unwrap().start.0 >= 40_000, "{name}");
        assert_eq!((link.sent.len(), link.dropped.len()), (trace.len() - dropped, dropped));
    }
}

/// Fails when `follow_limits` does not raise the release.
#[test]
fn what_a_limit_lets_go_is_released_then() {
    let (config, trace) = held_back(200_000);
    held_back_and_in_time(&config, &trace, 0);
}

/// The packet of another class, for which the slot is open, is pushed out by real time while the
/// limit holds back all that is left.
/// Fails when the slot stays open then.
#[test]
fn no_slot_stays_open_for_what_is_held_back() {
    let (mut config, mut trace) = held_back(19_900);
    let slow = ServiceCurve::rate_latency(Rate(1000), Span(0)).ok();
    let sharing = Sharing { curve: slow, ..Sharing::default() };
    config.best_effort.push(BestEffortClass { sharing, ..BestEffortClass::new(Weight::ONE, None) });
    let other = [arrival(0, 2, 400)];
    let burst: Vec<Arrival> = (0..10).map(|_| arrival(1, 0, 400)).collect();
    trace.splice(40..40, other.into_iter().chain(burst));
    held_back_and_in_time(&config, &trace, 1);
}

/// A flow with a service curve sends a burst ahead of its curve, and returns once the link has idled.
/// Fails when what a limit holds back keeps its starts from being forgotten: it is then due later.
#[test]
fn an_idle_link_forgets_starts_although_a_limit_holds_something_back() {
    let curve = ServiceCurve::rate_latency(Rate(BYTE_PER_NS / 10), Span(2_000)).unwrap();
    let service = Service { curve, policed: false };
    let envelope = leaky(400, 400, BYTE_PER_NS / 20);
    let served =
        RealtimeFlow::served(envelope, service, Wire::default(), Excess::Delay, None).unwrap();
    let mut config = config(BYTE_PER_NS, 400, vec![served]);
    config.fair_queue = FairQueue::Fsc(FscOrder::Finish);
    let limit = ServiceCurve::rate_latency(Rate(BYTE_PER_NS), Span(90_000)).ok();
    config.best_effort[0].sharing.limit = limit;
    let deadlines = |held: bool| {
        let mut trace: Vec<Arrival> = (0..4).map(|_| arrival(0, 0, 400)).collect();
        trace.extend((0..if held { 2 } else { 1 }).map(|_| arrival(0, 1, 400)));
        trace.push(arrival(6_000, 0, 400));
        let mut link = Link::new(try_build("exact", &config).unwrap(), &config);
        link.run(&trace);
        let sent = link.sent.iter().filter(|s| s.realtime());
        sent.map(|s| s.departure.deadline.0).collect::<Vec<_>>()
    };
    assert_eq!(deadlines(false), [6_000, 10_000, 14_000, 18_000, 12_000]);
    assert_eq!(deadlines(true), deadlines(false));
}

/// Fails when `Pipeline::new` builds a queue of another order in place of the curves.
#[test]
fn curves_are_not_committed_in_advance() {
    let mut config = config(BYTE_PER_NS, 400, vec![]);
    config.fair_queue = FairQueue::Fsc(FscOrder::Finish);
    let discipline = || ByDeadline(laxity_link::assign::Background);
    let refused = Pipeline::new(&config, discipline()).err();
    assert_eq!(refused, Some(LinkConfigError::ChosenLate));
    assert!(Pipeline::managed(&config, discipline()).is_ok());
}
