//! Which flow of a scenario a frame belongs to.

use laxity_core::FlowId;
use laxity_link::classify::{Classifier, Key, Rule};
use laxity_scenario::link::model::{Match, Scenario};
use laxity_trace::Headers;

/// The fields of a frame's headers, for classification.
pub fn key(headers: &Headers) -> Key {
    Key {
        dscp: headers.dscp,
        protocol: headers.protocol,
        src: headers.src,
        dst: headers.dst,
        sport: headers.sport,
        dport: headers.dport,
        mark: None,
        priority: headers.vlan.tags().first().map(|t| u32::from(t.pcp)),
    }
}

/// The classifier of a scenario.
pub fn classifier(scenario: &Scenario) -> Classifier {
    let realtime = scenario.realtime.iter().map(|f| f.matches.as_ref());
    let best_effort = scenario.best_effort.iter().map(|c| c.matches.as_ref());
    let matches = realtime.chain(best_effort).zip((0..).map(FlowId));
    let rules = matches.filter_map(|(m, id)| m.map(|m| (rule(m), id))).collect();
    Classifier::new(rules, scenario.other())
}

/// A `match` of a scenario as a rule of the classifier.
pub fn rule(m: &Match) -> Rule {
    Rule {
        dscp: m.dscp,
        protocol: m.protocol,
        src: m.src.map(|p| (p.address, p.bits)),
        dst: m.dst.map(|p| (p.address, p.bits)),
        sport: m.sport,
        dport: m.dport,
        mark: m.mark,
        priority: m.priority,
    }
}
