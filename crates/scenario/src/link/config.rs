//! The configuration of a link's scheduler from a scenario.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_link::Wire;
use laxity_link::config::{BestEffortClass, LinkConfig, RealtimeFlow, Service};

use crate::link::model::{Group, Link, Scenario};

impl Link {
    /// Bytes on the wire beyond packet lengths.
    pub fn wire(&self) -> Wire {
        let narrow = |b: Bytes| u32::try_from(b.0).unwrap_or(u32::MAX);
        Wire { overhead: narrow(self.overhead), min_frame: narrow(self.min_frame) }
    }

    /// Largest backlog below the scheduler at a decision: shaping credit and bytes in flight.
    pub fn downstream_backlog(&self) -> Bytes {
        Bytes(bytes_in(self.rate, self.credit).saturating_add(self.in_flight.0))
    }
}

/// Bytes that a rate carries in a time, rounded up.
fn bytes_in(rate: Rate, time: Span) -> u64 {
    let nanobits = u128::from(rate.0) * u128::from(time.0);
    u64::try_from(nanobits.div_ceil(NANOBITS_PER_BYTE as u128)).unwrap_or(u64::MAX)
}

impl Scenario {
    /// The setup of this scenario's link.
    pub fn setup(&self) -> LinkConfig {
        let policy = &self.policy;
        let realtime = self.realtime.iter().map(|f| RealtimeFlow {
            envelope: f.envelope.clone(),
            deadline: f.deadline,
            excess: f.excess,
            buffer: f.buffer,
            service: f
                .service_curve
                .as_ref()
                .map(|s| Service { curve: s.curve.clone(), policed: s.policed }),
        });
        let best_effort = self.best_effort.iter().map(|c| BestEffortClass {
            weight: c.weight,
            buffer: c.buffer,
            flows: c.flows,
            aqm: c.aqm,
            sharing: c.sharing.config(),
        });
        LinkConfig {
            rate: self.link.rate,
            max_packet: self.link.max_packet,
            wire: self.link.wire(),
            downstream_backlog: self.link.downstream_backlog(),
            realtime: realtime.collect(),
            best_effort: best_effort.collect(),
            buffer: self.link.buffer,
            groups: self.groups.iter().map(Group::config).collect(),
            fair_queue: policy.fair_queue,
            blocking: policy.blocking,
            guarantee: policy.guarantee,
            release: policy.release,
            aqm_seed: 0,
            options: policy.options,
        }
    }
}
