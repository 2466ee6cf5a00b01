//! The ready queue of one CPU: earliest deadline first; on ties the running competitor, then the
//! one activated first.

use crate::queue::Queue;

/// Competitors by deadline, or by another key of which the least goes first.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Order {
    queue: Queue,
    next_seq: u64,
    running: Option<u32>,
}

impl Order {
    /// Reserves capacity for competitors numbered below `competitors`.
    pub(crate) fn reserve(&mut self, competitors: usize) {
        self.queue.reserve(competitors);
    }

    /// Adds a competitor, or changes its deadline.
    #[inline]
    pub(crate) fn enter(&mut self, competitor: u32, deadline: u64) {
        if self.queue.key(competitor).is_some() {
            self.queue.rekey(competitor, deadline);
        } else {
            self.next_seq += 1;
            self.queue.set(competitor, deadline, self.next_seq);
        }
    }

    /// Changes the deadline of a queued competitor.
    pub(crate) fn rekey(&mut self, competitor: u32, deadline: u64) {
        self.queue.rekey(competitor, deadline);
    }

    /// Removes a competitor, which loses its precedence on ties.
    #[inline]
    pub(crate) fn leave(&mut self, competitor: u32) {
        self.queue.remove(competitor);
        self.running = self.running.filter(|r| *r != competitor);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.first().is_none()
    }

    /// The competitor with the earliest deadline.
    pub(crate) fn first(&self) -> Option<u32> {
        self.queue.first().map(|(_, competitor)| competitor)
    }

    /// The competitor chosen last, if still queued.
    pub(crate) fn running(&self) -> Option<u32> {
        self.running
    }

    /// A queued competitor runs from now on, by no choice.
    pub(crate) fn resume(&mut self, competitor: u32) {
        self.running = Some(competitor);
    }

    /// Chooses the competitor that runs from now on.
    #[inline]
    pub(crate) fn choose(&mut self) -> Option<u32> {
        let first = self.queue.first()?;
        self.choose_first(first, |_| true)
    }

    /// The same among those competitors that pass; `None` and no change if none does.
    pub(crate) fn choose_of(&mut self, passes: impl Fn(u32) -> bool) -> Option<u32> {
        let first = self.queue.first_of(&passes)?;
        self.choose_first(first, passes)
    }

    /// Chooses the first one, or the running one if its deadline is the same.
    #[inline]
    fn choose_first(
        &mut self,
        (deadline, first): (u64, u32),
        passes: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let stays = self.running.filter(|r| passes(*r) && self.queue.key(*r) == Some(deadline));
        self.running = Some(stays.unwrap_or(first));
        self.running
    }
}
