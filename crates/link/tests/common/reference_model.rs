//! The condition of `slack` by its definition, every instant on its own.

use core::cmp::Reverse;

use laxity_core::{NANOBITS_PER_BYTE, Time};
use laxity_link::config::LinkConfig;
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::police::{Policer, Remaining};
use laxity_link::slack::exact_steps;

/// `w <= min over x in X of [ C x - B(x) - F(x) ]`, with `X` the relative deadlines of queued
/// real-time packets and every whole `x` from the least deadline to where nothing changes any
/// more.
#[derive(Debug)]
pub struct ReferenceModel {
    rate: i128,
    downstream_backlog: i128,
    always_check: bool,
    flows: Vec<Flow>,
}

#[derive(Debug)]
struct Flow {
    deadline: u64,
    policer: Policer,
    /// Bytes on the wire of the smallest counted packet, and its length.
    wire: (i128, i128),
    /// Packets that are counted whole.
    steps: i128,
}

/// The first whole instant at which all lines have come to `work`.
fn reaches(rest: &Remaining, work: i128) -> Option<u64> {
    let lines = rest.lines[..rest.count].iter();
    let each = lines.map(|&(level, rate)| match (work - level, i128::from(rate)) {
        (..=0, _) => Some(0),
        (_, 0) => None,
        (missing, rate) => Some((missing + rate - 1) / rate),
    });
    each.collect::<Option<Vec<_>>>()?.into_iter().max().map(|y| y as u64)
}

impl Flow {
    /// What a flow with this rest can still send by `x` from now.
    fn still(&self, rest: &Remaining, x: u64) -> i128 {
        let counted = if x < self.deadline { 0 } else { rest.at(x - self.deadline) };
        // The policer's count, stretched to the wire, rounded up.
        let (num, den) = self.wire;
        let wire = (counted * num).div_euclid(den) + i128::from((counted * num) % den != 0);
        let packet = num * NANOBITS_PER_BYTE;
        if wire < (self.steps + 1) * packet { wire - wire % packet } else { wire }
    }
}

impl ReferenceModel {
    pub fn new(config: &LinkConfig) -> ReferenceModel {
        let flow = |f: &laxity_link::config::RealtimeFlow| {
            let counted = f.smallest_counted();
            let one_size = counted == f.envelope.max_packet();
            Flow {
                steps: if one_size { exact_steps(config) as i128 } else { 0 },
                deadline: f.deadline.0,
                policer: Policer::new(&f.envelope),
                wire: (config.wire.of_bytes(counted).0.into(), counted.0.into()),
            }
        };
        ReferenceModel {
            rate: config.rate.0.into(),
            downstream_backlog: i128::from(config.downstream_backlog.0) * NANOBITS_PER_BYTE,
            always_check: config.options.always_check,
            flows: config.realtime.iter().map(flow).collect(),
        }
    }

    pub fn released(&mut self, at: Time, entry: &Entry) {
        self.flows[entry.packet.flow.index()].policer.take(at, entry.packet.bytes);
    }

    /// What the policer of flow `k` still lets through.
    pub fn remaining(&self, k: usize, now: Time) -> Remaining {
        self.flows[k].policer.remaining(now)
    }

    /// What flow `k` can still send by `x` from now.
    pub fn still(&self, k: usize, now: Time, x: u64) -> i128 {
        self.flows[k].still(&self.flows[k].policer.remaining(now), x)
    }

    /// By how many nanobits a best-effort packet of `wire` bytes passes or, if negative, fails.
    pub fn margin(&self, now: Time, wire: u32, realtime: &EdfQueue) -> i128 {
        if realtime.is_empty() && !self.always_check {
            return i128::MAX;
        }
        let queued: Vec<_> =
            realtime.iter_merged().map(|e| (e.deadline.since(now).0, e.packet.wire)).collect();
        self.slack(now, &queued) - i128::from(wire) * NANOBITS_PER_BYTE
    }

    /// The slack in nanobits for queued (relative deadline, wire bytes).
    pub fn slack(&self, now: Time, queued: &[(u64, u32)]) -> i128 {
        let rest: Vec<_> = self.flows.iter().map(|f| f.policer.remaining(now)).collect();
        self.slack_from(&rest, queued)
    }

    /// The same for what the flows can still send.
    pub fn slack_from(&self, rest: &[Remaining], queued: &[(u64, u32)]) -> i128 {
        let rest: Vec<_> = self.flows.iter().zip(rest).collect();
        let value = |x: u64| {
            let due = queued.iter().filter(|(d, _)| *d <= x).map(|(_, w)| i128::from(*w));
            let still = |(f, rest): &(&Flow, &Remaining)| f.still(rest, x);
            self.rate * i128::from(x)
                - due.sum::<i128>() * NANOBITS_PER_BYTE
                - rest.iter().map(still).sum::<i128>()
        };
        let own = queued.iter().map(|(d, _)| value(*d)).min().unwrap_or(i128::MAX);
        let Some(first) = self.flows.iter().map(|f| f.deadline).min() else { return own };
        let mut last = queued.iter().map(|(d, _)| *d).max().unwrap_or(0).max(first);
        for (f, rest) in &rest {
            let lines = &rest.lines[..rest.count];
            // Beyond the last crossing of its lines a flow's demand is one line.
            let flattest = lines.iter().min_by_key(|(b, r)| (*r, Reverse(*b))).unwrap();
            let crossings = lines.iter().filter(|l| l.1 > flattest.1);
            let crossings =
                crossings.map(|l| (flattest.0 - l.0).div_euclid(i128::from(l.1 - flattest.1)));
            // Where it begins: the smallest packet conforms.
            let rising = lines.iter().filter(|l| l.1 > 0 && l.0 < rest.least);
            let begins = rising.map(|l| (rest.least - l.0) / i128::from(l.1) + 1);
            let knee = crossings.chain(begins).max().unwrap_or(0).max(0) as u64;
            last = last.max(f.deadline + knee + 2);
        }
        // Beyond that what is left falls only where another whole packet conforms.
        let steps = rest.iter().flat_map(|(f, rest)| {
            (1..=f.steps + 1).filter_map(|n| Some(f.deadline + reaches(rest, n * rest.least)?))
        });
        let least = (first..=last).chain(steps).map(value).min();
        least.unwrap_or(i128::MAX).min(own) - self.downstream_backlog
    }
}
