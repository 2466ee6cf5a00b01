//! The competing alternative: a fixed rate for each flow (generalised processor sharing).
//!
//! With packets arriving whole, packet-by-packet GPS at rate `g` delays a flow by at most the
//! horizontal deviation `h(A, g t)` plus one packet of the link, `L_max / C` (Parekh and Gallager
//! 1993). Section 3 of the paper compares EDF with this.

use alloc::vec::Vec;

use laxity_core::{Bytes, Rate, Span};

use crate::envelope::nanobits;
use crate::{CurveError, Envelope, FlowSpec, LinkSpec, Rational};

/// Whether every flow can have the rate that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpsVerdict {
    /// Whether the rates fit the link together.
    pub admitted: bool,
    /// The smallest sufficient rate of each flow; `None` where none is enough.
    pub rates: Vec<Option<Rate>>,
    /// The rate left for best effort, zero when refused.
    pub remainder: Rate,
}

/// The corners at which the envelope is furthest to the left of a line that is steep enough to
/// catch up with it, as `(t, A(t))`.
fn corners(envelope: &Envelope) -> Result<Vec<(Rational, Rational)>, CurveError> {
    let curve = envelope.curve()?;
    curve.pieces().iter().map(|p| Ok((p.start, p.at(p.start)?))).collect()
}

/// The exact long-term rate in bit/s.
fn long_term(envelope: &Envelope) -> Result<Rational, CurveError> {
    envelope.curve()?.long_term_slope()
}

/// The smallest rate in whole bit/s that serves an envelope within `deadline` under PGPS, where
/// `largest` is the largest packet of the whole link; `None` when the largest packet alone takes
/// the whole deadline. May exceed the rate of the link.
pub fn smallest_rate(
    envelope: &Envelope,
    deadline: Span,
    largest: Bytes,
    link: Rate,
) -> Result<Option<Rate>, CurveError> {
    if link.0 == 0 {
        return Err(CurveError::ZeroCapacity);
    }
    let packet = Rational::new(nanobits(largest), link.0.into())?;
    let allowed = Rational::from(deadline.0).minus(packet)?;
    if allowed.signum() <= 0 {
        return Ok(None);
    }
    let mut least = long_term(envelope)?;
    for (t, work) in corners(envelope)? {
        least = least.greatest(work.over(t.plus(allowed)?)?);
    }
    Ok(u64::try_from(least.ceil()).ok().map(Rate))
}

/// Whether the flows of a link keep their deadlines under PGPS, and what is left then. What is
/// below the scheduler delays like a packet.
pub fn check_gps(link: &LinkSpec, flows: &[FlowSpec]) -> Result<GpsVerdict, CurveError> {
    let packets = flows.iter().map(|f| f.envelope.max_packet());
    let largest = packets.fold(link.best_effort_packet, Bytes::max);
    let largest = Bytes(largest.0.saturating_add(link.downstream_backlog.0));
    let mut rates = Vec::with_capacity(flows.len());
    let mut total = Some(0u64);
    for flow in flows {
        let rate = smallest_rate(&flow.envelope, flow.deadline, largest, link.rate)?;
        total = total.and_then(|sum| sum.checked_add(rate?.0));
        rates.push(rate);
    }
    let remainder = total.and_then(|sum| link.rate.0.checked_sub(sum));
    Ok(GpsVerdict { admitted: remainder.is_some(), rates, remainder: Rate(remainder.unwrap_or(0)) })
}

/// The relative deadline that an RSVP reservation stands for: the delay bound of RFC 2212 for
/// service rate `rate` (R) without error terms, `h(A, R t)`, plus the slack S; rounded down.
///
/// # Errors
/// A rate below the long-term rate of the envelope: the delay would have no bound.
pub fn deadline_from_rspec(
    envelope: &Envelope,
    rate: Rate,
    slack: Span,
) -> Result<Span, CurveError> {
    let reserved = Rational::from(rate.0);
    if rate.0 == 0 || reserved < long_term(envelope)? {
        return Err(CurveError::OutOfRange {
            what: "the reserved rate R, at least the long-term rate r of the flow",
        });
    }
    let mut delay = Rational::ZERO;
    for (t, work) in corners(envelope)? {
        delay = delay.greatest(work.over(reserved)?.minus(t)?);
    }
    let deadline = delay.plus(slack.0.into())?.floor();
    Ok(Span(u64::try_from(deadline).map_err(|_| crate::error::overflow("a deadline"))?))
}
