//! Suggestions for sets with periodic flows: bisection over admission tests.
//!
//! The steps of a periodic envelope move with its parameters and so does the horizon to which they
//! must be followed; the corners cannot be kept as they are for token buckets. But intervals in
//! which a trial failed can: they refuse most other trials at once.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};

use crate::envelope::nanobits;
use crate::field::{add, mul};
use crate::trial::{Effort, overloaded, trial};
use crate::{
    Blocking, Bucket, CurveError, Envelope, FlowSpec, LinkSpec, MAX_BURST, Rational, Suggestion,
};

/// About a day; longer deadlines help nobody.
const LONGEST: u64 = 1 << 46;

/// How far flow `k` may go. `corners` are intervals in which other trials failed.
pub(crate) fn suggestion(
    link: &LinkSpec,
    flows: &[FlowSpec],
    k: usize,
    corners: &mut Vec<Rational>,
    effort: &Effort,
) -> Result<Suggestion, CurveError> {
    let FlowSpec { envelope, deadline } = &flows[k];
    let (deadline, rate) = (*deadline, link.rate.0);
    let mut others = flows.to_vec();
    others.remove(k);
    let blocked = LinkSpec {
        best_effort_packet: link.best_effort_packet.max(envelope.max_packet()),
        ..*link
    };
    // However long its deadline, the flow's packets block the others.
    let ever = !overloaded(link, flows) && trial(&blocked, &others, false, effort).admitted;
    let mut search =
        Search { link, others, flows: flows.to_vec(), k, witnesses: Vec::new(), effort };
    corners.iter().for_each(|t| search.learn(*t));
    let known = search.witnesses.len();
    let mut high = deadline.0.max(1);
    let mut beyond = !ever;
    while !beyond && high < LONGEST {
        search.flows[k].deadline = Span(high);
        let outcome = trial(link, &search.flows, false, effort);
        if outcome.admitted {
            break;
        }
        beyond = !outcome.exact;
        high *= 2;
    }
    let min_deadline = match !beyond {
        true => search.least(0, high, |d| Ok((envelope.clone(), Span(d)))),
        false => None,
    };
    let (max_rate, max_burst) = match envelope {
        Envelope::Periodic { period, size, jitter } => {
            let slowest = period.0.saturating_mul(1 << 20);
            let fastest = search.least(1, slowest, |p| {
                Ok((Envelope::periodic(Span(p), *size, *jitter)?, deadline))
            });
            let largest = search.most(1, MAX_BURST.0, |s| {
                Ok((Envelope::periodic(*period, Bytes(s), *jitter)?, deadline))
            });
            let work = u128::from(size.0) * NANOBITS_PER_BYTE as u128;
            let rate_of = |p: u64| u64::try_from(work / u128::from(p.max(1))).unwrap_or(u64::MAX);
            (fastest.map(rate_of), largest)
        }
        Envelope::Buckets { buckets, max_packet, .. } => {
            let last = buckets.last().copied().ok_or(CurveError::NoBuckets)?;
            let with = |bucket, packet| envelope.with_last_bucket(bucket, packet);
            let peak = match buckets[..] {
                [.., before, _] => before.rate.0.min(rate),
                _ => rate,
            };
            let max_rate = search.most(0, peak, |r| {
                Ok((with(Bucket { rate: Rate(r), ..last }, *max_packet)?, deadline))
            });
            let grows = buckets.len() == 1 && last.burst == *max_packet;
            let least = if grows { 1 } else { max_packet.0 };
            let max_burst = search.most(least, MAX_BURST.0, |b| {
                let packet = if grows { Bytes(b) } else { *max_packet };
                Ok((with(Bucket { burst: Bytes(b), ..last }, packet)?, deadline))
            });
            (max_rate, max_burst)
        }
    };
    corners.extend(search.witnesses[known..].iter().map(|w| w.at));
    // The latest are the most likely to help the next flow.
    corners.drain(..corners.len().saturating_sub(CORNERS));
    Ok(Suggestion {
        min_deadline: min_deadline.map(Span),
        max_rate: max_rate.map(Rate),
        max_burst: max_burst.map(Bytes),
        strict: effort.is_spent(),
    })
}

/// How many intervals are handed from flow to flow.
const CORNERS: usize = 32;

/// The most trials that only look for intervals that fail.
const CUTS: usize = 48;

/// An interval in which some trial failed, and what the other flows leave there.
struct Witness {
    at: Rational,
    /// Nanobits times the denominator of `at`, blocking aside.
    room: i128,
    /// The largest packet that blocks, flow `k` aside.
    blocking: i128,
}

/// One flow of a set, to be exchanged.
struct Search<'a> {
    link: &'a LinkSpec,
    others: Vec<FlowSpec>,
    flows: Vec<FlowSpec>,
    k: usize,
    witnesses: Vec<Witness>,
    effort: &'a Effort,
}

type Change = Result<(Envelope, Span), CurveError>;

impl Search<'_> {
    /// Keeps an interval, unless its numbers are too large to be of use.
    fn learn(&mut self, at: Rational) {
        let witness = || -> Result<Witness, CurveError> {
            let (num, den) = (at.numerator(), at.denominator());
            let mut room = mul(self.link.rate.0.into(), num)?;
            room = add(room, -mul(nanobits(self.link.downstream_backlog), den)?)?;
            let mut blocking = nanobits(self.link.best_effort_packet);
            for flow in &self.others {
                room = add(room, -demand(&flow.envelope, flow.deadline, at)?)?;
                if self.link.blocking == Blocking::Paper || at < flow.deadline.0.into() {
                    blocking = blocking.max(nanobits(flow.envelope.max_packet()));
                }
            }
            Ok(Witness { at, room, blocking })
        };
        if let Ok(witness) = witness() {
            self.witnesses.push(witness);
        }
    }

    /// Whether a known interval shows that too much is asked.
    fn fails(&self, envelope: &Envelope, deadline: Span) -> bool {
        let least = self.others.iter().map(|f| f.deadline).min().unwrap_or(deadline).min(deadline);
        self.witnesses.iter().any(|w| {
            let before = w.at < deadline.0.into();
            if w.at < least.0.into() {
                return false;
            }
            let mut blocking = w.blocking;
            if before || self.link.blocking == Blocking::Paper {
                blocking = blocking.max(nanobits(envelope.max_packet()));
            }
            let asked =
                || add(demand(envelope, deadline, w.at)?, mul(blocking, w.at.denominator())?);
            asked().is_ok_and(|asked| asked > w.room)
        })
    }

    /// The least value in `low..=high` from which on the set is admitted.
    fn least(&mut self, low: u64, high: u64, with: impl Fn(u64) -> Change) -> Option<u64> {
        self.most(low, high, |v| with(low + (high - v))).map(|v| low + (high - v))
    }

    /// The greatest value in `low..=high` up to which the set is admitted.
    ///
    /// Demand grows with the value, so what fails in an interval also does with every larger
    /// value. The least that fails in a known interval is cheap to find; a full trial just below
    /// either finds another interval or is the answer. Where trials cannot follow all steps an
    /// ordinary bisection decides, and what is known spares it most trials.
    fn most(&mut self, low: u64, high: u64, with: impl Fn(u64) -> Change) -> Option<u64> {
        let mut admitted: Option<u64> = None;
        let (mut ceiling, mut blurred) = (high, false);
        for _ in 0..CUTS {
            let may_admit = |search: &mut Self, v: u64| -> bool {
                search.possible(with(v))
                    && (!blurred || trial(search.link, &search.flows, true, search.effort).admitted)
            };
            let Some(v) = greatest(low, ceiling, |v| may_admit(self, v)) else { break };
            if !self.possible(with(v)) {
                break;
            }
            let outcome = trial(self.link, &self.flows, false, self.effort);
            match outcome.fails_at {
                _ if outcome.admitted => {
                    admitted = Some(v);
                    break;
                }
                Some(at) if v > low => {
                    self.learn(at);
                    ceiling = v - 1;
                }
                None if !blurred => blurred = true,
                _ => break,
            }
        }
        greatest(low, high, |v| {
            if !self.possible(with(v)) {
                return false;
            }
            let sound = admitted.is_some_and(|most| v <= most);
            let outcome = trial(self.link, &self.flows, sound, self.effort);
            if outcome.admitted && !sound {
                admitted = Some(v);
            }
            if let Some(at) = outcome.fails_at {
                self.learn(at);
            }
            outcome.admitted
        })
    }

    /// Makes a change; `false` if there is no such envelope or it is known to ask too much.
    fn possible(&mut self, change: Change) -> bool {
        let Ok((envelope, deadline)) = change else { return false };
        if self.fails(&envelope, deadline) {
            return false;
        }
        self.flows[self.k] = FlowSpec { envelope, deadline };
        !overloaded(self.link, &self.flows)
    }
}

/// The demand of a flow in an interval, times the denominator of its length.
fn demand(envelope: &Envelope, deadline: Span, at: Rational) -> Result<i128, CurveError> {
    let den = at.denominator();
    let y = add(at.numerator(), -mul(deadline.0.into(), den)?)?;
    if y < 0 {
        return Ok(0);
    }
    match envelope {
        Envelope::Buckets { buckets, .. } => {
            let mut least = i128::MAX;
            for b in buckets {
                least = least.min(add(mul(nanobits(b.burst), den)?, mul(b.rate.0.into(), y)?)?);
            }
            Ok(least)
        }
        Envelope::Periodic { period, size, jitter } => {
            let late = add(y, mul(jitter.0.into(), den)?)?;
            let packets = late.div_euclid(mul(period.0.max(1).into(), den)?) + 1;
            mul(mul(packets, nanobits(*size))?, den)
        }
    }
}

/// The greatest value in `low..=high` up to which `good` holds.
fn greatest(mut low: u64, mut high: u64, mut good: impl FnMut(u64) -> bool) -> Option<u64> {
    if !good(low) {
        return None;
    }
    while low < high {
        let middle = high - (high - low) / 2;
        if good(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}
