//! The engine: one link, one policy, integer time.

use laxity_core::{Bytes, LinkClock, Rate, Time};
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, DropSink, LinkPolicy, Packet, Wire};
use laxity_traffic::Arrival;

use super::traffic_source::{OpenLoop, TrafficSource};
use crate::Control;

/// Observes what happens to packets.
pub trait Observer {
    /// A packet arrived, before any policing.
    fn arrived(&mut self, packet: &Packet);
    /// A packet's transmission ends at `end`.
    fn sent(&mut self, departure: &Departure, end: Time);
    /// A packet will not be sent.
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason);
    /// A packet that waits carries "congestion experienced" from now on.
    fn marked(&mut self, _now: Time, _packet: &Packet) {}
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// End of the last transmission or the last instant looked at.
    pub time: Time,
    /// Nanoseconds during which the link sent, rounded up.
    pub busy: u64,
    /// Packets that still wait because the policy will never send them.
    pub unsent: usize,
    /// Whether all arrivals were offered to the policy.
    pub complete: bool,
}

/// How many packets pass between two looks at the control.
const STRIDE: u64 = 4096;

struct Reports<'a, O, S>(&'a mut O, &'a mut S);

impl<O: Observer, S: TrafficSource> DropSink for Reports<'_, O, S> {
    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.0.dropped(now, packet, reason);
        self.1.handle_dropped(packet.seq);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet) {
        self.0.marked(now, packet);
        self.1.handle_marked(packet.seq);
    }
}

/// Offers `arrivals`, which come in order of time, to `policy` on a link of `rate`.
///
/// Arrivals of an instant come before the decision at that instant. After the last arrival the
/// queue is served until it is empty.
pub fn run<P: LinkPolicy, O: Observer>(
    policy: &mut P,
    arrivals: impl Iterator<Item = Arrival>,
    rate: Rate,
    wire: Wire,
    observer: &mut O,
    control: &Control,
) -> Ending {
    run_source(policy, &mut OpenLoop::new(arrivals), rate, wire, observer, control)
}

/// Like [`run`], with a source that learns what becomes of its packets.
pub fn run_source<P: LinkPolicy, O: Observer, S: TrafficSource>(
    policy: &mut P,
    source: &mut S,
    rate: Rate,
    wire: Wire,
    observer: &mut O,
    control: &Control,
) -> Ending {
    let Some(mut clock) = LinkClock::new(rate) else {
        return Ending { time: Time::ZERO, busy: 0, unsent: 0, complete: false };
    };
    let mut ending = Ending { time: Time::ZERO, busy: 0, unsent: 0, complete: true };
    let mut wire_bytes = 0u128;
    let mut seq = 0;
    let mut reported = Time::ZERO;
    // The instant of the next decision: when the link is free, or when an idle policy wakes.
    let mut decision = Some(Time::ZERO);
    loop {
        match source.next_time() {
            Some(time) if decision.is_none_or(|at| time <= at) => {
                let Some(arrival) = source.poll(seq) else { continue };
                let now = arrival.time;
                let packet = arrival.packet(seq, wire.of(arrival.bytes));
                seq += 1;
                observer.arrived(&packet);
                policy.enqueue(now, packet, &mut Reports(observer, source));
                if decision.is_none() || now >= clock.free_at() {
                    decision = Some(now);
                }
                if seq % STRIDE == 0 {
                    control.advance(now.since(reported));
                    reported = now;
                    if control.stopped() {
                        ending.complete = false;
                        ending.time = now;
                        break;
                    }
                }
                continue;
            }
            _ => {}
        }
        let Some(now) = decision else { break };
        match policy.dequeue(now, &mut Reports(observer, source)) {
            Some(departure) => {
                wire_bytes += u128::from(departure.packet.wire);
                let end = clock.transmit(now, Bytes(u64::from(departure.packet.wire)));
                if !departure.dropped {
                    observer.sent(&departure, end);
                    source.handle_sent(departure.packet.seq, end);
                }
                ending.time = end;
                decision = Some(end);
            }
            None => {
                decision = policy.next_event().filter(|at| *at > now);
            }
        }
    }
    ending.unsent = policy.waiting();
    let nanobits = wire_bytes * laxity_core::NANOBITS_PER_BYTE as u128;
    ending.busy = u64::try_from(nanobits.div_ceil(u128::from(rate.0))).unwrap_or(u64::MAX);
    ending
}
