//! `laxity check`, a module a kind of scenario, and one for the kernel's queueing disciplines.

pub mod cpu;
pub mod link;
pub mod stream;
pub mod tc;

use std::process::ExitCode;

use laxity_report::Page;
use laxity_report::text::Style;
use laxity_scenario::Document;
use serde::Serialize;

use crate::args::CheckArgs;
use crate::failure::{Failure, NO};
use crate::{certify, files, kind, output};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    if let Some(input) = &args.tc.tc {
        return tc::run(args, input);
    }
    let Some(path) = &args.scenario else {
        return Err(Failure::Input("no scenario; give its file".to_owned()));
    };
    let document = Document::read(path).map_err(Failure::input)?;
    files::read_scenario(path, &document);
    files::plan([
        ("--report", args.report.as_ref()),
        ("--certificate", args.certificate.as_ref()),
    ])?;
    let verdict = kind::of(&document).check(args)?;
    if let (Some(path), true) = (&args.certificate, verdict == ExitCode::SUCCESS) {
        certify::issue(path, &kind::with_blocking(document, args.blocking))?;
    }
    Ok(verdict)
}

/// Refuses options for links in a check of another kind.
fn refuse_link_options(args: &CheckArgs, what: &str) -> Result<(), Failure> {
    match args.blocking {
        Some(_) => {
            Err(Failure::input(format!("--blocking has no meaning for {what}: it is about links")))
        }
        None => Ok(()),
    }
}

/// Writes a verdict in the requested forms; `admitted` is the exit status.
fn answer(
    args: &CheckArgs,
    check: &impl Serialize,
    admitted: bool,
    text: impl FnOnce(Style) -> String,
    page: impl FnOnce() -> Page,
) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.report {
        output::file(path, &page().html())?;
    }
    if args.json {
        output::result(check)?;
    } else {
        output::print(&text(output::style()))?;
    }
    Ok(if admitted { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}
