//! Decisions and output: what one turn of the scheduler thread does. Time is passed in, so tests
//! decide what it is.

use std::collections::HashMap;
use std::net::UdpSocket;

use laxity_core::{Bytes, Histogram, LinkClock, Rate, Span, Time};
use laxity_dwcs::structure::{Structure, Unsupported};
use laxity_dwcs::{Attributes, Decision, JoinError, Ledger, Options, Scheduler, StreamId};
use laxity_dwcs::{UnknownStream, Window};

use super::counts::{Row, Timing};
use super::table::{Entry, Outlet, Pools, Table};
use crate::receiver::Stamp;
use crate::socket::{AnyChannel, BATCH, Datagram, Fate, Flush};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A whole batch; there may be more to do at once.
    Again,
    /// Nothing to do before this instant.
    Wait(Time),
    /// Nothing waits.
    Idle,
    /// All sockets are full.
    Full,
}

/// The common link, when its rate is limited.
#[derive(Debug)]
struct Link {
    clock: LinkClock,
    overhead: u64,
    credit: Span,
}

/// Scheduler, rings and sockets.
#[derive(Debug)]
pub struct Pacer<S> {
    scheduler: Scheduler<S, Ledger>,
    pub table: Table,
    pub channels: Vec<AnyChannel>,
    /// How the last flush of each channel ended.
    ends: Vec<Flush>,
    link: Option<Link>,
    pub timing: Timing,
    /// Streams fed by other processes; those with empty rings are polled in turn.
    shared: Vec<StreamId>,
}

impl<S: Structure> Pacer<S> {
    pub fn new(
        options: &Options,
        channels: Vec<AnyChannel>,
        pools: Pools,
    ) -> Result<Pacer<S>, Unsupported> {
        Ok(Pacer {
            scheduler: Scheduler::with_meter(options, Ledger::new())?,
            table: Table::new(pools),
            ends: vec![Flush::Done; channels.len()],
            channels,
            link: None,
            timing: Timing::default(),
            shared: Vec::new(),
        })
    }

    /// Limits the total rate; see [`Config::rate`](super::Config::rate). A rate of zero is
    /// no limit.
    pub fn limit(&mut self, rate: Rate, overhead: u64, credit: Span) {
        self.link = LinkClock::new(rate).map(|clock| Link { clock, overhead, credit });
    }

    pub fn join(
        &mut self,
        now: Time,
        attributes: &Attributes,
        entry: Entry,
    ) -> Result<StreamId, JoinError> {
        let stream = self.scheduler.join(now, attributes)?;
        if matches!(entry.outlet, Outlet::Shared { .. }) {
            self.shared.push(stream);
        }
        let slot = stream.slot();
        if self.table.entries.len() <= slot {
            self.table.entries.resize_with(slot + 1, || None);
        }
        self.table.entries[slot] = Some(entry);
        self.announce(now, stream);
        Ok(stream)
    }

    /// Ends a stream; what waits is counted as discarded in the row answered.
    pub fn leave(&mut self, stream: StreamId) -> Result<Row, UnknownStream> {
        let slot = stream.slot();
        self.scheduler.window(stream)?;
        self.table.clear(slot);
        for channel in &mut self.channels {
            let withdrawn = channel.withdraw(slot as u32);
            if let Some(entry) = self.table.entry(slot) {
                entry.counts.discarded += withdrawn as u64;
            }
        }
        let row = self.row(stream)?;
        self.scheduler.leave(stream)?;
        self.table.entries[slot] = None;
        self.shared.retain(|s| *s != stream);
        Ok(row)
    }

    pub fn change(
        &mut self,
        now: Time,
        stream: StreamId,
        attributes: &Attributes,
    ) -> Result<(), JoinError> {
        self.table.now = now;
        self.scheduler.change(now, stream, attributes, &mut self.table)?;
        if let Some(entry) = self.table.entry(stream.slot()) {
            entry.gap = attributes.gap.unwrap_or(Span::ZERO);
        }
        Ok(())
    }

    /// The process that fills a shared ring has ended, or another starts from an empty ring.
    pub fn producer(&mut self, stream: StreamId, attached: bool) -> Result<(), UnknownStream> {
        self.scheduler.window(stream)?;
        let entry = self.table.entry(stream.slot()).ok_or(UnknownStream(stream))?;
        if let Outlet::Shared { ring, .. } = &mut entry.outlet {
            if attached {
                entry.counts.discarded += ring.restart() as u64;
            } else {
                ring.mark_gone();
            }
        }
        Ok(())
    }

    /// Packets may have come into an empty ring.
    pub fn announce(&mut self, now: Time, stream: StreamId) {
        self.table.now = now;
        if self.scheduler.window(stream).is_err() {
            return;
        }
        if let Some(arrival) = self.table.head(stream.slot()) {
            // The stream was just found.
            let _ = self.scheduler.arrive(arrival, stream);
        }
    }

    /// Whether other processes feed streams.
    pub fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Looks whether other processes left packets.
    pub fn poll_shared(&mut self, now: Time) {
        for i in 0..self.shared.len() {
            self.announce(now, self.shared[i]);
        }
    }

    /// The rows of all streams.
    pub fn rows(&mut self) -> HashMap<StreamId, Row> {
        let ids = (0..self.table.entries.len()).filter_map(|slot| self.scheduler.stream_at(slot));
        let ids: Vec<StreamId> = ids.collect();
        ids.into_iter().filter_map(|id| Some((id, self.row(id).ok()?))).collect()
    }

    pub fn row(&mut self, stream: StreamId) -> Result<Row, UnknownStream> {
        let window: Window = self.scheduler.window(stream)?;
        let measures = self.scheduler.meter().of(stream);
        let entry = self.table.entry(stream.slot()).ok_or(UnknownStream(stream))?;
        Ok(Row {
            counts: entry.counts,
            measures,
            window,
            waiting: entry.outlet.waiting(),
            ended: entry.outlet.ended(),
            broken: entry.outlet.broken(),
        })
    }

    /// Decides until a batch is full, nothing may go before later, or the sockets take no more.
    pub fn decide(&mut self, now: Time) -> Turn {
        self.table.now = now;
        let mut room = BATCH;
        while room > 0 {
            if self.ends.iter().all(|end| *end != Flush::Done) && !self.ends.is_empty() {
                return Turn::Full;
            }
            let mut start = now;
            if let Some(link) = &self.link {
                let free = link.clock.free_at();
                if free > now {
                    return Turn::Wait(free);
                }
                // Late waking must not cost rate, so a packet starts where the last one ended,
                // as long as that is not too long ago.
                start = free.max(now - link.credit);
            }
            match self.scheduler.next(now, &mut self.table) {
                Decision::Wait(until) => return Turn::Wait(until),
                Decision::Idle => return Turn::Idle,
                Decision::Serve { stream, deadline } => {
                    room -= 1;
                    self.output(stream, deadline, start);
                }
            }
        }
        Turn::Again
    }

    #[inline]
    fn output(&mut self, stream: StreamId, deadline: Time, start: Time) {
        // A ring that its producer broke may lose its head between two looks.
        let Some(packet) = self.table.popped.take() else { return };
        // The kernel copies the body soon; another core wrote it.
        for line in packet.body.chunks(64).take(4) {
            laxity_ring::prefetch(&line[0]);
        }
        let slot = stream.slot();
        let Some(entry) = self.table.entry(slot) else { return };
        let mut due = packet.arrival;
        if deadline != Time::MAX {
            due = due.max(deadline - entry.gap);
        }
        if let Some(link) = &mut self.link {
            let free = link.clock.free_at();
            due = due.max(free);
            let bytes = Bytes(packet.body.len() as u64 + link.overhead);
            link.clock.transmit(start, bytes);
        }
        let datagram =
            Datagram { body: packet.body, stream: slot as u32, due: due.0, stamp: packet.stamp };
        let to = entry.to;
        if let Err(back) = self.channels[entry.channel].push(&to, datagram) {
            entry.counts.socket_full += 1;
            self.table.recycle(slot, back.body);
        }
    }

    /// Sends what was decided. `absolute` turns an instant into one of the machine's monotonic
    /// clock, `now` reads the server's clock, `wall` the one that is set now and then: it goes into
    /// stamps and decides nothing.
    pub fn flush(
        &mut self,
        absolute: impl Fn(Time) -> u64,
        now: impl Fn() -> Time,
        wall: impl Fn() -> u64,
    ) {
        let Pacer { table, channels, timing, ends, .. } = self;
        for (channel, end) in channels.iter_mut().zip(ends) {
            *end = Flush::Done;
            if channel.is_empty() {
                continue;
            }
            let start = now();
            let stamp = Stamp { monotonic: absolute(start), wall: wall() };
            for datagram in channel.waiting().filter(|d| d.stamp != 0) {
                stamp.write(&mut datagram.body, usize::from(datagram.stamp));
            }
            let Timing { send_lateness, left, calls, full: was_full, busy: was_busy, .. } = timing;
            let mut sent = Sent { start, dues: [0; BATCH], count: 0 };
            *end = channel.flush(|datagram, fate| {
                sent.count(&datagram, fate, stamp.monotonic, table, send_lateness);
                table.recycle(datagram.stream as usize, datagram.body);
            });
            *calls += 1;
            *was_full += u64::from(*end == Flush::Full);
            *was_busy += u64::from(*end == Flush::Busy);
            sent.returned(now(), left);
        }
    }

    /// Whether some socket is full.
    pub fn is_full(&self) -> bool {
        self.ends.iter().any(|end| *end != Flush::Done)
    }

    /// The sockets to be polled for writability.
    pub fn full_sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        let full = self.channels.iter().zip(&self.ends).filter(|(_, end)| **end == Flush::Full);
        full.map(|(channel, _)| &**channel.socket())
    }

    /// Counts all that waits anywhere as discarded.
    pub fn discard_all(&mut self) {
        for slot in 0..self.table.entries.len() {
            self.table.clear(slot);
        }
        for channel in &mut self.channels {
            for datagram in channel.take_waiting() {
                if let Some(entry) = self.table.entry(datagram.stream as usize) {
                    entry.counts.discarded += 1;
                }
            }
        }
    }

    /// Whether every ring and socket is empty.
    pub fn is_drained(&mut self) -> bool {
        self.channels.iter().all(AnyChannel::is_empty)
            && self.table.entries.iter_mut().flatten().all(|e| e.outlet.waiting() == 0)
    }
}

/// The packets of one flush.
struct Sent {
    start: Time,
    dues: [u64; BATCH],
    count: usize,
}

impl Sent {
    #[inline]
    fn count(
        &mut self,
        datagram: &Datagram,
        fate: Fate,
        at: u64,
        table: &mut Table,
        send_lateness: &mut Histogram,
    ) {
        let Some(entry) = table.entry(datagram.stream as usize) else { return };
        match fate {
            Fate::Sent => {
                entry.counts.sent += 1;
                entry.counts.sent_bytes += datagram.body.len() as u64;
                if let Some(reported) = &entry.reported {
                    reported.packets.set(entry.counts.sent);
                    reported
                        .octets
                        .set(entry.counts.sent_bytes.saturating_sub(12 * entry.counts.sent));
                    if let Some(&[a, b, c, d]) = datagram.body.get(4..8) {
                        reported.timestamp.set(u32::from_be_bytes([a, b, c, d]).into());
                    }
                    reported.at.set(at);
                }
                send_lateness.record(self.start.0.saturating_sub(datagram.due));
                self.dues[self.count] = datagram.due;
                self.count += 1;
            }
            Fate::TooLong => entry.counts.too_long += 1,
            Fate::Refused(_) => entry.counts.send_error += 1,
        }
    }

    fn returned(&self, now: Time, left: &mut Histogram) {
        for due in &self.dues[..self.count] {
            left.record(now.0.saturating_sub(*due));
        }
    }
}
