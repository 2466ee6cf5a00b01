//! Flows with service curves: their deadlines (SCED).

use alloc::boxed::Box;
use alloc::vec::Vec;

use laxity_core::Time;
use laxity_curve::service::ServiceDeadlines;

use crate::config::{LinkConfig, LinkConfigError};

/// The flows with service curves. Each has a class of its own in the EDF queue, since its deadlines
/// do not decrease.
#[derive(Debug)]
pub(super) struct Served {
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

impl Served {
    pub fn new(config: &LinkConfig, from: usize) -> Result<Served, LinkConfigError> {
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

    /// Whether a class belongs to one of them.
    #[inline]
    pub fn has(&self, class: usize) -> bool {
        class >= self.from
    }

    /// The deadline of a packet of `wire` bytes; `first` tells that none of the flow waits. One of
    /// the flow that is being sent counts until the next decision, at which it has ended.
    // Out of line, so that it does not lie in the path of packets of other flows.
    #[inline(never)]
    pub fn deadline(&mut self, class: usize, conformance: Time, wire: u32, first: bool) -> Time {
        let starts = first && self.sending != Some(class);
        let Some(flow) = self.flows.get_mut(class - self.from) else { return Time::MAX };
        flow.deadlines.push(conformance, wire.max(flow.smallest), starts)
    }

    /// The packet on the wire has ended.
    #[inline]
    pub fn completed(&mut self) {
        self.sending = None;
    }

    /// A real-time packet starts; returns whether its flow has a service curve.
    #[inline]
    pub fn starts(&mut self, class: usize) -> bool {
        let has = self.has(class);
        if has {
            self.sending = Some(class);
        }
        has
    }

    /// The link is idle and nothing waits: starts are forgotten.
    #[inline]
    pub fn reset(&mut self) {
        for flow in &mut self.flows {
            flow.deadlines.reset();
        }
    }
}
