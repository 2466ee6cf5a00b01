//! `laxity simulate` of a CPU scenario.

mod files;
mod schedule;
mod trace_events;

use std::process::ExitCode;

use laxity_analysis::cpu;
use laxity_analysis::page::cpu_detail;
use laxity_core::Span;
use laxity_cpu::registry::POLICIES;
use laxity_report::{CpuOutcome, CpuPolicyDetail, Meta, cpu_simulation_page, text};
use laxity_results::{CpuSimulationRuns, TaskKind};
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::Control;
use laxity_sim::cpu::{
    CpuRun, CpuSimulationError, Task, result, simulate, simulate_all, simulate_recorded, summary,
    tasks,
};

use super::{chosen, duration, refuse, seeds};
use crate::args::SimulateArgs;
use crate::failure::{Failure, INTERRUPTED, NO};
use crate::progress::Progress;
use crate::{interrupt, memory, output, page, warning};
use files::Files;
use schedule::Schedule;

/// Default of `--duration`.
const DURATION: Span = Span::from_millis(10_000);

/// Runs the command.
pub fn run(args: &SimulateArgs, scenario: &CpuScenario) -> Result<ExitCode, Failure> {
    refuse_link_options(args)?;
    let own = &scenario.policy;
    let policies = chosen(&args.policy, &own.compare, &own.use_, POLICIES)?;
    let tasks = tasks(scenario).map_err(Failure::input)?;
    let duration = duration(args, DURATION)?;
    let seeds = seeds(args);
    warn(scenario, &tasks, &policies);

    let control = interrupt::control();
    let jobs = (seeds.len() * policies.len()) as u128;
    let progress = Progress::watch(&control, u128::from(duration.0) * jobs);
    let runs = runs(args, scenario, &tasks, &policies, &seeds, duration, &control);
    drop(progress);
    let (runs, details) = runs?;
    if runs.is_empty() {
        return Ok(ExitCode::from(INTERRUPTED));
    }

    let results: Vec<_> = seeds
        .iter()
        .map(|seed| runs.iter().filter(|r| r.seed == *seed).cloned().collect::<Vec<_>>())
        .zip(&seeds)
        .filter(|(runs, _)| !runs.is_empty())
        .map(|(runs, seed)| result(scenario, &tasks, &runs, Some(*seed)))
        .collect();
    // The shape of the results follows the command line, not how much was finished.
    if let ([one], None) = (&results[..], args.seeds) {
        if args.json {
            output::result(one)?;
        }
        report(args, scenario, &tasks, CpuOutcome::One(one), &details, &seeds)?;
    } else {
        let all = CpuSimulationRuns { summary: summary::of(&results), runs: results };
        if args.json {
            output::result(&all)?;
        }
        report(args, scenario, &tasks, CpuOutcome::Runs(&all), &details, &seeds)?;
    }
    Ok(exit_code(scenario, &tasks, &runs, &control))
}

fn refuse_link_options(args: &SimulateArgs) -> Result<(), Failure> {
    let given = [
        ("--trace", args.trace.is_some()),
        ("--blocking", args.blocking.is_some()),
        ("--packets", args.packets.is_some()),
        ("--pcap-out", args.pcap_out.is_some()),
    ];
    refuse(&given, "CPUs: it is about packets")
}

fn of_scenario(scenario: &CpuScenario, error: &CpuSimulationError) -> Failure {
    Failure::input(format!("{}: {error}", scenario.path.display()))
}

fn warn(scenario: &CpuScenario, tasks: &[Task], policies: &[String]) {
    for policy in policies {
        let check = cpu::verdict(scenario, tasks, policy);
        for request in check.requests.iter().filter(|r| !r.admitted) {
            warning::say(format_args!(
                "warning: {policy} refuses the reservation of {}; `laxity check` shows what \
                 would fit",
                request.task
            ));
        }
    }
}

/// All runs; the schedule is kept of the first seed, where something is made of it.
fn runs(
    args: &SimulateArgs,
    scenario: &CpuScenario,
    tasks: &[Task],
    policies: &[String],
    seeds: &[u64],
    duration: Span,
    control: &Control,
) -> Result<(Vec<CpuRun>, Vec<CpuPolicyDetail>), Failure> {
    let written = [
        ("--trace-out", &args.trace_out),
        ("--slices", &args.slices),
        ("--jobs", &args.jobs),
        ("--record", &args.record),
    ];
    let written = written.iter().find(|(_, path)| path.is_some());
    if let (Some((option, _)), [_, _, ..]) = (written, seeds) {
        return Err(Failure::input(format!("{option} needs a single seed: rows do not name it")));
    }
    if written.is_none() && args.report.is_none() {
        let runs = simulate_all(scenario, tasks, policies, seeds, duration, control);
        return Ok((runs.map_err(|e| of_scenario(scenario, &e))?, Vec::new()));
    }
    if args.record.is_some() && !scenario.locks.names.is_empty() {
        return Err(of_scenario(scenario, &CpuSimulationError::LocksInRecord));
    }
    let mut files = Files::create(args)?;
    let kept = memory::kept_of_a_schedule(args.resources.memory, policies.len());
    let names: Vec<String> = tasks.iter().map(|t| t.name.clone()).collect();
    let (mut all, mut details) = (Vec::new(), Vec::new());
    let (first, others) = seeds.split_first().map_or((0, seeds), |(first, rest)| (*first, rest));
    for policy in policies.iter().take_while(|_| !control.stopped()) {
        let mut schedule = Schedule::new(names.len(), kept);
        let run = match files.record(scenario, policy, &names)? {
            Some(mut record) => {
                let mut keep = |row: &_| record.write(row);
                let observed = (Some(&mut schedule as _), &mut keep as _);
                let run =
                    simulate_recorded(scenario, tasks, policy, first, duration, observed, control);
                if let Ok(run) = &run {
                    record.end(run.ending.time)?;
                }
                run
            }
            None => {
                simulate(scenario, tasks, policy, first, duration, Some(&mut schedule), control)
            }
        };
        let run = run.map_err(|e| of_scenario(scenario, &e))?;
        schedule.finish(run.ending.time);
        if schedule.left_out() > 0 {
            warning::say(format_args!(
                "warning: {policy}: the run exceeds the memory for records: plots and files lack \
                 {} slices, jobs and waits at its end; shorten --duration or raise --memory",
                schedule.left_out()
            ));
        }
        files.add(policy, scenario.cpu.cpus, &names, &schedule)?;
        if args.report.is_some() {
            details.push(detail(tasks, &run, &schedule));
        }
        all.push(run);
    }
    files.finish()?;
    if !control.stopped() {
        let others = simulate_all(scenario, tasks, policies, others, duration, control);
        all.extend(others.map_err(|e| of_scenario(scenario, &e))?);
    }
    Ok((all, details))
}

/// A hard job that was promised and late makes the answer no.
fn exit_code(
    scenario: &CpuScenario,
    tasks: &[Task],
    runs: &[CpuRun],
    control: &Control,
) -> ExitCode {
    if control.stopped() || runs.iter().any(|r| !r.ending.complete) {
        warning::say("interrupted; the results cover the finished part");
        return ExitCode::from(INTERRUPTED);
    }
    let broken = runs.iter().any(|run| {
        let results = run.result(scenario, tasks).tasks;
        let late = results.values().any(|t| t.kind == TaskKind::Hard && t.deadline_misses > 0);
        late && cpu::verdict(scenario, tasks, &run.policy).guaranteed
    });
    if broken { ExitCode::from(NO) } else { ExitCode::SUCCESS }
}

/// Prints the tables, or JSON, and writes the page.
fn report(
    args: &SimulateArgs,
    scenario: &CpuScenario,
    tasks: &[Task],
    outcome: CpuOutcome<'_>,
    details: &[CpuPolicyDetail],
    seeds: &[u64],
) -> Result<(), Failure> {
    let used = Some(scenario.policy.use_.as_str());
    if !args.json {
        output::print(&text::cpu_simulation(outcome, used, output::style()))?;
    }
    let Some(path) = &args.report else { return Ok(()) };
    let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
    let facts = vec![("Seeds".to_owned(), seeds.join(", "))];
    let meta = Meta { facts, ..page::policy_meta(&scenario.policy.use_) };
    let check = cpu::verdict(scenario, tasks, &scenario.policy.use_);
    let page = cpu_simulation_page(outcome, details, Some(&check), &meta);
    page::write(path, args, &page)
}

fn detail(tasks: &[Task], run: &CpuRun, schedule: &Schedule) -> CpuPolicyDetail {
    let jobs = schedule.jobs().iter().chain(&schedule.unfinished);
    cpu_detail(tasks, run, schedule.slices(), jobs, schedule.left_out())
}
