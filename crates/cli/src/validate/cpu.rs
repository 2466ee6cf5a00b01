//! `laxity validate` of CPUs.

use std::process::ExitCode;

use laxity_analysis::cpu::{CpuValidation, validate};
use laxity_core::Span;
use laxity_results::csv::cpu_run::read_cpu_runs;
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::quantity;
use laxity_sim::cpu::tasks;
use serde_json::{Value, json};

use crate::args::ValidateArgs;
use crate::failure::{Failure, NO};
use crate::output;

/// Judges the record of a run of CPUs.
pub fn run(args: &ValidateArgs, scenario: &CpuScenario, text: &str) -> Result<ExitCode, Failure> {
    let tolerance = quantity::span(&args.tolerance)
        .map_err(|e| Failure::quantity("--tolerance", &args.tolerance, &e))?;
    if tolerance > Span::ZERO || args.blocking.is_some() {
        let option = if tolerance > Span::ZERO { "--tolerance" } else { "--blocking" };
        let why = "has no meaning for CPUs: their records are of simulated runs, and exact";
        return Err(Failure::Input(format!("{option} {why}")));
    }
    let shown = args.run.display();
    let input = |error: &dyn std::fmt::Display| Failure::Input(format!("{shown}: {error}"));
    let runs = read_cpu_runs(text)
        .map_err(|e| input(&format!("{e}; `laxity simulate --record` writes such records")))?;
    if runs.is_empty() {
        return Err(Failure::Input(format!("{shown}: no runs")));
    }
    let tasks = tasks(scenario).map_err(Failure::input)?;
    let (mut lines, mut answers, mut good) = (String::new(), Vec::new(), true);
    for run in &runs {
        let found = validate(scenario, &tasks, run).map_err(|e| input(&e))?;
        if let Some(late) = found.contradiction() {
            return Err(Failure::Internal(format!(
                "{}: the run is legal and its premises hold, yet late was {late}: the judgement, or the theory \
                 behind it, is wrong; please report it with the record",
                run.policy
            )));
        }
        good &= found.holds() && found.late.is_empty();
        lines += &says(&run.policy, &found);
        answers.push(answer(&run.policy, &found));
    }
    if args.json {
        output::result(&json!({ "policies": answers }))?;
    } else {
        output::print(&lines)?;
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

/// The verdict on a policy's run in words.
fn says(policy: &str, found: &CpuValidation) -> String {
    let mut lines = Vec::new();
    if let Some(illegal) = &found.illegal {
        lines.push(format!("not a legal run of EDF servers: {illegal}"));
    }
    lines.extend(found.broken.iter().map(|broken| format!("a premise failed: {broken}")));
    if let Some(task) = &found.constrained {
        lines.push(format!(
            "the sum of shares is not judged: the deadline of {task} is shorter than its period"
        ));
    }
    match (found.late.first(), found.holds(), &found.constrained) {
        (None, true, None) => {
            lines.push("legal run and premises hold, so nothing is late".to_owned());
        }
        (None, true, Some(_)) => {
            lines.push("legal run and premises hold, and nothing was late".to_owned());
        }
        (None, false, _) => lines.push("nothing was late all the same".to_owned()),
        (Some(first), ..) => {
            lines.push(format!("{} jobs were late, first {first}", found.late.len()));
        }
    }
    let mut text = format!("{policy}, {} slices, {} jobs:\n", found.slices, found.jobs);
    for line in lines {
        text += &format!("  {line}\n");
    }
    text
}

/// The same as JSON.
fn answer(policy: &str, found: &CpuValidation) -> Value {
    let broken: Vec<String> = found.broken.iter().map(ToString::to_string).collect();
    json!({
        "policy": policy,
        "slices": found.slices,
        "jobs": found.jobs,
        "legal": found.illegal.is_none(),
        "illegal": found.illegal.as_ref().map(ToString::to_string),
        "illegal_at_ns": found.illegal.as_ref().map(|f| f.at().0),
        "premises_hold": broken.is_empty(),
        "broken": broken,
        "sum_judged": found.constrained.is_none(),
        "late": found.late.len(),
    })
}
