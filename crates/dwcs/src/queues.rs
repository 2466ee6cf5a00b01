//! The caller's packets, as the scheduler sees them.

use laxity_core::Time;

use crate::StreamId;

/// The caller's FIFOs, one for each stream.
///
/// The scheduler never sees a packet. It names the stream whose head is sent or has missed its
/// deadline; the caller removes that packet and returns the arrival of the next one. So every
/// packet that is not sent passes through the caller's hands, and a stream that is always
/// backlogged costs no queue at all.
///
/// Arrivals within a stream do not decrease. A caller without arrival times may return
/// [`Time::ZERO`]: deadlines then follow each other at the gap as if the packet had waited all
/// along.
pub trait Queues {
    /// The head of `stream` goes out: take it from the queue. Answers when the packet behind it
    /// arrived, `None` when there is none.
    fn serve(&mut self, stream: StreamId) -> Option<Time>;

    /// The head of `stream` missed its deadline and will not be sent: take it from the queue.
    /// Answers as [`serve`](Self::serve).
    fn drop_head(&mut self, stream: StreamId) -> Option<Time>;

    /// Drops the head and those behind it that missed their deadlines with it: at most
    /// [`Overdue::at_most`] in all, and none that arrived after [`Overdue::arrived_by`]. Worth
    /// giving where a whole stretch of a queue can be dropped at once.
    fn drop_heads(&mut self, stream: StreamId, which: Overdue) -> Dropped {
        let mut count = 1;
        let mut next = self.drop_head(stream);
        while count < which.at_most && next.is_some_and(|arrival| arrival <= which.arrived_by) {
            next = self.drop_head(stream);
            count += 1;
        }
        Dropped { count, next }
    }
}

/// Which packets to drop; see [`Queues::drop_heads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// How many at most; at least 1.
    pub at_most: u64,
    /// None behind the head that arrived later.
    pub arrived_by: Time,
}

/// Which packets were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// How many; at least 1.
    pub count: u64,
    /// When the packet behind them arrived.
    pub next: Option<Time>,
}
