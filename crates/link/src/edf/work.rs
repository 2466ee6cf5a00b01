//! Queued work of one class due by a deadline, in O(log n).
//!
//! Within a class deadlines do not decrease from oldest to newest, so "due by `T`" is a prefix.
//! Each chunk notes the deadline of its first item and all the work its class had queued before
//! it since the queue was made; the end of the prefix is then found by skipping from the newest
//! chunk backwards. Chunks carry one skip link each, laid out as in a skew-binary number (Myers,
//! "An applicative random-access stack", 1983), which gives O(log n) steps. The oldest chunks are
//! freed while skip links still point at them; since chunks are numbered, such a link is
//! recognised by its number and never followed.

use alloc::{boxed::Box, vec, vec::Vec};

use laxity_core::Time;

use super::{
    Entry,
    fifos::{Fifos, reserved},
};

#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Deadline of the chunk's first item.
    deadline: u64,
    /// Work pushed to the class before the chunk's first item, wrapping.
    before: u64,
    /// Place in the class; the next chunk has the next number.
    number: u64,
    /// Number of the chunk that `skip` pointed at when it was set.
    skip_number: u64,
    skip: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Work ever pushed and popped, in wire bytes. They wrap; only differences are used, and those
    /// are bounded by what fits in the queue.
    pushed: u64,
    popped: u64,
    /// Deadline of the newest item; stale when the class is empty.
    newest: u64,
}

/// The marks of all chunks and the totals of all classes.
#[derive(Clone, Debug)]
pub(super) struct WorkIndex {
    /// Of the chunks begun so far.
    marks: Vec<Mark>,
    totals: Box<[Totals]>,
}

impl WorkIndex {
    pub(super) fn new(classes: usize, chunks: usize) -> WorkIndex {
        WorkIndex {
            marks: reserved(chunks),
            totals: vec![Totals::default(); classes].into_boxed_slice(),
        }
    }

    /// Records an entry that was just pushed, and the chunk begun for it, if any. (Values, not a
    /// reference to the entry, which then need not be built in memory first.)
    #[inline]
    pub(super) fn pushed(
        &mut self,
        class: usize,
        (deadline, wire): (Time, u32),
        begun: Option<usize>,
        fifos: &Fifos<Entry>,
    ) {
        if let Some(chunk) = begun {
            self.mark(class, deadline, chunk, fifos);
        }
        let totals = &mut self.totals[class];
        totals.pushed = totals.pushed.wrapping_add(u64::from(wire));
        totals.newest = deadline.0;
    }

    #[inline]
    pub(super) fn popped(&mut self, class: usize, wire: u32) {
        let totals = &mut self.totals[class];
        totals.popped = totals.popped.wrapping_add(u64::from(wire));
    }

    /// Deadline of the newest item of a class that is not empty.
    #[inline]
    pub(super) fn newest(&self, class: usize) -> u64 {
        self.totals[class].newest
    }

    /// All queued work of a class, in wire bytes.
    #[inline]
    pub(super) fn queued(&self, class: usize) -> u64 {
        let totals = &self.totals[class];
        totals.pushed.wrapping_sub(totals.popped)
    }

    fn mark(&mut self, class: usize, deadline: Time, chunk: usize, fifos: &Fifos<Entry>) {
        let mut mark = Mark {
            deadline: deadline.0,
            before: self.totals[class].pushed,
            number: 0,
            skip_number: 0,
            skip: chunk as u32, // a class's first chunk skips to itself
        };
        if let Some(prev) = fifos.chunk_before(chunk) {
            let last = self.marks[prev];
            mark.number = last.number + 1;
            (mark.skip, mark.skip_number) = (prev as u32, last.number);
            // Not read from the head's mark, which is no longer cached.
            let head_number = mark.number + 1 - fifos.chunks_of(class) as u64;
            if last.skip_number >= head_number {
                // Two skips of one length in a row become one of twice the length.
                let over = self.marks[last.skip as usize];
                if last.number - last.skip_number == over.number - over.skip_number {
                    (mark.skip, mark.skip_number) = (over.skip, over.skip_number);
                }
            }
        }
        // Chunks are first begun in the order of their numbers.
        match self.marks.get_mut(chunk) {
            Some(old) => *old = mark,
            None => self.marks.push(mark),
        }
    }

    /// Queued work of a class with a deadline no later than `deadline`, in wire bytes, and the
    /// number of marks that were visited.
    pub(super) fn until(&self, class: usize, deadline: Time, fifos: &Fifos<Entry>) -> (u64, u32) {
        let Some((head, tail)) = fifos.end_chunks(class) else { return (0, 0) };
        let totals = &self.totals[class];
        if totals.newest <= deadline.0 {
            return (self.queued(class), 0);
        }
        let head_number = self.marks[tail].number + 1 - fifos.chunks_of(class) as u64;
        let (mut chunk, mut visited) = (tail, 0);
        while chunk != head && self.marks[chunk].deadline > deadline.0 {
            let mark = &self.marks[chunk];
            visited += 1;
            let far = mark.skip_number >= head_number
                && self.marks[mark.skip as usize].deadline > deadline.0;
            chunk = match fifos.chunk_before(chunk) {
                Some(prev) if !far => prev,
                _ => mark.skip as usize,
            };
        }
        let due: u64 = fifos
            .chunk_items(class, chunk)
            .iter()
            .take_while(|entry| entry.deadline <= deadline)
            .map(|entry| u64::from(entry.packet.wire))
            .sum();
        // The head chunk's mark counts items that have left; its waiting items are counted again.
        if chunk == head {
            (due, visited)
        } else {
            (self.marks[chunk].before.wrapping_sub(totals.popped) + due, visited)
        }
    }
}
