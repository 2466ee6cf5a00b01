//! The instant from which a packet of a flow may go.

use core::fmt;

use laxity_core::Time;

use super::Policer;
use crate::config::RealtimeFlow;

/// Enforces the envelope of one flow, if it is enforced. Links none of whose flows has a service
/// curve have a [`Policer`] here, and no other case to tell apart.
pub trait Gate: fmt::Debug + Send + 'static {
    /// The gate of a flow that has sent nothing.
    fn new(flow: &RealtimeFlow) -> Self;

    /// The earliest instant, not before `now`, for a packet of `bytes`; `None` when it never
    /// conforms.
    fn conforms_at(&self, now: Time, bytes: u32) -> Option<Time>;

    /// Charges a packet that conforms at `at`.
    fn take(&mut self, at: Time, bytes: u32);
}

impl Gate for Policer {
    fn new(flow: &RealtimeFlow) -> Policer {
        Policer::new(&flow.envelope)
    }

    #[inline]
    fn conforms_at(&self, now: Time, bytes: u32) -> Option<Time> {
        Policer::conforms_at(self, now, bytes)
    }

    #[inline]
    fn take(&mut self, at: Time, bytes: u32) {
        Policer::take(self, at, bytes);
    }
}

/// The gate of a flow that may have a service curve.
#[derive(Debug)]
pub enum ServedGate {
    /// The envelope is enforced.
    Policed(Policer),
    /// It is not, since a service curve protects the other flows: packets keep their order, the
    /// latest of which conformed at this time.
    Open(Time),
}

impl Gate for ServedGate {
    fn new(flow: &RealtimeFlow) -> ServedGate {
        match &flow.service {
            Some(service) if !service.policed => ServedGate::Open(Time::ZERO),
            _ => ServedGate::Policed(Policer::new(&flow.envelope)),
        }
    }

    #[inline]
    fn conforms_at(&self, now: Time, bytes: u32) -> Option<Time> {
        match self {
            ServedGate::Policed(policer) => policer.conforms_at(now, bytes),
            ServedGate::Open(latest) => Some(now.max(*latest)),
        }
    }

    #[inline]
    fn take(&mut self, at: Time, bytes: u32) {
        match self {
            ServedGate::Policed(policer) => policer.take(at, bytes),
            ServedGate::Open(latest) => *latest = at,
        }
    }
}
