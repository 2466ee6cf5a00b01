//! Suggestions for sets with periodic flows: bisection over full admission tests.
//!
//! The steps of a periodic envelope move with its parameters and so does the horizon to which they
//! must be followed; the corners cannot be kept as they are for token buckets.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};

use crate::sweep::overloaded;
use crate::{Bucket, CurveError, Envelope, FlowSpec, LinkSpec, MAX_BURST, Suggestion, check};

/// About a day; longer deadlines help nobody.
const LONGEST: u64 = 1 << 46;

/// How far flow `k` may go.
pub(crate) fn suggestion(
    link: &LinkSpec,
    flows: &[FlowSpec],
    k: usize,
) -> Result<Suggestion, CurveError> {
    let mut trial = flows.to_vec();
    // Whether a trial is admitted, or is beyond what can be told exactly.
    let mut verdict = |envelope: Envelope, deadline: Span| -> (bool, bool) {
        trial[k] = FlowSpec { envelope, deadline };
        if overloaded(link, &trial) {
            return (false, false);
        }
        check(link, &trial).map_or((false, true), |v| (v.admitted, !v.exact))
    };
    let FlowSpec { envelope, deadline } = &flows[k];
    let (deadline, rate) = (*deadline, link.rate.0);
    let mut others = flows.to_vec();
    others.remove(k);
    let blocked = LinkSpec {
        best_effort_packet: link.best_effort_packet.max(envelope.max_packet()),
        ..*link
    };
    // However long its deadline, the flow's packets block the others.
    let ever = !overloaded(link, flows) && check(&blocked, &others).is_ok_and(|v| v.admitted);
    let mut high = deadline.0.max(1);
    let mut beyond = !ever;
    while !beyond && high < LONGEST {
        let (admitted, unknown) = verdict(envelope.clone(), Span(high));
        if admitted {
            break;
        }
        beyond = unknown;
        high *= 2;
    }
    let mut admits = |envelope: Result<Envelope, CurveError>, deadline: Span| -> bool {
        envelope.is_ok_and(|envelope| verdict(envelope, deadline).0)
    };
    let min_deadline = match !beyond {
        true => least(0, high, |d| admits(Ok(envelope.clone()), Span(d))),
        false => None,
    };
    let (max_rate, max_burst) = match envelope {
        Envelope::Periodic { period, size, jitter } => {
            let slowest = period.0.saturating_mul(1 << 20);
            let period = least(1, slowest, |p| {
                admits(Envelope::periodic(Span(p), *size, *jitter), deadline)
            });
            let largest = most(1, MAX_BURST.0, |s| {
                admits(Envelope::periodic(flows_period(envelope), Bytes(s), *jitter), deadline)
            });
            let work = u128::from(size.0) * NANOBITS_PER_BYTE as u128;
            let rate_of = |p: u64| u64::try_from(work / u128::from(p.max(1))).unwrap_or(u64::MAX);
            (period.map(rate_of), largest)
        }
        Envelope::Buckets { buckets, max_packet, min_packet } => {
            let last = buckets.last().copied().ok_or(CurveError::NoBuckets)?;
            let with = |bucket: Bucket, packet: Bytes| {
                let mut changed = buckets.clone();
                if let Some(last) = changed.last_mut() {
                    *last = bucket;
                }
                let minimum = packet.min(*min_packet);
                Envelope::buckets(&changed, packet)?.with_min_packet(minimum)
            };
            let peak = match buckets[..] {
                [.., before, _] => before.rate.0.min(rate),
                _ => rate,
            };
            let max_rate = most(0, peak, |r| {
                admits(with(Bucket { rate: Rate(r), ..last }, *max_packet), deadline)
            });
            let grows = buckets.len() == 1 && last.burst == *max_packet;
            let max_burst = most(if grows { 1 } else { max_packet.0 }, MAX_BURST.0, |b| {
                let packet = if grows { Bytes(b) } else { *max_packet };
                admits(with(Bucket { burst: Bytes(b), ..last }, packet), deadline)
            });
            (max_rate, max_burst)
        }
    };
    Ok(Suggestion {
        min_deadline: min_deadline.map(Span),
        max_rate: max_rate.map(Rate),
        max_burst: max_burst.map(Bytes),
    })
}

fn flows_period(envelope: &Envelope) -> Span {
    match envelope {
        Envelope::Periodic { period, .. } => *period,
        Envelope::Buckets { .. } => Span(1),
    }
}

/// The least value in `low..=high` from which on `good` holds.
fn least(mut low: u64, mut high: u64, mut good: impl FnMut(u64) -> bool) -> Option<u64> {
    if !good(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if good(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// The greatest value in `low..=high` up to which `good` holds.
fn most(mut low: u64, mut high: u64, mut good: impl FnMut(u64) -> bool) -> Option<u64> {
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
