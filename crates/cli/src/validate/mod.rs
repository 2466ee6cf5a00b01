//! `laxity validate`: whether a recorded run is legal, and whether the premises held.

mod cpu;
mod link;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use laxity_results::csv::HEADER;
use laxity_results::csv::cpu_run::VERSION_LINE;
use laxity_scenario::Document;

use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::{files, kind};

/// Runs the command.
pub fn run(args: &ValidateArgs) -> Result<ExitCode, Failure> {
    let text = || {
        let read = fs::read_to_string(&args.run);
        read.map_err(|e| Failure::Input(format!("{}: {e}", args.run.display())))
    };
    let Some(scenario) = &args.scenario else {
        files::read([args.run.as_path()]);
        let text = text()?;
        if !text.starts_with(VERSION_LINE) {
            let shown = args.run.display();
            let why = "only records of live CPUs, as `laxity cpu up --record` writes them, are judged without a \
                       scenario; give the scenario of this run";
            return Err(Failure::Input(format!("{shown}: {why}")));
        }
        return cpu::run_live(args, &text);
    };
    let document = Document::read(scenario).map_err(|error| match is_record(scenario) {
        true => {
            let shown = scenario.display();
            Failure::Input(format!("{shown} is a record: give the record first, then its scenario"))
        }
        false => Failure::input(error),
    })?;
    files::read_scenario(scenario, &document);
    files::read([args.run.as_path()]);
    match kind::with_blocking(document, args.blocking) {
        Document::Link(document) => {
            let text = text()?;
            if text.starts_with(VERSION_LINE) {
                return Err(Failure::Input(format!(
                    "{} is a record of CPUs, and {} describes a link; give the scenario of this run",
                    args.run.display(),
                    scenario.display()
                )));
            }
            link::run(args, &document, &text)
        }
        Document::Cpu(scenario) => cpu::run(args, &scenario, &text()?),
        Document::Stream(_) => {
            let why =
                "runs of links and CPUs are validated, with their scenario; this one is of streams";
            Err(Failure::Input(why.to_owned()))
        }
    }
}

/// Whether a file that is no scenario is a record. It is opened a second time, and a pipe may have no writer any more.
fn is_record(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut begin));
    read.is_ok() && [VERSION_LINE, HEADER].iter().any(|line| begin.starts_with(line.as_bytes()))
}
