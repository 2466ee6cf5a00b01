//! `slack` with `allow-overtaking`: a smaller packet of another class uses what a refused head cannot.

use laxity_core::{Bytes, FlowId, LinkClock, Rate, Span, Time, Weight};
use laxity_curve::{Blocking, Envelope, Guarantee};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    BestEffortClass, Excess, FairQueue, LinkConfig, Options, RealtimeFlow, Release,
};
use laxity_link::{LinkPolicy as _, Packet, Wire, registry};

/// One byte takes one nanosecond; a flow of two packets of 100 B due within 460 ns, a class of
/// packets up to 250 B, and one of hardly any weight.
fn config(allow_overtaking: bool) -> LinkConfig {
    let class = |weight| BestEffortClass::new(Weight(weight), None);
    LinkConfig {
        rate: Rate(8_000_000_000),
        max_packet: Bytes(250),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: vec![RealtimeFlow {
            envelope: Envelope::buckets(
                &[laxity_curve::Bucket { burst: Bytes(200), rate: Rate(8_000_000) }],
                Bytes(100),
            )
            .unwrap(),
            deadline: Span(460),
            excess: Excess::Delay,
            buffer: None,
            service: None,
        }],
        best_effort: vec![class(1_000_000), class(1_000)],
        buffer: None,
        groups: vec![],
        fair_queue: FairQueue::default(),
        blocking: Blocking::Exact,
        guarantee: Guarantee::default(),
        release: Release::default(),
        aqm_seed: 0,
        options: Options { allow_overtaking, ..Options::default() },
    }
}

/// Arrivals at time zero as (flow, bytes), in order; returns the departures and lateness.
fn serve(allow_overtaking: bool, arrivals: &[(u32, u32)]) -> (Vec<(u32, u32)>, bool) {
    let config = config(allow_overtaking);
    let mut policy = registry::build("slack", &config).unwrap();
    let mut dropped = |_: Time, p: &Packet, r: DropReason| panic!("{p:?} dropped: {r}");
    for (seq, (flow, bytes)) in (0..).zip(arrivals) {
        let (arrival, flow, bytes) = (Time::ZERO, FlowId(*flow), *bytes);
        let packet = Packet::new(seq, arrival, flow, bytes, bytes);
        policy.enqueue(Time::ZERO, packet, &mut dropped);
    }
    let mut clock = LinkClock::new(config.rate).unwrap();
    let (mut order, mut late) = (Vec::new(), false);
    while let Some(d) = policy.dequeue(clock.free_at(), &mut dropped) {
        let end = clock.transmit(clock.free_at(), Bytes(u64::from(d.packet.wire)));
        late |= d.realtime && end > d.deadline;
        order.push((d.packet.flow.0, d.packet.bytes));
    }
    assert_eq!(policy.waiting(), 0);
    (order, late)
}

const ARRIVALS: [(u32, u32); 6] = [(0, 100), (0, 100), (1, 250), (1, 250), (1, 8), (2, 5)];

/// Fails when `Slack::may_pass` is always false.
#[test]
fn a_smaller_packet_of_another_class_passes_but_not_one_of_its_own() {
    let (order, late) = serve(true, &ARRIVALS);
    assert_eq!(order, [(1, 250), (2, 5), (0, 100), (0, 100), (1, 250), (1, 8)]);
    assert!(!late);
}

/// Fails when `Slack::may_pass` is always true.
#[test]
fn nothing_passes_unless_configured() {
    let (order, late) = serve(false, &ARRIVALS);
    assert_eq!(order[..3], [(1, 250), (0, 100), (0, 100)]);
    assert!(!late);
}
