//! `laxity validate` of CPUs.

use std::process::ExitCode;

use laxity_analysis::cpu::{CpuValidation, validate, validate_live};
use laxity_core::Span;
use laxity_results::csv::cpu_run::{CpuRunRecord, read_cpu_runs};
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::cpu::tasks;
use serde_json::{Value, json};

use crate::args::ValidateArgs;
use crate::failure::{Failure, NO};
use crate::output;

/// Within so much time live CPUs do what their scheduler decides, unless `--tolerance` says otherwise.
const LIVE_TOLERANCE: Span = Span(200_000);

/// Judges the record of a run of CPUs.
pub fn run(args: &ValidateArgs, scenario: &CpuScenario, text: &str) -> Result<ExitCode, Failure> {
    let tolerance = args.tolerance()?.is_some_and(|tolerance| tolerance > Span::ZERO);
    if tolerance || args.blocking.is_some() {
        let option = if tolerance { "--tolerance" } else { "--blocking" };
        let why = "has no meaning for simulated CPUs: their records are exact";
        return Err(Failure::Input(format!("{option} {why}")));
    }
    let tasks = tasks(scenario).map_err(Failure::input)?;
    let mut judged = Vec::new();
    for run in read(args, text)? {
        let found = validate(scenario, &tasks, &run).map_err(|e| input(args, &e))?;
        if let Some(late) = found.contradiction() {
            return Err(Failure::Internal(format!(
                "{}: the run is legal and its premises hold, yet late was {late}: the judgement, or the theory \
                 behind it, is wrong; please report it with the record",
                run.policy
            )));
        }
        judged.push((run.policy, None, found));
    }
    answer_all(args, &judged)
}

/// Judges the record of live CPUs.
pub fn run_live(args: &ValidateArgs, text: &str) -> Result<ExitCode, Failure> {
    let tolerance = args.tolerance()?.unwrap_or(LIVE_TOLERANCE);
    if args.blocking.is_some() {
        return Err(Failure::Input("--blocking has no meaning for CPUs".to_owned()));
    }
    let mut judged = Vec::new();
    for run in read(args, text)? {
        let found = validate_live(&run, tolerance).map_err(|e| input(args, &e))?;
        judged.push((run.policy, run.live.map(|live| live.cpu), found));
    }
    answer_all(args, &judged)
}

fn input(args: &ValidateArgs, error: &dyn std::fmt::Display) -> Failure {
    Failure::Input(format!("{}: {error}", args.run.display()))
}

fn read(args: &ValidateArgs, text: &str) -> Result<Vec<CpuRunRecord>, Failure> {
    let writers = "`laxity simulate --record` and `laxity cpu up --record` write such records";
    let runs = read_cpu_runs(text).map_err(|e| input(args, &format!("{e}; {writers}")))?;
    match runs.is_empty() {
        true => Err(input(args, &"no runs")),
        false => Ok(runs),
    }
}

/// A run's policy, its CPU if it is live, and the verdict.
type Judged = (String, Option<u32>, CpuValidation);

fn answer_all(args: &ValidateArgs, judged: &[Judged]) -> Result<ExitCode, Failure> {
    if args.json {
        let answers: Vec<Value> = judged.iter().map(answer).collect();
        output::result(&json!({ "policies": answers }))?;
    } else {
        output::print(&judged.iter().map(says).collect::<String>())?;
    }
    let good = judged.iter().all(|(_, _, found)| found.holds() && found.late.is_empty());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

/// The verdict on a policy's run in words.
fn says((policy, cpu, found): &Judged) -> String {
    let run = cpu.map_or(policy.clone(), |cpu| format!("{policy} on CPU {cpu}"));
    if !found.is_judged() {
        let (slices, lost) = (found.slices, found.lost);
        return format!(
            "{run}, {slices} slices:\n  not judged: the record has a gap, {lost} events were lost; record for a \
             shorter time, or with less load\n"
        );
    }
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
        (Some(first), true, None) => lines.push(format!(
            "legal run and premises hold within the tolerance, yet {} jobs were late by more, first {first}",
            found.late.len()
        )),
        (Some(first), ..) => {
            lines.push(format!("{} jobs were late, first {first}", found.late.len()));
        }
    }
    let mut text = format!("{run}, {} slices, {} jobs:\n", found.slices, found.jobs);
    for line in lines {
        text += &format!("  {line}\n");
    }
    text
}

/// The same as JSON.
fn answer((policy, cpu, found): &Judged) -> Value {
    let broken: Vec<String> = found.broken.iter().map(ToString::to_string).collect();
    // Nothing is said of a run that is not judged.
    let verdict = |holds: bool| found.is_judged().then_some(holds);
    let mut answer = json!({
        "policy": policy,
        "slices": found.slices,
        "jobs": found.jobs,
        "legal": verdict(found.illegal.is_none()),
        "illegal": found.illegal.as_ref().map(ToString::to_string),
        "illegal_at_ns": found.illegal.as_ref().map(|f| f.at().0),
        "premises_hold": verdict(broken.is_empty()),
        "broken": broken,
        "sum_judged": found.is_judged() && found.constrained.is_none(),
        "late": found.is_judged().then_some(found.late.len()),
    });
    if let Some(cpu) = cpu {
        answer["cpu"] = json!(cpu);
        answer["lost_events"] = json!(found.lost);
    }
    answer
}
