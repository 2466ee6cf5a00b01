//! Admission of flows with envelopes and with service curves, and the residual beside them.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate};

use super::room::Room;
use super::{LinkFlow, ServiceSpec};
use crate::sweep::{Which, bytes_floor};
use crate::{CurveError, FlowSpec, LinkSpec, Rational, Residual, Verdict};

/// Whether a link keeps all deadlines of flows with envelopes and with service curves: whether
///
/// ```text
/// R(t) = C t - sum dem_k(t) - sum A_k(t - d_k) - s(t) - c >= 0    for all t >= min first_k
/// ```
///
/// with `dem_k(t) = P_k(S_k(t))` the whole packets that curve `k` demands, `A_k` the flows with
/// envelopes, `c` what is below the scheduler, and `first` the deadline, or for a curve the
/// instant at which its smallest packet is due. With [`Blocking::Exact`](crate::Blocking::Exact)
/// `s(t)` is the largest of the best-effort packet, of the packets of envelope flows due later
/// than `t`, and of `s_k - dem_k(t)` where another flow can be due: a blocker is due after the
/// interval, so its own flow has nothing due in it. The long-term rates must fit too.
///
/// Sufficient for any scheduler that serves real time by deadline and best effort by monotone
/// deadlines below the residual; for sets without a flow that has both curve and envelope also
/// necessary (exact), as long as [`Verdict::exact`]. Without curves it is [`check`](crate::check).
///
/// # Errors
/// A link of rate zero, or numbers beyond 128 bits. Too much load is a verdict, not an error.
pub fn check_flows(link: &LinkSpec, flows: &[LinkFlow]) -> Result<Verdict, CurveError> {
    if let Some(envelopes) = envelopes_only(flows) {
        return crate::check(link, &envelopes);
    }
    if link.rate.0 == 0 {
        return Err(CurveError::ZeroCapacity);
    }
    let load = total_rate(flows)?;
    let overload = load > link.rate.0.into();
    let room = Room::new(link, flows, 1)?;
    let residual = room.residual(Which::Admission)?;
    let least = room.least().unwrap_or(Rational::ZERO);
    let limit = Rational::whole(room.horizon.until);
    let mut worst = Some((least, residual.value(least)?));
    for piece in residual.pieces().iter().filter(|p| p.start > least) {
        // Past a complete horizon nothing can fail; what stands there are upper bounds.
        if room.horizon.complete && !overload && piece.start >= limit {
            break;
        }
        let value = piece.at(piece.start)?;
        if worst.is_none_or(|(_, w)| value < w) {
            worst = Some((piece.start, value));
        }
    }
    if let (Some(tail), true) = (residual.pieces().last(), overload) {
        // The residual falls for ever; where does it turn negative?
        if tail.slope.signum() < 0 && worst.is_none_or(|(_, w)| w.signum() >= 0) {
            let zero = tail.intercept.negated()?.over(tail.slope)?;
            let at = Rational::whole(zero.greatest(tail.start).floor() + 1);
            worst = Some((at, tail.at(at)?));
        }
    }
    let upper = flows.iter().any(|f| matches!(f, LinkFlow::Service(f) if f.envelope.is_some()));
    let mut verdict = Verdict {
        admitted: !overload,
        load: rate(load),
        capacity: link.rate,
        overload,
        binding_interval: None,
        slack: 0,
        slack_bytes: 0,
        demand: Vec::new(),
        blocking: Bytes(0),
        exact: room.horizon.complete && !upper,
    };
    if let Some((at, value)) = worst {
        verdict.slack = value.floor();
        verdict.slack_bytes =
            bytes_floor(verdict.slack).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        verdict.binding_interval = Some(at);
        verdict.demand = flows.iter().map(|flow| demand(flow, at)).collect::<Result<_, _>>()?;
        let blocked = room.blocking(Which::Admission)?.value(at)?.negated()?;
        let below = i128::from(link.downstream_backlog.0);
        let blocked = bytes_floor(blocked.floor()) + below;
        verdict.blocking = Bytes(u64::try_from(blocked).unwrap_or(u64::MAX));
        verdict.admitted &= verdict.slack >= 0;
        // A failure before the upper bounds begin is certain.
        verdict.exact |= verdict.slack < 0 && at < limit && !upper;
    }
    Ok(verdict)
}

/// The residual of a link beside flows of both kinds.
///
/// # Errors
/// A link of rate zero, [`CurveError::Overload`], or numbers beyond 128 bits.
pub fn residual(link: &LinkSpec, flows: &[LinkFlow]) -> Result<Residual, CurveError> {
    if let Some(envelopes) = envelopes_only(flows) {
        return Residual::new(link, &envelopes);
    }
    if link.rate.0 == 0 {
        return Err(CurveError::ZeroCapacity);
    }
    let total = total_rate(flows)?;
    if total > link.rate.0.into() {
        return Err(CurveError::Overload { total: rate(total), capacity: link.rate });
    }
    let room = Room::new(link, flows, 2)?;
    Residual::of_curves(
        room.residual(Which::Admission)?,
        room.residual(Which::Deadlines)?,
        room.least().unwrap_or(Rational::ZERO),
        room.horizon,
    )
}

/// The flows, if none has a service curve.
pub(super) fn envelopes_only(flows: &[LinkFlow]) -> Option<Vec<FlowSpec>> {
    let envelope = |flow: &LinkFlow| match flow {
        LinkFlow::Deadline(flow) => Some(flow.clone()),
        LinkFlow::Service(_) => None,
    };
    flows.iter().map(envelope).collect()
}

/// Sum of the long-term rates.
fn total_rate(flows: &[LinkFlow]) -> Result<Rational, CurveError> {
    let mut sum = Rational::ZERO;
    for flow in flows {
        sum = sum.plus(match flow {
            LinkFlow::Deadline(flow) => flow.envelope.curve()?.long_term_slope()?,
            LinkFlow::Service(flow) => flow.asked()?.long_term_slope()?,
        })?;
    }
    Ok(sum)
}

fn rate(bits_per_second: Rational) -> Rate {
    Rate(u64::try_from(bits_per_second.ceil()).unwrap_or(u64::MAX))
}

/// Demand of a flow in an interval, rounded up to whole bytes.
fn demand(flow: &LinkFlow, at: Rational) -> Result<Bytes, CurveError> {
    let work = match flow {
        LinkFlow::Deadline(flow) => flow.envelope.value(at.minus(flow.deadline.0.into())?)?,
        LinkFlow::Service(flow) => whole_packets(flow, at)?,
    };
    let bytes = work.over(NANOBITS_PER_BYTE.into())?.ceil();
    Ok(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)))
}

/// `P(S(t))` at one instant.
fn whole_packets(flow: &ServiceSpec, at: Rational) -> Result<Rational, CurveError> {
    let work = flow.asked()?.value(at)?;
    let (small, large) =
        (crate::envelope::nanobits(flow.min_packet), crate::envelope::nanobits(flow.max_packet));
    let n = work.over(large.into())?.ceil().max(1);
    let fits = work >= Rational::whole(n * small);
    Ok(if fits { work } else { Rational::whole((n - 1) * large) })
}
