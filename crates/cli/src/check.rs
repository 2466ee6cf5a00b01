//! `laxity check`

use std::process::ExitCode;

use laxity_analysis::analyse;
use laxity_report::{Kind, Meta, Page, check_page, cpu_check_page, stream_check_page, text};
use laxity_results::Verdict;
use laxity_scenario::Document;

use crate::args::CheckArgs;
use crate::failure::{Failure, NO};
use crate::{files, output, page};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let mut document = Document::read(&args.scenario).map_err(Failure::input)?;
    files::read_scenario(&args.scenario, &document);
    files::plan([("--report", args.report.as_ref())])?;
    if let Some(blocking) = args.blocking {
        match &mut document {
            Document::Link(scenario) => scenario.policy.blocking = blocking.into(),
            Document::Stream(_) => return Err(about_links("streams")),
            Document::Cpu(_) => return Err(about_links("CPUs")),
        }
    }
    let verdict = analyse(&document).map_err(Failure::input)?;
    let meta = Meta { kind: Kind::Analysed, ..page::meta(&document) };
    if let Some(path) = &args.report {
        output::file(path, &show(&document, &verdict, &meta).html())?;
    }
    if args.json {
        output::json(&verdict)?;
    } else {
        output::print(&text(&verdict, &meta))?;
    }
    Ok(if verdict.admitted() { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

fn about_links(what: &str) -> Failure {
    Failure::input(format!("--blocking has no meaning for {what}: it is about links"))
}

fn text(verdict: &Verdict, meta: &Meta) -> String {
    let style = output::style();
    match verdict {
        Verdict::Link(check) => text::check(check, &meta.deadlines, style),
        Verdict::Stream(check) => text::stream_check(check, style),
        Verdict::Cpu(check) => text::cpu_check(check, style),
    }
}

fn show(document: &Document, verdict: &Verdict, meta: &Meta) -> Page {
    let name = document.name();
    match verdict {
        Verdict::Link(check) => {
            let plot = document.link().and_then(page::residual_plot);
            check_page(name, check, plot.as_ref(), meta)
        }
        Verdict::Stream(check) => stream_check_page(name, check, meta),
        Verdict::Cpu(check) => cpu_check_page(name, check, meta),
    }
}
