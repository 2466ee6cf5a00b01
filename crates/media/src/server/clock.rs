//! Time, and sleeping until a certain time.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use laxity_core::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock: steps of the wall clock move no deadline.
pub fn monotonic() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970, for what leaves the machine: sender reports and stamps.
pub fn wall() -> u64 {
    nanoseconds(ClockId::CLOCK_REALTIME)
}

/// CPU time of the calling thread, kernel time included, in nanoseconds.
pub fn thread_cpu() -> u64 {
    nanoseconds(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn nanoseconds(clock: ClockId) -> u64 {
    // These clocks exist on every Linux, and their numbers are not negative.
    clock_gettime(clock).map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// Time since the server started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { origin: monotonic() }
    }

    #[inline]
    pub fn now(&self) -> Time {
        Time(monotonic().saturating_sub(self.origin))
    }

    /// An instant of this clock on the monotonic clock of the machine.
    pub fn absolute(&self, at: Time) -> u64 {
        self.origin.saturating_add(at.0)
    }
}

/// Wakes a thread that sleeps in [`Sleeper::sleep`].
#[derive(Clone, Debug)]
pub struct Waker(Arc<Bed>);

#[derive(Debug)]
struct Bed {
    asleep: AtomicBool,
    event: EventFd,
}

/// The sleeping end.
#[derive(Debug)]
pub struct Sleeper {
    bed: Arc<Bed>,
    clock: Clock,
    spin: Span,
}

impl Sleeper {
    /// `spin`: the last part of a sleep that is spent looking at the clock, for precision.
    pub fn new(clock: Clock, spin: Span) -> nix::Result<Sleeper> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let event = EventFd::from_value_and_flags(0, flags)?;
        Ok(Sleeper { bed: Arc::new(Bed { asleep: AtomicBool::new(false), event }), clock, spin })
    }

    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.bed))
    }

    /// Sleeps until `until` (for ever without it), until woken, or until one of `writable` can be
    /// written to, unless `busy`, looked at after a waker would already see the sleeper, says that
    /// there is something to do.
    pub fn sleep(
        &self,
        until: Option<Time>,
        writable: &[BorrowedFd<'_>],
        busy: impl FnOnce() -> bool,
    ) {
        self.bed.asleep.store(true, Ordering::Relaxed);
        // Either the waker sees `asleep`, or this thread sees what the waker left.
        fence(Ordering::SeqCst);
        if !busy() {
            let early = until.map(|t| t - self.spin);
            let left = early.map(|t| t.since(self.clock.now()));
            if left != Some(Span::ZERO) {
                let timeout =
                    left.map(|s| TimeSpec::from_duration(std::time::Duration::from_nanos(s.0)));
                let mut fds: Vec<PollFd<'_>> =
                    writable.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLOUT)).collect();
                fds.push(PollFd::new(std::os::fd::AsFd::as_fd(&self.bed.event), PollFlags::POLLIN));
                // An interrupted sleep is a short one.
                let _ = ppoll(&mut fds, timeout, None);
            }
        }
        if !self.bed.asleep.swap(false, Ordering::Relaxed) {
            let _ = self.bed.event.read();
        }
        if let Some(until) = until.filter(|_| self.spin > Span::ZERO) {
            let now = self.clock.now();
            if until.since(now) <= self.spin {
                while self.clock.now() < until {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

impl Waker {
    /// Wakes the sleeper; costs a fence when it does not sleep.
    #[inline]
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.0.asleep.load(Ordering::Relaxed) && self.0.asleep.swap(false, Ordering::Relaxed) {
            // The counter cannot overflow: one write for each sleep.
            let _ = self.0.event.write(1);
        }
    }
}
