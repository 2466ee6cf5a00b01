//! `laxity link plan`: a scenario as a tree of the kernel's own disciplines.

use std::process::ExitCode;
use std::sync::Arc;

use laxity_analysis::tc::plan::{Plan, PlanRequest, Target, plan};
use laxity_core::{Rate, Span};
use laxity_report::text;
use laxity_results::TcPlan;
use laxity_scenario::Document;
use laxity_scenario::link::Scenario;
use laxity_scenario::quantity;
use laxity_sim::link::{PolicyRun, Traffic, simulate, simulate_policy};

use super::args::{PlanArgs, TargetArg};
use crate::check::tc::speed;
use crate::failure::{Failure, NO};
use crate::{interrupt, output};

/// Runs the command.
pub fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let path = &args.scenario;
    let Document::Link(scenario) = Document::read(path).map_err(Failure::input)? else {
        let what = "this scenario does not describe a link; one that does has a section [link]";
        return Err(Failure::Input(format!("{}: {what}", path.display())));
    };
    let timer_lateness = span("--timer-lateness", &args.timer_lateness)?;
    let duration = span("--duration", &args.duration)?;
    let device = args.dev.as_deref().unwrap_or("eth0");
    known_name(device)?;
    let rate = scenario.link.rate;
    let reported = args.dev.as_deref().and_then(speed).map(|mbit| mbit.saturating_mul(1_000_000));
    if let Some(slower) = reported.filter(|bits| *bits < rate.0) {
        return Err(Failure::Input(format!(
            "{}: [link] rate is above what {} reports, {}; lower it",
            path.display(),
            device,
            quantity::print_bit_rate(Rate(slower))
        )));
    }
    let faster = reported.is_some_and(|bits| bits > rate.0);
    let target = match args.target {
        TargetArg::Hfsc => Target::Hfsc,
        TargetArg::Htb => Target::Htb,
        TargetArg::Cbs => Target::Cbs,
    };
    let shape = args.shape || faster;
    if shape && target == Target::Cbs {
        return Err(Failure::Input(format!(
            "--target cbs: it needs a device that sends at the rate of the link, {}, and {} is to be shaped; plan \
             for hfsc or htb",
            quantity::print_bit_rate(rate),
            device
        )));
    }
    let request = PlanRequest { target, device, shape, timer_lateness };
    let mut planned = plan(&scenario, &request).map_err(|error| {
        let text = format!("{}: {error}", path.display());
        match error.is_refusal() {
            true => Failure::Refused(text),
            false => Failure::Input(text),
        }
    })?;
    if args.commands {
        output::print(&(planned.result.commands.join("\n") + "\n"))?;
        return Ok(status(&planned.result));
    }
    simulated(&scenario, duration, &mut planned)?;
    let result = planned.result;
    match args.json {
        true => output::result(&result)?,
        false => output::print(&text::tc_plan(&result, output::style()))?,
    }
    Ok(status(&result))
}

fn status(result: &TcPlan) -> ExitCode {
    if result.guaranteed { ExitCode::SUCCESS } else { ExitCode::from(NO) }
}

fn span(option: &str, text: &str) -> Result<Span, Failure> {
    quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))
}

/// Names go into commands for a shell.
fn known_name(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
    if !name.is_empty() && name.len() < 16 && !name.starts_with('-') && name.chars().all(plain) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--dev {name}: not a name of an interface; give one of at most 15 letters, digits and . _ : @ -"
    )))
}

/// Delays of best effort in the tree and, for the same packets, under the scenario's policy, where all flows have
/// sources.
fn simulated(scenario: &Scenario, duration: Span, planned: &mut Plan) -> Result<(), Failure> {
    let traffic = Traffic::Generated { duration, replayed: Arc::new(Vec::new()) };
    if duration.0 == 0 || traffic.check(scenario).is_err() {
        return Ok(());
    }
    let (seed, control) = (1, interrupt::control());
    let model = planned.model.policy(scenario.link.rate.0).map_err(Failure::input)?;
    let name = planned.result.target.as_str();
    let run = |result: Result<PolicyRun, _>| {
        Ok::<_, Failure>(result.map_err(Failure::input)?.result(scenario).flows)
    };
    let tree = run(simulate_policy(scenario, (name, model), seed, &traffic, None, &control))?;
    let laxity = run(simulate(scenario, &scenario.policy.use_, seed, &traffic, None, &control))?;
    for class in &mut planned.result.best_effort {
        if let Some(flow) = tree.get(&class.name) {
            (class.tree_mean_ms, class.tree_max_ms) = (flow.mean_ms, flow.max_ms);
        }
        if let Some(flow) = laxity.get(&class.name) {
            (class.laxity_mean_ms, class.laxity_max_ms) = (flow.mean_ms, flow.max_ms);
        }
    }
    Ok(())
}
