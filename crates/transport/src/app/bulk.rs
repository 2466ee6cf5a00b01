//! A transfer, of a given size or without end.

use laxity_core::{Bytes, Time};

use super::{Completion, Pairs, Workload};
use crate::packet::Direction;

/// A transfer in one direction over one connection.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    direction: Direction,
    bytes: Option<Bytes>,
    started: Option<Time>,
    complete: bool,
}

impl Bulk {
    /// `bytes`, or without end.
    pub fn new(direction: Direction, bytes: Option<Bytes>) -> Bulk {
        Bulk { direction, bytes, started: None, complete: false }
    }
}

impl Workload for Bulk {
    fn advance(&mut self, now: Time, pairs: &mut Pairs) -> Option<Completion> {
        let ends = &mut pairs.open()[0];
        let (from, to) = match self.direction {
            Direction::Up => (&mut ends.client, &ends.server),
            Direction::Down => (&mut ends.server, &ends.client),
        };
        let started = *self.started.get_or_insert_with(|| {
            from.write(self.bytes.unwrap_or(Bytes(u64::MAX)));
            now
        });
        let bytes = self.bytes.filter(|bytes| !self.complete && to.received() == *bytes)?;
        self.complete = true;
        Some(Completion { started, ended: now, bytes })
    }
}
