//! Sums of lines that begin at given instants (`proofs/common/Sweep.v`).

/// From `at` on the line `rise * t + level`; in a sum, so much more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// First tick.
    pub at: i128,
    /// Rise in a tick.
    pub rise: i128,
    /// Value of the line at 0.
    pub level: i128,
}

/// Numbers beyond 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

pub(crate) fn plus(a: i128, b: i128) -> Result<i128, Overflow> {
    a.checked_add(b).ok_or(Overflow)
}

pub(crate) fn minus(a: i128, b: i128) -> Result<i128, Overflow> {
    a.checked_sub(b).ok_or(Overflow)
}

pub(crate) fn times(a: i128, b: i128) -> Result<i128, Overflow> {
    a.checked_mul(b).ok_or(Overflow)
}

/// `a / b` rounded down, for positive `b`.
pub(crate) fn down(a: i128, b: i128) -> Result<i128, Overflow> {
    a.checked_div_euclid(b).ok_or(Overflow)
}

/// `a / b` rounded up, for positive `b`.
pub(crate) fn up(a: i128, b: i128) -> Result<i128, Overflow> {
    minus(0, down(minus(0, a)?, b)?)
}

impl Line {
    /// The value at `t`.
    pub(crate) fn value(self, t: i128) -> Result<i128, Overflow> {
        plus(times(self.rise, t)?, self.level)
    }

    /// What has to be added to the line `before` to have this one.
    fn instead_of(self, before: Line) -> Result<Line, Overflow> {
        let (rise, level) = (minus(self.rise, before.rise)?, minus(self.level, before.level)?);
        Ok(Line { at: self.at, rise, level })
    }
}

/// The events of lines each of which replaces the one before.
pub(crate) fn replaced(lines: &[Line]) -> Result<Vec<Line>, Overflow> {
    let mut before = Line { at: 0, rise: 0, level: 0 };
    let mut events = Vec::with_capacity(lines.len());
    for line in lines {
        events.push(line.instead_of(before)?);
        before = *line;
    }
    Ok(events)
}

/// `step * ((y + late) / period + 1)` of the time `y` after `due`, rounded down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staircase {
    pub due: i128,
    pub step: i128,
    pub period: i128,
    pub late: i128,
    /// Ticks of a ns: period and lateness are multiples of it.
    pub scale: i128,
}

impl Staircase {
    /// Steps at `due` already.
    fn first(self) -> Result<i128, Overflow> {
        plus(down(self.late, self.period)?, 1)
    }

    /// Steps after `due` that come before `horizon`.
    pub(crate) fn before(self, horizon: i128) -> Result<i128, Overflow> {
        let all = up(plus(minus(horizon, self.due)?, self.late)?, self.period)?;
        Ok(minus(all, self.first()?)?.max(0))
    }

    /// The tick of a step, counted from 0 on after those at `due`.
    pub(crate) fn step_at(self, number: i128) -> Result<i128, Overflow> {
        let periods = times(plus(self.first()?, number)?, self.period)?;
        minus(plus(self.due, periods)?, self.late)
    }

    /// The line above all steps.
    pub(crate) fn above(self) -> Result<Line, Overflow> {
        let rise = up(self.step, self.period)?;
        // In ns, which leaves room for the product.
        let (late, period) = (down(self.late, self.scale)?, down(self.period, self.scale)?);
        let level = up(times(self.step, plus(late, period)?)?, period)?;
        Ok(Line { at: 0, rise, level: minus(level, times(rise, self.due)?)? })
    }

    /// The lines of so many steps, and the one above the rest.
    pub(crate) fn lines(self, steps: i128) -> Result<Vec<Line>, Overflow> {
        let first = self.first()?;
        let mut lines = vec![Line { at: self.due, rise: 0, level: times(self.step, first)? }];
        for number in 0..steps {
            let level = times(self.step, plus(plus(first, number)?, 1)?)?;
            lines.push(Line { at: self.step_at(number)?, rise: 0, level });
        }
        lines.push(Line { at: self.step_at(steps)?, ..self.above()? });
        Ok(lines)
    }
}

/// The lines of `rise * t + level` less all events, which are sorted here, from 0 on.
pub(crate) fn remainder(rise: i128, level: i128, events: &[Line]) -> Result<Vec<Line>, Overflow> {
    let mut sorted = events.to_vec();
    sorted.sort_by_key(|event| event.at);
    let mut now = Line { at: 0, rise, level };
    let mut lines = Vec::with_capacity(sorted.len() + 1);
    for event in sorted {
        if event.at > now.at {
            lines.push(now);
            now.at = event.at;
        }
        now.rise = minus(now.rise, event.rise)?;
        now.level = minus(now.level, event.level)?;
    }
    lines.push(now);
    Ok(lines)
}

/// The first tick from `from` on at which the lines are below zero, as far as the ends of each tell; `None`
/// where they never are.
pub(crate) fn negative(lines: &[Line], from: i128) -> Result<Option<i128>, Overflow> {
    for (i, line) in lines.iter().enumerate() {
        let next = lines.get(i + 1).map(|next| next.at);
        let first = line.at.max(from);
        if next.is_some_and(|next| next <= first) {
            continue;
        }
        if line.value(first)? < 0 {
            return Ok(Some(first));
        }
        match next {
            Some(next) => {
                let last = minus(next, 1)?;
                if line.value(last)? < 0 {
                    return Ok(Some(last));
                }
            }
            // It falls below some time.
            None if line.rise < 0 => {
                return Ok(Some(plus(down(line.level, minus(0, line.rise)?)?, 1)?));
            }
            None => {}
        }
    }
    Ok(None)
}

/// Where the lines are least from `from` on, and the value there; `best` if that is as low.
pub(crate) fn lowest(
    lines: &[Line],
    from: i128,
    mut best: Option<(i128, i128)>,
) -> Result<Option<(i128, i128)>, Overflow> {
    let mut consider = |line: &Line, t: i128| -> Result<(), Overflow> {
        let value = line.value(t)?;
        if t >= from && best.is_none_or(|(_, least)| value < least) {
            best = Some((t, value));
        }
        Ok(())
    };
    for (i, line) in lines.iter().enumerate() {
        let first = line.at.max(from);
        match lines.get(i + 1) {
            None => consider(line, first)?,
            Some(next) => {
                if first < next.at {
                    consider(line, first)?;
                }
                consider(line, minus(next.at, 1)?)?;
            }
        }
    }
    Ok(best)
}

/// The largest curve below the lines that never falls; the last line must not fall.
pub(crate) fn least_to_come(lines: &[Line]) -> Result<Vec<Line>, Overflow> {
    let mut curve: Vec<Line> = Vec::with_capacity(2 * lines.len());
    let mut bound: Option<i128> = None;
    for (i, line) in lines.iter().enumerate().rev() {
        let flat = |at: i128, level: i128| Line { at, rise: 0, level };
        let begin = line.value(line.at)?;
        let (Some(later), Some(next)) = (bound, lines.get(i + 1)) else {
            curve.push(*line);
            bound = Some(begin);
            continue;
        };
        let last = line.value(minus(next.at, 1)?)?;
        if line.rise <= 0 {
            bound = Some(later.min(last));
            curve.push(flat(line.at, later.min(last)));
        } else if begin >= later {
            curve.push(flat(line.at, later));
            bound = Some(later);
        } else {
            if last > later {
                let above = plus(down(minus(later, line.level)?, line.rise)?, 1)?;
                curve.push(flat(above, later));
            }
            curve.push(*line);
            bound = Some(begin);
        }
    }
    curve.reverse();
    curve.dedup_by(|b, a| a.rise == b.rise && a.level == b.level);
    Ok(curve)
}
