//! The slack of a state: capacity less queued work less what the flows can still send.

use alloc::boxed::Box;
use alloc::vec::Vec;

use laxity_core::{FlowId, NANOBITS_PER_BYTE, Rate, Time};

use crate::edf::EdfQueue;
use crate::police::{Policer, Remaining};
use crate::setup::Setup;

/// What one flow can still send, counted on the wire.
#[derive(Clone, Debug)]
pub struct FlowDemand {
    deadline: u64,
    /// Wire bytes for each byte that the policer counts are at most `wire.0 / wire.1`.
    wire: (i128, i128),
    policer: Policer,
}

/// All flows, with room for one sweep.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    flows: Box<[FlowDemand]>,
    changes: Vec<Change>,
}

/// From `at` on the demand line changes by `intercept + slope * x`.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: u64,
    intercept: i128,
    slope: i128,
}

impl Demand {
    pub(super) fn new(setup: &Setup) -> Demand {
        let flow = |f: &crate::setup::RealtimeFlow| {
            let counted = f.smallest_counted();
            FlowDemand {
                deadline: f.deadline.0,
                wire: (i128::from(setup.wire.of_bytes(counted).0), i128::from(counted.0.max(1))),
                policer: Policer::new(&f.envelope),
            }
        };
        let flows: Box<[_]> = setup.realtime.iter().map(flow).collect();
        let changes = Vec::with_capacity(flows.len() * (Remaining::LINES + 1));
        Demand { flows, changes }
    }

    pub(super) fn released(&mut self, at: Time, flow: FlowId, bytes: u32) {
        self.flows[flow.index()].policer.take(at, bytes);
    }

    /// The least of `C x - B(x) - F(x)`, in nanobits.
    pub(super) fn slack(&mut self, now: Time, rate: Rate, realtime: &EdfQueue) -> i128 {
        self.changes.clear();
        for flow in &self.flows {
            flow.changes(now, &mut self.changes);
        }
        self.changes.sort_unstable_by_key(|c| c.at);
        sweep(&self.changes, now, i128::from(rate.0), realtime)
    }
}

impl FlowDemand {
    /// The flow's demand in wire nanobits over an interval of `y` from now, rounded up.
    fn on_wire(&self, counted: i128) -> i128 {
        let (num, den) = self.wire;
        if num == den { counted } else { (counted * num).div_euclid(den) + 1 }
    }

    /// Appends where and how the flow's line changes.
    fn changes(&self, now: Time, out: &mut Vec<Change>) {
        let rest = self.policer.remaining(now);
        let mut lines = rest.lines;
        let lines = &mut lines[..rest.count];
        for (level, rate) in lines.iter_mut() {
            *level = self.on_wire(*level);
            *rate = u64::try_from(self.on_wire(i128::from(*rate))).unwrap_or(u64::MAX);
        }
        let at = |(level, rate): (i128, u64), y: u64| level + i128::from(rate) * i128::from(y);
        let (mut y, mut active) = (rest.offset, (0, 0));
        let mut first = true;
        loop {
            // The lowest line at y, and of equal ones the flattest.
            let Some(&line) = lines.iter().min_by_key(|l| (at(**l, y), l.1)) else { return };
            if !first && line == active {
                return;
            }
            let x = self.deadline.saturating_add(y);
            let shifted = |(b, r): (i128, u64)| b - i128::from(r) * i128::from(self.deadline);
            out.push(Change {
                at: x,
                intercept: shifted(line) - shifted(active),
                slope: i128::from(line.1) - i128::from(active.1),
            });
            active = line;
            first = false;
            // The next line below it: the first whole y at which some flatter line is lower.
            let crossing = |l: &&mut (i128, u64)| {
                (l.1 < line.1).then(|| {
                    let gap = l.0 - line.0;
                    let y = gap.div_euclid(i128::from(line.1 - l.1)) + 1;
                    u64::try_from(y).unwrap_or(0)
                })
            };
            match lines.iter_mut().filter_map(|l| crossing(&l)).min() {
                Some(next) => y = next.max(y),
                None => return,
            }
        }
    }
}

/// Walks the corner points in order of `x`: queued deadlines and changes of the flows' lines.
///
/// Between two of them the slack is a line, so its least value lies at an end; deadlines are whole
/// nanoseconds, so the right end is the nanosecond before the next corner.
fn sweep(changes: &[Change], now: Time, rate: i128, realtime: &EdfQueue) -> i128 {
    let mut least = i128::MAX;
    let (mut intercept, mut slope) = (0, rate);
    let mut queue = realtime.iter_merged().peekable();
    let mut changes = changes.iter().peekable();
    let mut flows_began = false;
    loop {
        let due = queue.peek().map(|e| e.deadline.since(now).0);
        let change = changes.peek().map(|c| c.at);
        let x = match (due, change) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) => a,
            (None, Some(b)) => b,
            (None, None) => return least,
        };
        if flows_began && slope < 0 {
            least = least.min(intercept + slope * (i128::from(x) - 1));
        }
        while let Some(e) = queue.next_if(|e| e.deadline.since(now).0 == x) {
            intercept -= i128::from(e.packet.wire) * NANOBITS_PER_BYTE;
        }
        while let Some(c) = changes.next_if(|c| c.at == x) {
            flows_began = true;
            intercept -= c.intercept;
            slope -= c.slope;
        }
        least = least.min(intercept + slope * i128::from(x));
    }
}

/// The slack of a state by its definition, every candidate on its own: the slow twin.
///
/// `flows` as they stand now; the result is in nanobits.
pub fn slack_at(now: Time, rate: Rate, flows: &[(u64, Policer)], queued: &[(Time, u32)]) -> i128 {
    let value = |x: u64| {
        let queued: i128 = queued
            .iter()
            .filter(|(d, _)| d.since(now).0 <= x)
            .map(|(_, w)| i128::from(*w) * NANOBITS_PER_BYTE)
            .sum();
        let future: i128 = flows
            .iter()
            .filter(|(d, _)| *d <= x)
            .map(|(d, p)| p.remaining(now).at(x - d))
            .sum();
        i128::from(rate.0) * i128::from(x) - queued - future
    };
    let _ = value;
    i128::MAX.min(queued.iter().map(|(d, _)| value(d.since(now).0)).min().unwrap_or(i128::MAX))
}
