//! What a planned tree lacks beside a link of Laxity.

use laxity_core::Rate;
use laxity_results::TcLoss;
use laxity_scenario::link::Scenario;
use laxity_scenario::link::model::QueueBy;
use laxity_scenario::quantity::print_bit_rate;

use super::{Device, PlanRequest, Target};

fn loss(code: &str, text: String) -> TcLoss {
    TcLoss { code: code.to_owned(), text }
}

/// The losses; `reserved` is the rate that the tree needs at once for the real-time flows.
pub fn losses(
    scenario: &Scenario,
    request: &PlanRequest,
    device: &Device,
    reserved: u64,
) -> Vec<TcLoss> {
    let mut out = Vec::new();
    let packet = u128::from(device.max_packet.0) * 8_000_000_000 / u128::from(device.rate.0.max(1));
    let us = packet.div_ceil(1000);
    let needed: u64 = scenario.realtime.iter().map(|f| f.envelope.rate().0).sum();
    if !scenario.realtime.is_empty() {
        out.push(loss(
            "late",
            format!("every guarantee is later by a packet of other traffic, {us} us, whatever the deadline"),
        ));
        let what = match request.target {
            Target::Hfsc => "curves begin at 0 instead of the deadline",
            Target::Htb => "each class has a rate that covers its burst within the deadline",
            Target::Cbs => "a class has an idle slope that covers its bursts within the deadline",
        };
        out.push(loss(
            "reserved",
            format!(
                "{what}: they take up to {} of {} for flows that send {} in the long run",
                print_bit_rate(Rate(reserved)),
                print_bit_rate(device.rate),
                print_bit_rate(Rate(needed))
            ),
        ));
    }
    out.push(loss(
        "best-effort",
        "best effort goes first only while no real-time packet waits or is due: it has no deadline by what the \
         others can spare"
            .to_owned(),
    ));
    let policing = match request.target {
        Target::Hfsc => {
            "a flow beyond its envelope shares what is left with best effort and delays itself"
        }
        Target::Htb => "a flow beyond its envelope is held to its rate and delays itself",
        Target::Cbs => "a flow beyond its envelope delays all flows of its class",
    };
    out.push(loss("policing", format!("no policer: {policing}; `excess` has no effect")));
    out.push(loss(
        "admission",
        "no admission: a later class, filter or change of the rate is not tested; check again with `laxity check --tc`"
            .to_owned(),
    ));
    if request.shape {
        let text = format!(
            "tbf shapes the interface and adds another {us} us, and the next hop sends a packet again as long"
        );
        out.push(loss("shaper", text));
    }
    specific(scenario, request, &mut out);
    let without = scenario.realtime.iter().filter(|f| f.matches.is_none()).map(|f| f.name.as_str());
    let without: Vec<&str> = without.collect();
    if !without.is_empty() {
        let text = format!("no `match` and so no filter: {}", without.join(", "));
        out.push(loss("no-match", text));
    }
    out
}

fn specific(scenario: &Scenario, request: &PlanRequest, out: &mut Vec<TcLoss>) {
    let mut deadlines: Vec<_> = scenario.realtime.iter().map(|f| f.deadline).collect();
    deadlines.sort();
    deadlines.dedup();
    match request.target {
        Target::Htb if deadlines.len() > 7 => {
            let text = format!(
                "{} deadlines share seven priorities: the longest wait for each other",
                deadlines.len()
            );
            out.push(loss("priorities", text));
        }
        Target::Cbs => {
            let text = "one queue for best effort: weights and classes have no effect".to_owned();
            out.push(loss("weights", text));
            let text = "the device has to serve a queue of a smaller number first, and to send at the rate of the \
                        link";
            out.push(loss("device", text.to_owned()));
        }
        _ => {}
    }
    let hosts = |by: QueueBy| by != QueueBy::FiveTuple;
    if scenario.best_effort.iter().any(|c| c.flows.is_some_and(|f| hosts(f.by))) {
        let text = "fq_codel divides among flows, not among hosts".to_owned();
        out.push(loss("hosts", text));
    }
}
