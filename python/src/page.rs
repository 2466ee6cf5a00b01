//! Facts of a scenario beside results, on pages.

use laxity_analysis::link;
use laxity_report::{Meta, ResidualPlot};
use laxity_scenario::link::model::{RealtimeFlow, Scenario};

/// The footer of a page about a link.
pub fn link_meta(scenario: &Scenario, meta: Meta) -> Meta {
    let bound = |f: &RealtimeFlow| Some((f.name.clone(), f.delay_bound()?.0));
    Meta {
        link_rate: Some(scenario.link.rate.0),
        max_packet: Some(scenario.link.max_packet.0),
        deadlines: scenario.realtime.iter().filter_map(bound).collect(),
        ..meta
    }
}

/// The capacity that real-time flows leave, as far as there is any.
pub fn residual_plot(scenario: &Scenario) -> Option<ResidualPlot> {
    let curves = link::residual(scenario)?;
    Some(ResidualPlot {
        residual: curves.residual,
        effective: curves.effective,
        approximations: curves.approximations,
        near_ns: None,
        whole_ns: Some(curves.end_ns),
    })
}
