//! Threads that make packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use laxity_core::{Span, Time};
use laxity_dwcs::StreamId;

use super::clock::{Clock, thread_cpu};
use super::counts::Counter;
use super::source::{Feeder, NextFill, Pool};
use super::thread::Post;

/// Feeds a stream from now on.
#[derive(Debug)]
pub struct Start {
    pub stream: StreamId,
    pub feeder: Feeder,
}

/// The shortest sleep, ns: rings last longer, and waking costs more than a packet.
const SHORTEST: u64 = 1_000_000;

/// Runs until the sender of `starts` is dropped.
pub fn run(
    starts: &Receiver<Start>,
    mut pool: Pool,
    clock: Clock,
    post: &Post,
    cpu: &Arc<Counter>,
) {
    let mut feeders: Vec<Option<Start>> = Vec::new();
    let mut vacant: Vec<usize> = Vec::new();
    let mut turns: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
    loop {
        let now = clock.now();
        while let Some(&Reverse((at, place))) = turns.peek().filter(|r| r.0.0 <= now) {
            turns.pop();
            let Some(start) = &mut feeders[place] else { continue };
            let again = start.feeder.fill(now, &mut pool);
            if start.feeder.must_ring() {
                post.ring(start.stream);
            }
            match again {
                // From the time it was meant to come, or from now when that is long ago.
                NextFill::At(next) => turns.push(Reverse((next.max(at), place))),
                NextFill::Never => {
                    feeders[place] = None;
                    vacant.push(place);
                }
            }
        }
        cpu.set(thread_cpu());
        let until = turns.peek().map_or(Span(100_000_000), |r| r.0.0.since(clock.now()));
        match starts.recv_timeout(Duration::from_nanos(until.0.clamp(SHORTEST, 100_000_000))) {
            Ok(start) => {
                let place = vacant.pop().unwrap_or_else(|| {
                    feeders.push(None);
                    feeders.len() - 1
                });
                feeders[place] = Some(start);
                turns.push(Reverse((Time::ZERO, place)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
