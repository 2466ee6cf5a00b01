//! Counts of the events of each stream.

use alloc::vec::Vec;

use laxity_core::Histogram;

use crate::history::History;
use crate::{Meter, Misses, Service, StreamId, Tolerance};

/// Counts of the events of a stream, or of several.
///
/// Windows are counted over *slots*: each packet sent and each deadline missed is one. A packet
/// that missed twice before it was sent takes three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Packets sent.
    pub served: u64,
    /// Packets sent without having missed a deadline.
    pub met: u64,
    /// Deadlines missed; more than one for a packet that is not dropped.
    pub missed: u64,
    /// Packets dropped because they missed their deadline.
    pub dropped: u64,
    /// Packets sent after missing a deadline.
    pub late: u64,
    /// Packets sent late without the miss being charged; see [`Service::hidden`]. In windows they
    /// count as met, as in the algorithm.
    pub hidden: u64,
    /// Windows of `y` slots, back to back from the start, with more than `x` misses; the current
    /// one counts as soon as it has them. What admission promises is that there are none.
    pub tumbling: u64,
    /// Misses that found the current window without tolerance: the scheduler's own count, rule
    /// (C). For alarms it is the cheapest.
    pub rule_c: u64,
    /// Longest run of deadlines missed in a row.
    pub longest_run: u64,
    /// With a [history](Ledger::with_history): misses that made more than `x` of the last `y`
    /// slots.
    pub at_miss: u64,
    /// With a [history](Ledger::with_history): windows of `y` consecutive slots, begun at any slot,
    /// with more than `x` misses.
    pub sliding: u64,
}

impl Measures {
    /// Adds those of another stream.
    pub fn merge(&mut self, other: &Measures) {
        let pairs = [
            (&mut self.served, other.served),
            (&mut self.met, other.met),
            (&mut self.missed, other.missed),
            (&mut self.dropped, other.dropped),
            (&mut self.late, other.late),
            (&mut self.hidden, other.hidden),
            (&mut self.tumbling, other.tumbling),
            (&mut self.rule_c, other.rule_c),
            (&mut self.at_miss, other.at_miss),
            (&mut self.sliding, other.sliding),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.longest_run = self.longest_run.max(other.longest_run);
    }
}

/// Counts for every stream, and queueing delays for classes of them.
///
/// Takes 128 bytes a stream; [a history](Self::with_history) adds 48 bytes and `y` bits; each
/// class has a histogram of about 30 KiB.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    rows: Vec<Row>,
    history: bool,
    delays: Vec<Histogram>,
}

#[derive(Clone, Debug)]
struct Row {
    measures: Measures,
    /// Misses since the last packet sent.
    run: u64,
    tolerance: Tolerance,
    /// Slots and misses of the current back-to-back window.
    slots: u16,
    misses: u16,
    class: u32,
    history: Option<alloc::boxed::Box<History>>,
}

const NO_CLASS: u32 = u32::MAX;

impl Ledger {
    /// Counts without histories.
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Keeps the last `y` slots of every stream that joins from now on, for
    /// [`Measures::at_miss`] and [`Measures::sliding`].
    #[must_use]
    pub fn with_history(mut self) -> Ledger {
        self.history = true;
        self
    }

    /// Keeps queueing delays of this many classes.
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Ledger {
        self.delays.resize(classes, Histogram::new());
        self
    }

    /// From now on the stream's queueing delays count for `class`; for none when there is no such
    /// class. A stream that joins belongs to none.
    pub fn set_class(&mut self, stream: StreamId, class: usize) {
        if let Some(row) = self.rows.get_mut(stream.slot()) {
            row.class = u32::try_from(class).unwrap_or(NO_CLASS);
        }
    }

    /// The counts of a stream; after it left, until another stream reuses its slot.
    pub fn of(&self, stream: StreamId) -> Measures {
        self.rows.get(stream.slot()).map_or(Measures::default(), |row| row.measures)
    }

    /// Slots and misses so far of the stream's current back-to-back window.
    pub fn current(&self, stream: StreamId) -> (u16, u16) {
        self.rows.get(stream.slot()).map_or((0, 0), |row| (row.slots, row.misses))
    }

    /// The sum over all slots ever used.
    pub fn total(&self) -> Measures {
        let mut total = Measures::default();
        self.rows.iter().for_each(|row| total.merge(&row.measures));
        total
    }

    /// From arrival to start of service of a class's packets, in nanoseconds.
    pub fn delays(&self, class: usize) -> Option<&Histogram> {
        self.delays.get(class)
    }
}

impl Meter for Ledger {
    fn join(&mut self, slot: usize, tolerance: Tolerance, fresh: bool) {
        let row = |measures, class, history| Row {
            measures,
            run: 0,
            tolerance,
            slots: 0,
            misses: 0,
            class,
            history,
        };
        let history = self.history.then(|| History::new(tolerance).into());
        while self.rows.len() <= slot {
            self.rows.push(row(Measures::default(), NO_CLASS, None));
        }
        let old = &mut self.rows[slot];
        *old = if fresh {
            row(Measures::default(), NO_CLASS, history)
        } else {
            Row { run: old.run, ..row(old.measures, old.class, history) }
        };
    }

    #[inline]
    fn served(&mut self, slot: usize, service: Service) {
        let row = &mut self.rows[slot];
        let measures = &mut row.measures;
        measures.served += 1;
        measures.late += u64::from(service.late);
        measures.hidden += u64::from(service.hidden && !service.late);
        measures.met += u64::from(!service.late && !service.hidden);
        row.run = 0;
        row.slots += 1;
        if row.slots >= row.tolerance.y() {
            (row.slots, row.misses) = (0, 0);
        }
        if let Some(history) = &mut row.history {
            measures.sliding += u64::from(history.met());
        }
        if let Some(delays) = self.delays.get_mut(row.class as usize) {
            delays.record(service.delay.0);
        }
    }

    #[inline]
    fn missed(&mut self, slot: usize, misses: Misses) {
        let row = &mut self.rows[slot];
        row.measures.missed += misses.count;
        row.measures.rule_c += misses.violations;
        if misses.dropped {
            row.measures.dropped += misses.count;
        }
        row.run += misses.count;
        row.measures.longest_run = row.measures.longest_run.max(row.run);
        row.measures.tumbling += row.tumble(misses.count);
        if let Some(history) = &mut row.history {
            let (at_miss, sliding) = history.missed(misses.count);
            row.measures.at_miss += at_miss;
            row.measures.sliding += sliding;
        }
    }
}

impl Row {
    /// Enters misses into the back-to-back windows; answers how many windows they overfilled.
    fn tumble(&mut self, count: u64) -> u64 {
        let (x, y) = (self.tolerance.x(), self.tolerance.y());
        if x == y {
            return 0; // includes 0/0, which has no window
        }
        let room = u64::from(y - self.slots);
        let overfilled = |before: u16, after: u16| u64::from(before <= x && after > x);
        if count < room {
            let before = self.misses;
            self.slots += count as u16;
            self.misses += count as u16;
            return overfilled(before, self.misses);
        }
        let first = overfilled(self.misses, self.misses + room as u16);
        let rest = count - room;
        let last = (rest % u64::from(y)) as u16;
        (self.slots, self.misses) = (last, last);
        first + rest / u64::from(y) + overfilled(0, last)
    }
}

#[cfg(test)]
mod tests;
