//! `laxity simulate` of a stream scenario.

mod recorder;

use std::path::Path;
use std::process::ExitCode;

use laxity_analysis::page::stream_details;
use laxity_analysis::stream;
use laxity_core::Span;
use laxity_report::{Meta, StreamOutcome, stream_simulation_page, text};
use laxity_results::StreamSimulationRuns;
use laxity_scenario::stream::model::StreamSource;
use laxity_scenario::stream::policies::POLICIES;
use laxity_scenario::stream::{StreamScenario, model::StreamClass};
use laxity_sim::Control;
use laxity_sim::stream::simulate::result;
use laxity_sim::stream::{StreamRun, StreamSimulationError, simulate, simulate_all, summary};

use super::{chosen, duration, refuse, refuse_cpu_options, seeds};
use crate::args::SimulateArgs;
use crate::failure::{Failure, INTERRUPTED, NO};
use crate::progress::Progress;
use crate::{interrupt, output, page, warning};
use recorder::Recorder;

/// Default of `--duration`.
const DURATION: Span = Span::from_millis(10_000);

/// Runs the command.
pub fn run(args: &SimulateArgs, scenario: &StreamScenario) -> Result<ExitCode, Failure> {
    refuse_link_options(args)?;
    refuse_cpu_options(args)?;
    let own = &scenario.policy;
    let policies = chosen(&args.policy, &own.compare, &own.use_, POLICIES)?;
    let duration = duration(args, DURATION)?;
    let seeds = seeds(args);
    warn(scenario);

    let control = interrupt::control();
    let jobs = (seeds.len() * policies.len()) as u128;
    let progress = Progress::watch(&control, u128::from(duration.0) * jobs);
    let runs = match &args.packets {
        Some(path) => recorded(path, scenario, &policies, &seeds, duration, &control),
        None => simulate_all(scenario, &policies, &seeds, duration, &control)
            .map_err(|e| of_scenario(scenario, &e)),
    };
    drop(progress);
    let runs = runs?;
    if runs.is_empty() {
        return Ok(ExitCode::from(INTERRUPTED));
    }

    let results: Vec<_> = seeds
        .iter()
        .map(|seed| runs.iter().filter(|r| r.seed == *seed).cloned().collect::<Vec<_>>())
        .zip(&seeds)
        .filter(|(runs, _)| !runs.is_empty())
        .map(|(runs, seed)| result(scenario, &runs, Some(*seed)))
        .collect();
    // The shape of the results follows the command line, not how much was finished.
    if let ([one], None) = (&results[..], args.seeds) {
        if args.json {
            output::result(one)?;
        }
        report(args, scenario, StreamOutcome::One(one), &runs, &seeds)?;
    } else {
        let all = StreamSimulationRuns { summary: summary::of(&results), runs: results };
        if args.json {
            output::result(&all)?;
        }
        report(args, scenario, StreamOutcome::Runs(&all), &runs, &seeds)?;
    }
    Ok(exit_code(scenario, &runs, &control))
}

fn refuse_link_options(args: &SimulateArgs) -> Result<(), Failure> {
    let given = [
        ("--trace", args.trace.is_some()),
        ("--blocking", args.blocking.is_some()),
        ("--pcap-out", args.pcap_out.is_some()),
    ];
    refuse(&given, "streams: it is about links")
}

fn of_scenario(scenario: &StreamScenario, error: &StreamSimulationError) -> Failure {
    Failure::input(format!("{}: {error}", scenario.path.display()))
}

fn warn(scenario: &StreamScenario) {
    let live =
        |c: &&StreamClass| matches!(c.source, StreamSource::File { .. } | StreamSource::External);
    let names: Vec<&str> = scenario.streams.iter().filter(live).map(|c| c.name.as_str()).collect();
    if !names.is_empty() {
        warning::say(format_args!(
            "warning: a packet each gap replaces the files and processes that feed {}",
            names.join(", ")
        ));
    }
    let check = stream::analyse(scenario, &scenario.policy.use_);
    if !check.admitted {
        warning::say(format_args!(
            "warning: the streams need {:.1} % of the server, so some lose more than they \
             tolerate; `laxity check` shows what would fit",
            check.utilisation * 100.0
        ));
    }
}

/// Runs one after the other, so that the file has the order of the policies.
fn recorded(
    path: &Path,
    scenario: &StreamScenario,
    policies: &[String],
    seeds: &[u64],
    duration: Span,
    control: &Control,
) -> Result<Vec<StreamRun>, Failure> {
    let [seed] = seeds else {
        return Err(Failure::input("--packets needs a single seed: rows do not name it"));
    };
    let mut recorder = Recorder::create(path, scenario)?;
    let mut runs = Vec::new();
    for policy in policies {
        if control.stopped() {
            break;
        }
        recorder.begin(policy);
        let run = simulate(scenario, policy, *seed, duration, Some(&mut recorder), control);
        runs.push(run.map_err(|e| of_scenario(scenario, &e))?);
    }
    recorder.finish()?;
    Ok(runs)
}

/// A window that was promised and violated makes the answer no.
fn exit_code(scenario: &StreamScenario, runs: &[StreamRun], control: &Control) -> ExitCode {
    if control.stopped() || runs.iter().any(|r| !r.ending.complete) {
        warning::say("interrupted; the results cover the finished part");
        return ExitCode::from(INTERRUPTED);
    }
    let broken = runs.iter().any(|run| {
        let check = stream::analyse(scenario, &run.policy);
        let violated = run.classes.iter().any(|c| c.measures.tumbling > 0);
        check.guaranteed && check.intermittent.is_empty() && violated
    });
    if broken { ExitCode::from(NO) } else { ExitCode::SUCCESS }
}

/// Prints the tables, or JSON, and writes the page.
fn report(
    args: &SimulateArgs,
    scenario: &StreamScenario,
    outcome: StreamOutcome<'_>,
    runs: &[StreamRun],
    seeds: &[u64],
) -> Result<(), Failure> {
    let used = Some(scenario.policy.use_.as_str());
    if !args.json {
        output::print(&text::stream_simulation(outcome, used, output::style()))?;
    }
    let Some(path) = &args.report else { return Ok(()) };
    let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
    let facts = vec![("Seeds".to_owned(), seeds.join(", "))];
    let meta = Meta { facts, ..page::policy_meta(&scenario.policy.use_) };
    let check = stream::analyse(scenario, &scenario.policy.use_);
    let page =
        stream_simulation_page(outcome, &stream_details(scenario, runs), Some(&check), &meta);
    page::write(path, args, &page)
}
