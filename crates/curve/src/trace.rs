//! Envelopes of recorded flows.
//!
//! The minimal envelope of a trace is a staircase: the most bytes that arrive within any closed
//! interval of a length. A token bucket of rate `r` that the trace conforms to needs a burst of
//! `b(r) = max (bytes - r * length)` over all intervals from one packet to another, which one pass
//! finds as the longest queue before a server of rate `r`. That pass also names an interval that
//! attains it, so all corners of the concave hull of the staircase are found without computing
//! the staircase, by asking for the interval that lies highest above each line between two known
//! corners: two passes for each corner.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span, Time};

use crate::curve::{Curve, Piece};
use crate::envelope::nanobits;
use crate::error::overflow;
use crate::{Bucket, CurveError, Envelope, MAX_BUCKETS, Rational};

/// The longest trace whose staircase is computed; the time grows with the square.
pub const MAX_STAIRCASE_PACKETS: usize = 8192;

/// How many buckets a trace is given where nothing else is asked for.
pub const DEFAULT_BUCKETS: usize = 8;

/// A length of time and the most bytes within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub length: i128,
    pub work: i128,
}

pub(crate) fn validate(trace: &[(Time, Bytes)]) -> Result<(), CurveError> {
    if trace.is_empty() {
        return Err(CurveError::EmptyTrace);
    }
    if let Some(i) = trace.windows(2).position(|w| w[1].0 < w[0].0) {
        return Err(CurveError::UnsortedTrace { packet: i + 1 });
    }
    if trace.iter().all(|(_, size)| size.0 == 0) {
        return Err(CurveError::ZeroPacket);
    }
    Ok(())
}

/// The interval with the largest `scale * bytes - slope * length`; of equal ones the first.
pub(crate) fn highest(
    trace: &[(Time, Bytes)],
    scale: i128,
    slope: i128,
) -> Result<Interval, CurveError> {
    const OP: &str = "the queue of a trace";
    let (mut queue, mut begin, mut before) = (0i128, 0u64, 0i128);
    let mut best = (i128::MIN, Interval { length: 0, work: 0 });
    let mut total = 0i128;
    let mut last = trace.first().map_or(0, |(at, _)| at.0);
    for (at, size) in trace {
        let gone = slope.checked_mul(i128::from(at.0.saturating_sub(last))).ok_or(overflow(OP))?;
        queue = queue.checked_sub(gone).ok_or(overflow(OP))?;
        if queue <= 0 {
            (queue, begin, before) = (0, at.0, total);
        }
        last = at.0;
        total += i128::from(size.0);
        let work = scale.checked_mul(size.0.into()).ok_or(overflow(OP))?;
        queue = queue.checked_add(work).ok_or(overflow(OP))?;
        if queue > best.0 {
            best = (queue, Interval { length: (at.0 - begin).into(), work: total - before });
        }
    }
    Ok(best.1)
}

/// The smallest bucket of a rate to which the trace conforms.
///
/// # Errors
/// An empty or unsorted trace, or numbers beyond 128 bits.
pub fn smallest_burst(trace: &[(Time, Bytes)], rate: Rate) -> Result<Bytes, CurveError> {
    validate(trace)?;
    let top = highest(trace, NANOBITS_PER_BYTE, rate.0.into())?;
    let above = top.work * NANOBITS_PER_BYTE - top.length * i128::from(rate.0);
    let bytes =
        above.div_euclid(NANOBITS_PER_BYTE) + i128::from(above.rem_euclid(NANOBITS_PER_BYTE) != 0);
    Ok(Bytes(u64::try_from(bytes).map_err(|_| overflow("the burst of a trace"))?))
}

/// The long-term rate of a trace: all bytes over the time from its first to its last packet,
/// rounded up; zero when all packets come at once.
pub fn mean_rate(trace: &[(Time, Bytes)]) -> Result<Rate, CurveError> {
    validate(trace)?;
    let length = trace[trace.len() - 1].0.since(trace[0].0).0;
    if length == 0 {
        return Ok(Rate(0));
    }
    let work: u128 = trace.iter().map(|(_, size)| u128::from(size.0)).sum();
    let rate = work.checked_mul(NANOBITS_PER_BYTE as u128).ok_or(overflow("the mean rate"))?;
    Ok(Rate(u64::try_from(rate.div_ceil(length.into())).map_err(|_| overflow("the mean rate"))?))
}

/// The minimal envelope as steps `(length, most bytes within it)`, both rising. Merges the
/// intervals from each packet into what is known: `O(n (n + steps))` for `n` packets.
///
/// # Errors
/// An empty or unsorted trace, or more than [`MAX_STAIRCASE_PACKETS`].
pub fn staircase(trace: &[(Time, Bytes)]) -> Result<Vec<(Span, Bytes)>, CurveError> {
    validate(trace)?;
    if trace.len() > MAX_STAIRCASE_PACKETS {
        let (packets, limit) = (trace.len(), MAX_STAIRCASE_PACKETS);
        return Err(CurveError::TraceTooLong { packets, limit });
    }
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (i, (begin, _)) in trace.iter().enumerate() {
        merged.clear();
        let mut known = steps.iter().copied().peekable();
        let mut work = 0u64;
        let mut push = |step: (u64, u64)| match merged.last_mut() {
            Some(last) if step.1 <= last.1 => {}
            Some(last) if step.0 == last.0 => *last = step,
            _ => merged.push(step),
        };
        for (at, size) in &trace[i..] {
            let length = at.since(*begin).0;
            work = work.checked_add(size.0).ok_or(overflow("the bytes of a trace"))?;
            while let Some(step) = known.next_if(|step| step.0 <= length) {
                push(step);
            }
            push((length, work));
        }
        known.for_each(push);
        core::mem::swap(&mut steps, &mut merged);
    }
    Ok(steps.into_iter().map(|(length, work)| (Span(length), Bytes(work))).collect())
}

/// The minimal envelope as a curve; after the length of the trace it stays level.
pub fn staircase_curve(trace: &[(Time, Bytes)]) -> Result<Curve, CurveError> {
    let pieces = staircase(trace)?.into_iter().map(|(length, work)| Piece {
        start: length.0.into(),
        slope: Rational::ZERO,
        intercept: nanobits(work).into(),
    });
    Curve::affine(pieces.collect())
}

impl Envelope {
    /// The minimal concave envelope of a trace: the buckets along the concave hull of its
    /// staircase with rates from the mean rate up, and one of the mean rate, so that the flow may
    /// go on as it did. With more than `buckets` of them, those whose loss raises the envelope
    /// least are left out. Rates are rounded up to whole bit/s, then bursts up to whole bytes.
    ///
    /// Takes two passes over the trace for each corner of the hull.
    ///
    /// # Errors
    /// An empty or unsorted trace, `buckets` zero or above [`MAX_BUCKETS`], or a burst above
    /// [`MAX_BURST`](crate::MAX_BURST).
    pub fn from_trace(trace: &[(Time, Bytes)], buckets: usize) -> Result<Envelope, CurveError> {
        validate(trace)?;
        if buckets == 0 {
            return Err(CurveError::NoBuckets);
        }
        if buckets > MAX_BUCKETS {
            return Err(CurveError::TooManyBuckets { count: buckets });
        }
        let mut rates = hull_rates(trace)?;
        let mean = mean_rate(trace)?;
        rates.retain(|rate| *rate > mean);
        rates.push(mean);
        rates.dedup();
        let mut lines = Vec::with_capacity(rates.len());
        for rate in rates {
            lines.push(Bucket { burst: smallest_burst(trace, rate)?, rate });
        }
        thin(&mut lines, buckets);
        let sizes = || trace.iter().map(|(_, size)| *size).filter(|size| size.0 > 0);
        let (Some(least), Some(most)) = (sizes().min(), sizes().max()) else {
            return Err(CurveError::ZeroPacket);
        };
        Envelope::buckets(&lines, most)?.with_min_packet(least)
    }
}

/// The slopes of the concave hull of the staircase in bit/s, rounded up, falling.
fn hull_rates(trace: &[(Time, Bytes)]) -> Result<Vec<Rate>, CurveError> {
    // Steeper than any two packets, so only what comes at one instant counts.
    let total: i128 = trace.iter().map(|(_, size)| i128::from(size.0)).sum();
    let first = highest(trace, 1, total + 1)?;
    let length = trace[trace.len() - 1].0.since(trace[0].0).0;
    let last = Interval { length: length.into(), work: total };
    let mut rates = Vec::new();
    // Spans still to be refined, the leftmost on top.
    let mut open = alloc::vec![(first, last)];
    while let Some((a, b)) = open.pop() {
        let (run, rise) = (b.length - a.length, b.work - a.work);
        if run <= 0 {
            continue;
        }
        let top = highest(trace, run, rise)?;
        let height = |x: Interval| -> Result<i128, CurveError> {
            let work = run.checked_mul(x.work).ok_or(overflow("the hull of a trace"))?;
            let less = rise.checked_mul(x.length).ok_or(overflow("the hull of a trace"))?;
            Ok(work - less)
        };
        if height(top)? > height(a)? {
            open.push((top, b));
            open.push((a, top));
            continue;
        }
        let work = rise.checked_mul(NANOBITS_PER_BYTE).ok_or(overflow("the hull of a trace"))?;
        let rate = work.div_euclid(run) + i128::from(work.rem_euclid(run) != 0);
        rates.push(Rate(u64::try_from(rate).map_err(|_| overflow("the hull of a trace"))?));
    }
    rates.dedup();
    Ok(rates)
}

/// Leaves out buckets, but never the first or last, until at most `most` remain.
fn thin(lines: &mut Vec<Bucket>, most: usize) {
    while lines.len() > most {
        if lines.len() <= 2 {
            lines.remove(0);
            continue;
        }
        // How far the envelope rises where the neighbours of a bucket would meet, in nanobits.
        let gap = |i: usize| -> i128 {
            let (a, b, c) = (lines[i - 1], lines[i], lines[i + 1]);
            let fall = i128::from(a.rate.0) - i128::from(c.rate.0);
            let t = (nanobits(c.burst) - nanobits(a.burst)).div_euclid(fall.max(1));
            nanobits(a.burst) - nanobits(b.burst)
                + (i128::from(a.rate.0) - i128::from(b.rate.0)).saturating_mul(t)
        };
        match (1..lines.len() - 1).min_by_key(|i| gap(*i)) {
            Some(least) => lines.remove(least),
            None => return,
        };
    }
}
