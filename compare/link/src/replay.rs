//! The same packets through the simulator, at the instants at which they were sent live.

use std::collections::BTreeMap;
use std::sync::Arc;

use laxity_core::{FlowId, Time};
use laxity_kernel::bounded_slack::BoundedSlack;
use laxity_kernel::plan::Rule;
use laxity_link::pipeline::Pipeline;
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::disciplines::{Discipline, HfscClass, LeafQueue, Slopes, Tree};
use laxity_sim::link::{PolicyRun, Traffic, simulate, simulate_policy};
use laxity_traffic::Arrival;

use crate::family::Packet;
use crate::runs::Run;

/// How far a mean may be from the simulator's, in per cent.
const TOLERANCE: u64 = 10;
/// The delay that sockets, sender and receiver may add, in us, which is in no simulation.
const SOCKETS: u64 = 100;

/// A mean that is beyond the tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// The flow.
    pub flow: String,
    /// Means in us.
    pub live: u64,
    /// Of the simulator.
    pub simulated: u64,
}

/// Means of each flow in us, simulated: what the qdisc decides, and what the policy of this name
/// decides. They differ under `slack`, which the qdisc bounds more coarsely.
#[derive(Debug)]
pub struct Simulated {
    /// By the qdisc's rules.
    pub qdisc: BTreeMap<String, u64>,
    /// By the simulator's policy.
    pub policy: BTreeMap<String, u64>,
}

/// Simulates the trace, each packet at the instant at which it was sent live.
///
/// # Errors
/// When the log does not belong to the trace, or the policy cannot be simulated.
pub fn means(
    scenario: &Scenario,
    policy: &str,
    trace: &[Packet],
    log: &[u8],
) -> Result<Simulated, String> {
    if log.len() != trace.len() * 4 {
        return Err(format!("the log has {} entries for {} packets", log.len() / 4, trace.len()));
    }
    let late = log.chunks_exact(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap_or_default()));
    let traffic = recorded(scenario, trace, late)?;
    let control = Control::default();
    let run = simulate(scenario, policy, 0, &traffic, None, &control).map_err(|e| e.to_string())?;
    let by_policy = means_of(&run, scenario);
    if Rule::of(policy) != Some(Rule::Slack) {
        return Ok(Simulated { qdisc: by_policy.clone(), policy: by_policy });
    }
    let setup = scenario.setup();
    let bounded = Pipeline::new(&setup, BoundedSlack::new(&setup)).map_err(|e| e.to_string())?;
    let named = (policy, bounded);
    let run =
        simulate_policy(scenario, named, 0, &traffic, None, &control).map_err(|e| e.to_string())?;
    Ok(Simulated { qdisc: means_of(&run, scenario), policy: by_policy })
}

/// Means in us under the model of HFSC with the curves of `hfsc-tuned.txt`, the packets at their nominal instants.
///
/// # Errors
/// When the trace is not of the scenario.
pub fn tuned_means(scenario: &Scenario, trace: &[Packet]) -> Result<BTreeMap<String, u64>, String> {
    let names: Vec<&str> = scenario.flow_names().collect();
    let class =
        |rt, bytes_s: u64| HfscClass { rt, ls: Some(Slopes { m1: 0, d: 0, m2: bytes_s * 8 }) };
    // `umax` within `dmax`, then `rate`.
    let curve = |umax: u64, ms: u64, rate: u64| {
        Some(Slopes { m1: umax * 8000 / ms, d: ms * 1_000_000, m2: rate * 8 })
    };
    let mut leaves = BTreeMap::from([
        ("voice", class(curve(200, 4, 44_000), 600)),
        ("video", class(curve(63_000, 98, 640_000), 9000)),
        ("http", class(None, 800_000)),
        ("bulk", class(None, 500_000)),
    ]);
    let classes = names.iter().map(|name| leaves.remove(name).unwrap_or(class(None, 1)));
    let tree = Tree {
        classes: (0..names.len()).collect(),
        queues: vec![LeafQueue::Fifo { limit: 2_000_000 }; names.len()],
        discipline: Discipline::Hfsc(classes.collect()),
    };
    let model = tree.policy(scenario.link.rate.0).map_err(|e| e.to_string())?;
    let traffic = recorded(scenario, trace, std::iter::repeat(0))?;
    let control = Control::default();
    let named = ("hfsc-tuned", model);
    let run =
        simulate_policy(scenario, named, 0, &traffic, None, &control).map_err(|e| e.to_string())?;
    Ok(means_of(&run, scenario))
}

/// The packets of a trace, each so many ns later.
fn recorded(
    scenario: &Scenario,
    trace: &[Packet],
    late: impl Iterator<Item = u32>,
) -> Result<Traffic, String> {
    let names: Vec<&str> = scenario.flow_names().collect();
    let mut arrivals = Vec::with_capacity(trace.len());
    for ((time, bytes, name), late) in trace.iter().zip(late) {
        let flow = names.iter().position(|n| n == name).ok_or("a flow of no scenario")?;
        let time = Time(time + u64::from(late));
        arrivals.push(Arrival::new(time, FlowId(flow as u32), *bytes as u32));
    }
    Ok(Traffic::Recorded(Arc::new(arrivals)))
}

fn means_of(run: &PolicyRun, scenario: &Scenario) -> BTreeMap<String, u64> {
    let flows = run.result(scenario).flows.into_iter();
    flows.filter_map(|(name, flow)| Some((name, (flow.mean_ms? * 1000.0) as u64))).collect()
}

/// The flows with a live mean further from the simulated one than the tolerance.
pub fn apart(run: &Run, simulated: &BTreeMap<String, u64>) -> Vec<Apart> {
    let mut apart = Vec::new();
    for (name, flow) in run.flows.iter().filter(|(_, f)| f.got > 0) {
        let expected = simulated.get(name).copied().unwrap_or(0);
        let allowed = expected * TOLERANCE / 100;
        let counted = flow.counted_us.unwrap_or(0);
        if counted.abs_diff(expected) > allowed {
            apart.push(Apart { flow: name.clone(), live: counted, simulated: expected });
        }
        if flow.mean_us.abs_diff(expected) > allowed.max(SOCKETS) {
            apart.push(Apart { flow: name.clone(), live: flow.mean_us, simulated: expected });
        }
    }
    apart
}
