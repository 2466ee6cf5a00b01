//! `slack` as the qdisc decides it: the reference model of `slack.h`.
//!
//! A BPF program has no room for the exact search of [`laxity_link::slack`]. The qdisc bounds queued
//! work by buckets of deadlines and each flow's future work by two token buckets (by the line through
//! its steps where the flow is periodic). Its slack is never above the exact one, so best effort
//! waits longer and real time less; `compare/link` prints by how much.

use laxity_core::{NANOBITS_PER_BYTE, Time};
use laxity_curve::Envelope;
use laxity_link::config::LinkConfig;
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::pipeline::{Discipline, Head};

const DUE: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    burst: u64,
    rate: u64,
    level: u64,
}

#[derive(Debug)]
struct Flow {
    /// Fastest and slowest bucket.
    lines: [Line; 2],
    at: u64,
    wire: (u64, u64),
    /// Period and jitter.
    periodic: Option<(u64, u64)>,
    smallest: u32,
    class: usize,
}

impl Flow {
    fn grown(&self, line: usize, now: u64) -> u64 {
        let Line { burst, rate, level } = self.lines[line];
        let grown = u128::from(level) + u128::from(rate) * u128::from(now - self.at);
        grown.min(burst.into()) as u64
    }

    fn on_wire(&self, counted: u64) -> u64 {
        let (num, den) = (u128::from(self.wire.0), u128::from(self.wire.1));
        (u128::from(counted) * num).div_ceil(den) as u64
    }

    /// Levels at an instant, on the wire.
    fn levels(&self, now: u64) -> [u64; 2] {
        let Some((_, jitter)) = self.periodic else {
            return [0, 1].map(|line| self.on_wire(self.grown(line, now)));
        };
        let base = now.max(self.lines[0].level);
        let ahead = i128::from(now) + i128::from(jitter) - i128::from(base);
        let Line { burst, rate, .. } = self.lines[0];
        [self.on_wire((i128::from(burst) + ahead * i128::from(rate)).max(0) as u64); 2]
    }
}

/// The discipline.
#[derive(Debug)]
pub struct BoundedSlack {
    rate: i128,
    downstream_backlog: i128,
    flows: Vec<Flow>,
    /// Deadline and rates of each class.
    classes: Vec<(u64, [u64; 2])>,
    shift: u32,
    horizon: u64,
    /// Earliest deadline and work of each bucket of time.
    due: [(u64, u64); DUE],
    lower: Option<i128>,
    refused: Option<(u64, i128)>,
}

impl BoundedSlack {
    /// The discipline for the flows of a link that Plan accepts.
    ///
    /// # Panics
    /// When the longest deadline is `u64::MAX` ns.
    pub fn new(setup: &LinkConfig) -> BoundedSlack {
        let mut deadlines: Vec<u64> = setup.realtime.iter().map(|f| f.deadline.0).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        let mut classes: Vec<(u64, [u64; 2])> = deadlines.iter().map(|d| (*d, [0; 2])).collect();
        let flows = setup.realtime.iter().map(|f| {
            let counted = f.smallest_counted();
            let class = deadlines.partition_point(|d| *d < f.deadline.0);
            let line = |burst: u64, rate| {
                let burst = burst * NANOBITS_PER_BYTE as u64;
                Line { burst, rate, level: burst }
            };
            let mut periodic = None;
            let lines = match &f.envelope {
                Envelope::Buckets { buckets, .. } => [buckets.first(), buckets.last()]
                    .map(|b| b.map_or(Line::default(), |b| line(b.burst.0, b.rate.0))),
                Envelope::Periodic { period, jitter, size, .. } => {
                    periodic = Some((period.0, jitter.0));
                    let rate = (size.0 * NANOBITS_PER_BYTE as u64).div_ceil(period.0);
                    [Line { level: 0, ..line(size.0, rate) }; 2]
                }
            };
            let wire = (setup.wire.of_bytes(counted).0, counted.0);
            let flow = Flow { lines, at: 0, wire, periodic, smallest: counted.0 as u32, class };
            for (sum, line) in classes[class].1.iter_mut().zip(flow.lines) {
                *sum += flow.on_wire(line.rate);
            }
            flow
        });
        let flows = flows.collect();
        let longest = deadlines.last().copied().unwrap_or(0);
        BoundedSlack {
            rate: setup.rate.0.into(),
            downstream_backlog: i128::from(setup.downstream_backlog.0) * NANOBITS_PER_BYTE,
            flows,
            classes,
            shift: (0..64).find(|s| (longest >> s) + 2 <= DUE as u64).expect("a width"),
            horizon: (1 << 61) / setup.rate.0 - longest,
            due: [(0, 0); DUE],
            lower: None,
            refused: None,
        }
    }

    fn bucket(&mut self, deadline: Time) -> &mut (u64, u64) {
        &mut self.due[(deadline.0 >> self.shift) as usize % DUE]
    }

    fn search(&self, now: u64) -> (i128, u64) {
        let mut waiting = Vec::new();
        let mut sum = 0;
        for i in 0..DUE as u64 {
            let (first, work) = self.due[((now >> self.shift) + i) as usize % DUE];
            if work > 0 {
                sum += work;
                waiting.push((first.saturating_sub(now), sum));
            }
        }
        let mut levels = vec![[0u64; 2]; self.classes.len()];
        for flow in &self.flows {
            for (sum, level) in levels[flow.class].iter_mut().zip(flow.levels(now)) {
                *sum += level;
            }
        }
        // Interval for capacity, and for work.
        let mut points: Vec<(u64, u64)> = waiting.iter().map(|(x, _)| (*x, *x)).collect();
        let mut knees = vec![0; self.classes.len()];
        for ((level, knee), (deadline, [fast, slow])) in
            levels.iter_mut().zip(&mut knees).zip(&self.classes)
        {
            points.push((*deadline, *deadline));
            if level[1] <= level[0] {
                continue;
            }
            if fast <= slow {
                level[1] = level[0];
                continue;
            }
            *knee = (level[1] - level[0]).div_ceil(fast - slow);
            if *knee > self.horizon {
                *knee = 0;
                continue;
            }
            points.push((deadline + *knee - 1, deadline + *knee));
        }
        let mut least = (1i128 << 62, 0);
        for (capacity, x) in points {
            let due = waiting.iter().rfind(|(at, _)| *at <= x).map_or(0, |w| w.1);
            let mut left = self.rate * i128::from(capacity) - i128::from(due) * NANOBITS_PER_BYTE;
            for ((level, knee), (deadline, rates)) in levels.iter().zip(&knees).zip(&self.classes) {
                let Some(y) = x.checked_sub(*deadline) else { break };
                let line = usize::from(y >= *knee);
                left -= i128::from(level[line]) + i128::from(rates[line]) * i128::from(y);
            }
            if left < least.0 {
                least = (left, x);
            }
        }
        least
    }

    fn allows(&mut self, now: u64, work: i128) -> bool {
        if self.lower.is_some_and(|lower| work <= lower) {
            return true;
        }
        let need = work + self.downstream_backlog;
        if self.refused.is_some_and(|(until, refused)| now < until && need >= refused) {
            return false;
        }
        let (least, x) = self.search(now);
        if least >= need {
            self.lower = Some(least - self.downstream_backlog);
            self.refused = None;
            return true;
        }
        let fastest: u64 = self.classes.iter().map(|c| c.1[0]).sum();
        let grows = (need - least) / i128::from(fastest.max(1));
        let begun = self.classes.iter().filter_map(|c| x.checked_sub(c.0)).min();
        let stands = (grows as u64).min(x).min(begun.unwrap_or(u64::MAX));
        self.lower = None;
        self.refused = Some((now + stands, need));
        false
    }

    fn spend(&mut self, wire: u32) {
        self.lower = self.lower.map(|lower| lower - i128::from(wire) * NANOBITS_PER_BYTE);
    }
}

impl Discipline for BoundedSlack {
    fn assign(&mut self, _release: Time, _wire: u32) -> Time {
        Time::MAX
    }

    fn reset(&mut self) {
        self.on_idle();
    }

    fn on_idle(&mut self) {
        self.lower = None;
        self.refused = None;
    }

    fn on_stall(&mut self) -> bool {
        self.lower = None;
        self.refused = None;
        false
    }

    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        let wire = head.packet.wire;
        let work = i128::from(wire) * NANOBITS_PER_BYTE;
        let goes = realtime.is_empty() || self.allows(now.0, work);
        if goes {
            self.spend(wire);
        }
        goes
    }

    fn on_best_effort_dropped(&mut self, _now: Time, wire: u32) {
        let work = i128::from(wire) * NANOBITS_PER_BYTE;
        self.lower = self.lower.map(|lower| lower + work);
    }

    fn on_realtime_release(&mut self, at: Time, entry: &Entry) {
        let flow = &mut self.flows[entry.packet.flow.index()];
        if let Some((period, _)) = flow.periodic {
            flow.lines[0].level = flow.lines[0].level.max(at.0) + period;
        } else {
            let cost = u64::from(entry.packet.bytes.max(flow.smallest)) * NANOBITS_PER_BYTE as u64;
            for line in 0..2 {
                flow.lines[line].level = flow.grown(line, at.0).saturating_sub(cost);
            }
        }
        flow.at = at.0;
        let bucket = self.bucket(entry.deadline);
        bucket.0 = if bucket.1 == 0 { entry.deadline.0 } else { bucket.0.min(entry.deadline.0) };
        bucket.1 += u64::from(entry.packet.wire);
    }

    fn on_realtime_start(&mut self, now: Time, entry: &Entry) {
        self.bucket(entry.deadline).1 -= u64::from(entry.packet.wire);
        let least = self.classes.first().map_or(u64::MAX, |c| c.0);
        if entry.deadline.0 > now.0.saturating_add(least) {
            self.spend(entry.packet.wire);
        }
    }
}
