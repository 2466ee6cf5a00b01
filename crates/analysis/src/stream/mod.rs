//! Media servers: the admission test of their streams, and suggestions.

use laxity_core::Span;
use laxity_dwcs::admission::{Demand, Phases, Utilisation, admit, suggest};
use laxity_results::{StreamCheckResult, StreamClassCheck};
use laxity_scenario::stream::StreamScenario;
use laxity_scenario::stream::model::{StreamClass, StreamSource};

/// The admission test of a scenario under a policy, with suggestions. It cannot fail: a stream scenario
/// has no curves, and names no files.
pub fn analyse(scenario: &StreamScenario, policy: &str) -> StreamCheckResult {
    let demands: Vec<Demand> = scenario.streams.iter().map(|c| demand(scenario, c)).collect();
    let utilisation = Utilisation::of(&demands);
    let obstacles: Vec<String> = match scenario.policy.options(policy) {
        Some(options) => {
            let admission = admit(options, phases(scenario), &demands);
            admission.obstacles.iter().map(ToString::to_string).collect()
        }
        None => vec![format!("{policy} does not know what streams tolerate")],
    };
    let pausing = scenario.streams.iter().filter(|c| may_pause(c)).map(|c| c.name.clone());
    let classes = scenario.streams.iter().zip(&demands).enumerate().map(|(i, (class, demand))| {
        let suggestion = suggest(&demands, i);
        let row = StreamClassCheck {
            streams: class.count.into(),
            tolerance: class.attributes.tolerance.to_string(),
            gap_ns: class.attributes.gap.map(|gap| gap.0),
            service_ns: demand.service.0,
            utilisation: share(&Utilisation::of(&[*demand])),
            max_streams: suggestion.map_or(0, |s| s.count.into()),
            min_gap_ns: suggestion.and_then(|s| s.gap).map(|gap| gap.0),
        };
        (class.name.clone(), row)
    });
    StreamCheckResult {
        policy: policy.to_owned(),
        admitted: utilisation.fits(),
        guaranteed: obstacles.is_empty(),
        utilisation: share(&utilisation),
        obstacles,
        intermittent: pausing.collect(),
        classes: classes.collect(),
    }
}

fn share(utilisation: &Utilisation) -> f64 {
    utilisation.millionths() as f64 / 1e6
}

fn demand(scenario: &StreamScenario, class: &StreamClass) -> Demand {
    let service = scenario.server.service(class.largest());
    Demand { attributes: class.attributes, service, count: class.count }
}

/// Whether all streams start a whole number of gaps apart.
fn phases(scenario: &StreamScenario) -> Phases {
    let start = |class: &StreamClass| {
        let gap = class.attributes.gap?;
        match class.source {
            StreamSource::Backlogged => Some(0),
            StreamSource::Periodic { jitter: Span::ZERO, phase: Some(phase), .. } => {
                Some(phase.0 % gap.0)
            }
            _ => None,
        }
    };
    let timed = || scenario.streams.iter().filter(|c| c.attributes.gap.is_some());
    let first = timed().next().and_then(start);
    match first.is_some() && timed().all(|c| start(c) == first) {
        true => Phases::Aligned,
        false => Phases::Any,
    }
}

/// Whether a stream's queue may be empty when a deadline has passed.
fn may_pause(class: &StreamClass) -> bool {
    let Some(gap) = class.attributes.gap else { return false };
    match class.source {
        StreamSource::Backlogged => false,
        StreamSource::Periodic { period, jitter, .. } => jitter > Span::ZERO || period > gap,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
