//! Flows with service curves: their deadlines (SCED).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use laxity_core::Time;
use laxity_curve::service::ServiceDeadlines;

use crate::config::{LinkConfig, LinkConfigError};
use crate::police::{Gate, Policer, ServedGate};

/// The service curves of a link's real-time flows: [`Served`], or [`NoCurves`].
pub trait Curves: fmt::Debug + Send + Sized + 'static {
    /// The gate of a flow.
    type Gate: Gate;

    /// The curves of a link whose classes of relative deadlines end before `from`.
    fn new(config: &LinkConfig, from: usize) -> Result<Self, LinkConfigError>;

    /// Whether a class belongs to a flow with a service curve.
    fn has(&self, class: usize) -> bool;

    /// The deadline of a packet of `wire` bytes; `first` tells that none of the flow waits. One of
    /// the flow that is being sent counts until the next decision, at which it has ended.
    fn deadline(&mut self, class: usize, conformance: Time, wire: u32, first: bool) -> Time;

    /// The packet on the wire has ended.
    fn completed(&mut self);

    /// A real-time packet starts; returns whether its flow has a service curve.
    fn starts(&mut self, class: usize) -> bool;

    /// The link is idle and nothing waits: starts are forgotten.
    fn reset(&mut self);
}

/// No flow has a service curve.
#[derive(Debug)]
pub struct NoCurves;

impl Curves for NoCurves {
    type Gate = Policer;

    fn new(config: &LinkConfig, _: usize) -> Result<NoCurves, LinkConfigError> {
        let served = config.realtime.iter().position(|f| f.service.is_some());
        served.map_or(Ok(NoCurves), |flow| Err(LinkConfigError::ServiceCurve { flow }))
    }

    #[inline]
    fn has(&self, _: usize) -> bool {
        false
    }

    fn deadline(&mut self, _: usize, _: Time, _: u32, _: bool) -> Time {
        Time::MAX
    }

    #[inline]
    fn completed(&mut self) {}

    #[inline]
    fn starts(&mut self, _: usize) -> bool {
        false
    }

    #[inline]
    fn reset(&mut self) {}
}

/// The flows with service curves. Each has a class of its own in the EDF queue, since its deadlines
/// do not decrease.
#[derive(Debug)]
pub struct Served {
    /// Their first class.
    from: usize,
    flows: Box<[Flow]>,
    /// The class of the packet on the wire, if it belongs to one of them.
    sending: Option<usize>,
}

#[derive(Debug)]
struct Flow {
    deadlines: ServiceDeadlines,
    /// Least bytes of a packet on the wire, as admission has it; smaller ones count as much.
    smallest: u32,
}

impl Curves for Served {
    type Gate = ServedGate;

    fn new(config: &LinkConfig, from: usize) -> Result<Served, LinkConfigError> {
        let mut flows = Vec::new();
        for f in &config.realtime {
            let Some(service) = &f.service else { continue };
            let inverse = service.curve.inverse()?;
            let smallest = config.wire.of_bytes(f.smallest_served());
            flows.push(Flow {
                deadlines: ServiceDeadlines::new(&inverse, ServiceDeadlines::CAPACITY),
                smallest: u32::try_from(smallest.0).unwrap_or(u32::MAX),
            });
        }
        Ok(Served { from, flows: flows.into_boxed_slice(), sending: None })
    }

    #[inline]
    fn has(&self, class: usize) -> bool {
        class >= self.from
    }

    // Out of line, so that it does not lie in the path of packets of other flows.
    #[inline(never)]
    fn deadline(&mut self, class: usize, conformance: Time, wire: u32, first: bool) -> Time {
        let starts = first && self.sending != Some(class);
        let Some(flow) = self.flows.get_mut(class - self.from) else { return Time::MAX };
        flow.deadlines.push(conformance, wire.max(flow.smallest), starts)
    }

    #[inline]
    fn completed(&mut self) {
        self.sending = None;
    }

    #[inline]
    fn starts(&mut self, class: usize) -> bool {
        let has = self.has(class);
        if has {
            self.sending = Some(class);
        }
        has
    }

    #[inline]
    fn reset(&mut self) {
        for flow in &mut self.flows {
            flow.deadlines.reset();
        }
    }
}
