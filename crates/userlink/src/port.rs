//! Where frames come from and go to: what a way of input and output has to do.

use std::os::fd::BorrowedFd;

use rustix::time::{ClockId, clock_gettime};

use laxity_core::Time;

use crate::counts::Counts;
use crate::error::WireError;
use crate::pool::{Pool, Slot};

/// Where frames that come in are put.
#[derive(Debug)]
pub struct Intake<'a> {
    /// Gives each its buffer.
    pub pool: &'a mut Pool,
    /// The buffers, in order of arrival.
    pub arrived: &'a mut Vec<Slot>,
    /// The counts of frames processed and lost.
    pub counts: &'a mut Counts,
}

/// Frames in.
pub trait Receive: Send {
    /// Receives what waits, each frame into a buffer with its length and stamp. Does not wait.
    /// An interface that is down gives no frames.
    ///
    /// # Errors
    /// The interface was removed, or the system refuses.
    fn receive(&mut self, intake: &mut Intake<'_>) -> Result<(), WireError>;

    /// Becomes readable when there is something to receive.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Looks whether the interface is still there, and adds what was lost since the last time
    /// because they were not read in time. Called periodically.
    ///
    /// # Errors
    /// The interface was removed.
    fn check(&mut self, counts: &mut Counts) -> Result<(), WireError>;
}

/// Frames out.
pub trait Transmit: Send {
    /// Hands frames to the interface, in order, as far as it accepts them. Does not wait.
    ///
    /// # Errors
    /// The interface was removed, or the system refuses. Frames it has not taken stay with the
    /// caller, in any case.
    fn transmit(&mut self, pool: &Pool, frames: &[Slot]) -> Result<Transmitted, WireError>;

    /// Looks whether the interface is still there. Called now and then.
    ///
    /// # Errors
    /// The interface was removed.
    fn check(&mut self) -> Result<(), WireError>;
}

/// How far the interface went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmitted {
    /// So many frames, the first ones, are out of our hands.
    pub frames: usize,
    /// Why the next one is not.
    pub obstacle: Option<Obstacle>,
}

/// Why the interface does not take a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It has no room now.
    Full,
    /// It is down.
    Down,
    /// It never will: the frame is too long.
    TooLong,
    /// It never will: the packet has no way to where it is addressed.
    Unroutable,
}

/// The monotonic clock.
pub fn now() -> Time {
    nanoseconds(ClockId::Monotonic)
}

/// The wall clock, which the kernel's stamps are read from.
pub(crate) fn wall() -> Time {
    nanoseconds(ClockId::Realtime)
}

/// Processor time of the calling thread, the kernel's part included, in ns.
pub fn thread_time() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime).0
}

fn nanoseconds(clock: ClockId) -> Time {
    let time = clock_gettime(clock);
    Time(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}
