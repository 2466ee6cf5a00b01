//! `laxity validate`: whether a recorded run is legal, and whether the premises held.

mod cpu;
mod link;

use std::fs;
use std::process::ExitCode;

use laxity_results::csv::cpu_run::VERSION_LINE;
use laxity_scenario::Document;

use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::{files, kind};

/// Runs the command.
pub fn run(args: &ValidateArgs) -> Result<ExitCode, Failure> {
    let document = Document::read(&args.scenario).map_err(Failure::input)?;
    files::read_scenario(&args.scenario, &document);
    files::read([args.run.as_path()]);
    let text = || {
        let read = fs::read_to_string(&args.run);
        read.map_err(|e| Failure::Input(format!("{}: {e}", args.run.display())))
    };
    match kind::with_blocking(document, args.blocking) {
        Document::Link(scenario) => {
            let text = text()?;
            if text.starts_with(VERSION_LINE) {
                return Err(Failure::Input(format!(
                    "{} is a record of CPUs, and {} describes a link; give the scenario of this run",
                    args.run.display(),
                    args.scenario.display()
                )));
            }
            link::run(args, &scenario, &text)
        }
        Document::Cpu(scenario) => cpu::run(args, &scenario, &text()?),
        Document::Stream(_) => {
            let why =
                "runs of links and CPUs are validated, with their scenario; this one is of streams";
            Err(Failure::Input(why.to_owned()))
        }
    }
}
