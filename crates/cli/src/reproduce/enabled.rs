//! `laxity reproduce`, built with the papers' experiments.

use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use laxity_experiments::{ExperimentError, Job, Order, Outcome, PAPERS, plan};
use laxity_report::{Kind, Meta, reproduction_page, text};
use laxity_results::Versioned;

use crate::args::ReproduceArgs;
use crate::failure::{Failure, INTERRUPTED};
use crate::progress::Progress;
use crate::{interrupt, output};

/// The papers that the command takes.
pub fn papers() -> PossibleValuesParser {
    let papers = PAPERS.iter().map(|p| PossibleValue::new(p.name).help(p.title));
    let all = PossibleValue::new("all").help("every paper");
    papers.chain([all]).collect::<Vec<_>>().into()
}

/// Runs the command. A number that differs is a result, not a failure.
pub fn run(args: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let order = Order { only: args.only.clone(), seeds: args.seeds, quick: args.quick };
    let jobs = plan(&args.paper, &order).map_err(failure)?;
    let control = interrupt::control();
    let progress = Progress::watch(&control, jobs.iter().map(Job::work).sum());
    let mut outcomes: Vec<Outcome> = Vec::new();
    for job in &jobs {
        if control.stopped() {
            break;
        }
        announce(job);
        outcomes.push(job.run(&control).map_err(failure)?);
    }
    drop(progress);
    // An interrupted paper without any finished seed has nothing to show.
    outcomes.retain(|o| !o.reproduction.experiments.is_empty());
    if !outcomes.is_empty() {
        write(args, &jobs, outcomes)?;
    }
    Ok(if control.stopped() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn announce(job: &Job) {
    let of = |n: usize, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    };
    let seconds = job.duration.0 as f64 / 1e9;
    eprintln!(
        "laxity: {}: {}, {}{} of {seconds} s",
        job.paper.name,
        of(job.ids.len(), "experiment"),
        if job.paper.until_known { "at most " } else { "" },
        of(job.seeds.len(), "seed"),
    );
}

fn write(args: &ReproduceArgs, jobs: &[Job], outcomes: Vec<Outcome>) -> Result<(), Failure> {
    let mut papers = Vec::new();
    let mut figures = Vec::new();
    for outcome in outcomes {
        papers.push(outcome.reproduction);
        figures.extend(outcome.figures);
    }
    if let Some(path) = &args.report {
        let facts = jobs.iter().map(|j| (j.paper.name.to_owned(), j.sheet.citation.clone()));
        let meta = Meta {
            kind: Kind::Simulated,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: output::command_line(),
            facts: facts.collect(),
            ..Meta::default()
        };
        output::file(path, &reproduction_page(&papers, &figures, &meta).html())?;
        eprintln!("laxity: the page is {}", path.display());
    }
    match (&papers[..], args.json) {
        (_, false) => output::print(&text::reproduction(&papers, output::style())),
        // `all` gives a list even while there is one paper, so that its form never changes.
        ([one], true) if args.paper != "all" => output::result(one),
        (all, true) => output::json(&all.iter().map(Versioned::new).collect::<Vec<_>>()),
    }
}

fn failure(error: ExperimentError) -> Failure {
    match error.is_usage() {
        true => Failure::input(error),
        false => Failure::Internal(error.to_string()),
    }
}
