//! Flows with service curves: what they demand, in whole packets, on ticks.
//!
//! A flow demands at most the packets whose sum is not above its curve, or its envelope where that is less.
//! With `j` full packets below a level, a sum of sizes is at most `j` of them until the level reaches `j + 1` of
//! the smallest.

use crate::events::{Overflow, down, minus, plus, times, up};
use crate::{Line, Piece, Service};

/// A service curve on ticks, in nanobits times the rate.
pub(crate) struct Ticks<'a> {
    pub service: &'a Service,
    /// Ticks of a ns.
    pub rate: i128,
    pub smallest: i128,
    pub largest: i128,
}

/// The lines of a demand in whole packets.
pub(crate) struct Demand {
    /// Those that are followed, then the curve itself.
    pub lines: Vec<Line>,
    /// How many are followed.
    pub followed: i128,
}

impl Demand {
    /// Where the last line that is followed begins.
    pub fn last(&self) -> Option<i128> {
        let index = usize::try_from(self.followed).ok()?.checked_sub(1)?;
        self.lines.get(index).map(|line| line.at)
    }

    /// Where the first line begins that is not followed.
    pub fn next(&self) -> Option<i128> {
        let index = usize::try_from(self.followed).ok()?;
        self.lines.get(index).map(|line| line.at)
    }
}

/// Where following ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// After so many lines.
    After(i128),
    /// With the first line from this tick on, or after so many.
    Before(i128, i128),
}

impl Ticks<'_> {
    /// Whether these facts are those of a curve: one that begins at 0 with 0 and grows.
    pub fn valid(service: &Service, packet: u64) -> bool {
        let piece = |p: &Piece| p.from.0 >= 0 && p.from.1 > 0 && p.rise >= 0 && p.over > 0;
        let first = service.pieces.first().is_some_and(|p| p.from.0 == 0 && p.level == 0);
        let grows = service.pieces.last().is_some_and(|p| p.rise > 0);
        let buckets = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
        let sizes = service.smallest > 0 && service.smallest <= packet;
        let later = |pair: &[Piece]| {
            let ((a, b), (c, d)) = (pair[0].from, pair[1].from);
            matches!((a.checked_mul(d), c.checked_mul(b)), (Some(one), Some(two)) if one < two)
        };
        first
            && service.pieces.windows(2).all(later)
            && grows
            && sizes
            && service.pieces.iter().all(piece)
            && service.buckets.windows(2).all(buckets)
    }

    /// The first tick at which a piece holds.
    fn start(&self, piece: &Piece) -> Result<i128, Overflow> {
        up(times(self.rate, piece.from.0)?, piece.from.1)
    }

    /// `over` times the value of a piece.
    fn scaled(&self, piece: &Piece, t: i128) -> Result<i128, Overflow> {
        plus(times(self.rate, piece.level)?, times(piece.rise, t)?)
    }

    /// Whether the curve reaches the smallest packet at a tick.
    fn reaches(&self, t: i128) -> Result<bool, Overflow> {
        let mut reached = false;
        for piece in &self.service.pieces {
            if self.start(piece)? > t {
                break;
            }
            reached = self.scaled(piece, t)? >= times(piece.over, self.smallest)?;
        }
        Ok(reached)
    }

    /// Whether it does so at this tick first.
    pub fn first_is(&self, t: i128) -> Result<bool, Overflow> {
        Ok(t > 0 && self.reaches(t)? && !self.reaches(t - 1)?)
    }

    /// The first tick at which the curve reaches the smallest packet.
    pub fn first(&self) -> Result<Option<i128>, Overflow> {
        let pieces = &self.service.pieces;
        for (i, piece) in pieces.iter().enumerate() {
            let start = self.start(piece)?;
            let missing = minus(times(piece.over, self.smallest)?, self.scaled(piece, start)?)?;
            if missing <= 0 {
                return Ok(Some(start));
            }
            if piece.rise > 0 {
                let at = plus(start, up(missing, piece.rise)?)?;
                match pieces.get(i + 1) {
                    Some(next) if at >= self.start(next)? => {}
                    _ => return Ok(Some(at)),
                }
            }
        }
        Ok(None)
    }

    /// The lines of the curve, or of the envelope where that is less. A slope that is no whole number of bit/s is
    /// rounded up.
    pub fn asked(&self, buckets: &[Line]) -> Result<Vec<Line>, Overflow> {
        let mut lines = Vec::with_capacity(self.service.pieces.len());
        for piece in &self.service.pieces {
            let at = self.start(piece)?;
            let rise = up(piece.rise, piece.over)?;
            let level = minus(up(self.scaled(piece, at)?, piece.over)?, times(rise, at)?)?;
            lines.push(Line { at, rise, level });
        }
        for bucket in buckets {
            lines = least_of(&lines, std::slice::from_ref(bucket))?;
        }
        Ok(lines)
    }

    /// The number of packets from which on every level is a sum of sizes; `None` where all have one size.
    pub fn last_gap(&self) -> Result<Option<i128>, Overflow> {
        match minus(self.largest, self.smallest)? {
            0 => Ok(None),
            spread => Ok(Some(up(self.smallest, spread)?)),
        }
    }

    /// The demand in whole packets, followed up to an end and the lines themselves from there on.
    pub fn whole(&self, asked: &[Line], end: End) -> Result<Demand, Overflow> {
        let mut out = Demand { lines: Vec::with_capacity(asked.len()), followed: 0 };
        let mut follows = true;
        for (i, line) in asked.iter().enumerate() {
            let until = asked.get(i + 1).map(|next| next.at);
            let mut t = Some(line.at);
            while let Some(at) = t.filter(|t| until.is_none_or(|until| *t < until)) {
                follows &= match end {
                    End::After(count) => out.followed < count,
                    End::Before(horizon, most) => at < horizon && out.followed < most,
                };
                if !follows {
                    out.lines.push(Line { at, ..*line });
                    break;
                }
                let (next, then) = self.stretch(*line, at)?;
                out.lines.push(next);
                out.followed += 1;
                t = then;
            }
        }
        Ok(out)
    }

    /// The demand from a tick on while one line is in force, and from when on another is.
    fn stretch(&self, line: Line, at: i128) -> Result<(Line, Option<i128>), Overflow> {
        let level = line.value(at)?;
        let full = down(level, self.largest)?;
        let more = plus(full, 1)?;
        let least = times(more, self.smallest)?;
        let reach = |work: i128| -> Result<Option<i128>, Overflow> {
            if line.rise <= 0 {
                Ok(None)
            } else {
                up(minus(work, line.level)?, line.rise).map(Some)
            }
        };
        if level < least {
            return Ok((Line { at, rise: 0, level: times(full, self.largest)? }, reach(least)?));
        }
        let most = times(more, self.largest)?;
        let gap = times(plus(more, 1)?, self.smallest)? > most;
        Ok((Line { at, ..line }, if gap { reach(most)? } else { None }))
    }
}

/// At each tick the lesser of two curves, both from 0 on.
pub(crate) fn least_of(a: &[Line], b: &[Line]) -> Result<Vec<Line>, Overflow> {
    let (Some(mut x), Some(mut y)) = (a.first().copied(), b.first().copied()) else {
        return Ok([a, b].concat());
    };
    let (mut i, mut j, mut t) = (1, 1, 0);
    let mut lines: Vec<Line> = Vec::with_capacity(a.len() + b.len());
    loop {
        while let Some(next) = a.get(i).filter(|next| next.at <= t) {
            (x, i) = (*next, i + 1);
        }
        while let Some(next) = b.get(j).filter(|next| next.at <= t) {
            (y, j) = (*next, j + 1);
        }
        let end = a.get(i).into_iter().chain(b.get(j)).map(|next| next.at).min();
        let low = if x.value(t)? <= y.value(t)? { (x, y) } else { (y, x) };
        lines.push(Line { at: t, ..low.0 });
        if low.0.rise > low.1.rise {
            let apart = minus(low.1.level, low.0.level)?;
            let cross = plus(down(apart, minus(low.0.rise, low.1.rise)?)?, 1)?;
            if end.is_none_or(|end| cross < end) {
                lines.push(Line { at: cross, ..low.1 });
            }
        }
        match end {
            Some(end) => t = end,
            None => break,
        }
    }
    lines.dedup_by(|b, a| a.rise == b.rise && a.level == b.level);
    Ok(lines)
}
