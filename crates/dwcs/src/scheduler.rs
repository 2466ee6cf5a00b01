//! The scheduler: joins, arrivals, decisions.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;

use laxity_core::{Span, Time};

use crate::governor::Governor;
use crate::structure::{Structure, Unsupported};
use crate::{
    Attributes, Dropped, LONGEST_WINDOW, Meter, Misses, Options, Overdue, Queues, Record, RuleC,
    Rules, Service, Window,
};

/// A stream of one scheduler.
///
/// Slots are reused after a stream left; an id that outlived its stream is then
/// refused (unless its place changed hands a multiple of 65,536 times).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    slot: u32,
    generation: u16,
}

/// A decision of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send the packet just removed from this stream's queue ([`Queues::serve`]).
    Serve {
        /// The stream.
        stream: StreamId,
        /// Latest start of service that the packet had; [`Time::MAX`] without deadlines.
        deadline: Time,
    },
    /// Packets wait, but none may go out before this instant, which lies ahead.
    Wait(Time),
    /// Nothing waits.
    Idle,
}

/// Why a stream cannot join or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// A packet due every 0 ns.
    ZeroGap,
    /// The window would overflow as [`RuleC::Widen`] doubles it.
    WindowTooLong {
        /// Packets in the window.
        y: u16,
        /// The most that this rule allows.
        most: u16,
    },
    /// No place is left: 4,294,967,295 streams.
    Full,
    /// The stream that should change left before.
    Unknown(UnknownStream),
}

/// The stream left before, or belongs to another scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownStream(pub StreamId);

/// DWCS over one kind of structure.
///
/// Sans-io: it has no clock and stores no packet. Its caller supplies the time and asks
/// [`next`](Self::next) whenever the server is free. An instant before one that it has seen
/// counts as that one, so a clock that steps back does no harm. Nothing but [`join`](Self::join)
/// and [`change`](Self::change) allocates.
#[derive(Clone, Debug)]
pub struct Scheduler<S, M = ()> {
    structure: S,
    meter: M,
    rules: Rules,
    governor: Governor,
    settle: bool,
    align: bool,
    /// Latest instant seen.
    now: Time,
    /// Services since deadlines were last looked at.
    unchecked: u32,
    /// Slots allocated so far, vacant ones included.
    slots: u32,
    vacant: Vec<u32>,
}

impl<S: Structure> Scheduler<S> {
    /// A scheduler without streams and statistics.
    ///
    /// # Errors
    /// When the structure cannot keep the order that the options ask for.
    pub fn new(options: &Options) -> Result<Scheduler<S>, Unsupported> {
        Scheduler::with_meter(options, ())
    }
}

impl<S: Structure, M: Meter> Scheduler<S, M> {
    /// A scheduler without streams, telling `meter` what happens.
    ///
    /// # Errors
    /// When the structure cannot keep the order that the options ask for.
    pub fn with_meter(options: &Options, meter: M) -> Result<Scheduler<S, M>, Unsupported> {
        Ok(Scheduler::with_structure(options, S::new(options.rank())?, meter))
    }

    /// The same over an empty structure that was made elsewhere: an order that needs more than a [`Rank`](crate::Rank).
    pub fn with_structure(options: &Options, structure: S, meter: M) -> Scheduler<S, M> {
        Scheduler {
            structure,
            meter,
            rules: options.rules(),
            governor: Governor::new(options.check),
            settle: options.settle,
            align: options.align,
            now: Time::ZERO,
            unchecked: 0,
            slots: 0,
            vacant: Vec::new(),
        }
    }

    /// A stream joins at `now` with a fresh window and nothing waiting. Its first packet is due
    /// a gap after it arrives.
    ///
    /// # Errors
    /// When the attributes make no sense or there is no place.
    pub fn join(&mut self, now: Time, attributes: &Attributes) -> Result<StreamId, JoinError> {
        self.validate(attributes)?;
        self.see(now);
        let slot = match self.vacant.pop() {
            Some(slot) => slot,
            None => {
                let slot = self.slots;
                self.slots = slot.checked_add(1).ok_or(JoinError::Full)?;
                // So that no leave has to allocate.
                self.vacant.reserve(self.slots as usize);
                slot
            }
        };
        let generation = self.structure.load(slot).generation;
        let mut record = Record::new(attributes, self.now, generation);
        if self.align {
            record.deadline = record.aligned(self.now);
        }
        self.structure.join(slot, record);
        self.meter.join(slot as usize, attributes.tolerance, true);
        Ok(StreamId { slot, generation })
    }

    /// The stream leaves; the caller disposes of its queue.
    ///
    /// # Errors
    /// When it left before.
    pub fn leave(&mut self, stream: StreamId) -> Result<(), UnknownStream> {
        let record = self.find(stream)?;
        self.structure.store(stream.slot, record.vacated());
        self.vacant.push(stream.slot);
        Ok(())
    }

    /// Changes the attributes and starts a fresh window. Misses up to `now` count under the old
    /// attributes. The head's deadline moves as if the new gap had followed the deadline before
    /// it, but not before `now`: a change makes nothing late.
    ///
    /// # Errors
    /// When the new attributes make no sense or the stream left before; it then stays as it was.
    pub fn change(
        &mut self,
        now: Time,
        stream: StreamId,
        attributes: &Attributes,
        queues: &mut impl Queues,
    ) -> Result<(), JoinError> {
        self.validate(attributes)?;
        self.find(stream).map_err(JoinError::Unknown)?;
        self.see(now);
        let mut record = self.settle(stream.slot, queues);
        // While nothing waits, `deadline` is the last packet's and stays.
        let base = match (record.has_deadlines(), record.waiting()) {
            (false, _) => self.now,
            (true, false) => record.deadline,
            (true, true) => record.deadline - record.gap,
        };
        record.set_attributes(attributes);
        record.deadline = if self.align { record.aligned(base) } else { base };
        if record.waiting() {
            record.deadline += record.gap;
            let now = if self.align { record.aligned(self.now) } else { self.now };
            record.deadline = record.deadline.max(now);
        }
        self.structure.join(stream.slot, record);
        self.meter.join(stream.slot as usize, attributes.tolerance, false);
        Ok(())
    }

    /// A packet that arrived at `arrival` waits in the stream's queue. Needed when the queue was
    /// empty; harmless otherwise. It may come late: deadlines follow from `arrival`.
    ///
    /// # Errors
    /// When the stream left before.
    #[inline]
    pub fn arrive(&mut self, arrival: Time, stream: StreamId) -> Result<(), UnknownStream> {
        let mut record = self.find(stream)?;
        if !record.waiting() {
            record.advance(Some(arrival), self.align);
            self.structure.store(stream.slot, record);
        }
        Ok(())
    }

    /// Chooses the packet to send at `now` by a server that is free, after dropping or deferring
    /// those whose deadlines have passed.
    #[inline]
    pub fn next(&mut self, now: Time, queues: &mut impl Queues) -> Decision {
        self.see(now);
        if self.unchecked >= self.governor.period().get() {
            self.check_deadlines(queues);
        }
        loop {
            let Some(slot) = self.structure.first(self.now) else {
                // The server is idle, so the cost of the next check does not matter.
                self.unchecked = u32::MAX;
                return self.structure.next_release().map_or(Decision::Idle, Decision::Wait);
            };
            let record =
                if self.settle { self.settle(slot, queues) } else { self.structure.load(slot) };
            // Settling may have dropped all that waited.
            if record.waiting() {
                return self.serve(slot, record, queues);
            }
        }
    }

    /// Checks all deadlines now, regardless of [`Options::check`]: at the end of a run, so that
    /// statistics are complete.
    pub fn check(&mut self, now: Time, queues: &mut impl Queues) {
        self.see(now);
        self.check_deadlines(queues);
    }

    /// A decision took this long, for [`Check::Adaptive`](crate::Check::Adaptive): the scheduler
    /// has no clock. Worth telling for every decision or for a regular sample of them.
    #[inline]
    pub fn cost(&mut self, decision: Span) {
        self.governor.cost(decision);
    }

    /// After how many services deadlines are looked at now.
    pub fn check_period(&self) -> NonZeroU32 {
        self.governor.period()
    }

    /// The rest of the stream's current window.
    ///
    /// # Errors
    /// When the stream left before.
    pub fn window(&self, stream: StreamId) -> Result<Window, UnknownStream> {
        self.find(stream).map(|record| record.window)
    }

    /// The stream's whole state.
    ///
    /// # Errors
    /// When the stream left before.
    pub fn record(&self, stream: StreamId) -> Result<Record, UnknownStream> {
        self.find(stream)
    }

    /// The stream that holds a place.
    pub fn stream_at(&self, slot: usize) -> Option<StreamId> {
        let slot = u32::try_from(slot).ok()?;
        let record = self.structure.load(slot);
        record.occupied().then_some(StreamId { slot, generation: record.generation })
    }

    /// How many streams there are.
    pub fn streams(&self) -> usize {
        self.slots as usize - self.vacant.len()
    }

    /// The statistics.
    pub fn meter(&self) -> &M {
        &self.meter
    }

    /// The statistics, to configure or reset them.
    pub fn meter_mut(&mut self) -> &mut M {
        &mut self.meter
    }

    fn validate(&self, attributes: &Attributes) -> Result<(), JoinError> {
        if attributes.gap == Some(Span::ZERO) {
            return Err(JoinError::ZeroGap);
        }
        let most = LONGEST_WINDOW / 3;
        let y = attributes.tolerance.y();
        if self.rules.c == RuleC::Widen && y > most {
            return Err(JoinError::WindowTooLong { y, most });
        }
        Ok(())
    }

    fn find(&self, stream: StreamId) -> Result<Record, UnknownStream> {
        let record = self.structure.load(stream.slot);
        let same = record.occupied() && record.generation == stream.generation;
        if same { Ok(record) } else { Err(UnknownStream(stream)) }
    }

    fn see(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    fn check_deadlines(&mut self, queues: &mut impl Queues) {
        self.unchecked = 0;
        while let Some(slot) = self.structure.expired(self.now) {
            self.settle(slot, queues);
        }
    }

    /// Rule (B) for every deadline of the stream that has passed; answers what it became.
    #[inline]
    fn settle(&mut self, slot: u32, queues: &mut impl Queues) -> Record {
        let mut record = self.structure.load(slot);
        if !(record.waiting() && record.deadline < self.now) {
            return record;
        }
        while record.waiting() && record.deadline < self.now {
            self.miss(slot, &mut record, queues);
        }
        self.structure.store(slot, record);
        record
    }

    /// The deadlines that have passed with the head's: all of them when the packets behind it
    /// came in time to be due at the gap.
    fn miss(&mut self, slot: u32, record: &mut Record, queues: &mut impl Queues) {
        let late = self.now.since(record.deadline);
        let passed = late.0.div_ceil(record.gap.0);
        let after = |count: u64| Span(record.gap.0.saturating_mul(count));
        let count = if record.droppable() {
            let stream = StreamId { slot, generation: record.generation };
            let which = Overdue { at_most: passed, arrived_by: record.deadline };
            let Dropped { count, next } = queues.drop_heads(stream, which);
            let count = count.clamp(1, passed);
            record.deadline += after(count - 1);
            record.advance(next, self.align);
            count
        } else {
            record.deadline += after(passed);
            record.set_late(true);
            passed
        };
        let violations = self.rules.missed(record, count);
        self.structure.missed(slot, count);
        self.governor.violated(violations);
        let dropped = record.droppable();
        self.meter.missed(slot as usize, Misses { count, violations, dropped });
    }

    #[inline]
    fn serve(&mut self, slot: u32, mut record: Record, queues: &mut impl Queues) -> Decision {
        self.unchecked = self.unchecked.saturating_add(1);
        let deadline = record.deadline;
        let service = Service {
            delay: self.now.since(record.arrival),
            late: record.late(),
            hidden: deadline < self.now,
        };
        self.structure.served(slot);
        self.meter.served(slot as usize, service);
        self.rules.met(&mut record);
        let stream = StreamId { slot, generation: record.generation };
        record.advance(queues.serve(stream), self.align);
        self.structure.store(slot, record);
        Decision::Serve { stream, deadline }
    }
}

impl StreamId {
    /// The stream's place: small whole numbers, for the caller's tables.
    #[inline]
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::ZeroGap => write!(
                f,
                "a gap of 0 ns between packets: give the time between deadlines, or none for a \
                 stream without deadlines"
            ),
            JoinError::WindowTooLong { y, most } => write!(
                f,
                "a window of {y} packets: rule (C) by widening allows at most {most}; take a \
                 shorter window of the same ratio, or another rule"
            ),
            JoinError::Full => write!(f, "no place for another stream"),
            JoinError::Unknown(unknown) => unknown.fmt(f),
        }
    }
}

impl fmt::Display for UnknownStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} left before", self.0.slot)
    }
}

impl core::error::Error for JoinError {}
impl core::error::Error for UnknownStream {}
