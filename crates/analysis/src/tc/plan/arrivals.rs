//! Envelopes of flows as corners, which decide the slopes of curves above them.

use laxity_curve::{Bucket, CurveError, Envelope, Rational};

use crate::tc::service::nanobits;

/// The sum of flows of one class, each a minimum of token buckets.
#[derive(Clone, Debug)]
pub struct Arrivals {
    flows: Vec<Vec<Bucket>>,
}

impl Arrivals {
    /// Of envelopes on the wire. A periodic one counts as the smallest bucket above it.
    pub fn of<'a>(envelopes: impl IntoIterator<Item = &'a Envelope>) -> Arrivals {
        let buckets = |e: &Envelope| match e.lines() {
            Some(lines) => lines.to_vec(),
            None => vec![Bucket { burst: e.burst(), rate: e.rate() }],
        };
        Arrivals { flows: envelopes.into_iter().map(buckets).collect() }
    }

    /// Rate in the long run, bit/s.
    pub fn rate(&self) -> Rational {
        let last = |lines: &Vec<Bucket>| lines.last().map_or(0, |b| i128::from(b.rate.0));
        Rational::whole(self.flows.iter().map(last).sum())
    }

    /// `(x, A(x))` in ns and nanobits at 0 and where the slope falls, by rising `x`.
    pub fn corners(&self) -> Result<Vec<(Rational, Rational)>, CurveError> {
        let mut at = vec![Rational::ZERO];
        for lines in &self.flows {
            for pair in lines.windows(2) {
                let rise = nanobits(pair[1].burst.0).minus(nanobits(pair[0].burst.0))?;
                let fall = Rational::from(pair[0].rate.0).minus(pair[1].rate.0.into())?;
                at.push(rise.over(fall)?);
            }
        }
        at.sort();
        at.dedup();
        at.into_iter().map(|x| Ok((x, self.value(x)?))).collect()
    }

    /// `A(x)` in nanobits.
    pub fn value(&self, x: Rational) -> Result<Rational, CurveError> {
        let mut sum = Rational::ZERO;
        for lines in &self.flows {
            let mut least: Option<Rational> = None;
            for b in lines {
                let y = x.times(b.rate.0.into())?.plus(nanobits(b.burst.0))?;
                least = Some(least.map_or(y, |before| before.least(y)));
            }
            sum = sum.plus(least.unwrap_or(Rational::ZERO))?;
        }
        Ok(sum)
    }
}
