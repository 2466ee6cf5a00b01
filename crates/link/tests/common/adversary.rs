//! The worst that conforming flows can do from an instant on.

use laxity_core::Time;
use laxity_link::config::RealtimeFlow;
use laxity_link::police::Policer;

use super::{Arrival, arrival};

/// Flow `k` sends everything it may from `start` until `end`, largest packets first, after one
/// packet of `blocker` bytes at `start - 1` if that is not zero.
pub fn greedy(
    k: u32,
    flow: &RealtimeFlow,
    start: u64,
    end: u64,
    blocker: u32,
    into: &mut Vec<Arrival>,
) {
    let mut policer = Policer::new(&flow.envelope);
    if blocker > 0 {
        policer.take(Time(start - 1), blocker);
        into.push(arrival(start - 1, k, blocker));
    }
    let largest = flow.envelope.max_packet().0 as u32;
    let smallest = if flow.envelope.lines().is_some() { 1 } else { largest };
    for at in start..end {
        for bytes in (smallest..=largest).rev() {
            while policer.conforms_at(Time(at), bytes) == Some(Time(at)) {
                policer.take(Time(at), bytes);
                into.push(arrival(at, k, bytes));
            }
        }
    }
}
