//! A link scenario compiled to a tree of the kernel's own disciplines, as commands of `tc`.
//!
//! The tree is judged by the same rules as any other (`analyse`), so a plan is guaranteed or refused. What it
//! lacks beside a link of Laxity is listed with it.

mod arrivals;
mod assembly;
mod cbs;
mod error;
mod filters;
mod grain;
mod hfsc;
mod htb;
mod losses;

use std::collections::BTreeMap;
use std::fmt;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::Rational;
use laxity_results::{TcPlan, TcPlanClass};
use laxity_scenario::link::Scenario;
use laxity_sim::link::disciplines::Tree;
use laxity_tc::{Config, Handle};

use super::service::nanobits;
use super::{Device, Request, analyse, largest_packet};
use crate::{AnalysisError, link};
use arrivals::Arrivals;
use assembly::{Assembly, Finished};

pub use error::PlanError;

/// The discipline to plan for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// HFSC: real-time curves.
    Hfsc,
    /// HTB: priorities and rates.
    Htb,
    /// CBS below mqprio (IEEE 802.1Q).
    Cbs,
}

impl Target {
    /// The name of the discipline.
    pub fn name(self) -> &'static str {
        match self {
            Target::Hfsc => "hfsc",
            Target::Htb => "htb",
            Target::Cbs => "cbs",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// The discipline.
    pub target: Target,
    /// The interface in the commands.
    pub device: &'a str,
    /// Whether the interface is faster than the link, so that `tbf` has to shape it.
    pub shape: bool,
    /// How late a timer of the kernel may be.
    pub timer_lateness: Span,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tree.
    pub config: Config,
    /// The class of each flow.
    pub classes: BTreeMap<String, Handle>,
    /// Commands, guarantees, losses.
    pub result: TcPlan,
    /// The tree, to simulate.
    pub model: Tree,
}

/// The link as the tree sees it: bit/s, ns, nanobits.
#[derive(Clone, Copy, Debug)]
struct Link {
    rate: Rational,
    latency: Rational,
    packet: Rational,
    late: Rational,
}

impl Link {
    fn bit_rate(&self) -> Rate {
        Rate(u64::try_from(self.rate.floor()).unwrap_or(u64::MAX))
    }
}

/// A real-time flow, or several in one class.
#[derive(Clone, Debug)]
struct RealTime {
    name: String,
    deadline: Span,
    arrivals: Arrivals,
}

impl RealTime {
    fn too_soon(&self, least: Rational, target: Target) -> PlanError {
        let least = Span(u64::try_from(least.ceil()).unwrap_or(u64::MAX));
        PlanError::Deadline { flow: self.name.clone(), deadline: self.deadline, least, target }
    }
}

/// Most flows: classes are numbered from `10` on, and a dump may have 4096 of them.
const MAX_FLOWS: usize = 4000;

/// Plans a scenario.
///
/// # Errors
/// See [`PlanError`].
pub fn plan(scenario: &Scenario, request: &PlanRequest) -> Result<Plan, PlanError> {
    if scenario.flow_count() > MAX_FLOWS {
        return Err(PlanError::TooManyFlows(scenario.flow_count()));
    }
    if let Some(flow) = scenario.realtime.iter().find(|f| f.service_curve.is_some()) {
        return Err(PlanError::ServiceCurve { flow: flow.name.clone() });
    }
    let device = Device {
        rate: scenario.link.rate,
        max_packet: largest_packet(scenario),
        timer_lateness: request.timer_lateness,
    };
    let (realtime, link) = (realtime(scenario)?, tree_link(scenario, request, &device)?);
    let mut assembly = Assembly::new(scenario, request, &device);
    match request.target {
        Target::Hfsc => assembly.hfsc(&hfsc::curves(&realtime, &link)?, &realtime)?,
        Target::Htb => {
            let leaves = htb::leaves(&realtime, &link)?;
            let shares = shares(scenario)?;
            let Some(rest) = htb::best_effort(&leaves, &shares, &link)? else {
                let named = realtime.last().map(|f| f.name.clone());
                let flow = named.unwrap_or_else(|| "best effort".to_owned());
                return Err(PlanError::Sum { flow, link: scenario.link.rate, target: Target::Htb });
            };
            assembly.htb(&leaves, &rest, &realtime)?;
        }
        Target::Cbs => {
            let groups = cbs::groups(scenario, &realtime)?;
            let slopes = cbs::slopes(&groups, &link, &device)?;
            assembly.cbs(&groups, &slopes)?;
        }
    }
    let Finished { config, classes, commands, reserved, model } = assembly.finish()?;
    let request_check = Request {
        device,
        burst: device.max_packet,
        slower_hop: None,
        flows: Some((scenario, &classes)),
    };
    let check = analyse(&config, &request_check).map_err(of_analysis)?;
    let best_effort = best_effort(scenario, &classes, &check.classes)?;
    let losses = losses::losses(scenario, request, &device, reserved);
    let result = TcPlan {
        scenario: scenario.name.clone(),
        target: request.target.name().to_owned(),
        device: request.device.to_owned(),
        guaranteed: check.guaranteed,
        link_rate_bit_s: device.rate.0,
        max_packet_bytes: device.max_packet.0,
        timer_lateness_ns: device.timer_lateness.0,
        shaped: request.shape,
        flows: check.flows,
        best_effort,
        losses,
        findings: check.findings,
        commands,
    };
    Ok(Plan { config, classes, result, model })
}

fn of_analysis(error: AnalysisError) -> PlanError {
    match error {
        AnalysisError::Curve(error) => PlanError::Curve(error),
        AnalysisError::ServiceCurve { flow, .. } => PlanError::ServiceCurve { flow },
        AnalysisError::Recording(_) => PlanError::Curve(laxity_curve::CurveError::NoBuckets),
    }
}

fn realtime(scenario: &Scenario) -> Result<Vec<RealTime>, PlanError> {
    let (overhead, frame) = (scenario.link.overhead, scenario.link.min_frame);
    let mut out = Vec::with_capacity(scenario.realtime.len());
    for flow in &scenario.realtime {
        let wire = flow.envelope.on_wire(overhead, frame)?;
        out.push(RealTime {
            name: flow.name.clone(),
            deadline: flow.deadline,
            arrivals: Arrivals::of([&wire]),
        });
    }
    Ok(out)
}

/// Weights of best-effort classes as parts of one.
fn shares(scenario: &Scenario) -> Result<Vec<Rational>, PlanError> {
    let sum: i128 = scenario.best_effort.iter().map(|c| i128::from(c.weight.0)).sum();
    let part = |weight: u32| Rational::new(weight.into(), sum.max(1));
    Ok(scenario.best_effort.iter().map(|c| part(c.weight.0)).collect::<Result<_, _>>()?)
}

/// The link below the tree: with a shaper later by a packet on the wire. What the device holds already counts
/// as latency too.
fn tree_link(
    scenario: &Scenario,
    request: &PlanRequest,
    device: &Device,
) -> Result<Link, PlanError> {
    let (rate, packet, late) = (Rational::from(device.rate.0), device.packet(), device.late());
    let held = nanobits(scenario.link.in_flight.0).over(rate)?;
    let shaper = match request.shape {
        true => packet.over(rate)?.plus(late)?,
        false => Rational::ZERO,
    };
    Ok(Link { rate, latency: held.plus(shaper)?, packet, late })
}

/// What best effort gets from the tree beside what it gets from Laxity.
fn best_effort(
    scenario: &Scenario,
    classes: &BTreeMap<String, Handle>,
    rows: &[laxity_results::TcClass],
) -> Result<Vec<TcPlanClass>, PlanError> {
    let laxity = link::analyse(scenario, &scenario.policy.use_).map_err(of_analysis)?;
    let mut out = Vec::with_capacity(scenario.best_effort.len());
    for class in &scenario.best_effort {
        let handle = classes.get(&class.name).map(ToString::to_string).unwrap_or_default();
        let row = rows.iter().find(|r| r.class == handle);
        let delay = row.and_then(|r| r.delay_ns).filter(|_| class.envelope.is_some());
        let reason = match (delay, row.and_then(|r| r.reason.clone())) {
            (Some(_), _) => None,
            (None, Some(reason)) => Some(reason),
            (None, None) => Some("no envelope: its traffic has no bound".to_owned()),
        };
        let bounds = laxity.best_effort.get(&class.name);
        out.push(TcPlanClass {
            name: class.name.clone(),
            class: handle,
            delay_ns: delay,
            reason,
            laxity_delay_ns: bounds.and_then(|b| b.shared_delay_ns),
            laxity_alone_delay_ns: bounds.and_then(|b| b.alone_delay_ns),
            tree_mean_ms: None,
            tree_max_ms: None,
            laxity_mean_ms: None,
            laxity_max_ms: None,
        });
    }
    Ok(out)
}

/// What may wait of a flow whose packets keep its deadline, what it sends in that time, and a packet.
fn room(flow: &RealTime, packet: Rational) -> Result<Bytes, PlanError> {
    let most = flow.arrivals.value(flow.deadline.0.into())?;
    let bytes = most.plus(packet)?.over(nanobits(1))?.ceil();
    Ok(Bytes(grain::size_up(u64::try_from(bytes).unwrap_or(u64::MAX / 2))))
}

#[cfg(test)]
mod tests;
