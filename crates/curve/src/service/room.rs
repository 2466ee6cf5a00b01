//! Residual of a link beside flows with envelopes and with service curves.

use alloc::vec::Vec;

use laxity_core::Span;

use super::demand::Packets;
use super::flow::affine;
use super::{LinkFlow, ServiceSpec};
use crate::curve::{Curve, Piece};
use crate::envelope::nanobits;
use crate::sweep::{self, Horizon, Segment, Steps, Which};
use crate::{Blocking, CurveError, Envelope, FlowSpec, LinkSpec, Rational};

/// The most steps that are looked at one by one: packets of flows whose packets all have one size,
/// and of periodic envelopes.
const MAX_STEPS: i128 = 1 << 16;

/// A link and its flows, sorted by kind.
pub(super) struct Room<'a> {
    link: &'a LinkSpec,
    envelopes: Vec<FlowSpec>,
    curves: Vec<Served<'a>>,
    /// `first` of the flows with envelopes.
    least_deadline: Option<Rational>,
    /// Where steps end, and what that means.
    pub horizon: Horizon,
    /// Residual without blocking.
    unblocked: Curve,
}

/// A flow with a service curve.
pub(super) struct Served<'a> {
    pub flow: &'a ServiceSpec,
    pub first: Rational,
    /// `dem(t)` in whole packets.
    pub demand: Curve,
}

impl<'a> Room<'a> {
    /// `stretch`: how many times as far as admission needs steps are followed.
    pub fn new(
        link: &'a LinkSpec,
        flows: &'a [LinkFlow],
        stretch: i128,
    ) -> Result<Room<'a>, CurveError> {
        let mut envelopes = Vec::new();
        let mut served: Vec<(&ServiceSpec, Curve)> = Vec::new();
        for flow in flows {
            match flow {
                LinkFlow::Deadline(flow) => envelopes.push(flow.clone()),
                LinkFlow::Service(flow) => served.push((flow, flow.asked()?)),
            }
        }
        let horizon = horizon(link, &envelopes, &served, stretch)?;
        let until = Rational::whole(horizon.until);
        let lines = sweep::lines(link, &envelopes, Which::Unblocked, horizon.until, Steps::Follow)?;
        let mut terms = Vec::with_capacity(served.len());
        let mut curves = Vec::with_capacity(served.len());
        for (flow, asked) in served {
            let packets = Packets { min: flow.min_packet, max: flow.max_packet };
            let demand = packets.of(&asked, until)?;
            terms.push(demand.clone());
            curves.push(Served { flow, first: flow.first()?, demand });
        }
        let unblocked = affine_of(&lines)?;
        let unblocked = match folded(terms, Curve::sum)? {
            Some(demand) => unblocked.difference(&demand)?,
            None => unblocked,
        };
        let least_deadline = envelopes.iter().map(|f| f.deadline.0.into()).min();
        Ok(Room { link, envelopes, curves, least_deadline, horizon, unblocked })
    }

    /// The flows with envelopes.
    pub fn envelopes(&self) -> &[FlowSpec] {
        &self.envelopes
    }

    /// The flows with curves.
    pub fn curves(&self) -> &[Served<'a>] {
        &self.curves
    }

    /// Whether nothing fails past the horizon wherever a curve begins. Not on a full link: when its
    /// steps meet depends on that.
    pub fn complete_for_shifts(&self) -> Result<bool, CurveError> {
        Ok(self.horizon.complete && self.unblocked.long_term_slope()?.signum() > 0)
    }

    /// Residual without blocking.
    pub fn unblocked(&self) -> &Curve {
        &self.unblocked
    }

    /// Whether the largest packet blocks in every interval.
    pub fn is_paper(&self) -> bool {
        self.link.blocking == Blocking::Paper
    }

    /// The shortest interval in which anything can be due.
    pub fn least(&self) -> Option<Rational> {
        self.curves.iter().map(|c| c.first).chain(self.least_deadline).min()
    }

    /// Minus what blocks, over the length of the interval. The blocker is due after the interval:
    /// a flow with an envelope blocks where its deadline is later; one with a curve blocks at any
    /// length, since it may have been served ahead, but then has nothing due in it.
    pub fn blocking(&self, which: Which) -> Result<Curve, CurveError> {
        let flat = |work: i128| Curve::line(Rational::ZERO, (-work).into());
        let (first, changes) = sweep::blocking(self.link, &self.envelopes, which);
        if self.link.blocking == Blocking::Paper {
            let sizes = self.curves.iter().map(|c| nanobits(c.flow.max_packet));
            return Ok(flat(sizes.fold(first, i128::max)));
        }
        let mut pieces = alloc::vec![level(Rational::ZERO, first)];
        for (at, work) in changes {
            if at == Span(0) {
                pieces.clear();
            }
            pieces.push(level(at.0.into(), work));
        }
        let mut terms = alloc::vec![Curve::affine(pieces)?];
        let best_effort = self.link.best_effort_packet;
        for (k, curve) in self.curves.iter().enumerate() {
            // Best effort blocks admission by as much at any length.
            if which == Which::Admission && curve.flow.max_packet <= best_effort {
                continue;
            }
            // Admission asks only for intervals in which another flow can be due; best effort,
            // whose deadlines the other residual protects, always can.
            let from = match which {
                Which::Admission => {
                    let others = self.curves.iter().enumerate().filter(|(i, _)| *i != k);
                    match others.map(|(_, c)| c.first).chain(self.least_deadline).min() {
                        Some(first) => first,
                        None => continue,
                    }
                }
                Which::Deadlines | Which::Unblocked => Rational::ZERO,
            };
            let ahead = curve.demand.raised(Rational::whole(-nanobits(curve.flow.max_packet)))?;
            terms.push(only_from(&ahead, from)?);
        }
        Ok(folded(terms, Curve::min)?.unwrap_or_else(|| flat(0)))
    }

    /// The residual with this blocking.
    pub fn residual(&self, which: Which) -> Result<Curve, CurveError> {
        self.unblocked.sum(&self.blocking(which)?)
    }
}

fn level(start: Rational, work: i128) -> Piece {
    Piece { start, slope: Rational::ZERO, intercept: Rational::whole(-work) }
}

/// Lines as a curve.
fn affine_of(lines: &[Segment]) -> Result<Curve, CurveError> {
    let piece = |s: &Segment| Piece {
        start: s.start,
        slope: s.slope.into(),
        intercept: s.intercept.into(),
    };
    Curve::affine(lines.iter().map(piece).collect())
}

/// A curve that is 0 before `from`.
fn only_from(curve: &Curve, from: Rational) -> Result<Curve, CurveError> {
    let pieces = curve.pieces();
    let at = pieces.partition_point(|p| p.start <= from);
    let mut out = Vec::with_capacity(pieces.len() + 1);
    if from.signum() > 0 {
        out.push(level(Rational::ZERO, 0));
    }
    out.push(Piece { start: from, ..pieces[at.saturating_sub(1)] });
    out.extend_from_slice(&pieces[at..]);
    Curve::affine(out)
}

/// All terms joined in pairs, so that no curve grows before it has to.
fn folded(
    mut terms: Vec<Curve>,
    join: impl Fn(&Curve, &Curve) -> Result<Curve, CurveError>,
) -> Result<Option<Curve>, CurveError> {
    while terms.len() > 1 {
        let mut next = Vec::with_capacity(terms.len().div_ceil(2));
        for pair in terms.chunks(2) {
            next.push(match pair {
                [a, b] => join(a, b)?,
                [a, ..] => a.clone(),
                [] => continue,
            });
        }
        terms = next;
    }
    Ok(terms.pop())
}

/// How far whole packets and periodic envelopes are followed: up to the instant from which lines
/// above their demand prove the residual positive with any blocking.
fn horizon(
    link: &LinkSpec,
    envelopes: &[FlowSpec],
    served: &[(&ServiceSpec, Curve)],
    stretch: i128,
) -> Result<Horizon, CurveError> {
    let mut most = nanobits(link.best_effort_packet);
    let mut terms = Vec::with_capacity(envelopes.len() + served.len());
    let (mut periodic, mut first) = (false, Rational::ZERO);
    for flow in envelopes {
        most = most.max(nanobits(flow.envelope.max_packet()));
        terms.push(affine(&flow.envelope)?.later(flow.deadline.0.into())?);
        periodic |= flow.envelope.lines().is_none();
        first = first.greatest(flow.deadline.0.into());
    }
    for (flow, asked) in served {
        most = most.max(nanobits(flow.max_packet));
        terms.push(asked.clone());
        first = first.greatest(flow.first()?);
    }
    let intercept = Rational::whole(-most - nanobits(link.downstream_backlog));
    let room = Curve::line(link.rate.0.into(), intercept);
    let room = match folded(terms, Curve::sum)? {
        Some(demand) => room.difference(&demand)?,
        None => room,
    };
    let corner = room.tail_start().greatest(first);
    let slope = room.long_term_slope()?;
    let behind = room.value(corner)?;
    let (bound, mut complete) = if behind.signum() >= 0 && slope.signum() >= 0 {
        (corner, true)
    } else if slope.signum() > 0 {
        (corner.plus(behind.negated()?.over(slope)?)?, true)
    } else {
        // A full link: the residual repeats from some instant on, and after one period of it
        // nothing new can happen.
        let end = if slope.signum() == 0 { repetition(envelopes, served, corner)? } else { None };
        (end.unwrap_or(corner.plus(corner)?), end.is_some())
    };
    // Lines begin after the last instant that matters.
    let bound = bound.ceil().saturating_add(1);
    let mut until = bound.saturating_mul(stretch);
    while until > 0 && steps(envelopes, served, until)? > MAX_STEPS {
        until /= 2;
    }
    complete &= until >= bound;
    for (flow, asked) in served {
        let packets = Packets { min: flow.min_packet, max: flow.max_packet };
        periodic |= packets.leaves_gaps_above(asked.value(until.into())?);
    }
    Ok(Horizon { until, complete, periodic })
}

/// The end of the first period of the residual of a full link, none of whose lines changes from
/// `corner` on: what is left then are steps of whole packets of one size and of periodic envelopes.
/// `None` beyond 128 bits.
fn repetition(
    envelopes: &[FlowSpec],
    served: &[(&ServiceSpec, Curve)],
    corner: Rational,
) -> Result<Option<Rational>, CurveError> {
    let (mut from, mut period) = (corner, Some(Rational::ZERO));
    for flow in envelopes {
        if let Envelope::Periodic { period: own, .. } = flow.envelope {
            period = period.and_then(|p| common_multiple(p, own.0.into()));
        }
    }
    for (flow, asked) in served {
        let packets = Packets { min: flow.min_packet, max: flow.max_packet };
        let large = Rational::whole(nanobits(flow.max_packet));
        // Below its largest packet a flow served ahead blocks by less than that.
        let level = match packets.last_gap() {
            Some(count) => large.times(Rational::whole(count.max(1)))?,
            None => {
                let own = large.over(asked.long_term_slope()?)?;
                period = period.and_then(|p| common_multiple(p, own));
                large
            }
        };
        from = from.greatest(asked.lower_inverse(level)?.unwrap_or(from));
    }
    let Some(period) = period else { return Ok(None) };
    Ok(from.plus(period).ok())
}

/// The least common multiple of two numbers, `b` positive; of 0 and a number the number.
fn common_multiple(a: Rational, b: Rational) -> Option<Rational> {
    if a == Rational::ZERO {
        return Some(b);
    }
    // a / b in lowest terms: so many times b are a multiple of a.
    let times = a.over(b).ok()?.numerator();
    b.times(Rational::whole(times)).ok()
}

fn steps(
    envelopes: &[FlowSpec],
    served: &[(&ServiceSpec, Curve)],
    until: i128,
) -> Result<i128, CurveError> {
    let mut sum = sweep::steps(envelopes, until);
    for (flow, asked) in served {
        let packets = Packets { min: flow.min_packet, max: flow.max_packet };
        sum = sum.saturating_add(packets.steps(asked.value(until.into())?.ceil()));
    }
    Ok(sum)
}
