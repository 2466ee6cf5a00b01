//! A flow with a service curve, and flows of both kinds.

use laxity_core::{Bytes, Rate, Span};

use super::{ServiceCurve, check_flows};
use crate::curve::Curve;
use crate::envelope::nanobits;
use crate::{Blocking, CurveError, Envelope, FlowSpec, LinkSpec, Rational};

/// A real-time flow whose deadlines follow from a service curve. All bytes are counted on the
/// wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSpec {
    /// Its service curve.
    pub curve: ServiceCurve,
    /// Its smallest packet.
    pub min_packet: Bytes,
    /// Its largest packet.
    pub max_packet: Bytes,
    /// Its envelope if it is policed; it needs no policer, since excess only delays the flow itself.
    pub envelope: Option<Envelope>,
}

/// A real-time flow of either kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFlow {
    /// With envelope and relative deadline.
    Deadline(FlowSpec),
    /// With a service curve.
    Service(ServiceSpec),
}

impl ServiceSpec {
    /// A flow that sends packets of `min_packet` to `max_packet` bytes, whatever it likes of them.
    ///
    /// # Errors
    /// A smallest packet of zero or above the largest, or a curve without an
    /// [`inverse`](ServiceCurve::inverse).
    pub fn new(
        curve: ServiceCurve,
        min_packet: Bytes,
        max_packet: Bytes,
    ) -> Result<ServiceSpec, CurveError> {
        if min_packet.0 == 0 {
            return Err(CurveError::ZeroPacket);
        }
        if min_packet > max_packet {
            return Err(CurveError::MinimumAboveMaximum {
                minimum: min_packet,
                maximum: max_packet,
            });
        }
        curve.inverse()?;
        Ok(ServiceSpec { curve, min_packet, max_packet, envelope: None })
    }

    /// The same, policed by an envelope.
    pub fn with_envelope(self, envelope: Envelope) -> ServiceSpec {
        ServiceSpec { envelope: Some(envelope), ..self }
    }

    /// The relative deadline of a first packet of the smallest size: nothing of the flow is due
    /// in a shorter interval.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub fn first(&self) -> Result<Rational, CurveError> {
        self.curve.reach(nanobits(self.min_packet).into())
    }

    /// Demand of the flow in an interval before packets are taken as whole: its curve, or the
    /// lesser of curve and envelope. A periodic envelope counts by the line above it.
    pub(super) fn asked(&self) -> Result<Curve, CurveError> {
        let curve = self.curve.curve();
        match &self.envelope {
            None => Ok(curve.clone()),
            Some(envelope) => curve.min(&affine(envelope)?),
        }
    }

    /// The largest delay of the envelope's packets, in ns: the horizontal deviation `h(A, S)`.
    /// `None` without an envelope, or when the delay has no bound.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub fn delay_bound(&self) -> Result<Option<Rational>, CurveError> {
        match &self.envelope {
            None => Ok(None),
            Some(envelope) => envelope.curve()?.delay(self.curve.curve()),
        }
    }

    /// The most nanobits of the envelope's packets that wait or are being sent: `sup (A - S)` and
    /// one packet, of which nothing counts as served before its end. `None` without an envelope,
    /// or when the backlog has no bound.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub fn backlog_bound(&self) -> Result<Option<Rational>, CurveError> {
        let Some(envelope) = &self.envelope else { return Ok(None) };
        let most = envelope.curve()?.backlog(self.curve.curve())?;
        most.map(|most| most.plus(nanobits(self.max_packet).into())).transpose()
    }

    /// Whether a link that carries nothing else keeps the curve.
    ///
    /// # Errors
    /// [`CurveError::AboveCapacity`] when it cannot, with an interval in which the whole packets
    /// that the curve demands exceed what the link can send.
    pub fn fits(&self, capacity: Rate) -> Result<(), CurveError> {
        let link = LinkSpec {
            rate: capacity,
            best_effort_packet: Bytes(0),
            downstream_backlog: Bytes(0),
            blocking: Blocking::Exact,
        };
        let verdict = check_flows(&link, &[LinkFlow::Service(self.clone())])?;
        if verdict.admitted {
            return Ok(());
        }
        let at = verdict.binding_interval.unwrap_or(Rational::ZERO);
        Err(CurveError::AboveCapacity { at, capacity })
    }

    /// The least delay of a curve that rises at no more than the link's rate with which whole
    /// packets of at most `largest` bytes cannot make it miss: `largest / C`, the latency of
    /// HFSC's own guarantee.
    pub fn safe_delay(largest: Bytes, capacity: Rate) -> Span {
        let ns = nanobits(largest).unsigned_abs().div_ceil(u128::from(capacity.0.max(1)));
        Span(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// An envelope as lines that end in one: a periodic one by the line above its steps.
pub(super) fn affine(envelope: &Envelope) -> Result<Curve, CurveError> {
    match envelope {
        Envelope::Buckets { .. } => envelope.curve(),
        Envelope::Periodic { .. } => {
            Ok(Curve::line(envelope.rate().0.into(), nanobits(envelope.burst()).into()))
        }
    }
}

impl LinkFlow {
    /// The largest packet.
    pub fn max_packet(&self) -> Bytes {
        match self {
            LinkFlow::Deadline(flow) => flow.envelope.max_packet(),
            LinkFlow::Service(flow) => flow.max_packet,
        }
    }

    /// The shortest interval in ns in which a packet of the flow can arrive and be due.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub fn first(&self) -> Result<Rational, CurveError> {
        match self {
            LinkFlow::Deadline(flow) => Ok(flow.deadline.0.into()),
            LinkFlow::Service(flow) => flow.first(),
        }
    }
}
