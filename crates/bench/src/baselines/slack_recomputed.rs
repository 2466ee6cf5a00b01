//! `slack` without memory: every decision visits every corner point and every queued packet.

use laxity_core::{NANOBITS_PER_BYTE, Time};
use laxity_link::config::LinkConfig;
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::pipeline::{Discipline, Head};
use laxity_link::slack::{self, FlowDemand, Slack};

/// Recomputes the slack from its definition. It needs milliseconds for a decision with ten thousand
/// packets, so the queue is first filled with the decisions of [`Slack`].
#[derive(Clone, Debug)]
pub struct SlackRecomputed {
    filling: Slack,
    /// Decisions left to take that way.
    lent: u64,
    flows: Vec<FlowDemand>,
    rate: i128,
    /// Queued work by deadline, room kept.
    due: Vec<(Time, u32)>,
}

impl SlackRecomputed {
    /// For a link's flows, all buckets full; the first `lent` decisions are lent.
    pub fn new(setup: &LinkConfig, lent: u64) -> SlackRecomputed {
        let demand = |f| FlowDemand::new(f, setup.wire, slack::exact_steps(setup));
        SlackRecomputed {
            filling: Slack::new(setup).unwrap(),
            lent,
            flows: setup.realtime.iter().map(demand).collect(),
            rate: i128::from(setup.rate.0),
            due: Vec::new(),
        }
    }

    fn left(&self, now: Time, x: u64, work: i128) -> i128 {
        let demand = |f: &FlowDemand| x.checked_sub(f.deadline()).map_or(0, |y| f.within(now, y));
        self.rate * i128::from(x) - work - self.flows.iter().map(demand).sum::<i128>()
    }
}

impl Discipline for SlackRecomputed {
    fn assign(&mut self, _: Time, _: u32) -> Time {
        Time::MAX
    }

    fn reset(&mut self) {
        self.filling.reset();
    }

    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        if self.lent > 0 {
            self.lent -= 1;
            return self.filling.serves_best_effort(now, head, realtime);
        }
        if realtime.is_empty() {
            return true;
        }
        let need = i128::from(head.packet.wire) * NANOBITS_PER_BYTE;
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        due.extend(realtime.iter_merged().map(|e| (e.deadline, e.packet.wire)));
        let mut work = 0;
        let mut enough = true;
        for (deadline, wire) in &due {
            work += i128::from(*wire) * NANOBITS_PER_BYTE;
            enough &= self.left(now, deadline.since(now).0, work) >= need;
        }
        self.due = due;
        enough
    }

    fn on_realtime_release(&mut self, at: Time, entry: &Entry) {
        self.flows[entry.packet.flow.index()].take(at, entry.packet.bytes);
        if self.lent > 0 {
            self.filling.on_realtime_release(at, entry);
        }
    }

    fn on_realtime_start(&mut self, now: Time, entry: &Entry) {
        if self.lent > 0 {
            self.filling.on_realtime_start(now, entry);
        }
    }
}
