//! Who goes first: the earliest deadline; among equals the running one, then the first activated.

use crate::queue::Queue;

/// Competitors by deadline, or by whatever else is least first.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Order {
    queue: Queue,
    turns: u64,
    running: Option<u32>,
}

impl Order {
    /// Makes room for competitors numbered below `competitors`.
    pub(crate) fn reserve(&mut self, competitors: usize) {
        self.queue.reserve(competitors);
    }

    /// One starts competing, or goes on with another deadline.
    #[inline]
    pub(crate) fn enter(&mut self, competitor: u32, deadline: u64) {
        if self.queue.key(competitor).is_some() {
            self.queue.rekey(competitor, deadline);
        } else {
            self.turns += 1;
            self.queue.set(competitor, deadline, self.turns);
        }
    }

    /// Another deadline for one that competes; nothing for others.
    pub(crate) fn rekey(&mut self, competitor: u32, deadline: u64) {
        self.queue.rekey(competitor, deadline);
    }

    /// One stops competing, and has no claim to go first among equals later.
    #[inline]
    pub(crate) fn leave(&mut self, competitor: u32) {
        self.queue.remove(competitor);
        self.running = self.running.filter(|r| *r != competitor);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.first().is_none()
    }

    /// The one with the earliest deadline.
    pub(crate) fn first(&self) -> Option<u32> {
        self.queue.first().map(|(_, competitor)| competitor)
    }

    /// The one chosen last, if it still competes.
    pub(crate) fn running(&self) -> Option<u32> {
        self.running
    }

    /// Who runs from now on.
    #[inline]
    pub(crate) fn choose(&mut self) -> Option<u32> {
        let (deadline, first) = self.queue.first()?;
        let stays = self.running.filter(|r| self.queue.key(*r) == Some(deadline));
        self.running = Some(stays.unwrap_or(first));
        self.running
    }
}
