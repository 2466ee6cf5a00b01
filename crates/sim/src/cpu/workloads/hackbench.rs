//! hackbench: groups of processes that send messages through socket pairs.

use laxity_core::Span;

use crate::cpu::{Step, Task, Workload};

/// Senders of a group, and receivers.
const PEERS: u32 = 20;

/// So many groups of 20 senders and 20 receivers. In each of `loops` rounds a sender writes a message to each receiver
/// of its group, which has one buffer for all senders.
///
/// The time that hackbench prints is that from the start until the last process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hackbench {
    /// Number of groups.
    pub groups: u32,
    /// Rounds of each sender.
    pub loops: u32,
    /// Messages that a buffer holds.
    pub buffer: u32,
    /// Execution time of writing a message.
    pub send: Span,
    /// Execution time of reading one.
    pub receive: Span,
}

impl Hackbench {
    /// The tasks, with ids from 0.
    pub fn tasks(&self) -> Vec<Task> {
        (0..self.groups).flat_map(|group| self.group(2 * PEERS * group)).collect()
    }

    /// Receivers begin at task `first`, then come senders, as hackbench starts them.
    fn group(&self, first: u32) -> Vec<Task> {
        let capacity = self.buffer;
        let write = |buffer| [Step::Run(self.send), Step::Send { buffer, capacity }];
        let writes = (first..first + PEERS).flat_map(write);
        let writes = writes.collect::<Vec<_>>().repeat(self.loops as usize);
        let task = |name, steps: &Vec<Step>| {
            Task::new(name, Workload::Script { steps: steps.clone(), repeat: false })
        };
        let receiver = |buffer| {
            let read = [Step::Receive(buffer), Step::Run(self.receive)];
            task("receiver", &read.repeat((PEERS * self.loops) as usize))
        };
        let receivers: Vec<Task> = (first..first + PEERS).map(receiver).collect();
        [receivers, vec![task("sender", &writes); PEERS as usize]].concat()
    }
}
