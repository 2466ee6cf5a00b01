//! A run of a live link beside a simulation of the arrivals of that run.

use laxity_core::{Histogram, Time};
use laxity_scenario::link::model::Scenario;
use laxity_traffic::Arrival;

use super::{SimulationError, Traffic, simulate};
use crate::Control;

/// The counts of a class by a live link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    sent: u64,
    mean: Option<f64>,
    longest: Option<u64>,
    late: u64,
}

impl Live {
    /// Of frames sent, demoted ones included, the delays in ns of those that were not demoted, and late
    /// frames.
    pub fn new(sent: u64, delay: &Histogram, late: u64) -> Live {
        Live { sent, mean: delay.mean(), longest: delay.max(), late }
    }
}

/// One class, as it was and as it is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Frames sent by the link and by the simulator, demoted ones included.
    pub sent: (u64, u64),
    /// Mean delays in ns of those that were not demoted; `None` where none was sent.
    pub mean: (Option<f64>, Option<f64>),
    /// Their longest delays in ns.
    pub longest: (Option<u64>, Option<u64>),
    /// Late frames.
    pub late: (u64, u64),
}

impl Row {
    /// By which part of the simulated mean the link's differs.
    pub fn difference(&self) -> Option<f64> {
        let (live, simulated) = self.mean;
        Some((live? - simulated?) / simulated?)
    }
}

/// Simulates the recorded arrivals under the same scenario and policy and holds what the link counted
/// of each class against the outcome. The record must be that of the whole run.
///
/// # Errors
/// The policy cannot be built.
pub fn compare(
    scenario: &Scenario,
    policy: &str,
    mut arrivals: Vec<Arrival>,
    live: &[Live],
) -> Result<Vec<Row>, SimulationError> {
    arrivals.sort_by_key(|a| a.time);
    let first = arrivals.first().map_or(0, |a| a.time.0);
    for arrival in &mut arrivals {
        arrival.time = Time(arrival.time.0 - first);
    }
    let traffic = Traffic::Recorded(arrivals.into());
    let run = simulate(scenario, policy, 0, &traffic, None, &Control::default())?;
    let both = live.iter().zip(&run.measure.flows);
    let rows = scenario.flow_names().zip(both).map(|(name, (live, simulated))| {
        let sent = (live.sent, simulated.delay.count() + simulated.demoted());
        Row {
            name: name.to_owned(),
            sent,
            mean: (live.mean, simulated.delay.mean()),
            longest: (live.longest, simulated.delay.max()),
            late: (live.late, simulated.missed),
        }
    });
    Ok(rows.collect())
}
