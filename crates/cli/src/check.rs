//! `laxity check`

use std::process::ExitCode;

use laxity_report::{Kind, Meta, check_page, text};
use laxity_scenario::Document;
use laxity_scenario::model::Scenario;

use crate::args::CheckArgs;
use crate::failure::{Failure, NO};
use crate::{analysis, cpus, files, output, streams};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let document = Document::read(&args.scenario).map_err(Failure::input)?;
    files::read_scenario(&args.scenario, &document);
    files::plan([("--report", args.report.as_ref())])?;
    match document {
        Document::Link(mut scenario) => {
            if let Some(blocking) = args.blocking {
                scenario.policy.blocking = blocking.into();
            }
            link(args, &scenario)
        }
        Document::Streams(scenario) => streams::check::run(args, &scenario),
        Document::Cpus(scenario) => cpus::check::run(args, &scenario),
    }
}

fn link(args: &CheckArgs, scenario: &Scenario) -> Result<ExitCode, Failure> {
    let result = analysis::check(scenario).map_err(Failure::input)?;
    let meta = Meta { kind: Kind::Analysed, ..meta(scenario) };
    if let Some(path) = &args.report {
        let plot = analysis::residual_plot(scenario);
        let page = check_page(&scenario.name, &result, plot.as_ref(), &meta);
        output::file(path, &page.html())?;
    }
    if args.json {
        output::json(&result)?;
    } else {
        output::print(&text::check(&result, &meta.deadlines, output::style()))?;
    }
    Ok(if result.admitted { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

/// What a page says of a scenario.
pub fn meta(scenario: &Scenario) -> Meta {
    Meta {
        kind: Kind::Simulated,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: output::command_line(),
        link_rate: Some(scenario.link.rate.0),
        max_packet: Some(scenario.link.max_packet.0),
        deadlines: scenario.realtime.iter().map(|f| (f.name.clone(), f.deadline.0)).collect(),
        policy: Some(scenario.policy.use_.clone()),
        ..Meta::default()
    }
}
