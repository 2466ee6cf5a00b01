//! The same packets through the simulator, at the instants at which they were sent live.

use std::collections::BTreeMap;
use std::sync::Arc;

use laxity_core::{FlowId, Time};
use laxity_scenario::model::Scenario;
use laxity_sim::{Arrival, Control, Traffic, simulate, simulate::Unobserved};

use crate::family::Packet;
use crate::runs::Run;

/// How far a mean may be from the simulator's, in per cent and in us, whichever allows more: what
/// receivers take to wake up is in no simulation.
pub const TOLERANCE: (u64, u64) = (10, 50);

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

/// Means of each flow in us, simulated.
///
/// # Errors
/// When the log does not belong to the trace, or the policy cannot be simulated.
pub fn means(
    scenario: &Scenario,
    policy: &str,
    trace: &[Packet],
    log: &[u8],
) -> Result<BTreeMap<String, u64>, String> {
    if log.len() != trace.len() * 4 {
        return Err(format!("the log has {} entries for {} packets", log.len() / 4, trace.len()));
    }
    let names: Vec<&str> = scenario.flow_names().collect();
    let late = log.chunks_exact(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap_or_default()));
    let mut arrivals = Vec::with_capacity(trace.len());
    for ((time, bytes, name), late) in trace.iter().zip(late) {
        let flow = names.iter().position(|n| n == name).ok_or("a flow of no scenario")?;
        arrivals.push(Arrival {
            time: Time(time + u64::from(late)),
            flow: FlowId(flow as u32),
            bytes: *bytes as u32,
        });
    }
    let traffic = Traffic::Recorded(Arc::new(arrivals));
    let run = simulate(scenario, policy, 0, &traffic, &mut Unobserved, &Control::default())
        .map_err(|e| e.to_string())?;
    let flows = run.result(scenario).flows;
    Ok(flows
        .into_iter()
        .filter_map(|(name, flow)| Some((name, (flow.mean_ms? * 1000.0) as u64)))
        .collect())
}

/// The flows whose live mean is further from the simulated one than the tolerance.
pub fn apart(run: &Run, simulated: &BTreeMap<String, u64>) -> Vec<Apart> {
    let mut apart = Vec::new();
    for (name, flow) in run.flows.iter().filter(|(_, f)| f.got > 0) {
        let expected = simulated.get(name).copied().unwrap_or(0);
        let allowed = (expected * TOLERANCE.0 / 100).max(TOLERANCE.1);
        if flow.mean_us.abs_diff(expected) > allowed {
            apart.push(Apart { flow: name.clone(), live: flow.mean_us, simulated: expected });
        }
    }
    apart
}
