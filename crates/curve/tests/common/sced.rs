//! Slow models of flows with service curves: demand and residual by definition, and a link that
//! serves by the deadlines of SCED from all starts.
#![allow(dead_code)]

use std::collections::VecDeque;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::service::*;
use laxity_curve::*;
use proptest::prelude::*;

/// Points of time in one ns; slopes are quarters of a byte per ns, so that every corner of a
/// demand falls on one.
pub const GRID: i128 = 24;

/// A service curve: points `(t, bytes)` from (0, 0) on, then quarters of a byte per ns.
#[derive(Clone, Debug)]
pub struct Curved {
    pub points: Vec<(u64, u64)>,
    pub last: u64,
    pub min: u64,
    pub max: u64,
}

impl Curved {
    /// `S(t / GRID)` in bytes times `GRID * 4`.
    pub fn work(&self, t: i128) -> i128 {
        let (mut from, mut level) = (0i128, 0i128);
        for &(at, w) in &self.points {
            let (at, w) = (i128::from(at) * GRID, i128::from(w) * GRID * 4);
            if t < at {
                return level + (w - level) * (t - from) / (at - from);
            }
            (from, level) = (at, w);
        }
        level + (t - from) * i128::from(self.last)
    }

    /// `P(S(t))`, the largest sum of `n` packets for any `n`, in the same unit.
    pub fn demand(&self, t: i128) -> i128 {
        let (v, unit) = (self.work(t), GRID * 4);
        let (m, s) = (i128::from(self.min) * unit, i128::from(self.max) * unit);
        (0..).take_while(|n| n * m <= v).map(|n| v.min(n * s)).max().unwrap_or(0)
    }

    pub fn first(&self) -> i128 {
        let unit = GRID * 4;
        (0..).find(|t| self.work(*t) >= i128::from(self.min) * unit).unwrap()
    }

    /// With `tick` ns for each unit of time.
    pub fn spec(&self, tick: u64) -> ServiceSpec {
        let points: Vec<_> = self.points.iter().map(|(t, w)| (Span(t * tick), Bytes(*w))).collect();
        let curve = ServiceCurve::points(&points, Rate(self.last * 2_000_000_000 / tick)).unwrap();
        ServiceSpec::new(curve, Bytes(self.min), Bytes(self.max)).unwrap()
    }
}

/// A leaky bucket with a deadline: burst, quarters of a byte per ns, largest packet, deadline.
#[derive(Clone, Debug)]
pub struct Bucketed {
    pub burst: u64,
    pub rate: u64,
    pub max: u64,
    pub deadline: u64,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Curve(Curved),
    Bucket(Bucketed),
}

#[derive(Clone, Debug)]
pub struct Set {
    /// Bytes per ns.
    pub rate: u64,
    pub best_effort: u64,
    pub backlog: u64,
    pub blocking: Blocking,
    pub flows: Vec<Kind>,
}

impl Set {
    pub fn link(&self, tick: u64) -> LinkSpec {
        LinkSpec {
            rate: Rate(self.rate * 8_000_000_000 / tick),
            best_effort_packet: Bytes(self.best_effort),
            downstream_backlog: Bytes(self.backlog),
            blocking: self.blocking,
        }
    }

    pub fn specs(&self, tick: u64) -> Vec<LinkFlow> {
        let spec = |kind: &Kind| match kind {
            Kind::Curve(c) => LinkFlow::Service(c.spec(tick)),
            Kind::Bucket(b) => {
                let rate = Rate(b.rate * 2_000_000_000 / tick);
                let bucket = Bucket { burst: Bytes(b.burst), rate };
                let envelope = Envelope::buckets(&[bucket], Bytes(b.max)).unwrap();
                let envelope = envelope.with_min_packet(Bytes(1)).unwrap();
                LinkFlow::Deadline(FlowSpec { envelope, deadline: Span(b.deadline * tick) })
            }
        };
        self.flows.iter().map(spec).collect()
    }

    pub fn overloaded(&self) -> bool {
        let rate = |kind: &Kind| match kind {
            Kind::Curve(c) => c.last,
            Kind::Bucket(b) => b.rate,
        };
        self.flows.iter().map(rate).sum::<u64>() > 4 * self.rate
    }

    pub fn firsts(&self) -> Vec<i128> {
        let first = |kind: &Kind| match kind {
            Kind::Curve(c) => c.first(),
            Kind::Bucket(b) => i128::from(b.deadline) * GRID,
        };
        self.flows.iter().map(first).collect()
    }

    /// The residual at `t / GRID` in bytes times `GRID * 4`, for admission or for the deadlines of
    /// best effort.
    pub fn residual(&self, t: i128, admission: bool) -> i128 {
        let unit = GRID * 4;
        let firsts = self.firsts();
        let paper = self.blocking == Blocking::Paper;
        let mut work = i128::from(4 * self.rate) * t - i128::from(self.backlog) * unit;
        let mut blocked = 0;
        if admission || paper {
            blocked = i128::from(self.best_effort) * unit;
        }
        for (k, kind) in self.flows.iter().enumerate() {
            match kind {
                Kind::Curve(c) => {
                    let demand = c.demand(t);
                    work -= demand;
                    let size = i128::from(c.max) * unit;
                    let others = firsts.iter().enumerate().any(|(i, f)| i != k && *f <= t);
                    if paper {
                        blocked = blocked.max(size);
                    } else if others || !admission {
                        blocked = blocked.max(size - demand);
                    }
                }
                Kind::Bucket(b) => {
                    let y = t - i128::from(b.deadline) * GRID;
                    if y >= 0 {
                        work -= i128::from(b.burst) * unit + i128::from(b.rate) * y;
                    }
                    if y < 0 || paper {
                        blocked = blocked.max(i128::from(b.max) * unit);
                    }
                }
            }
        }
        work - blocked
    }
}

/// Curves with corners below 30 ns; `scale` multiplies bytes and times.
pub fn curved(scale: u64) -> impl Strategy<Value = Curved> {
    let piece = (1u64..12, 0u64..5, prop_oneof![3 => Just(0u64), 2 => 0u64..7]);
    (proptest::collection::vec(piece, 0..4), 1u64..5, 1u64..6, 0u64..5).prop_map(
        move |(raw, last, min, more)| {
            let (mut t, mut w) = (0, 0);
            let mut points = Vec::new();
            for (length, slope, jump) in raw {
                t += length * 4;
                w += slope * length;
                points.push((t * scale, w * scale));
                if jump > 0 {
                    w += jump;
                    points.push((t * scale, w * scale));
                }
            }
            Curved { points, last, min: min * scale, max: (min + more) * scale }
        },
    )
}

pub fn set(scale: u64, flows: usize, backlog: u64) -> impl Strategy<Value = Set> {
    let bucket = (1u64..8, 1u64..4, 0u64..6, 0u64..30).prop_map(move |(max, rate, more, d)| {
        let (max, burst, deadline) = (max * scale, (max + more) * scale, d * scale);
        Kind::Bucket(Bucketed { burst, rate, max, deadline })
    });
    let flow = prop_oneof![3 => curved(scale).prop_map(Kind::Curve), 1 => bucket];
    let flows = proptest::collection::vec(flow, 1..=flows);
    (1u64..4, 0u64..7, 0..=backlog, flows, prop_oneof![4 => Just(true), 1 => Just(false)]).prop_map(
        move |(rate, packet, backlog, flows, exact)| Set {
            rate,
            best_effort: packet * scale,
            backlog,
            blocking: if exact { Blocking::Exact } else { Blocking::Paper },
            flows,
        },
    )
}

/// `D(w) = max_i [a_i + Sinv(w - R_i)]` over all starts.
pub fn deadline(inverse: &ServiceInverse, starts: &[(u64, u64)], w: u64) -> u64 {
    starts.iter().map(|(a, r)| a + inverse.at(w - r).0).max().unwrap()
}

/// A flow with a curve in the slow link.
#[derive(Clone, Debug)]
pub struct Flow {
    /// `None` for a relative deadline.
    pub inverse: Option<ServiceInverse>,
    pub relative: u64,
    pub starts: Vec<(u64, u64)>,
    pub work: u64,
    pub queue: VecDeque<(u64, u64)>,
}

/// A non-preemptive link of `rate` bytes each `tick` ns, by deadline; best effort first in a tie.
#[derive(Clone, Debug)]
pub struct Link {
    pub rate: u64,
    pub tick: u64,
    pub flows: Vec<Flow>,
    pub best_effort: VecDeque<(u64, u64)>,
    pub residual: InverseCurve,
    /// Releases and work before them.
    pub history: Vec<(u64, u64)>,
    pub best_effort_work: u64,
    /// When the packet being sent ends, in ns times `rate`.
    pub busy: u64,
    /// Whose it is; the number of flows for best effort.
    pub sending: Option<usize>,
    /// Whether an arrival at the end of a packet finds it finished.
    pub completion_first: bool,
    /// By how much the latest packet of each flow, and of best effort, was late, in ns times
    /// `rate`.
    pub late: Vec<u64>,
}

impl Link {
    pub fn new(set: &Set, tick: u64, guarantee: Guarantee) -> Option<Link> {
        let flows = set.specs(tick);
        let residual = residual(&set.link(tick), &flows).ok()?.service(guarantee).ok()?;
        let flow = |flow: &LinkFlow| {
            let (inverse, relative) = match flow {
                LinkFlow::Service(s) => (Some(s.curve.inverse().unwrap()), 0),
                LinkFlow::Deadline(f) => (None, f.deadline.0),
            };
            Flow { inverse, relative, starts: vec![], work: 0, queue: VecDeque::new() }
        };
        Some(Link {
            rate: set.rate,
            tick,
            flows: flows.iter().map(flow).collect(),
            best_effort: VecDeque::new(),
            residual,
            history: vec![],
            best_effort_work: 0,
            busy: 0,
            sending: None,
            completion_first: true,
            late: vec![0; set.flows.len() + 1],
        })
    }

    fn forget(&mut self) {
        for flow in &mut self.flows {
            flow.starts.clear();
            flow.work = 0;
        }
        self.history.clear();
        self.best_effort_work = 0;
    }

    fn waits(&self) -> bool {
        !self.best_effort.is_empty() || self.flows.iter().any(|f| !f.queue.is_empty())
    }

    /// Serves up to `now`, where arrivals precede the decision.
    pub fn serve_until(&mut self, now: u64) {
        let now = now.saturating_mul(self.rate);
        while self.busy < now && self.waits() {
            self.send();
        }
        if self.busy < now {
            self.sending = None;
            self.forget();
            self.busy = now;
        }
    }

    fn send(&mut self) {
        let heads =
            self.flows.iter().enumerate().filter_map(|(k, f)| Some((f.queue.front()?.0, k)));
        let first = heads.min();
        let best_effort = self.best_effort.front().map(|b| b.0);
        let goes = match (first, best_effort) {
            (Some((d, _)), Some(b)) => b <= d,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let (who, (due, bytes)) = if goes {
            (self.flows.len(), self.best_effort.pop_front().unwrap())
        } else {
            let k = first.unwrap().1;
            (k, self.flows[k].queue.pop_front().unwrap())
        };
        self.sending = Some(who);
        self.busy += bytes * self.tick;
        let over = self.busy.saturating_sub(due.saturating_mul(self.rate));
        self.late[who] = self.late[who].max(over);
    }

    /// By how much the latest real-time packet was late, in ns times `rate`.
    pub fn realtime_late(&self) -> u64 {
        self.late[..self.flows.len()].iter().copied().max().unwrap_or(0)
    }

    /// A packet of a real-time flow arrives.
    pub fn arrive(&mut self, now: u64, k: usize, bytes: u64) {
        self.serve_until(now);
        let ended = self.busy <= now * self.rate && self.completion_first;
        let sending = self.sending == Some(k) && !ended;
        let flow = &mut self.flows[k];
        let due = match &flow.inverse {
            None => now + flow.relative,
            Some(inverse) => {
                if flow.queue.is_empty() && !sending {
                    flow.starts.push((now, flow.work));
                }
                flow.work += bytes;
                deadline(inverse, &flow.starts, flow.work)
            }
        };
        flow.queue.push_back((due, bytes));
    }

    /// A best-effort packet arrives; it is released at once.
    pub fn arrive_best_effort(&mut self, now: u64, bytes: u64) {
        self.serve_until(now);
        self.history.push((now, self.best_effort_work));
        self.best_effort_work += bytes;
        let work = self.best_effort_work;
        let due = |(r, p): &(u64, u64)| Some(r + self.residual.at(work - p)?.0);
        let due = self.history.iter().map(due).try_fold(0, |a, d| Some(a.max(d?)));
        self.best_effort.push_back((due.unwrap_or(u64::MAX), bytes));
    }

    pub fn finish(&mut self) {
        self.serve_until(u64::MAX / self.rate);
    }
}
