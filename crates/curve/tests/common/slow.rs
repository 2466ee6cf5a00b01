//! Slow twins: the model of the paper evaluated by definition at every sixtieth of a nanosecond.
//!
//! Links run at whole bytes per ns and rates differ by at most 6, so every knee falls on the grid.
#![allow(dead_code)]

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Blocking, Bucket, Envelope, FlowSpec, LinkSpec, Rational};
use proptest::prelude::*;

/// Points of the grid in one ns.
pub const GRID: i128 = 60;

/// One byte each ns, in bit/s.
pub const BYTE_PER_NS: u64 = 8_000_000_000;

#[derive(Clone, Debug)]
pub enum Shape {
    /// Burst and rate (bytes per ns) of each bucket, largest packet.
    Buckets(Vec<(u64, u64)>, u64),
    /// Period, size, jitter.
    Periodic(u64, u64, u64),
}

impl Shape {
    pub fn envelope(&self) -> Envelope {
        match self {
            Shape::Buckets(buckets, packet) => {
                let bucket =
                    |(b, r): &(u64, u64)| Bucket { burst: Bytes(*b), rate: Rate(r * BYTE_PER_NS) };
                let given: Vec<Bucket> = buckets.iter().map(bucket).collect();
                Envelope::buckets(&given, Bytes(*packet)).unwrap()
            }
            Shape::Periodic(p, s, j) => Envelope::periodic(Span(*p), Bytes(*s), Span(*j)).unwrap(),
        }
    }

    /// `A(t / GRID)` in bytes times `GRID`; with `left` its limit from the left.
    pub fn work(&self, t: i128, left: bool) -> i128 {
        if t < 0 || (left && t == 0) {
            return 0;
        }
        match self {
            Shape::Buckets(buckets, _) => {
                let line = |(b, r): &(u64, u64)| i128::from(*b) * GRID + i128::from(*r) * t;
                buckets.iter().map(line).min().unwrap()
            }
            Shape::Periodic(p, s, j) => {
                let late = t + i128::from(*j) * GRID - i128::from(left);
                (late.div_euclid(i128::from(*p) * GRID) + 1) * i128::from(*s) * GRID
            }
        }
    }

    pub fn packet(&self) -> i128 {
        match self {
            Shape::Buckets(_, m) => (*m).into(),
            Shape::Periodic(_, s, _) => (*s).into(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct World {
    pub rate: u64,
    pub packet: u64,
    pub downstream_backlog: u64,
    pub blocking: Blocking,
    pub flows: Vec<(Shape, u64)>,
}

impl World {
    pub fn link(&self) -> LinkSpec {
        LinkSpec {
            rate: Rate(self.rate * BYTE_PER_NS),
            best_effort_packet: Bytes(self.packet),
            downstream_backlog: Bytes(self.downstream_backlog),
            blocking: self.blocking,
        }
    }

    pub fn specs(&self) -> Vec<FlowSpec> {
        let spec = |(s, d): &(Shape, u64)| FlowSpec { envelope: s.envelope(), deadline: Span(*d) };
        self.flows.iter().map(spec).collect()
    }

    /// The same with microseconds for nanoseconds; no periodic flows.
    pub fn in_microseconds(&self) -> (LinkSpec, Vec<FlowSpec>) {
        let slow = |rate: Rate| Rate(rate.0 / 1000);
        let specs = self.specs().into_iter().map(|spec| {
            let lines = spec.envelope.lines().unwrap_or(&[]).iter();
            let lines: Vec<Bucket> =
                lines.map(|b| Bucket { burst: b.burst, rate: slow(b.rate) }).collect();
            FlowSpec {
                envelope: Envelope::buckets(&lines, spec.envelope.max_packet()).unwrap(),
                deadline: Span(spec.deadline.0 * 1000),
            }
        });
        (LinkSpec { rate: slow(self.link().rate), ..self.link() }, specs.collect())
    }

    pub fn least(&self) -> i128 {
        self.flows.iter().map(|f| f.1).min().unwrap_or(0).into()
    }

    /// The residual at `t / GRID` in bytes times `GRID`.
    pub fn residual(&self, t: i128, left: bool, best_effort: bool) -> i128 {
        let mut work = i128::from(self.rate) * t - i128::from(self.downstream_backlog) * GRID;
        let mut blocked = if best_effort { i128::from(self.packet) } else { 0 };
        for (shape, deadline) in &self.flows {
            let deadline = i128::from(*deadline) * GRID;
            work -= shape.work(t - deadline, left);
            if self.blocking == Blocking::Paper || deadline > t || (left && deadline == t) {
                blocked = blocked.max(shape.packet());
            }
        }
        if self.blocking == Blocking::Paper {
            blocked = blocked.max(self.packet.into());
        }
        work - blocked * GRID
    }

    /// By definition, up to `end` ns.
    pub fn admitted(&self, end: i128) -> bool {
        let from = self.least() * GRID;
        (from..=end * GRID).all(|t| {
            self.residual(t, false, true) >= 0 && (t == from || self.residual(t, true, true) >= 0)
        })
    }
}

pub fn shape(periodic: bool) -> BoxedStrategy<Shape> {
    let buckets = (1u64..6, 0u64..4, 0u64..5, 0u64..20, 0u64..6).prop_map(|(m, p, r, b, extra)| {
        let rate = r.min(p);
        let mut list = vec![(m, p), (m + b, rate)];
        if extra > 0 {
            list.push((m + b / 2, rate + (p - rate) / 2));
        }
        Shape::Buckets(list, m)
    });
    let alone = (1u64..12, 0u64..3).prop_map(|(b, r)| Shape::Buckets(vec![(b, r)], b));
    let steps = (1u64..9, 1u64..6, 0u64..14).prop_map(|(p, s, j)| Shape::Periodic(p, s, j));
    if periodic {
        prop_oneof![2 => buckets, 1 => alone, 2 => steps].boxed()
    } else {
        prop_oneof![3 => buckets, 1 => alone].boxed()
    }
}

pub fn world(periodic: bool, flows: usize) -> BoxedStrategy<World> {
    let flow = (shape(periodic), 0u64..40);
    let list = proptest::collection::vec(flow, 1..=flows);
    (1u64..8, 0u64..7, 0u64..3, any::<bool>(), list)
        .prop_map(|(rate, packet, downstream_backlog, exact, flows)| World {
            rate,
            packet,
            downstream_backlog,
            blocking: if exact { Blocking::Exact } else { Blocking::Paper },
            flows,
        })
        .boxed()
}

/// A point of the grid as a fraction of ns.
pub fn grid(t: i128) -> Rational {
    Rational::new(t, GRID).unwrap()
}

/// Bytes times `GRID` in nanobits.
pub fn nanobits(work: i128) -> Rational {
    Rational::new(work * 8_000_000_000, GRID).unwrap()
}

/// So many cases, and no files left behind.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
