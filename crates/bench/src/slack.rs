//! Decisions of `slack` with 64 flows and ten thousand real-time packets waiting.
//!
//! The link carries 0.9 of its rate in real-time flows that send as fast as they may, and best
//! effort that never ends. Under `slack` the real-time packets then wait until little time is
//! left, which is what fills the queue. One operation is one decision, with the arrivals until
//! then.

use std::hint::black_box;

use laxity_core::{Bytes, FlowId, Rate, Span, Time, Weight};
use laxity_curve::{Blocking, Envelope, Guarantee};
use laxity_link::assign::Background;
use laxity_link::config::{
    BestEffortClass, Buffer, Excess, FairQueue, LinkConfig, Options, RealtimeFlow, Release,
};
use laxity_link::pipeline::{ByDeadline, Discipline, Pipeline};
use laxity_link::slack::Slack;
use laxity_link::{Packet, Wire};

use crate::baselines::slack_recomputed::SlackRecomputed;
use crate::workload::{Forget, Link};
use crate::{Contender, Group};
use laxity_link::LinkPolicy as _;
use laxity_traffic::{Arrival, Merge};

const FLOWS: u64 = 64;
const PACKET: u32 = 200;
/// Decisions until the queue is as long as it stays.
const FILLING: u64 = 200_000;

pub(crate) fn groups() -> Vec<Group> {
    vec![Group(vec![
        Contender::new("slack/64-flows/10k", || decisions(|setup| Slack::new(setup).unwrap())),
        Contender::new("slack/64-flows/10k/recomputed", || {
            decisions(|s| SlackRecomputed::new(s, FILLING))
        }),
        Contender::new("slack/64-flows/10k/background", || decisions(|_| ByDeadline(Background))),
    ])]
}

/// 64 flows of 1.76 MB/s on a link of 125 MB/s, with deadlines from 2 to 34 ms.
pub fn setup() -> LinkConfig {
    let flow = |k: u64| RealtimeFlow {
        envelope: Envelope::tspec(
            Bytes(u64::from(PACKET)),
            Rate::bytes_per_second(4_000_000),
            Bytes(2_000),
            Rate::bytes_per_second(1_760_000),
        )
        .expect("a valid TSpec"),
        deadline: Span(2_000_000 + 500_000 * k),
        excess: Excess::Delay,
        buffer: None,
        service: None,
    };
    LinkConfig {
        rate: Rate(1_000_000_000),
        max_packet: Bytes(1500),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: (0..FLOWS).map(flow).collect(),
        best_effort: vec![BestEffortClass::new(Weight::ONE, None)],
        buffer: Some(Buffer { total: Bytes(64_000_000), best_effort: Bytes(8_000_000) }),
        groups: vec![],
        fair_queue: FairQueue::default(),
        blocking: Blocking::Exact,
        guarantee: Guarantee::default(),
        release: Release::default(),
        aqm_seed: 0,
        options: Options::default(),
    }
}

/// A flow's packets at its long-term rate, flows apart from each other.
fn steady(k: u64) -> impl Iterator<Item = Arrival> {
    // 200 B at 1.76 MB/s: one each 113 636.4 ns.
    (0..).map(move |i: u64| Arrival::new(Time(k * 1777 + i * 113_637), FlowId(k as u32), PACKET))
}

fn decisions<D: Discipline + 'static>(build: fn(&LinkConfig) -> D) -> impl FnMut(u64) {
    let setup = setup();
    let pipeline = Pipeline::new(&setup, build(&setup)).expect("the set fits its buffers");
    let mut link = Link::new(&setup, pipeline);
    let mut arrivals = Merge::new((0..FLOWS).map(steady).collect()).peekable();
    let mut seq = 0u64;
    let mut step = move || {
        let now = link.free_at();
        while let Some(arrival) = arrivals.next_if(|a| a.time <= now) {
            link.policy.enqueue(arrival.time, packet(&arrival, &mut seq), &mut Forget);
        }
        let mut best_effort = false;
        link.decide(now, &mut |d| best_effort = !d.realtime);
        if best_effort || seq < 10_000 {
            let more = Arrival::new(now, FlowId(FLOWS as u32), 1500);
            link.policy.enqueue(now, packet(&more, &mut seq), &mut Forget);
        }
        link.policy.realtime().len()
    };
    // Until the queue is as long as it will be.
    for _ in 0..FILLING {
        step();
    }
    move |count| {
        for _ in 0..count {
            black_box(step());
        }
    }
}

fn packet(arrival: &Arrival, seq: &mut u64) -> Packet {
    *seq += 1;
    Packet::new(*seq, arrival.time, arrival.flow, arrival.bytes, arrival.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the benchmark states ten thousand.
    #[test]
    fn about_ten_thousand_packets_wait() {
        let setup = setup();
        assert!(
            laxity_curve::check(&setup.link_spec(), &setup.flow_specs().unwrap()).unwrap().admitted
        );
        let pipeline = Pipeline::new(&setup, Slack::new(&setup).unwrap()).unwrap();
        let mut link = Link::new(&setup, pipeline);
        let mut arrivals = Merge::new((0..FLOWS).map(steady).collect()).peekable();
        let mut seq = 0;
        let mut late = 0;
        for step in 0..100_000 {
            let now = link.free_at();
            while let Some(a) = arrivals.next_if(|a| a.time <= now) {
                link.policy.enqueue(a.time, packet(&a, &mut seq), &mut Forget);
            }
            let more = Arrival::new(now, FlowId(FLOWS as u32), 1500);
            if step % 2 == 0 {
                link.policy.enqueue(now, packet(&more, &mut seq), &mut Forget);
            }
            link.decide(now, &mut |d| late += u64::from(d.realtime && d.deadline < now));
        }
        let waiting = link.policy.realtime().len();
        assert!((8_000..16_000).contains(&waiting), "{waiting}");
        assert_eq!(late, 0);
    }
}
