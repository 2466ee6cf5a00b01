//! `laxity validate` of a link.

use std::collections::HashMap;
use std::process::ExitCode;

use laxity_analysis::link::{Fault, Premise, Validation, validate};
use laxity_core::{Span, Time};
use laxity_results::csv::{PacketRecord, read_packets};
use laxity_scenario::link::Scenario;
use serde_json::{Value, json};

use crate::args::ValidateArgs;
use crate::failure::{Failure, NO};
use crate::output;

/// Judges the record of a run of a link.
pub fn run(args: &ValidateArgs, scenario: &Scenario, text: &str) -> Result<ExitCode, Failure> {
    let tolerance = args.tolerance()?.unwrap_or(Span::ZERO);
    let shown = args.run.display();
    let rows = read_packets(text).map_err(|e| Failure::Input(format!("{shown}: {e}")))?;
    let mut policies: Vec<(String, Vec<PacketRecord>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in rows {
        if let Some(place) = places.get(&row.policy) {
            policies[*place].1.push(row);
        } else {
            places.insert(row.policy.clone(), policies.len());
            policies.push((row.policy.clone(), vec![row]));
        }
    }
    if policies.is_empty() {
        return Err(Failure::Input(format!("{shown}: no packets")));
    }
    let (mut lines, mut answers, mut good) = (String::new(), Vec::new(), true);
    for (policy, own) in &policies {
        let found = validate(scenario, policy, own, tolerance.0)
            .map_err(|e| Failure::Input(format!("{shown}: {e}")))?;
        good &= found.illegal.is_none() && found.broken.is_empty() && found.late.is_empty();
        lines += &says(policy, &found);
        answers.push(answer(policy, &found));
    }
    if args.json {
        output::result(&json!({ "policies": answers }))?;
    } else {
        output::print(&lines)?;
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

fn at(time: Time) -> Span {
    Span(time.0)
}

fn fault(fault: Fault) -> String {
    let when = at(fault.at());
    match fault {
        Fault::Together { packet, .. } => {
            format!("at {when} packet {packet} began before the one before it had ended")
        }
        Fault::Early { packet, .. } => {
            format!("at {when} packet {packet} began before its release")
        }
        Fault::Idle { waiting, .. } => {
            format!("from {when} on the link idled while packet {waiting} waited")
        }
        Fault::Wrong { packet, waiting, .. } => {
            format!(
                "at {when} the wrong packet went: {packet}, while {waiting} waited and was due earlier"
            )
        }
    }
}

fn premise(premise: &Premise) -> String {
    match premise {
        Premise::Admission => "the flows are not admitted under this policy".to_owned(),
        Premise::Envelope { flow, packet, at: when } => {
            format!("the envelope of {flow} was broken by packet {packet}, at {}", at(*when))
        }
        Premise::Size { flow, packet } => {
            format!("packet {packet} of {flow} is larger than admission assumed")
        }
        Premise::Deadline { flow, packet } => {
            format!("packet {packet} of {flow} has another deadline than its flow")
        }
        Premise::Dropped { flow, packet, reason } => {
            let reason = if reason.is_empty() { "no reason given" } else { reason };
            format!("packet {packet} of {flow} was dropped: {reason}")
        }
        Premise::Demoted { flow, packet } => {
            format!("packet {packet} of {flow} became best effort, which its flow did not allow")
        }
    }
}

/// The verdict on a policy's run in words.
fn says(policy: &str, found: &Validation) -> String {
    let mut lines = Vec::new();
    if let Some(illegal) = found.illegal {
        lines.push(format!("not a legal run of EDF: {}", fault(illegal)));
    }
    lines
        .extend(found.broken.iter().map(|broken| format!("a premise failed: {}", premise(broken))));
    match (found.late.first(), lines.is_empty()) {
        (None, true) => lines.push("legal run and premises hold, so nothing is late".to_owned()),
        (None, false) => lines.push("nothing was late all the same".to_owned()),
        (Some(first), explained) => lines.push(format!(
            "{} packets were late, the first is {first}{}",
            found.late.len(),
            if explained {
                ", although nothing else is wrong: best effort had an unsafe deadline"
            } else {
                ""
            },
        )),
    }
    let mut text = format!("{policy}, {} packets:\n", found.packets);
    for line in lines {
        text += &format!("  {line}\n");
    }
    text
}

/// The same as JSON.
fn answer(policy: &str, found: &Validation) -> Value {
    let broken: Vec<String> = found.broken.iter().map(premise).collect();
    json!({
        "policy": policy,
        "packets": found.packets,
        "legal": found.illegal.is_none(),
        "illegal": found.illegal.map(fault),
        "illegal_at_ns": found.illegal.map(|f| f.at().0),
        "premises_hold": broken.is_empty(),
        "broken": broken,
        "late": found.late.len(),
    })
}
