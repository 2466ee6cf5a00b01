//! How far each flow may go: smallest deadline, largest rate, largest burst.
//!
//! Whether a set is admitted is monotone in each of the three. Starting from the most that could
//! be asked for, each corner that has too little room cuts the parameter to the exact value at
//! which it just fits. A corner that once fits stays fitting, so one pass over the corners and
//! some steps for the knees of the flow's own envelope, which move with the parameter, suffice.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};

use crate::field::{Field, Line, add, ceil_div, demand, knees, mul};
use crate::trial::Effort;
use crate::{
    Bucket, CurveError, Envelope, FlowSpec, LinkSpec, MAX_BURST, Rational, bisect, envelope,
};

/// Values that would be admitted for one flow, all else unchanged; counted on the wire. Each is the last
/// value that is: 1 ns less, 1 bit/s or 1 B more is refused, or out of the parameter's range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The smallest deadline in whole ns; `None` when none would do.
    pub min_deadline: Option<Span>,
    /// The largest long-term rate in whole bit/s, at most the peak rate. For a periodic flow the
    /// rate at the smallest period in whole ns that would do.
    pub max_rate: Option<Rate>,
    /// The largest burst in whole bytes, at most [`MAX_BURST`] and at least the largest packet.
    /// For a leaky bucket whose packets may be as large as the burst they grow with it; for a
    /// periodic flow it is the largest packet.
    pub max_burst: Option<Bytes>,
    /// Whether each may be stricter than need be, never laxer: there were too many steps of
    /// periodic flows to follow, and upper bounds of their demand stand for the rest.
    pub strict: bool,
}

/// For each flow how far it may go; meaningful for admitted and for refused sets.
///
/// Costs about as much as a few admission tests for each flow. With periodic flows in the set
/// each answer is found by bisection over admission tests, which suits some tens of flows. Together
/// they look at a bounded number of steps; what is found after that is marked as
/// [`strict`](Suggestion::strict).
pub fn suggest(link: &LinkSpec, flows: &[FlowSpec]) -> Result<Vec<Suggestion>, CurveError> {
    if link.rate.0 == 0 {
        return Err(CurveError::ZeroCapacity);
    }
    if flows.iter().any(|f| matches!(f.envelope, Envelope::Periodic { .. })) {
        let (mut corners, effort) = (Vec::new(), Effort::new());
        return (0..flows.len())
            .map(|k| bisect::suggestion(link, flows, k, &mut corners, &effort))
            .collect();
    }
    let field = Field::new(link, flows)?;
    let mut all = Vec::with_capacity(flows.len());
    for (k, flow) in flows.iter().enumerate() {
        let buckets = flow.envelope.lines().unwrap_or(&[]);
        let own = Own {
            field: &field,
            k,
            deadline: flow.deadline.0.into(),
            packet: envelope::nanobits(flow.envelope.max_packet()),
            buckets,
            lines: buckets.iter().map(Line::from).collect(),
        };
        all.push(Suggestion {
            min_deadline: own.min_deadline()?,
            max_rate: own.max_rate()?,
            max_burst: own.max_burst()?,
            strict: false,
        });
    }
    Ok(all)
}

/// One flow in the field of all.
struct Own<'a> {
    field: &'a Field,
    k: usize,
    deadline: i128,
    packet: i128,
    buckets: &'a [Bucket],
    lines: Vec<Line>,
}

/// A point seen by one flow, everything times `den`.
struct View {
    num: i128,
    den: i128,
    /// The capacity that all but this flow leave, without blocking.
    room: i128,
    /// The largest blocking packet of the others.
    others: i128,
}

impl Own<'_> {
    fn view(&self, index: usize) -> Result<View, CurveError> {
        let p = &self.field.points[index];
        let y = add(p.num, -mul(self.deadline, p.den)?)?;
        Ok(View {
            num: p.num,
            den: p.den,
            room: add(p.work, demand(&self.lines, y, p.den)?)?,
            others: mul(self.field.blocking(index, self.k), p.den)?,
        })
    }

    /// Calls `cut` with the index of every point at which a demand of at most `bound(t)` (for a
    /// whole `t`, non-decreasing) on top of `blocking` may not fit. `cut` returns `false` to stop.
    fn scan<S>(
        &self,
        state: &mut S,
        bound: impl Fn(&S, i128) -> Result<i128, CurveError>,
        mut cut: impl FnMut(&mut S, usize) -> Result<bool, CurveError>,
    ) -> Result<bool, CurveError> {
        for block in &self.field.blocks {
            let least = demand(&self.lines, block.begin_floor - self.deadline, 1)?;
            let room = add(block.least, least)?;
            if room >= bound(state, block.end_ceil)? {
                continue;
            }
            for index in block.first..block.end {
                if !cut(state, index)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The blocking at a point, times `den`, before or after this flow's deadline.
    fn blocked(&self, view: &View, before: bool) -> Result<i128, CurveError> {
        if before || self.field.paper {
            return Ok(view.others.max(mul(self.packet, view.den)?));
        }
        Ok(view.others)
    }

    fn rising(&self) -> bool {
        self.field.segments.last().is_some_and(|s| s.slope >= 0)
    }

    fn min_deadline(&self) -> Result<Option<Span>, CurveError> {
        if !self.rising() {
            return Ok(None);
        }
        let other = self.field.least_other_deadline(self.k);
        let most = self.field.most_blocking;
        let mut d: i128 = 0;
        let fits = self.scan(
            &mut d,
            |d, t| add(demand(&self.lines, t - d, 1)?, most),
            |d, index| {
                let view = self.view(index)?;
                if view.num >= mul(*d, view.den)? {
                    let q = add(view.room, -self.blocked(&view, false)?)?;
                    let y = view.num - *d * view.den;
                    if demand(&self.lines, y, view.den)? <= q {
                        return Ok(true);
                    }
                    *d = self.deadline_for(&view, q)?;
                    if view.num >= mul(*d, view.den)? {
                        return Ok(true);
                    }
                }
                // The interval ends before the deadline: the flow only blocks there, if anyone
                // has a deadline inside.
                Ok(view.num < other.saturating_mul(view.den)
                    || view.room >= self.blocked(&view, true)?)
            },
        )?;
        if !fits {
            return Ok(None);
        }
        // In rising order one pass is enough. Where the demand exceeds the residual it does so
        // between two places where it fits, both after every knee that already fits; the residual
        // is a line between them, so a fitting knee that moves there still fits.
        for (y, work) in knees(self.buckets)? {
            match self.deadline_for_knee(d, y, work)? {
                Some(next) => d = next,
                None => return Ok(None),
            }
        }
        Ok(u64::try_from(d).ok().map(Span))
    }

    /// The least deadline with which the demand at a point is at most `q / den`.
    fn deadline_for(&self, view: &View, q: i128) -> Result<i128, CurveError> {
        let mut least = view.num.div_euclid(view.den) + 1;
        for line in &self.lines {
            let over = add(q, -mul(line.burst, view.den)?)?;
            if over >= 0 && line.rate > 0 {
                let late = add(mul(view.num, line.rate)?, -over)?;
                least = least.min(ceil_div(late, mul(view.den, line.rate)?));
            }
        }
        Ok(least)
    }

    /// The least deadline from `d` on at which a knee of the flow's envelope fits, so far as one
    /// segment can tell; `None` when none would.
    fn deadline_for_knee(
        &self,
        mut d: i128,
        y: Rational,
        work: Rational,
    ) -> Result<Option<i128>, CurveError> {
        loop {
            let t = y.plus(d.into())?;
            let index = self.field.segment_at(t);
            let (slope, intercept) = self.field.line_without(index, &self.lines, self.deadline)?;
            let mut blocked = self.field.blocking(index, self.k);
            if self.field.paper {
                blocked = blocked.max(self.packet);
            }
            let missing = work.minus(add(intercept, -blocked)?.into())?;
            if Rational::whole(slope).times(t)? >= missing {
                return Ok(Some(d));
            }
            let end = match self.field.segments.get(index + 1) {
                Some(next) => Some(next.start.minus(y)?.ceil()),
                None => None,
            };
            let bound = match slope > 0 {
                true => Some(missing.over(slope.into())?.minus(y)?.ceil()),
                false => None,
            };
            d = match (end, bound) {
                (Some(a), Some(b)) => a.min(b),
                (Some(x), None) | (None, Some(x)) => x,
                (None, None) => return Ok(None),
            };
        }
    }

    /// The buckets but the last one, and the last one.
    fn split(&self) -> Option<(&[Line], Line)> {
        self.lines.split_last().map(|(last, others)| (others, *last))
    }

    fn max_rate(&self) -> Result<Option<Rate>, CurveError> {
        let Some((others, last)) = self.split() else { return Ok(None) };
        let spare = self.field.capacity - (self.field.total_rate - last.rate);
        let peak = others.last().map_or(i128::MAX, |l| l.rate);
        self.most(others, Lever::Rate, spare.min(peak))
            .map(|most| most.and_then(|rate| u64::try_from(rate).ok()).map(Rate))
    }

    fn max_burst(&self) -> Result<Option<Bytes>, CurveError> {
        let Some((others, last)) = self.split() else { return Ok(None) };
        if !self.rising() {
            return Ok(None);
        }
        let lever = match others.is_empty() && last.burst == self.packet {
            true => Lever::Packet,
            false => Lever::Burst,
        };
        let most = self.most(others, lever, MAX_BURST.0.into())?;
        let least = if lever == Lever::Packet { 1 } else { self.packet / NANOBITS_PER_BYTE };
        Ok(most.filter(|b| *b >= least).and_then(|b| u64::try_from(b).ok()).map(Bytes))
    }

    /// The largest value of a lever of the last bucket, from `start` down; `None` below zero.
    fn most(&self, others: &[Line], lever: Lever, start: i128) -> Result<Option<i128>, CurveError> {
        let Some((_, last)) = self.split() else { return Ok(None) };
        if start < 0 {
            return Ok(None);
        }
        let line = |value: i128| match lever {
            Lever::Rate => Line { rate: value, ..last },
            Lever::Burst | Lever::Packet => Line { burst: value * NANOBITS_PER_BYTE, ..last },
        };
        // Blocking by the flow's packets, and whether that is part of the lever.
        let packet = |value: i128| match lever {
            Lever::Packet => value * NANOBITS_PER_BYTE,
            _ => self.packet,
        };
        let least = self.deadline.min(self.field.least_other_deadline(self.k));
        let most = self.field.most_blocking;
        let whole = |value: i128, y: i128, den: i128| -> Result<i128, CurveError> {
            if y < 0 {
                return Ok(0);
            }
            let last = demand(&[line(value)], y, den)?;
            Ok(if others.is_empty() { last } else { demand(others, y, den)?.min(last) })
        };
        let mut value = start;
        let fits = self.scan(
            &mut value,
            |value, t| add(whole(*value, t - self.deadline, 1)?, most.max(packet(*value))),
            |value, index| {
                let view = self.view(index)?;
                if view.num < mul(least, view.den)? {
                    return Ok(true);
                }
                let y = add(view.num, -mul(self.deadline, view.den)?)?;
                let free = add(view.room, -view.others)?;
                if y < 0 {
                    // Only this flow's packet matters, as one that blocks.
                    if lever == Lever::Packet && free >= 0 {
                        *value = (*value).min(bytes(view.room, view.den)?);
                        return Ok(*value >= 0);
                    }
                    return Ok(view.room >= self.blocked(&view, true)?);
                }
                let q = match lever {
                    Lever::Packet => free,
                    _ => add(view.room, -self.blocked(&view, false)?)?,
                };
                if lever == Lever::Packet && self.field.paper {
                    // The packet counts twice: as demand and as the one that blocks.
                    let twice = add(view.room, -mul(last.rate, y)?)?;
                    *value = (*value).min(bytes(twice, mul(2, view.den)?)?);
                }
                if *value >= 0 && whole(*value, y, view.den)? > q {
                    *value = match lever {
                        Lever::Rate => {
                            let over = add(q, -mul(last.burst, view.den)?)?;
                            if over < 0 || y == 0 { -1 } else { (*value).min(over.div_euclid(y)) }
                        }
                        _ => bytes(add(q, -mul(last.rate, y)?)?, view.den)?.min(*value),
                    };
                }
                Ok(*value >= 0)
            },
        )?;
        if !fits {
            return Ok(None);
        }
        while let Some(lower) = self.cut_at_knee(others, lever, line(value))? {
            if lower >= value || lower < 0 {
                return Ok(None);
            }
            value = lower;
        }
        Ok(Some(value))
    }

    /// Where the last bucket takes over from the one before: if that knee does not fit, the
    /// lever's value with which it moves to where it just does.
    fn cut_at_knee(
        &self,
        others: &[Line],
        lever: Lever,
        last: Line,
    ) -> Result<Option<i128>, CurveError> {
        for other in others {
            if other.rate <= last.rate || last.burst < other.burst {
                continue;
            }
            let y = Rational::new(last.burst - other.burst, other.rate - last.rate)?;
            let work = Rational::whole(last.rate).times(y)?.plus(last.burst.into())?;
            let at = |line: &Line| Rational::whole(line.rate).times(y)?.plus(line.burst.into());
            let mut binds = true;
            for line in others {
                binds &= at(line)? >= work;
            }
            if !binds {
                continue;
            }
            let t = y.plus(self.deadline.into())?;
            let index = self.field.segment_at(t);
            let (slope, intercept) = self.field.line_without(index, &self.lines, self.deadline)?;
            let mut blocked = self.field.blocking(index, self.k);
            if self.field.paper {
                blocked = blocked.max(self.packet);
            }
            // The residual as a line in `y`, the time since the deadline.
            let level = add(add(intercept, -blocked)?, mul(slope, self.deadline)?)?;
            if Rational::whole(slope).times(y)?.plus(level.into())? >= work {
                continue;
            }
            // `other` fits at the start of the segment and not at the knee: it leaves the
            // residual in between, and there the last bucket must take over.
            let leave = Rational::new(add(level, -other.burst)?, add(other.rate, -slope)?)?;
            let room = Rational::whole(other.rate).times(leave)?.plus(other.burst.into())?;
            return Ok(Some(match lever {
                Lever::Rate if leave.signum() <= 0 => -1,
                Lever::Rate => room.minus(last.burst.into())?.over(leave)?.floor(),
                _ => {
                    let own = Rational::whole(last.rate).times(leave)?;
                    room.minus(own)?.over(NANOBITS_PER_BYTE.into())?.floor()
                }
            }));
        }
        Ok(None)
    }
}

/// Which parameter of the last bucket is varied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lever {
    /// Its rate in bit/s.
    Rate,
    /// Its burst in bytes.
    Burst,
    /// Its burst in bytes, the largest packet with it.
    Packet,
}

/// Whole bytes in `work / den` nanobits, rounded down.
fn bytes(work: i128, den: i128) -> Result<i128, CurveError> {
    Ok(work.div_euclid(mul(den, NANOBITS_PER_BYTE)?))
}
