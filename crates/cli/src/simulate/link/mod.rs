//! `laxity simulate` of a link scenario.

mod recorder;

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use laxity_analysis::link;
use laxity_analysis::page::{link_details, residual_plot};
use laxity_core::{FlowId, Span};
use laxity_link::registry::{POLICIES, find};
use laxity_report::{Kind, Meta, Outcome, PolicyDetail, silence_sentence, simulation_page, text};
use laxity_results::{CheckResult, SimulationRuns};
use laxity_scenario::link::model::{Scenario, Source};
use laxity_sim::Control;
use laxity_sim::link::simulate::result;
use laxity_sim::link::{PolicyRun, Traffic, replay, simulate_all, summary};
use laxity_traffic::Arrival;

use super::{chosen, duration, refuse_cpu_options, seeds};
use crate::args::SimulateArgs;
use crate::failure::{Failure, INTERRUPTED, NO};
use crate::progress::Progress;
use crate::{interrupt, output, page, warning};
use recorder::Recorder;

/// Default of `--duration`.
const DURATION: Span = Span::from_millis(60_000);

/// Runs the command.
pub fn run(args: &SimulateArgs, scenario: &Scenario) -> Result<ExitCode, Failure> {
    refuse_cpu_options(args)?;
    let own = &scenario.policy;
    let policies = chosen(&args.policy, &own.compare, &own.use_, POLICIES)?;
    let traffic = traffic(args, scenario)?;
    if let (Traffic::Recorded(_), Some(_)) = (&traffic, args.seeds) {
        return Err(Failure::input("--seeds has no meaning with --trace: nothing is drawn"));
    }
    let seeds = seeds(args);
    let check = link::analyse(scenario, &own.use_).map_err(|e| of_scenario(scenario, e))?;
    warn(scenario, &policies);

    let control = interrupt::control();
    let jobs = (seeds.len() * policies.len()) as u128;
    let progress = Progress::watch(&control, u128::from(traffic.duration().0) * jobs);
    let runs = if args.packets.is_some() || args.pcap_out.is_some() {
        recorded(args, scenario, &policies, &seeds, &traffic, &control)
    } else {
        simulate_all(scenario, &policies, &seeds, &traffic, &control)
            .map_err(|e| of_scenario(scenario, e))
    };
    drop(progress);
    let runs = runs?;
    if runs.is_empty() {
        return Ok(ExitCode::from(INTERRUPTED));
    }

    let generated = matches!(traffic, Traffic::Generated { .. });
    let results: Vec<_> = seeds
        .iter()
        .map(|seed| {
            let of_seed: Vec<_> = runs.iter().filter(|r| r.seed == *seed).cloned().collect();
            (of_seed, generated.then_some(*seed))
        })
        .filter(|(runs, _)| !runs.is_empty())
        .map(|(runs, seed)| result(scenario, &runs, seed))
        .collect();
    let meta = meta(args, scenario, &seeds, generated);
    let details = link_details(scenario, &runs);
    // The shape of the results follows the command line, not how much was finished.
    if let ([one], None) = (&results[..], args.seeds) {
        if args.json {
            output::result(one)?;
        } else {
            let used = Some(scenario.policy.use_.as_str());
            output::print(&text::simulation(one, used, output::style()))?;
        }
        report(args, scenario, Outcome::One(one), &details, &check, &meta)?;
    } else {
        let runs = SimulationRuns { summary: summary::of(&results), runs: results };
        if args.json {
            output::result(&runs)?;
        } else {
            let used = Some(scenario.policy.use_.as_str());
            output::print(&text::simulation(&runs, used, output::style()))?;
        }
        report(args, scenario, Outcome::Runs(&runs), &details, &check, &meta)?;
    }
    if let (Some(silence), false) = (&check.idle_realtime, args.json) {
        output::print(&format!("{}\n", silence_sentence(silence)))?;
    }
    Ok(exit_code(scenario, &runs, &control))
}

fn of_scenario(scenario: &Scenario, error: impl Display) -> Failure {
    Failure::input(format!("{}: {error}", scenario.path.display()))
}

/// A deadline that was promised and missed makes the answer no.
fn exit_code(scenario: &Scenario, runs: &[PolicyRun], control: &Control) -> ExitCode {
    if control.stopped() || runs.iter().any(|r| !r.ending.complete) {
        warning::say("interrupted; the results cover the finished part");
        return ExitCode::from(INTERRUPTED);
    }
    let broken = runs.iter().any(|r| {
        let realtime = &r.measure.flows[..scenario.realtime.len()];
        realtime.iter().any(|f| f.missed > 0) && link::promises(scenario, &r.policy)
    });
    if broken { ExitCode::from(NO) } else { ExitCode::SUCCESS }
}

fn traffic(args: &SimulateArgs, scenario: &Scenario) -> Result<Traffic, Failure> {
    if let Some(path) = &args.trace {
        let recording = replay::read(path, scenario).map_err(Failure::input)?;
        if let Some(report) = &recording.capture {
            warning::faults(path, report);
            unmatched(path, scenario, &recording.packets);
        }
        return Ok(Traffic::Recorded(Arc::new(recording.packets)));
    }
    let duration = duration(args, DURATION)?;
    let mut replayed = Vec::new();
    let realtime = scenario.realtime.iter().map(|f| f.source.as_ref());
    let best_effort = scenario.best_effort.iter().map(|c| c.source.as_ref());
    for (source, id) in realtime.chain(best_effort).zip((0..).map(FlowId)) {
        if let Some(Source::Trace { path }) = source {
            let packets = replay::read_flow(path, scenario, id).map_err(Failure::input)?;
            replayed.push((id, packets));
        }
    }
    Ok(Traffic::Generated { duration, replayed: Arc::new(replayed) })
}

/// A scenario without `match` replays a capture as one class, which is hardly meant.
fn unmatched(path: &Path, scenario: &Scenario, packets: &[Arrival]) {
    if scenario.flow_count() > 1 && packets.iter().all(|p| p.flow == scenario.other()) {
        warning::say(format_args!(
            "warning: {}: no packet matches a flow of the scenario, so all go to `other`; give \
             the flows a `match`, or start from `laxity fit`",
            path.display()
        ));
    }
}

fn warn(scenario: &Scenario, policies: &[String]) {
    let keeping = policies.iter().filter(|p| find(p).is_some_and(|p| p.keeps_deadlines));
    let silent: Vec<_> =
        keeping.filter(|p| !link::promises(scenario, p)).map(String::as_str).collect();
    if !silent.is_empty() && !scenario.realtime.is_empty() {
        warning::say(format!(
            "warning: the real-time flows are not admitted under {}, so deadlines may be missed \
             there; `laxity check` shows what would be admitted",
            silent.join(", ")
        ));
    }
}

/// Runs one after the other, so that the files have the order of the policies.
fn recorded(
    args: &SimulateArgs,
    scenario: &Scenario,
    policies: &[String],
    seeds: &[u64],
    traffic: &Traffic,
    control: &Control,
) -> Result<Vec<PolicyRun>, Failure> {
    let [seed] = seeds else {
        return Err(Failure::input("--packets and --pcap-out take one seed: rows do not name it"));
    };
    let mut recorder =
        Recorder::create(args.packets.as_deref(), args.pcap_out.as_deref(), scenario)?;
    let mut runs = Vec::new();
    for policy in policies {
        if control.stopped() {
            break;
        }
        recorder.begin(policy);
        let run = laxity_sim::link::simulate(
            scenario,
            policy,
            *seed,
            traffic,
            Some(&mut recorder),
            control,
        );
        let run = run.map_err(|e| of_scenario(scenario, e))?;
        recorder.end(run.ending.complete);
        runs.push(run);
    }
    recorder.finish()?;
    Ok(runs)
}

fn meta(args: &SimulateArgs, scenario: &Scenario, seeds: &[u64], generated: bool) -> Meta {
    let traffic = match (&args.trace, generated) {
        (Some(path), _) => format!("recorded: {}", path.display()),
        (None, _) => "generated from the scenario's sources".to_owned(),
    };
    let mut facts = vec![("Traffic".to_owned(), traffic)];
    if generated {
        let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
        facts.push(("Seeds".to_owned(), seeds.join(", ")));
    }
    Meta { kind: Kind::Simulated, facts, ..page::link_meta(scenario) }
}

fn report(
    args: &SimulateArgs,
    scenario: &Scenario,
    outcome: Outcome<'_>,
    details: &[PolicyDetail],
    check: &CheckResult,
    meta: &Meta,
) -> Result<(), Failure> {
    let Some(path) = &args.report else { return Ok(()) };
    let plot = residual_plot(scenario);
    let page = simulation_page(outcome, details, Some(check), plot.as_ref(), meta);
    page::write(path, args, &page)
}
