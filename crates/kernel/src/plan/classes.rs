//! Queues and AQM of best-effort classes.

use laxity_core::{NANOBITS_PER_BYTE, Span};
use laxity_link::config::{
    Aqm, BestEffortClass, FlowQueueing, Hosts, LinkConfig, LinkConfigError, QueueBy, Sojourn,
};

use super::{PlanError, Rule, TERM};
use crate::layout::link::{self, lx_aqm_config, lx_class_config, lx_codel_config, lx_flow_config};

/// Flow queues of all classes of a link: 1.9 MB.
pub const MOST_FLOW_QUEUES: u32 = 16_384;

/// Least quantum, in bytes.
const MIN_QUANTUM: u64 = 300;

/// No table of hosts.
const NONE: u32 = u32::MAX;

/// Memory of the queues of all classes in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueMemory {
    /// A class has flow queues or an AQM, so best-effort packets are chosen at each decision.
    pub managed: bool,
    /// Queues of all classes, `struct lx_flow_queue`.
    pub flow_queues: u32,
    /// Classes with flow queues, `struct lx_flow_order`.
    pub flow_orders: u32,
    /// Tables of hosts, `struct lx_host_counts`.
    pub host_tables: u32,
}

/// All classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    pub(super) memory: QueueMemory,
    images: Vec<[u8; lx_class_config::SIZEOF]>,
}

impl Classes {
    /// Of a link under a rule.
    pub(super) fn new(link: &LinkConfig, rule: Rule) -> Result<Classes, PlanError> {
        let mut classes = Classes::default();
        if !link.best_effort.iter().any(BestEffortClass::is_managed) {
            return Ok(classes);
        }
        classes.memory.managed = true;
        for (number, class) in link.best_effort.iter().enumerate() {
            let image = classes.image(link, number, class, rule == Rule::Background)?;
            classes.images.push(image);
        }
        let queues = classes.memory.flow_queues;
        if queues > MOST_FLOW_QUEUES {
            return Err(PlanError::OutOfRange {
                what: format!("{queues} queues of best-effort classes"),
                remedy: format!(
                    "lower `queues` in `flows`, so that all classes have at most \
                     {MOST_FLOW_QUEUES} together"
                ),
            });
        }
        Ok(classes)
    }

    /// A `struct lx_class_config`; `behind`: best effort never goes before real time.
    fn image(
        &mut self,
        link: &LinkConfig,
        number: usize,
        class: &BestEffortClass,
        behind: bool,
    ) -> Result<[u8; lx_class_config::SIZEOF], PlanError> {
        let mut image = [0; lx_class_config::SIZEOF];
        let memory = &mut self.memory;
        let mut tables = |isolated: bool| {
            let table = memory.host_tables;
            memory.host_tables += u32::from(isolated);
            if isolated { table } else { NONE }
        };
        let place = lx_class_config::FLOWS.of_mut(&mut image);
        let (order, queues) = match &class.flows {
            Some(flows) => {
                let FlowQueueing { queues, by, hosts } = *flows;
                let range = FlowQueueing::MIN_QUEUES..=FlowQueueing::MAX_QUEUES;
                if !queues.is_power_of_two() || !range.contains(&queues) {
                    return Err(LinkConfigError::FlowQueues { class: number, queues }.into());
                }
                let isolates = by == QueueBy::HostAndFlow;
                let sources = tables(isolates && hosts != Hosts::Destination);
                let destinations = tables(isolates && hosts != Hosts::Source);
                lx_flow_config::SOURCES.set_u32(place, sources);
                lx_flow_config::DESTINATIONS.set_u32(place, destinations);
                let by = match by {
                    QueueBy::FiveTuple => link::LX_BY_FLOW,
                    QueueBy::Source => link::LX_BY_SOURCE,
                    QueueBy::Destination => link::LX_BY_DESTINATION,
                    QueueBy::HostAndFlow => link::LX_BY_HOST_AND_FLOW,
                };
                lx_flow_config::BY.set_u32(place, by as u32);
                (link::LX_FLOWS, queues)
            }
            None => {
                lx_flow_config::SOURCES.set_u32(place, NONE);
                lx_flow_config::DESTINATIONS.set_u32(place, NONE);
                lx_flow_config::BY.set_u32(place, link::LX_BY_NONE as u32);
                match class.aqm {
                    Aqm::L4s { .. } => (link::LX_DUAL, link::LX_DUAL_QUEUES as u32),
                    _ => (link::LX_FIFO, 1),
                }
            }
        };
        lx_flow_config::FIRST.set_u32(place, memory.flow_queues);
        lx_flow_config::QUEUES.set_u32(place, queues);
        lx_flow_config::QUANTUM.set_u32(place, quantum(link));
        memory.flow_queues += queues;
        lx_class_config::ORDER.set_u32(&mut image, order as u32);
        let flow_order = if class.flows.is_some() { memory.flow_orders } else { NONE };
        lx_class_config::FLOW_ORDER.set_u32(&mut image, flow_order);
        memory.flow_orders += u32::from(class.flows.is_some());
        lx_class_config::PUSHES_OUT.set_u32(&mut image, class.is_managed().into());
        write_aqm(lx_class_config::AQM.of_mut(&mut image), link, number, class, behind)?;
        Ok(image)
    }

    /// Writes the array of `struct lx_class_config`.
    pub(super) fn write(&self, place: &mut [u8]) {
        let places = place.chunks_exact_mut(lx_class_config::SIZEOF);
        for (image, place) in self.images.iter().zip(places) {
            place.copy_from_slice(image);
        }
    }
}

/// As CAKE has it.
fn quantum(link: &LinkConfig) -> u32 {
    let largest = link.wire.of_bytes(link.max_packet).0;
    let quantum = (link.rate.0 / 8 / 4096).min(largest).max(MIN_QUANTUM);
    u32::try_from(quantum).unwrap_or(u32::MAX)
}

/// Writes a `struct lx_aqm_config`, with the defaults of `laxity_link::aqm`.
fn write_aqm(
    place: &mut [u8],
    link: &LinkConfig,
    number: usize,
    class: &BestEffortClass,
    behind: bool,
) -> Result<(), PlanError> {
    let largest = link.wire.of_bytes(link.max_packet).0;
    let packet_times = |n: u64| {
        let work = u128::from(largest) * u128::from(n) * NANOBITS_PER_BYTE as u128;
        Span(u64::try_from(work.div_ceil(u128::from(link.rate.0.max(1)))).unwrap_or(u64::MAX))
    };
    let write_codel = |place: &mut [u8], rtt: Span, target: Option<Span>, interval: Span| {
        let target = target.unwrap_or(Span(rtt.0 / 20).max(packet_times(4)));
        let interval = interval.0.max(target.0.saturating_mul(2)).max(1);
        let place = lx_aqm_config::CODEL.of_mut(place);
        lx_codel_config::TARGET.set_u64(place, target.0);
        lx_codel_config::INTERVAL.set_u64(place, interval);
        lx_codel_config::LEAST_BYTES.set_u64(place, largest);
        interval
    };
    let usual = if behind { Sojourn::Link } else { Sojourn::Raw };
    let mut longest = 0;
    let (kind, usual, ecn, sojourn, ingress) = match class.aqm {
        Aqm::None => (link::LX_AQM_NONE, Sojourn::Raw, false, None, false),
        Aqm::Codel { rtt, target, interval, ecn, sojourn, ingress } => {
            longest = write_codel(place, rtt, target, interval.unwrap_or(rtt));
            (link::LX_AQM_CODEL, Sojourn::Raw, ecn, sojourn, ingress)
        }
        Aqm::Pie { target, ecn, sojourn, ingress } => {
            let target = target.unwrap_or(Aqm::PI2_TARGET);
            lx_aqm_config::PI2_TARGET.set_u64(place, target.0);
            (link::LX_AQM_PI2, usual, ecn, sojourn, ingress)
        }
        Aqm::L4s { target, rtt, step, ecn, sojourn, ingress } => {
            let step = step.unwrap_or(Aqm::STEP.max(packet_times(2)));
            lx_aqm_config::STEP.set_u64(place, step.0);
            let kind = if class.flows.is_some() {
                longest = write_codel(place, rtt, target, rtt);
                link::LX_AQM_STEP
            } else {
                let target = target.unwrap_or(Aqm::PI2_TARGET);
                lx_aqm_config::PI2_TARGET.set_u64(place, target.0);
                link::LX_AQM_DUAL
            };
            (kind, usual, ecn, sojourn, ingress)
        }
    };
    if i128::from(longest) >= TERM {
        return Err(PlanError::OutOfRange {
            what: format!("the interval of the AQM of best-effort class {}", number + 1),
            remedy: "lower its `target` or `interval` below 36 years".into(),
        });
    }
    lx_aqm_config::KIND.set_u32(place, kind as u32);
    lx_aqm_config::ECN.set_u32(place, ecn.into());
    let sojourn = sojourn.unwrap_or(usual);
    lx_aqm_config::LINK_SOJOURN.set_u32(place, (sojourn == Sojourn::Link).into());
    lx_aqm_config::INGRESS.set_u32(place, ingress.into());
    // A seed of zero would stay zero.
    let seed = link.aqm_seed.wrapping_add(number as u64).wrapping_add(1);
    lx_aqm_config::SEED.set_u64(place, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    Ok(())
}
