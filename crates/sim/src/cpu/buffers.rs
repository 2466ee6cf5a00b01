//! Buffers of messages between tasks, as of sockets.
//!
//! A writer to a full buffer sleeps, and is woken when the buffer is at most a quarter full, with all others that wait,
//! as by Linux (`unix_write_space`).

use std::collections::BTreeMap;

/// All buffers of a run, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers(BTreeMap<u32, Buffer>);

#[derive(Clone, Debug, Default)]
struct Buffer {
    messages: u32,
    capacity: u32,
    /// Tasks that sleep: readers of an empty buffer, or writers to a full one.
    waiting: Vec<u32>,
}

impl Buffers {
    /// A task writes a message; returns whom that wakes, or `None` when the buffer is full and the task sleeps.
    pub(super) fn send(&mut self, buffer: u32, capacity: u32, task: u32) -> Option<Vec<u32>> {
        let buffer = self.0.entry(buffer).or_default();
        buffer.capacity = capacity.max(1);
        if buffer.messages >= buffer.capacity {
            buffer.waiting.push(task);
            return None;
        }
        buffer.messages += 1;
        let was_empty = buffer.messages == 1;
        Some(if was_empty { std::mem::take(&mut buffer.waiting) } else { Vec::new() })
    }

    /// A task reads a message; returns whom that wakes, or `None` when there is none and the task sleeps.
    pub(super) fn receive(&mut self, buffer: u32, task: u32) -> Option<Vec<u32>> {
        let buffer = self.0.entry(buffer).or_default();
        if buffer.messages == 0 {
            buffer.waiting.push(task);
            return None;
        }
        buffer.messages -= 1;
        let writable = buffer.messages <= buffer.capacity / 4;
        Some(if writable { std::mem::take(&mut buffer.waiting) } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a writer is woken by the first place that is free, or a reader by each message.
    #[test]
    fn writers_wait_for_a_quarter() {
        let mut buffers = Buffers::default();
        assert_eq!(buffers.receive(1, 7), None);
        assert_eq!(buffers.send(1, 4, 0), Some(vec![7]));
        for _ in 0..3 {
            assert_eq!(buffers.send(1, 4, 0), Some(vec![]));
        }
        assert_eq!([buffers.send(1, 4, 0), buffers.send(1, 4, 2)], [None, None]);
        assert_eq!([buffers.receive(1, 7), buffers.receive(1, 7)], [Some(vec![]), Some(vec![])]);
        assert_eq!(buffers.receive(1, 7), Some(vec![0, 2]));
        assert_eq!(buffers.receive(1, 7), Some(vec![]));
        assert_eq!(buffers.receive(1, 7), None);
    }
}
