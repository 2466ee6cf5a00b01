//! The classes of best effort where packets are chosen at each decision: their queues, their AQM,
//! and the order among them.

use alloc::{boxed::Box, vec, vec::Vec};

use laxity_core::{Divisor, NANOBITS_PER_BYTE, Span, Time};

use crate::aqm::l4s::{self, DualOrder};
use crate::aqm::{Aqm, Leaving, Verdict};
use crate::config::{self, FlowQueueing, LinkConfig, LinkConfigError};
use crate::ecn::Ecn;
use crate::edf::Full;
use crate::fair::LateFair;
use crate::flow_queue::FlowQueues;
use crate::flow_queue::pool::{Fifo, Pool};
use crate::{DropSink, Packet};

/// The most packets that are pushed out at once.
const PUSH_OUT: u32 = 64;

/// Least quantum, as CAKE's and fq_codel's for slow links.
const MIN_QUANTUM: u64 = 300;

/// All classes.
#[derive(Debug)]
pub(crate) struct ClassQueues {
    pool: Pool,
    classes: Box<[Class]>,
    fair: LateFair,
    /// Classes whose candidate may have changed.
    stale: Vec<usize>,
    rate: Option<Divisor>,
    /// Time for which real-time packets have been sent, in ns.
    realtime: u64,
}

#[derive(Debug)]
struct Class {
    order: Order,
    fifos: Box<[Fifo]>,
    aqm: Aqm,
    packets: u32,
    /// Whether it pushes out its own packets at its limit, instead of refusing new ones.
    managed: bool,
    stale: bool,
    /// Queue of the candidate.
    candidate: usize,
}

/// The order among the queues of a class.
#[derive(Debug)]
enum Order {
    /// There is only one.
    Fifo,
    Dual(DualOrder),
    Flows(Box<FlowQueues>),
}

impl Order {
    /// Marks that a queue may owe beyond its packets.
    fn spare_marks(&self, queue: usize) -> u32 {
        match self {
            Order::Dual(_) if queue == l4s::LOW_LATENCY => l4s::SPARE_MARKS,
            _ => 0,
        }
    }
}

/// The packet that is next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) class: usize,
    queue: usize,
    pub(crate) packet: Packet,
    realtime: u64,
}

impl ClassQueues {
    /// Room for `slots` packets. `behind`: best effort never goes before real time.
    pub(crate) fn new(
        config: &LinkConfig,
        slots: usize,
        behind: bool,
    ) -> Result<ClassQueues, LinkConfigError> {
        let largest = config.wire.of_bytes(config.max_packet).0;
        // Below 2^32 as the largest packet is, but for absurd configurations.
        let quantum = (config.rate.0 / 8 / 4096).min(largest).max(MIN_QUANTUM);
        let quantum = u32::try_from(quantum).unwrap_or(u32::MAX);
        let class = |(class, settings): (usize, &config::BestEffortClass)| {
            let (order, queues) = match &settings.flows {
                Some(flows) => {
                    let FlowQueueing { queues, .. } = *flows;
                    let range = FlowQueueing::MIN_QUEUES..=FlowQueueing::MAX_QUEUES;
                    if !queues.is_power_of_two() || !range.contains(&queues) {
                        return Err(LinkConfigError::FlowQueues { class, queues });
                    }
                    (Order::Flows(Box::new(FlowQueues::new(flows, quantum))), queues as usize)
                }
                None if matches!(settings.aqm, config::Aqm::L4s { .. }) => {
                    (Order::Dual(DualOrder::default()), 2)
                }
                None => (Order::Fifo, 1),
            };
            Ok(Class {
                order,
                fifos: vec![Fifo::EMPTY; queues].into_boxed_slice(),
                aqm: Aqm::new(config, class, queues, behind),
                packets: 0,
                managed: settings.is_managed(),
                stale: false,
                candidate: 0,
            })
        };
        let classes = config.best_effort.iter().enumerate().map(class);
        let weights: Vec<_> = config.best_effort.iter().map(|c| c.weight).collect();
        Ok(ClassQueues {
            pool: Pool::new(slots),
            classes: classes.collect::<Result<_, _>>()?,
            fair: LateFair::new(config.fair_queue, &weights),
            stale: Vec::with_capacity(weights.len()),
            rate: Divisor::new(config.rate.0),
            realtime: 0,
        })
    }

    /// Packets in all classes.
    pub(crate) fn len(&self) -> usize {
        self.pool.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pool.len() == 0
    }

    /// Adds a packet to a class. If its queue owes a mark, the packet gets it.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        class: usize,
        packet: Packet,
        drops: &mut dyn DropSink,
    ) -> Result<(), Full> {
        let Class { order, fifos, packets, .. } = &mut self.classes[class];
        let queue = match order {
            Order::Fifo => 0,
            Order::Dual(_) if packet.ecn.is_l4s() => l4s::LOW_LATENCY,
            Order::Dual(_) => l4s::CLASSIC,
            Order::Flows(flows) => flows.queue(&packet),
        };
        let fifo = &mut fifos[queue];
        let owed = fifo.owed > 0 && matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1);
        let ecn = if owed { Ecn::Ce } else { packet.ecn };
        let packet = Packet { ecn, ..packet };
        self.pool.push(fifo, packet, self.realtime)?;
        if owed {
            fifo.owed -= 1;
            drops.marked(now, &packet);
        }
        *packets += 1;
        if let Order::Flows(flows) = order {
            flows.arrived(queue, &packet, fifo);
        }
        self.fair.add(class, packet.wire);
        self.refresh_later(class);
        Ok(())
    }

    fn refresh_later(&mut self, class: usize) {
        if !core::mem::replace(&mut self.classes[class].stale, true) {
            self.stale.push(class);
        }
    }

    /// Selects the candidate of each class in which something has changed.
    #[inline]
    fn refresh(&mut self) {
        while let Some(index) = self.stale.pop() {
            let class = &mut self.classes[index];
            class.stale = false;
            let queue = match &mut class.order {
                Order::Fifo => (class.packets > 0).then_some(0),
                Order::Dual(dual) => dual.select(&class.fifos),
                Order::Flows(flows) => flows.select(&class.fifos),
            };
            class.candidate = queue.unwrap_or(0);
            let fifo = queue.map(|queue| &class.fifos[queue]);
            let candidate = fifo.and_then(|fifo| self.pool.oldest(fifo));
            self.fair.set(index, candidate.map(|waiting| waiting.packet.wire));
        }
    }

    /// The packet that is next: of the flow next in the class next in fair order.
    #[inline]
    pub(crate) fn select(&mut self) -> Option<Candidate> {
        self.refresh();
        let index = self.fair.winner()?;
        let class = &self.classes[index];
        let waiting = self.pool.oldest(&class.fifos[class.candidate])?;
        let (packet, realtime) = (waiting.packet, waiting.realtime);
        Some(Candidate { class: index, queue: class.candidate, packet, realtime })
    }

    /// Leaves a class out of [`select`](Self::select) until [`unhide`](Self::unhide).
    pub(crate) fn hide(&mut self, class: usize) {
        self.fair.hide(class);
    }

    /// Takes back all classes.
    #[inline]
    pub(crate) fn unhide(&mut self) {
        self.fair.unhide();
    }

    /// The verdict of its AQM on a candidate that may start.
    #[inline]
    pub(crate) fn judge(&mut self, candidate: &Candidate, now: Time) -> Verdict {
        let class = &mut self.classes[candidate.class];
        let raw = now.since(candidate.packet.arrival);
        let oldest = |fifo: &Fifo| self.pool.oldest(fifo).map(|w| now.since(w.packet.arrival));
        let longest = match &class.order {
            Order::Dual(_) => class.fifos.iter().filter_map(oldest).max().unwrap_or(raw),
            _ => raw,
        };
        let bulk = match &class.order {
            Order::Flows(flows) => flows.is_bulk(candidate.queue),
            _ => true,
        };
        let fifo = &mut class.fifos[candidate.queue];
        let leaving = Leaving {
            now,
            ecn: candidate.packet.ecn,
            queue: candidate.queue,
            fifo,
            raw,
            realtime: Span(self.realtime - candidate.realtime),
            longest,
            packets: class.packets,
            bulk,
        };
        let verdict = class.aqm.judge(&leaving);
        if verdict == Verdict::Mark {
            fifo.owed =
                (fifo.owed + 1).min(fifo.packets + class.order.spare_marks(candidate.queue));
        }
        verdict
    }

    /// Whether what the AQM of a class drops is charged as if sent.
    pub(crate) fn charges_drops(&self, class: usize) -> bool {
        self.classes[class].aqm.ingress
    }

    /// Removes a candidate; `charged` to its class and flow if it is sent.
    #[inline]
    pub(crate) fn remove(&mut self, candidate: &Candidate, charged: bool) -> Packet {
        let Candidate { class, queue, packet, .. } = *candidate;
        if charged {
            self.fair.serve(class, packet.wire);
        }
        let removed = self.pop(class, queue);
        debug_assert!(removed.is_some_and(|p| p.seq == packet.seq), "not the candidate");
        let Class { order, fifos, .. } = &mut self.classes[class];
        match order {
            Order::Flows(flows) if charged => flows.charge(queue, packet.wire),
            Order::Dual(dual) if charged => {
                dual.charge(queue, packet.wire, fifos[1 - queue].packets)
            }
            _ => {}
        }
        packet
    }

    /// Removes the oldest packet of a queue.
    fn pop(&mut self, class: usize, queue: usize) -> Option<Packet> {
        let Class { order, fifos, packets, .. } = &mut self.classes[class];
        let fifo = &mut fifos[queue];
        let packet = self.pool.pop(fifo)?;
        fifo.owed = fifo.owed.min(fifo.packets + order.spare_marks(queue));
        *packets -= 1;
        if let Order::Flows(flows) = order {
            flows.changed(queue, fifo);
        }
        self.fair.subtract(class, packet.wire);
        self.refresh_later(class);
        Some(packet)
    }

    /// Pushes packets out of `class`, or else of the class furthest above its share: the oldest of
    /// its fattest queue, up to half of its bytes, at most 64. A class that is not managed refuses
    /// new packets at its limit instead.
    pub(crate) fn push_out(&mut self, class: Option<usize>, out: &mut dyn FnMut(Packet)) -> bool {
        let class = match class {
            Some(class) => self.classes[class].managed.then_some(class),
            None => {
                self.refresh();
                self.fair.longest()
            }
        };
        let Some(class) = class else { return false };
        let Class { order, fifos, .. } = &self.classes[class];
        let fattest = match order {
            Order::Flows(flows) => flows.fattest(),
            _ => (0..fifos.len()).max_by_key(|queue| fifos[*queue].bytes),
        };
        let Some(queue) = fattest else { return false };
        let least = fifos[queue].bytes / 2;
        let mut count = 0;
        while count < PUSH_OUT && (count == 0 || self.classes[class].fifos[queue].bytes > least) {
            let Some(packet) = self.pop(class, queue) else { break };
            out(packet);
            count += 1;
        }
        count > 0
    }

    /// A real-time packet of `wire` bytes starts.
    pub(crate) fn on_realtime_start(&mut self, wire: u32) {
        let work = u128::from(wire) * NANOBITS_PER_BYTE as u128;
        self.realtime += self.rate.map_or(0, |rate| rate.div_ceil(work));
    }

    /// Replaces the AQM of a class.
    #[cfg(test)]
    pub(crate) fn set_aqm(&mut self, class: usize, aqm: Aqm) {
        self.classes[class].aqm = aqm;
    }
}

#[cfg(test)]
mod tests;
