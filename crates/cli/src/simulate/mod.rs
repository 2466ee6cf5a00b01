//! `laxity simulate`, a module a kind of scenario.

pub mod cpu;
pub mod link;
pub mod stream;

use std::process::ExitCode;

use laxity_core::{PolicyInfo, Span};
use laxity_scenario::{Document, quantity};

use crate::args::{Seeds, SimulateArgs};
use crate::failure::Failure;
use crate::{files, kind};

/// Runs the command.
pub fn run(args: &SimulateArgs) -> Result<ExitCode, Failure> {
    let document = Document::read(&args.scenario).map_err(Failure::input)?;
    files::read_scenario(&args.scenario, &document);
    files::read(args.trace.as_deref());
    files::plan([
        ("--packets", args.packets.as_ref()),
        ("--pcap-out", args.pcap_out.as_ref()),
        ("--trace-out", args.trace_out.as_ref()),
        ("--slices", args.slices.as_ref()),
        ("--jobs", args.jobs.as_ref()),
        ("--record", args.record.as_ref()),
        ("--report", args.report.as_ref()),
    ])?;
    kind::of(&document).simulate(args)
}

/// Refuses options of another kind of scenario: each with whether it is given, and the reason.
fn refuse(given: &[(&str, bool)], reason: &str) -> Result<(), Failure> {
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::input(format!("{option} has no meaning for {reason}"))),
        None => Ok(()),
    }
}

/// Refuses options for tasks in a simulation of packets.
fn refuse_cpu_options(args: &SimulateArgs) -> Result<(), Failure> {
    let given = [
        ("--trace-out", args.trace_out.is_some()),
        ("--slices", args.slices.is_some()),
        ("--jobs", args.jobs.is_some()),
        ("--record", args.record.is_some()),
    ];
    refuse(&given, "packets: it is about tasks")
}

/// The policies to run, by name and each once: the requested ones, `all` for all of `known`, or by
/// default those of the scenario.
fn chosen(
    requested: &[String],
    compare: &[String],
    used: &str,
    known: &[PolicyInfo],
) -> Result<Vec<String>, Failure> {
    let wanted: Vec<String> = match requested {
        // The reference comes first, so that the table's percentages are relative to it.
        [] => compare.iter().cloned().chain([used.to_owned()]).collect(),
        [all] if all == "all" => known.iter().map(|p| p.name.to_owned()).collect(),
        some => some.to_vec(),
    };
    let mut policies: Vec<String> = Vec::new();
    for name in wanted {
        if known.iter().all(|p| p.name != name) {
            let names: Vec<&str> = known.iter().map(|p| p.name).collect();
            let names = names.join(" ");
            let error = format!("--policy: no policy is called `{name}`; there are {names}");
            return Err(Failure::input(error));
        }
        if !policies.contains(&name) {
            policies.push(name);
        }
    }
    Ok(policies)
}

/// The seeds to run.
fn seeds(args: &SimulateArgs) -> Vec<u64> {
    args.seeds.map_or_else(|| vec![args.seed], Seeds::list)
}

/// The time over which packets arrive.
fn duration(args: &SimulateArgs, usual: Span) -> Result<Span, Failure> {
    let duration = match &args.duration {
        None => usual,
        Some(text) => {
            quantity::span(text).map_err(|e| Failure::quantity("--duration", text, &e))?
        }
    };
    if duration == Span::ZERO {
        return Err(Failure::input("--duration: nothing happens in 0 s; write for example 60s"));
    }
    Ok(duration)
}
