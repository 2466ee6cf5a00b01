//! Service that best effort gets beside real-time flows, for bounds of its delay.
//!
//! - A class alone has the effective residual `E` as a service curve under the policy `exact`, if
//!   all deadlines are guaranteed and a packet's release is its arrival: each packet of a flow with
//!   envelope `A` is gone within `h(A, E)`.
//! - Classes that share a fair queue do not divide `E`: a release is a running maximum, so each
//!   fresh packet of another class starts `E` again for what waits behind it. What they do divide
//!   is [`strict_service`], whatever their deadlines.
//! - A class becomes a flow with the service curve `phi E` ([`share_of`]), its share of the effective
//!   residual of admission: such flows fit into what admission left.

use alloc::vec::Vec;

use laxity_core::Bytes;

use super::LinkFlow;
use super::flow::affine;
use crate::curve::{Curve, Piece};
use crate::envelope::nanobits;
use crate::{CurveError, LinkSpec, Rational};

/// The least service of best effort in any interval of a length in which some of it waits, under any
/// policy that keeps the real-time deadlines and never idles while something waits:
///
/// ```text
/// inf { C u - c - sum A_k(u + d_k) : u >= t }, at least 0
/// ```
///
/// Real-time packets that are sent in the interval arrived in it or less than their deadline `d_k`,
/// with a service curve their delay bound, before. Cumulative real-time work within an interval as in
/// Le Boudec and Thiran, Network Calculus, section 1.3 (strict service curves). `None` with a flow
/// whose service curve has no envelope: it may send without end. `c` is the work below the scheduler.
///
/// # Errors
/// Numbers beyond 128 bits.
pub fn strict_service(link: &LinkSpec, flows: &[LinkFlow]) -> Result<Option<Curve>, CurveError> {
    let below = Rational::whole(-nanobits(link.downstream_backlog));
    let mut left = Curve::line(link.rate.0.into(), below);
    for flow in flows {
        let (envelope, delay) = match flow {
            LinkFlow::Deadline(flow) => (&flow.envelope, Rational::from(flow.deadline.0)),
            LinkFlow::Service(flow) => match (&flow.envelope, flow.delay_bound()?) {
                (Some(envelope), Some(delay)) => (envelope, delay),
                _ => return Ok(None),
            },
        };
        left = left.difference(&sooner(&affine(envelope)?, delay)?)?;
    }
    if left.long_term_slope()?.signum() < 0 {
        return Ok(None);
    }
    at_least_zero(&left.infimum_from()?).map(Some)
}

/// The part `share` of a non-decreasing curve that is behind by `lag`: `share * (f - lag)`, at least
/// 0. With `lag` zero it is the service curve of a class that becomes a flow; with the lag of a fair
/// queue it is what a class gets of [`strict_service`].
///
/// # Errors
/// Numbers beyond 128 bits.
pub fn share_of(curve: &Curve, share: Rational, lag: Bytes) -> Result<Curve, CurveError> {
    let behind = curve.raised(Rational::whole(-nanobits(lag)))?;
    let scaled = |piece: &Piece| -> Result<Piece, CurveError> {
        Ok(Piece {
            start: piece.start,
            slope: piece.slope.times(share)?,
            intercept: piece.intercept.times(share)?,
        })
    };
    let pieces: Vec<Piece> = behind.pieces().iter().map(scaled).collect::<Result<_, _>>()?;
    at_least_zero(&Curve::affine(pieces)?)
}

/// `f(t + by)` for a curve that ends in a line.
fn sooner(curve: &Curve, by: Rational) -> Result<Curve, CurveError> {
    let pieces = curve.pieces();
    let first = pieces.partition_point(|p| p.start <= by).saturating_sub(1);
    let mut out = Vec::with_capacity(pieces.len() - first);
    for piece in &pieces[first..] {
        out.push(Piece {
            start: piece.start.minus(by)?.greatest(Rational::ZERO),
            slope: piece.slope,
            intercept: piece.intercept.plus(piece.slope.times(by)?)?,
        });
    }
    Curve::affine(out)
}

/// The greater of a non-decreasing curve and 0.
fn at_least_zero(curve: &Curve) -> Result<Curve, CurveError> {
    let pieces = curve.pieces();
    let zero = Piece { start: Rational::ZERO, slope: Rational::ZERO, intercept: Rational::ZERO };
    let mut out = alloc::vec![zero];
    for (i, piece) in pieces.iter().enumerate() {
        let mut start = piece.start;
        if piece.at(start)?.signum() < 0 {
            if piece.slope.signum() <= 0 {
                continue;
            }
            start = piece.intercept.negated()?.over(piece.slope)?;
            if pieces.get(i + 1).is_some_and(|next| next.start <= start) {
                continue;
            }
        }
        if out.last().is_some_and(|last| last.start == start) {
            out.pop();
        }
        out.push(Piece { start, ..*piece });
    }
    Curve::affine(out)
}
