//! `laxity fit`

use std::path::Path;
use std::process::ExitCode;

use laxity_core::{Rate, Span};
use laxity_report::text::{self, Style};
use laxity_report::{Cell, Column, Table, number};
use laxity_scenario::link::model::Scenario;
use laxity_scenario::quantity;
use laxity_sim::link::fit::{Fit, FlowFit, Options, Sample, fit};

use crate::args::FitArgs;
use crate::failure::Failure;
use crate::{files, output, warning};

/// Larger than any packet on a wire: jumbo frames hold 9000 B and headers.
const LARGEST_FRAME: u64 = 9216;

/// Columns of the notes.
const WIDTH: usize = 100;

/// Runs the command.
pub fn run(args: &FitArgs) -> Result<ExitCode, Failure> {
    let options = options(args)?;
    files::read([args.capture.as_path()]);
    files::plan([("--output", args.output.as_ref())])?;
    let sample = Sample::read(&args.capture).map_err(Failure::input)?;
    if let Some(report) = &sample.capture {
        warning::faults(&args.capture, report);
    }
    let fit = fit(&sample, &options)
        .map_err(|e| Failure::input(format!("{}: {e}", args.capture.display())))?;
    let heading = heading(&args.capture, &sample, &fit);
    let plain = text::table(&table(&fit), Style { width: WIDTH, ..Style::PLAIN });
    let toml = fit.to_toml(&format!("{heading}\n\n{plain}\n{PROVENANCE}"));
    // Names and lengths of a trace may be such that no scenario can say them.
    Scenario::parse(&toml, &options.output).map_err(|e| {
        Failure::input(format!("{}: no scenario can say this:\n{e}", args.capture.display()))
    })?;
    match &args.output {
        Some(path) => {
            output::file(path, &toml)?;
            let table = text::table(&table(&fit), Style { width: WIDTH, ..output::style() });
            output::print(&format!("{heading}\n\n{table}"))?;
        }
        None => output::print(&toml)?,
    }
    warn(args, &sample, &fit);
    Ok(ExitCode::SUCCESS)
}

const PROVENANCE: &str = "\
Measured: the flows and their envelopes, the smallest TSpec to which every packet conforms.
They hold what was seen, not what could be sent: leave room for more.
Guessed, as remarks below say: deadlines, weights, the rate of the link.";

fn options(args: &FitArgs) -> Result<Options, Failure> {
    let mut deadlines: Vec<(String, Span)> = Vec::new();
    for text in &args.deadline {
        // Names of CSV traces may hold an equals sign, times do not.
        let (name, time) = text.rsplit_once('=').ok_or_else(|| {
            let wrong = "write a flow and a time, such as ef=10ms";
            Failure::input(format!("--deadline `{text}`: {wrong}"))
        })?;
        let time = quantity::span(time).map_err(|e| Failure::quantity("--deadline", time, &e))?;
        if time == Span::ZERO {
            let wrong = "--deadline: nothing is sent in 0 s; write for example ef=10ms";
            return Err(Failure::input(wrong));
        }
        deadlines.push((name.to_owned(), time));
    }
    let size = args
        .max_packet
        .as_deref()
        .map(|text| quantity::bytes(text).map_err(|e| Failure::quantity("--max-packet", text, &e)));
    let rate = args
        .rate
        .as_deref()
        .map(|text| quantity::rate(text).map_err(|e| Failure::quantity("--rate", text, &e)));
    Ok(Options {
        by: args.flow_key.into(),
        packet: size.transpose()?,
        tightness: args.tightness,
        rate: rate.transpose()?,
        deadlines,
        trace: args.capture.clone(),
        output: args.output.clone().unwrap_or_else(|| Path::new("fitted.toml").to_owned()),
    })
}

fn heading(path: &Path, sample: &Sample, fit: &Fit) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    format!(
        "{name}: {} packets, {} B in {}, {} on average",
        sample.packets,
        sample.bytes,
        number::span(sample.duration.0),
        rate(fit.mean),
    )
}

/// To four digits; the scenario has all of them.
fn rate(rate: Rate) -> String {
    let digits = rate.0.checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(3));
    number::rate(rate.0.saturating_add(unit / 2) / unit * unit)
}

fn table(fit: &Fit) -> Table {
    let link = fit.scenario.link.rate;
    let columns = vec![
        Column::text("flow"),
        Column::number("packets"),
        Column::number("bytes"),
        Column::number("mean"),
        Column::number("peak"),
        Column::number("largest"),
        Column::number("M"),
        Column::number("p"),
        Column::number("b"),
        Column::number("r"),
        Column::number("of link"),
        Column::number("deadline"),
    ];
    let row = |f: &FlowFit| {
        let deadline = f.deadline.map_or_else(Cell::none, |d| Cell::new(number::span(d.0)));
        let share = f.mean.0 as f64 / link.0 as f64 * 100.0;
        let cells = vec![
            Cell::new(number::count(f.packets)),
            Cell::new(number::count(f.bytes)),
            Cell::new(rate(f.mean)),
            Cell::new(rate(f.peak)),
            Cell::new(f.largest.to_string()),
            Cell::new(f.tspec.packet.to_string()),
            f.tspec.peak.map_or_else(|| Cell::new("any"), |p| Cell::new(rate(p))),
            Cell::new(f.tspec.burst.to_string()),
            Cell::new(rate(f.tspec.rate)),
            Cell::new(format!("{share:.1}%")),
            deadline,
        ];
        (f.name.clone(), cells)
    };
    let rows = |realtime: bool| {
        fit.flows.iter().filter(|f| f.deadline.is_some() == realtime).map(row).collect()
    };
    let guess = if fit.rate_guessed { "a guess" } else { "as given" };
    Table::new(format!("Flows; the link has {}, {guess}", number::rate(link.0)), columns)
        .group("Real-time", rows(true))
        .group("Best effort", rows(false))
        .noted(
            "mean: over the whole recording. peak: the most within 10 ms. M, p, b, r: largest \
             packet, peak rate, burst and rate of the smallest TSpec (RFC 2215) to which every \
             packet conforms; p is `any` where more than M came at one instant.",
        )
}

fn warn(args: &FitArgs, sample: &Sample, fit: &Fit) {
    let path = args.capture.display();
    if sample.largest.0 > LARGEST_FRAME {
        warning::say(format_args!(
            "{path}: a packet of {} exceeds any frame on a wire: it was recorded before \
             the network card cut it up; record with offloads off (ethtool -K IF tso off gso off \
             gro off) or on the other side",
            sample.largest
        ));
    }
    if fit.scenario.realtime.is_empty() {
        let example = fit.flows.first().map_or("ef", |f| f.name.as_str());
        warning::say(format_args!(
            "{path}: no flow is marked as real-time; name those that are, such as \
             --deadline {example}=10ms"
        ));
    } else if !fit.admitted {
        warning::say(format_args!(
            "{path}: not all deadlines are kept at {}; `laxity check` shows what would be",
            number::rate(fit.scenario.link.rate.0)
        ));
    }
}
