//! `laxity check` of a CPU scenario.

use std::process::ExitCode;

use laxity_report::{Kind, Meta, cpu_check_page, text};
use laxity_scenario::cpus::CpuScenario;
use laxity_sim::cpus::tasks;

use super::analysis;
use crate::args::CheckArgs;
use crate::failure::{Failure, NO};
use crate::output;

/// Runs the command.
pub fn run(args: &CheckArgs, scenario: &CpuScenario) -> Result<ExitCode, Failure> {
    if args.blocking.is_some() {
        return Err(Failure::input("--blocking has no meaning for CPUs: it is about links"));
    }
    let tasks = tasks(scenario).map_err(Failure::input)?;
    let result = analysis::check(scenario, &tasks, &scenario.policy.use_);
    if let Some(path) = &args.report {
        let meta = Meta { kind: Kind::Analysed, ..meta(scenario) };
        output::file(path, &cpu_check_page(&scenario.name, &result, &meta).html())?;
    }
    if args.json {
        output::json(&result)?;
    } else {
        output::print(&text::cpu_check(&result, output::style()))?;
    }
    Ok(if result.admitted { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

/// What a page says of a scenario.
pub fn meta(scenario: &CpuScenario) -> Meta {
    Meta {
        kind: Kind::Simulated,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: output::command_line(),
        policy: Some(scenario.policy.use_.clone()),
        ..Meta::default()
    }
}
