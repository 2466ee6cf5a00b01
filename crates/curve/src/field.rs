//! The corner points of an unblocked residual, in blocks that can be passed over at once.
//!
//! To see how far one flow may go, its demand is exchanged at every corner. Most corners leave
//! room for any demand in question; the minimum over a block of them shows it in one comparison.

use alloc::vec::Vec;

use crate::envelope::{knee, nanobits};
use crate::error::overflow;
use crate::sweep::{self, Segment, Which};
use crate::{Blocking, Bucket, CurveError, FlowSpec, LinkSpec, Rational};

const OP: &str = "a suggestion";

pub(crate) fn mul(a: i128, b: i128) -> Result<i128, CurveError> {
    a.checked_mul(b).ok_or(overflow(OP))
}

pub(crate) fn add(a: i128, b: i128) -> Result<i128, CurveError> {
    a.checked_add(b).ok_or(overflow(OP))
}

pub(crate) fn ceil_div(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

/// One bucket in nanobits and bit/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub burst: i128,
    pub rate: i128,
}

impl From<&Bucket> for Line {
    fn from(b: &Bucket) -> Line {
        Line { burst: nanobits(b.burst), rate: b.rate.0.into() }
    }
}

/// `den * A(num / den)` for the minimum of some lines, 0 below zero.
pub(crate) fn demand(lines: &[Line], num: i128, den: i128) -> Result<i128, CurveError> {
    if num < 0 {
        return Ok(0);
    }
    let mut least = i128::MAX;
    for line in lines {
        least = least.min(add(mul(line.burst, den)?, mul(line.rate, num)?)?);
    }
    Ok(least)
}

/// A corner at `num / den` ns with residual `work / den` nanobits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub num: i128,
    pub den: i128,
    pub work: i128,
    /// The largest blocking packet, whose it is, and the largest of all others.
    most: i128,
    most_flow: usize,
    second: i128,
}

/// Some neighbouring points: what they have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub first: usize,
    pub end: usize,
    pub begin_floor: i128,
    pub end_ceil: i128,
    pub least: i128,
}

/// How many points a block holds.
const BLOCK: usize = 24;

/// The residual without blocking, ready for exchanging the demand of one flow.
pub(crate) struct Field {
    pub points: Vec<Point>,
    pub blocks: Vec<Block>,
    pub segments: Vec<Segment>,
    /// An upper bound of the blocking everywhere.
    pub most_blocking: i128,
    pub paper: bool,
    pub capacity: i128,
    pub total_rate: i128,
    deadlines: (i128, usize, i128),
}

impl Field {
    pub fn new(link: &LinkSpec, flows: &[FlowSpec]) -> Result<Field, CurveError> {
        let horizon = sweep::horizon(link, flows, 1)?;
        let segments = sweep::residual(link, flows, Which::Unblocked, horizon)?;
        let own = nanobits(link.best_effort_packet);
        let paper = link.blocking == Blocking::Paper;
        let mut by_deadline: Vec<usize> = (0..flows.len()).collect();
        by_deadline.sort_by_key(|k| flows[*k].deadline);
        let mut top = (own, usize::MAX, own);
        let raise = |top: &mut (i128, usize, i128), k: usize| {
            let size = nanobits(flows[k].envelope.max_packet());
            if size > top.0 {
                *top = (size, k, top.0);
            } else if size > top.2 {
                top.2 = size;
            }
        };
        if paper {
            (0..flows.len()).for_each(|k| raise(&mut top, k));
        }
        let mut points = Vec::with_capacity(segments.len());
        let mut waiting = by_deadline.clone();
        for segment in segments.iter().rev() {
            // From the right: a flow blocks before its deadline.
            while !paper
                && waiting
                    .last()
                    .is_some_and(|k| Rational::from(flows[*k].deadline.0) > segment.start)
            {
                if let Some(k) = waiting.pop() {
                    raise(&mut top, k);
                }
            }
            let (num, den) = (segment.start.numerator(), segment.start.denominator());
            let work = add(mul(segment.intercept, den)?, mul(segment.slope, num)?)?;
            points.push(Point { num, den, work, most: top.0, most_flow: top.1, second: top.2 });
        }
        points.reverse();
        let mut blocks = Vec::with_capacity(points.len() / BLOCK + 1);
        for first in (0..points.len()).step_by(BLOCK) {
            let end = (first + BLOCK).min(points.len());
            let inside = &points[first..end];
            let least = inside.iter().map(|p| p.work.div_euclid(p.den)).min().unwrap_or(0);
            let (a, z) = (inside[0], inside[inside.len() - 1]);
            blocks.push(Block {
                first,
                end,
                begin_floor: a.num.div_euclid(a.den),
                end_ceil: ceil_div(z.num, z.den),
                least,
            });
        }
        let deadline = |i: usize| by_deadline.get(i).map(|k| i128::from(flows[*k].deadline.0));
        Ok(Field {
            points,
            blocks,
            segments,
            most_blocking: flows
                .iter()
                .map(|f| nanobits(f.envelope.max_packet()))
                .fold(own, i128::max),
            paper,
            capacity: link.rate.0.into(),
            total_rate: sweep::total_rate(flows),
            deadlines: (
                deadline(0).unwrap_or(i128::MAX),
                by_deadline.first().copied().unwrap_or(usize::MAX),
                deadline(1).unwrap_or(i128::MAX),
            ),
        })
    }

    /// The least deadline of all flows but `k`.
    pub fn least_other_deadline(&self, k: usize) -> i128 {
        if self.deadlines.1 == k { self.deadlines.2 } else { self.deadlines.0 }
    }

    /// The largest packet that blocks at a point, flow `k` aside.
    pub fn blocking(&self, point: usize, k: usize) -> i128 {
        let p = &self.points[point];
        if p.most_flow == k { p.second } else { p.most }
    }

    /// The index of the segment that holds at `t`.
    pub fn segment_at(&self, t: Rational) -> usize {
        self.segments.partition_point(|s| s.start <= t).saturating_sub(1)
    }

    /// The residual on a segment without the demand of one flow, as slope and intercept.
    pub fn line_without(
        &self,
        index: usize,
        own: &[Line],
        deadline: i128,
    ) -> Result<(i128, i128), CurveError> {
        let segment = &self.segments[index];
        let point = &self.points[index];
        let (mut slope, mut intercept) = (segment.slope, segment.intercept);
        let y = add(point.num, -mul(deadline, point.den)?)?;
        if y >= 0 {
            let now = demand(own, y, point.den)?;
            // To the right of a knee the line with the lower rate holds.
            let active = own
                .iter()
                .rev()
                .find(|l| mul(l.burst, point.den).and_then(|b| add(b, mul(l.rate, y)?)) == Ok(now));
            if let Some(line) = active {
                slope = add(slope, line.rate)?;
                intercept = add(intercept, add(line.burst, -mul(line.rate, deadline)?)?)?;
            }
        }
        Ok((slope, intercept))
    }
}

/// The knees of a list of buckets in hull order: `(t, A(t))`, the jump at 0 first.
pub(crate) fn knees(buckets: &[Bucket]) -> Result<Vec<(Rational, Rational)>, CurveError> {
    let mut out = Vec::with_capacity(buckets.len());
    for (i, b) in buckets.iter().enumerate() {
        let t = if i == 0 { Rational::ZERO } else { knee(&buckets[i - 1], b)? };
        let work = t.times(b.rate.0.into())?.plus(nanobits(b.burst).into())?;
        out.push((t, work));
    }
    Ok(out)
}
