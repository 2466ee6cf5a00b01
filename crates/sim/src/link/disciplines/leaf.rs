//! The queue of a leaf class.

use std::collections::{BTreeMap, VecDeque};

use laxity_core::{Bytes, FlowId, Rate, Span, Time, Weight};
use laxity_curve::{Blocking, Guarantee};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    Aqm, BestEffortClass, Buffer, FairQueue, FlowQueueing, LinkConfig, Options, Release, Sojourn,
};
use laxity_link::{DropSink, LinkPolicy, Packet, Wire, registry};

use super::LeafQueue;

/// What may wait in an `fq_codel`, as in CAKE; the kernel's limit is 10240 packets, which CoDel keeps far away.
const MEMORY: Bytes = Bytes(4 << 20);

/// The largest packet that the kernel queues.
const LARGEST: Bytes = Bytes(65_535);

pub(super) struct Leaf {
    queue: Queue,
    /// Taken from `fq_codel` to learn its length, as the kernel does.
    head: Option<Packet>,
}

enum Queue {
    Fifo { packets: VecDeque<Packet>, bytes: u64, limit: u64 },
    FqCodel { policy: Box<dyn LinkPolicy + Send>, flows: BTreeMap<u64, FlowId> },
}

impl Leaf {
    pub(super) fn new(queue: LeafQueue, rate: Rate) -> Leaf {
        let queue = match queue {
            LeafQueue::Fifo { limit } => Queue::Fifo { packets: VecDeque::new(), bytes: 0, limit },
            LeafQueue::FqCodel { target, interval } => {
                Queue::FqCodel { policy: fq_codel(rate, target, interval), flows: BTreeMap::new() }
            }
        };
        Leaf { queue, head: None }
    }

    pub(super) fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        match &mut self.queue {
            Queue::Fifo { packets, bytes, limit } => {
                if *bytes + u64::from(packet.wire) > *limit {
                    drops.dropped(now, &packet, DropReason::BufferFlow);
                    return;
                }
                *bytes += u64::from(packet.wire);
                packets.push_back(packet);
            }
            Queue::FqCodel { policy, flows } => {
                flows.insert(packet.seq, packet.flow);
                let single = Packet { flow: FlowId(0), ..packet };
                policy.enqueue(now, single, &mut Renamed { flows, drops });
            }
        }
    }

    /// The length of the oldest packet, after drops of the AQM.
    pub(super) fn peek(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<u32> {
        match &mut self.queue {
            Queue::Fifo { packets, .. } => packets.front().map(|p| p.wire),
            Queue::FqCodel { policy, flows } => {
                if self.head.is_none() {
                    let departure = policy.dequeue(now, &mut Renamed { flows, drops });
                    self.head = departure.map(|d| {
                        let flow = flows.remove(&d.packet.seq).unwrap_or(FlowId(0));
                        Packet { flow, ..d.packet }
                    });
                }
                self.head.map(|p| p.wire)
            }
        }
    }

    /// Takes the packet whose length [`peek`](Self::peek) gave.
    pub(super) fn take(&mut self) -> Option<Packet> {
        match &mut self.queue {
            Queue::Fifo { packets, bytes, .. } => {
                let packet = packets.pop_front()?;
                *bytes -= u64::from(packet.wire);
                Some(packet)
            }
            Queue::FqCodel { .. } => self.head.take(),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        match &self.queue {
            Queue::Fifo { packets, .. } => packets.len(),
            Queue::FqCodel { policy, .. } => policy.waiting() + usize::from(self.head.is_some()),
        }
    }
}

/// Reports drops and marks under the flows that packets had before they entered the class.
struct Renamed<'a> {
    flows: &'a mut BTreeMap<u64, FlowId>,
    drops: &'a mut dyn DropSink,
}

impl DropSink for Renamed<'_> {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        let flow = self.flows.remove(&packet.seq).unwrap_or(packet.flow);
        self.drops.dropped(now, &Packet { flow, ..*packet }, reason);
    }

    fn marked(&mut self, now: Time, packet: &Packet) {
        let flow = self.flows.get(&packet.seq).copied().unwrap_or(packet.flow);
        self.drops.marked(now, &Packet { flow, ..*packet });
    }
}

/// One best-effort class with flow queues and CoDel: RFC 8290.
fn fq_codel(rate: Rate, target: Span, interval: Span) -> Box<dyn LinkPolicy + Send> {
    let class = BestEffortClass {
        flows: Some(FlowQueueing::default()),
        aqm: Aqm::Codel {
            rtt: interval,
            target: Some(target),
            interval: Some(interval),
            ecn: true,
            sojourn: Some(Sojourn::Raw),
            ingress: false,
        },
        ..BestEffortClass::new(Weight(1), None)
    };
    let config = LinkConfig {
        rate,
        max_packet: LARGEST,
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: Vec::new(),
        best_effort: vec![class],
        groups: Vec::new(),
        buffer: Some(Buffer { total: MEMORY, best_effort: MEMORY }),
        fair_queue: FairQueue::default(),
        blocking: Blocking::default(),
        guarantee: Guarantee::default(),
        release: Release::default(),
        aqm_seed: 0,
        options: Options::default(),
    };
    registry::build("background", &config).expect("a class without real-time flows")
}
