//! One direction: a thread that receives, schedules, sends, and sleeps until there is
//! something to do.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};

use laxity_core::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::WireError;
use crate::forwarder::{BATCH, Forwarder, Outgoing};
use crate::pool::Slot;
use crate::port::{self, Obstacle, Receive, Transmit};

/// Retry interval of an interface without room.
const FULL: Span = Span(50_000);

/// Retry interval of an interface that is down.
const DOWN: Span = Span(5_000_000);

/// The longest sleep: so often is looked what the kernel lost, and whether the interfaces are there.
const LONGEST: Span = Span(500_000_000);

/// Its place among what is waited for.
const WAKER: usize = 0;

/// The nice value of a thread that goes before the others.
const FIRST: i32 = -20;

/// A scheduler between two interfaces.
pub struct Direction {
    forwarder: Forwarder,
    receive: Box<dyn Receive>,
    transmit: Box<dyn Transmit>,
    arrived: Vec<Slot>,
    /// Chosen, but not yet accepted by the interface.
    chosen: VecDeque<Outgoing>,
    slots: Vec<Slot>,
    /// Instant of the next attempt to send.
    again: Option<Time>,
    /// How long before an event the thread no longer sleeps.
    spin: Span,
    /// When the interfaces were last looked at.
    asked: Time,
    clock: Box<dyn Fn() -> Time + Send>,
}

/// The event to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: there is more to do.
    No,
    /// Frames that come in, or this instant.
    Until(Option<Time>),
}

impl std::fmt::Debug for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Direction").field("forwarder", &self.forwarder).finish_non_exhaustive()
    }
}

impl Direction {
    /// Joins a scheduler to its interfaces.
    pub fn new(
        forwarder: Forwarder,
        receive: Box<dyn Receive>,
        transmit: Box<dyn Transmit>,
        spin: Span,
    ) -> Direction {
        Direction {
            forwarder,
            receive,
            transmit,
            arrived: Vec::with_capacity(2 * BATCH),
            chosen: VecDeque::with_capacity(BATCH),
            slots: Vec::with_capacity(BATCH),
            again: None,
            spin,
            asked: Time::ZERO,
            clock: Box::new(port::now),
        }
    }

    /// Sets another clock than the machine's, for simulated time.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Time + Send + 'static) -> Direction {
        Direction { clock: Box::new(clock), ..self }
    }

    /// The scheduler.
    pub fn forwarder(&mut self) -> &mut Forwarder {
        &mut self.forwarder
    }

    /// One round: receives what waits, decides what was to start until now, hands it over.
    ///
    /// # Errors
    /// An interface was removed, or the system refuses.
    pub fn round(&mut self, now: Time) -> Result<Wait, WireError> {
        self.forwarder.now(now);
        self.forwarder.counts_mut().rounds += 1;
        if now.since(self.asked) >= LONGEST {
            self.asked = now;
            self.check()?;
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        let received = self.forwarder.receive(&mut *self.receive, &mut arrived);
        let many = arrived.len();
        for slot in arrived.drain(..) {
            let stamp = self.forwarder.frames().stamp(slot);
            // The thread may have been kept waiting since the round began.
            self.forwarder.now(stamp);
            self.decide(now, Time(stamp.0.saturating_sub(1)))?;
            self.forwarder.arrive(slot);
        }
        self.arrived = arrived;
        received?;
        self.decide(now, now)?;
        self.hand_over(now)?;
        if many > 0 || (self.again.is_none() && !self.chosen.is_empty()) {
            return Ok(Wait::No);
        }
        let event = if self.chosen.is_empty() { self.forwarder.next_event() } else { None };
        Ok(Wait::Until([event, self.again].into_iter().flatten().min()))
    }

    fn check(&mut self) -> Result<(), WireError> {
        self.receive.check(self.forwarder.counts_mut())?;
        self.transmit.check()
    }

    /// Makes the decisions until an instant, as long as the interface accepts frames within the
    /// credit.
    fn decide(&mut self, now: Time, until: Time) -> Result<(), WireError> {
        loop {
            let first = self.chosen.front().filter(|_| self.again.is_some());
            if first.is_some_and(|first| self.forwarder.is_overdue(first, until)) {
                return Ok(());
            }
            if self.chosen.len() == BATCH {
                self.hand_over(now)?;
                if self.chosen.len() == BATCH {
                    return Ok(());
                }
            }
            match self.forwarder.depart(until) {
                Some(outgoing) => self.chosen.push_back(outgoing),
                None => return Ok(()),
            }
        }
    }

    /// Hands over the chosen frames, unless it is too early for a retry.
    fn hand_over(&mut self, now: Time) -> Result<(), WireError> {
        let again = self.again.take_if(|again| *again <= now);
        if self.again.is_some() || self.chosen.is_empty() && again.is_none() {
            return Ok(());
        }
        self.slots.clear();
        self.slots.extend(self.chosen.iter().map(Outgoing::slot));
        let transmitted = self.transmit.transmit(self.forwarder.frames(), &self.slots);
        let transmitted = transmitted?;
        let handed = (self.clock)();
        for outgoing in self.chosen.drain(..transmitted.frames) {
            self.forwarder.sent(&outgoing, handed);
        }
        let counts = self.forwarder.counts_mut();
        match transmitted.obstacle {
            None => {}
            Some(Obstacle::Full) => {
                counts.blocked += 1;
                self.again = Some(now + FULL);
            }
            Some(Obstacle::Down) => {
                counts.down += 1;
                self.again = Some(now + DOWN);
            }
            Some(why @ (Obstacle::TooLong | Obstacle::Unroutable)) => {
                if let Some(outgoing) = self.chosen.pop_front() {
                    self.forwarder.refused(&outgoing, why == Obstacle::TooLong);
                }
            }
        }
        Ok(())
    }

    /// Runs until `stop` returns true; `waker` wakes it for that.
    ///
    /// # Errors
    /// An interface was removed, or the system refuses.
    pub fn run(
        &mut self,
        waker: BorrowedFd<'_>,
        mut stop: impl FnMut(&mut Forwarder) -> bool,
    ) -> Result<(), WireError> {
        // By default the system adds up to 50 us to each sleep, and lets a thread that wakes wait
        // for others. Where this may not be changed, the threads are later, and say so.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), FIRST);
        let mut woken_for = None;
        loop {
            let now = (self.clock)();
            if let Some(wanted) = woken_for.take().filter(|wanted| *wanted <= now) {
                self.forwarder.counts_mut().wakes.record(now.since(wanted).0);
            }
            let wait = self.round(now)?;
            if stop(&mut self.forwarder) {
                // Losses count to the end; a removed interface no longer matters.
                let _ = self.check();
                return Ok(());
            }
            if let Wait::Until(event) = wait {
                woken_for = event;
                self.sleep(now, event, waker);
            }
        }
    }

    fn sleep(&self, now: Time, event: Option<Time>, waker: BorrowedFd<'_>) {
        let sleep = event.map_or(LONGEST, |event| event.since(now).min(LONGEST));
        let nanoseconds = sleep.0.saturating_sub(self.spin.0);
        if event.is_some() && nanoseconds == 0 {
            return;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: nanoseconds as _ };
        let fd = self.receive.fd();
        let mut fds = [
            PollFd::from_borrowed_fd(waker, PollFlags::IN),
            PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN),
        ];
        // Interrupted or not: the next round sees what there is.
        let _ = poll(&mut fds, Some(&timeout));
        if !fds[WAKER].revents().is_empty() {
            // A waking thread sets its flag before, so that reading the event misses nothing.
            let _ = rustix::io::read(waker, &mut [0u8; 8]);
        }
    }
}
