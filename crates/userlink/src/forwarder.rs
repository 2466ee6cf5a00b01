//! The scheduler of one direction, sans-io: frames and the time in, frames to send out.

use laxity_core::{Bytes, LinkClock, Live, Span, Time};
use laxity_curve::Envelope;
use laxity_link::buffer::{Buffers, DropReason};
use laxity_link::classify::Classifier;
use laxity_link::ecn::Ecn;
use laxity_link::registry;
use laxity_link::{Departure, DropSink, LinkPolicy, Packet, Wire};
use laxity_scenario::link::model::Scenario;
use laxity_trace::{LinkType, decode, set_ce};
use laxity_traffic::{Arrival, FlowHasher, FlowKeys, classify};

use crate::counts::Counts;
use crate::error::WireError;
use crate::pool::{Pool, Slot};
use crate::port::{Intake, Receive};

/// Frames that may be between the interfaces and the queues.
pub const BATCH: usize = 512;

/// Packets that a policy may hold beside its queues while it looks for the next one.
const AHEAD: usize = 64;

/// The largest frame where a scenario names none that is larger.
const ETHERNET: usize = 1518;

/// A frame that was chosen, until the interface has accepted it.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The policy's decision.
    pub departure: Departure,
    /// When it was to start.
    pub start: Time,
}

impl Outgoing {
    /// The frame's buffer.
    #[inline]
    pub fn slot(&self) -> Slot {
        Slot::of_number(self.departure.packet.seq)
    }
}

/// Classifies frames, polices and queues them, and decides their departures.
///
/// It plays the same game as the engine of the simulator, with the arrivals that the interface
/// stamped: decisions fall on the instants at which a wire of the scenario's rate is free, however
/// late the call is. A late caller gets the frames that should have gone by then, but never
/// more than the scenario's `credit` catches up: an instant before `now - credit` is moved there.
/// As admission counts the credit as work below the scheduler, deadlines are kept as long as the
/// frames are handed over at most that much late.
///
/// Time beyond the credit in which frames waited is lost, after a late call or when the interface
/// accepted nothing: the emulated wire stands still for as long, and the policy is informed
/// ([`LinkPolicy::handle_stall`]).
pub struct Forwarder {
    policy: Box<dyn LinkPolicy + Send>,
    classifier: Classifier,
    keys: FlowKeys,
    link_type: LinkType,
    wire: Wire,
    pool: Pool,
    counts: Counts,
    /// When the next frame may start.
    clock: LinkClock,
    /// When a wire of this rate has sent all that was handed over.
    handed: LinkClock,
    credit: Span,
    /// No decision falls before this.
    floor: Time,
    /// The latest instant passed to the policy.
    now: Time,
    /// The next decision: when the link is free, or when an idle policy wakes.
    decision: Option<Time>,
    record: Option<Vec<Arrival>>,
}

/// Receives packets that the policy drops or marks.
struct Sink<'a> {
    pool: &'a mut Pool,
    counts: &'a mut Counts,
    link_type: LinkType,
}

impl DropSink for Sink<'_> {
    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        self.counts.classes[packet.flow.index()].drop_one(reason, packet.bytes);
        self.pool.release(Slot::of_number(packet.seq));
    }

    fn marked(&mut self, _now: Time, packet: &Packet) {
        self.counts.classes[packet.flow.index()].ecn_marks += 1;
        // A policy marks only packets that are ECN-capable, so the field is there.
        set_ce(self.link_type, self.pool.frame_mut(Slot::of_number(packet.seq)));
    }
}

impl std::fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarder")
            .field("now", &self.now)
            .field("decision", &self.decision)
            .field("waiting", &self.policy.waiting())
            .finish_non_exhaustive()
    }
}

impl Forwarder {
    /// A scheduler for frames of `link_type` with a scenario's flows under a policy; `hasher` tells
    /// the flows within a class apart.
    ///
    /// # Errors
    /// When the policy cannot be built, or its limits need more memory than
    /// [`MOST_BYTES`](crate::pool::MOST_BYTES).
    pub fn new(
        scenario: &Scenario,
        policy: &str,
        link_type: LinkType,
        hasher: FlowHasher,
    ) -> Result<Forwarder, WireError> {
        // A name that is not in the registry has its message from there.
        if registry::find(policy).is_some_and(|p| !p.runs_in(Live::UserLink)) {
            return Err(WireError::NotLive { policy: policy.into() });
        }
        let setup = scenario.setup();
        let clock = LinkClock::new(setup.rate).ok_or(WireError::NoRate)?;
        let buffers = Buffers::new(&setup).map_err(registry::BuildError::from)?;
        let waiting = buffers.realtime_slots() + buffers.best_effort_slots();
        let realtime = scenario.realtime.iter().map(|f| Envelope::max_packet(&f.envelope));
        let largest = realtime.chain([scenario.link.max_packet]).max().unwrap_or(Bytes(0));
        let largest = usize::try_from(largest.0).unwrap_or(usize::MAX).max(ETHERNET);
        let slots = waiting + AHEAD + 3 * BATCH;
        let pool = Pool::new(slots, largest).ok_or(WireError::PoolTooLarge { slots, largest })?;
        Ok(Forwarder {
            policy: registry::build(policy, &setup)?,
            classifier: classify::classifier(scenario),
            keys: FlowKeys::new(scenario, hasher),
            link_type,
            wire: setup.wire,
            pool,
            counts: Counts::new(scenario.flow_count()),
            handed: clock.clone(),
            clock,
            credit: scenario.link.credit,
            floor: Time::ZERO,
            now: Time::ZERO,
            decision: Some(Time::ZERO),
            record: None,
        })
    }

    /// Keeps the arrivals from now on, at most `most` of them.
    pub fn record(&mut self, most: usize) {
        self.record = Some(Vec::with_capacity(most));
    }

    /// The arrivals that were kept, and whether that is all of them.
    pub fn recorded(&mut self) -> Option<(Vec<Arrival>, bool)> {
        self.record.take().map(|list| {
            let complete = list.len() < list.capacity();
            (list, complete)
        })
    }

    /// The buffers.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// Receives frames into the buffers; see [`Receive::receive`].
    ///
    /// # Errors
    /// As reported by the receiver.
    pub fn receive(
        &mut self,
        from: &mut dyn Receive,
        arrived: &mut Vec<Slot>,
    ) -> Result<(), WireError> {
        let (pool, counts) = (&mut self.pool, &mut self.counts);
        from.receive(&mut Intake { pool, arrived, counts })
    }

    /// The buffers, to read.
    pub fn frames(&self) -> &Pool {
        &self.pool
    }

    /// The counts.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The counts, for the driver to add its own.
    pub fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// Packets that wait.
    pub fn waiting(&self) -> usize {
        self.policy.waiting()
    }

    /// Advances the clock: decisions more than the credit ago are made now.
    #[inline]
    pub fn now(&mut self, now: Time) {
        self.floor = self.floor.max(Time(now.0.saturating_sub(self.credit.0)));
    }

    /// Adds a frame that was received into a buffer. Decisions before its arrival must have been
    /// made: `depart` until a nanosecond before it.
    pub fn arrive(&mut self, slot: Slot) {
        let stamp = self.pool.stamp(slot);
        // Stamps of several processors are only nearly in order.
        let now = stamp.max(self.now);
        self.now = now;
        let bytes = self.pool.len(slot);
        let frame = self.pool.frame(slot);
        let headers = decode(self.link_type, frame);
        let flow = self.classifier.classify(&classify::key(&headers));
        let ecn = Ecn::of_traffic_class(headers.ecn.unwrap_or(0));
        let key = self.keys.of_frame(flow, self.link_type, frame);
        let arrival = Arrival { ecn, key, ..Arrival::new(stamp, flow, bytes) };
        let class = &mut self.counts.classes[flow.index()];
        class.packets += 1;
        class.bytes += u64::from(bytes);
        if let Some(record) = self.record.as_mut().filter(|r| r.len() < r.capacity()) {
            record.push(arrival);
        }
        if self.pool.is_cut(slot) {
            class.drop_one(DropReason::Oversize, bytes);
            self.pool.release(slot);
            return;
        }
        let packet = Packet { arrival: now, ..arrival.packet(slot.number(), self.wire.of(bytes)) };
        let (pool, counts) = (&mut self.pool, &mut self.counts);
        self.policy.enqueue(now, packet, &mut Sink { pool, counts, link_type: self.link_type });
        match self.decision {
            // One that is overdue stays so: what the thread's lateness costs is counted from it.
            Some(wanted) if wanted <= now || now < self.clock.free_at() => {}
            _ => self.decision = Some(now),
        }
    }

    /// The next frame that departs at `until` or before.
    #[inline]
    pub fn depart(&mut self, until: Time) -> Option<Outgoing> {
        loop {
            let wanted = self.decision?;
            // Where nothing waits nothing is late.
            let floor = if self.policy.waiting() == 0 { wanted } else { self.floor };
            let at = wanted.max(floor).max(self.now);
            if at > until {
                return None;
            }
            self.now = at;
            let stall = floor.since(wanted);
            if stall > Span(0) {
                self.policy.handle_stall();
            }
            let (pool, counts) = (&mut self.pool, &mut self.counts);
            let mut sink = Sink { pool, counts, link_type: self.link_type };
            match self.policy.dequeue(at, &mut sink) {
                Some(departure) => {
                    if stall > Span(0) {
                        self.counts.stalls += 1;
                        self.counts.stalled.0 += stall.0;
                        self.counts.longest_stall = self.counts.longest_stall.max(stall);
                    }
                    let wire = Bytes(u64::from(departure.packet.wire));
                    self.decision = Some(self.clock.transmit(at, wire));
                    if !departure.dropped {
                        return Some(Outgoing { departure, start: at });
                    }
                }
                None => self.decision = self.policy.next_event().filter(|next| *next > at),
            }
        }
    }

    /// When the next frame may go, if no other arrives.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        let decision = self.decision?;
        // After the last frame the link's end is a decision too, at which there is nothing to do.
        (self.policy.waiting() > 0).then(|| decision.max(self.now).max(self.floor))
    }

    /// Whether a chosen frame is later than the credit makes good at `now`. While the interface
    /// does not take it no more is to be chosen, so that what comes meanwhile still counts.
    pub fn is_overdue(&self, outgoing: &Outgoing, now: Time) -> bool {
        now.since(outgoing.start) > self.credit
    }

    /// Records that the interface accepted the frame at `now`.
    pub fn sent(&mut self, outgoing: &Outgoing, now: Time) {
        let Departure { packet, deadline, realtime, .. } = outgoing.departure;
        self.counts.lag.record(now.since(outgoing.start).0);
        let start = now.max(outgoing.start).max(self.handed.free_at());
        let end = self.handed.transmit(start, Bytes(u64::from(packet.wire)));
        // No decision is further ahead of that wire than the credit.
        self.floor = self.floor.max(Time(end.0.saturating_sub(self.credit.0)));
        let slot = outgoing.slot();
        let class = &mut self.counts.classes[packet.flow.index()];
        let delays = if packet.demoted { &mut class.demoted_delay } else { &mut class.delay };
        delays.record(end.since(self.pool.stamp(slot)).0);
        class.sent_bytes += u64::from(packet.bytes);
        if realtime && end > deadline {
            class.deadline_misses += 1;
            class.max_lateness_ns = class.max_lateness_ns.max(end.since(deadline).0);
        }
        self.pool.release(slot);
    }

    /// The interface will never take the frame: it is too long, or has no way to go.
    pub fn refused(&mut self, outgoing: &Outgoing, too_long: bool) {
        let packet = &outgoing.departure.packet;
        let class = &mut self.counts.classes[packet.flow.index()];
        class.too_long += u64::from(too_long);
        class.unroutable += u64::from(!too_long);
        class.dropped_bytes += u64::from(packet.bytes);
        self.pool.release(outgoing.slot());
    }
}
