//! Guarantees of the queueing disciplines of a machine, as `tc` prints them.
//!
//! Each class has a service curve by a rule of its discipline, or a reason why it has none; delays are
//! horizontal deviations of envelopes from it (Le Boudec, Thiran, "Network Calculus", theorem 1.4.2).
//! Everything is computed in exact fractions and rounded up (delays) or down (rates).

mod bands;
mod findings;
mod gates;
mod hfsc;
mod htb;
pub mod plan;
mod service;
mod shaper;
mod tree;

use std::collections::BTreeMap;

use laxity_core::{Bytes, Rate};
use laxity_curve::{Curve, CurveError, Envelope, Rational};
use laxity_results::{TcCheck, TcClass, TcFlow};
use laxity_scenario::link::Scenario;
use laxity_tc::{Config, Handle, Limit, QdiscOptions};

pub use service::{Device, Reason, Rule};

use crate::{AnalysisError, link};
use service::nanobits;
use tree::{Node, Walk};

/// Options besides the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The device.
    pub device: Device,
    /// Burst of the token bucket whose delay is printed for a class without flows, at the rate of the class.
    pub burst: Bytes,
    /// The slowest hop behind the device, where it is slower.
    pub slower_hop: Option<Rate>,
    /// A scenario, and the class of each of its flows.
    pub flows: Option<(&'a Scenario, &'a BTreeMap<String, Handle>)>,
}

/// The guarantees of a configuration.
///
/// # Errors
/// A curve leaves the range of exact numbers.
pub fn analyse(config: &Config, request: &Request) -> Result<TcCheck, AnalysisError> {
    let traffic = traffic(request)?;
    let envelopes: BTreeMap<Handle, Curve> =
        traffic.iter().filter_map(|(handle, t)| Some((*handle, t.as_ref()?.clone()))).collect();
    let device = &request.device;
    let mut walk =
        Walk { config, device, envelopes: &envelopes, nodes: Vec::new(), links: BTreeMap::new() };
    walk.run()?;
    let Walk { nodes, links, .. } = walk;
    let mut classes = Vec::with_capacity(nodes.len());
    for node in &nodes {
        classes.push(class(node, traffic.get(&node.handle), request)?);
    }
    let slower = request.slower_hop.map(|r| r.0);
    let wire = request.flows.map(|(scenario, _)| scenario.link.wire());
    let flows = flows(&classes, request)?;
    let met = flows.iter().all(|f| f.met);
    let context = findings::Context { slower, wire, deadlines_met: met && !flows.is_empty() };
    let mut findings = findings::findings(config, device, &links, &context)?;
    findings.extend(leaf_limits(config, &nodes, &envelopes, request)?);
    Ok(TcCheck {
        device: config.device.clone(),
        guaranteed: met && findings.is_empty(),
        link_rate_bit_s: device.rate.0,
        max_packet_bytes: device.max_packet.0,
        timer_lateness_ns: device.timer_lateness.0,
        rounded_input: config.rounded,
        classes,
        flows,
        findings,
    })
}

/// The largest packet of a scenario, in bytes on the wire: `max_packet`, or that of a real-time flow. One bucket
/// alone declares none, and counts as within `max_packet`.
pub fn largest_packet(scenario: &Scenario) -> Bytes {
    let setup = scenario.setup();
    let declared = |e: &Envelope| match e.lines() {
        Some([one]) if one.burst == e.max_packet() => Bytes(0),
        _ => e.max_packet(),
    };
    let realtime = scenario.realtime.iter().map(|f| declared(&f.envelope));
    setup.wire.of_bytes(realtime.fold(setup.max_packet, Bytes::max))
}

/// The traffic of each class that has flows: the sum of their envelopes on the wire, `None` where one of them
/// has no envelope.
fn traffic(request: &Request) -> Result<BTreeMap<Handle, Option<Curve>>, AnalysisError> {
    let mut out: BTreeMap<Handle, Option<Curve>> = BTreeMap::new();
    let Some((scenario, classes)) = request.flows else { return Ok(out) };
    let (overhead, frame) = (scenario.link.overhead, scenario.link.min_frame);
    let realtime = scenario.realtime.iter().map(|f| (&f.name, Some(&f.envelope)));
    let best_effort = scenario.best_effort.iter().map(|c| (&c.name, c.envelope.as_ref()));
    for (name, envelope) in realtime.chain(best_effort) {
        let Some(handle) = classes.get(name) else { continue };
        let curve = envelope.map(|e| e.on_wire(overhead, frame)?.curve()).transpose()?;
        let sum = match (out.remove(handle), curve) {
            (None, curve) => curve,
            (Some(Some(before)), Some(curve)) => Some(before.sum(&curve)?),
            _ => None,
        };
        out.insert(*handle, sum);
    }
    Ok(out)
}

fn class(
    node: &Node,
    traffic: Option<&Option<Curve>>,
    request: &Request,
) -> Result<TcClass, CurveError> {
    let mut row = TcClass {
        class: node.handle.to_string(),
        discipline: node.kind.clone(),
        rate_bit_s: None,
        latency_ns: None,
        delay_ns: None,
        rule: None,
        source: None,
        reason: node.order.as_ref().map(ToString::to_string),
    };
    let service = match &node.service {
        Ok(service) => service,
        Err(reason) => {
            row.reason = Some(reason.to_string());
            return Ok(row);
        }
    };
    let rate = service.curve.long_term_slope()?;
    row.rate_bit_s = u64::try_from(rate.floor()).ok();
    row.latency_ns = service.curve.upper_inverse(Rational::ZERO)?.and_then(whole_ns);
    row.rule = Some(service.rule.formula().to_owned());
    row.source = Some(service.rule.source().to_owned());
    if node.leaf && node.order.is_none() {
        let bucket = Curve::line(Rational::whole(rate.floor()), nanobits(request.burst.0));
        let delay = match traffic {
            Some(None) => None,
            Some(Some(flows)) => flows.delay(&service.curve)?,
            None => bucket.delay(&service.curve)?,
        };
        row.delay_ns = delay.and_then(whole_ns);
        if row.delay_ns.is_none() {
            row.reason = Some("its flows have no envelope, or need more than its rate".to_owned());
        }
    }
    Ok(row)
}

/// Nanoseconds, rounded up.
fn whole_ns(t: Rational) -> Option<u64> {
    u64::try_from(t.ceil()).ok()
}

/// The real-time flows beside what Laxity would give: the least deadline that its admission test accepts.
fn flows(classes: &[TcClass], request: &Request) -> Result<Vec<TcFlow>, AnalysisError> {
    let Some((scenario, handles)) = request.flows else { return Ok(Vec::new()) };
    let laxity = link::analyse(scenario, &scenario.policy.use_)?;
    let mut out = Vec::with_capacity(scenario.realtime.len());
    for flow in &scenario.realtime {
        let handle = handles.get(&flow.name).map(ToString::to_string);
        let class = classes.iter().find(|c| Some(&c.class) == handle.as_ref());
        let delay = class.and_then(|c| c.delay_ns);
        out.push(TcFlow {
            flow: flow.name.clone(),
            class: handle.unwrap_or_default(),
            deadline_ns: flow.deadline.0,
            delay_ns: delay,
            met: delay.is_some_and(|d| d <= flow.deadline.0),
            laxity_admits: laxity.admitted,
            laxity_min_deadline_ns: laxity.flows.get(&flow.name).and_then(|f| f.min_deadline_ns),
        });
    }
    Ok(out)
}

/// Queues shorter than the backlog that the bound allows: packets are lost before they are late.
fn leaf_limits(
    config: &Config,
    nodes: &[Node],
    envelopes: &BTreeMap<Handle, Curve>,
    request: &Request,
) -> Result<Vec<laxity_results::TcFinding>, CurveError> {
    let mut out = Vec::new();
    for node in nodes {
        let (Ok(service), Some(envelope)) = (&node.service, envelopes.get(&node.handle)) else {
            continue;
        };
        let limit = config.qdiscs.iter().find_map(|q| match &q.options {
            QdiscOptions::Fifo(limit) if q.parent == Some(node.handle) => Some(*limit),
            _ => None,
        });
        let (Some(limit), Some(backlog)) = (limit, envelope.backlog(&service.curve)?) else {
            continue;
        };
        let packet = request.device.packet();
        let bytes = backlog.plus(packet)?.over(nanobits(1))?.ceil();
        let room = match limit {
            Limit::Bytes(bytes) => i128::from(bytes),
            Limit::Packets(n) => i128::from(n).saturating_mul(request.device.max_packet.0.into()),
        };
        if room < bytes {
            out.push(laxity_results::TcFinding {
                code: "leaf-limit".into(),
                at: node.handle.to_string(),
                text: format!("up to {bytes} B wait in a queue of {room} B: packets are lost"),
                remedy: "raise the limit of its queue".into(),
            });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
