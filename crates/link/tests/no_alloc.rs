//! After set-up neither flows with service curves nor classes with curves allocate: a counting
//! allocator sees every call.

#[path = "../../core/tests/allocations/mod.rs"]
mod allocations;
mod common;

use common::random::Rng;
use common::{BYTE_PER_NS, config, flow, leaky};
use laxity_core::{Bytes, FlowId, LinkClock, Span, Time, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    BestEffortClass, Buffer, Excess, FairQueue, FscOrder, Group, LinkConfig, RealtimeFlow, Service,
    Sharing,
};
use laxity_link::registry::build;
use laxity_link::{LinkPolicy, Packet, Wire};

/// Fails when deadlines of a curve, its starts beyond what is remembered, forgetting them, or the
/// demand that `slack` reads from them use the allocator; or the anchors of a class, upper limits or
/// groups.
#[test]
fn service_curves_do_not_allocate() {
    let points = [(Span(300), Bytes(0)), (Span(300), Bytes(50)), (Span(900_000), Bytes(200_000))];
    let rate = laxity_core::Rate(BYTE_PER_NS / 4);
    let curve = ServiceCurve::points(&points, rate).unwrap();
    let served = |policed| {
        let service = Service { curve: curve.clone(), policed };
        let envelope = leaky(50, 200, BYTE_PER_NS / 8);
        RealtimeFlow::served(envelope, service, Wire::default(), Excess::Delay, None).unwrap()
    };
    let deadline = flow(leaky(50, 100, BYTE_PER_NS / 8), 5000);
    let mut config = config(BYTE_PER_NS, 50, vec![served(true), served(false), deadline]);
    config.buffer = Some(Buffer { total: Bytes(900_000), best_effort: Bytes(2600) });
    do_not_allocate(&config);
    let rate = |part| ServiceCurve::rate_latency(laxity_core::Rate(BYTE_PER_NS / part), Span(200));
    let sharing = |group| Sharing { curve: Some(curve.clone()), limit: rate(2).ok(), group };
    config.fair_queue = FairQueue::Fsc(FscOrder::Finish);
    config.groups = vec![Group { weight: Weight::ONE, sharing: sharing(None) }];
    let class = |group| BestEffortClass {
        sharing: sharing(group),
        ..BestEffortClass::new(Weight::ONE, None)
    };
    config.best_effort = vec![class(Some(0)), class(Some(0)), class(None)];
    do_not_allocate(&config);
}

fn do_not_allocate(config: &LinkConfig) {
    let names =
        ["background", "tbs", "shifted-line", "two-segment", "algorithm-3", "exact", "slack"];
    for name in names {
        let mut policy = build(name, config).unwrap();
        let mut clock = LinkClock::new(config.rate).unwrap();
        let mut rng = Rng(7);
        let mut sent = 0;
        let before = allocations::calls();
        let mut drops = |_: Time, _: &Packet, _: DropReason| ();
        let mut now = Time(0);
        for seq in 0..60_000 {
            now += Span(if rng.chance(1, 400) { 9000 } else { rng.range(0, 90) });
            while clock.free_at() < now {
                let at = clock.free_at().max(now);
                let Some(departure) = policy.dequeue(at, &mut drops) else { break };
                clock.transmit(at, Bytes(departure.packet.wire.into()));
                sent += 1;
            }
            let (k, bytes) = (rng.range(0, 5), rng.range(1, 50) as u32);
            policy.enqueue(now, Packet::new(seq, now, FlowId(k as u32), bytes, bytes), &mut drops);
        }
        let calls = allocations::calls() - before;
        assert_eq!(calls, 0, "{name} called the allocator {calls} times");
        assert!(sent > 20_000, "{name}: {sent}");
    }
}
