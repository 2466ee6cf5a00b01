//! `laxity doctor`: which commands this machine can run, what they lack, and what brings it.

mod commands;
mod interfaces;
mod machine;
mod probes;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Args;
use laxity_report::text::{Style, table};
use laxity_report::{Cell, Column, Table, Tone};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use commands::{Runs, Verdict, verdicts};
use interfaces::{Interface, Offloads, interfaces, offloads_of_kernel};
use machine::Machine;
use probes::Finding;

/// Options of `laxity doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "The status is 0, with --require 3 unless this process can run the commands."
)]
pub struct DoctorArgs {
    /// Exit with 3 unless this process can run a command, such as `link up` (repeatable).
    #[arg(long, value_name = "COMMAND",
          value_parser = clap::builder::PossibleValuesParser::new(commands::names()))]
    pub require: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Report {
    laxity: &'static str,
    kernel: String,
    architecture: &'static str,
    system: String,
    commands: Vec<Verdict>,
    parts: Vec<Finding>,
    interfaces: Vec<Interface>,
}

impl Report {
    fn of(machine: &Machine, offloads: Offloads) -> Report {
        let parts: Vec<Finding> = probes::ALL.iter().map(|probe| probe(machine)).collect();
        Report {
            laxity: env!("CARGO_PKG_VERSION"),
            kernel: machine.release(),
            architecture: std::env::consts::ARCH,
            system: machine.system("PRETTY_NAME"),
            commands: verdicts(machine, &parts),
            parts,
            interfaces: interfaces(machine, offloads),
        }
    }

    fn text(&self, style: Style) -> String {
        let Report { laxity, kernel, architecture, system, .. } = self;
        let mut text = format!("laxity {laxity}, Linux {kernel} on {architecture}, {system}\n\n");
        text += &table(&self.table_of_commands(), style);
        text += "\n";
        text += &table(&self.table_of_parts(), style);
        if !self.interfaces.is_empty() {
            text += "\n";
            text += &table(&self.table_of_interfaces(), style);
        }
        let remedies =
            self.parts.iter().filter_map(|part| Some((part.part, part.remedy.as_ref()?)));
        for (n, (part, remedy)) in remedies.enumerate() {
            text += if n == 0 { "\nWhat brings the missing parts\n" } else { "" };
            text += &format!("  {part:<16}{remedy}\n");
        }
        text
    }

    fn table_of_commands(&self) -> Table {
        let row = |verdict: &Verdict| {
            let runs = match verdict.runs {
                Runs::Yes => Cell::new("yes"),
                Runs::AsRoot => Cell::new("as root"),
                Runs::No => Cell::toned("no", Tone::Bad),
            };
            let lacks = [&verdict.lacks[..], &verdict.capabilities[..]].concat();
            (verdict.command.to_owned(), vec![runs, listed(&lacks), listed(&verdict.better_with)])
        };
        let columns = ["Command", "runs", "lacks", "better with"].map(Column::text);
        let rows = self.commands.iter().map(row).collect();
        Table::new("Commands on this machine", columns.to_vec()).group("", rows)
    }

    fn table_of_parts(&self) -> Table {
        let row = |part: &Finding| {
            let present = match part.present {
                true => Cell::new("yes"),
                false => Cell::toned("no", Tone::Bad),
            };
            (part.part.to_owned(), vec![present, Cell::new(part.found.clone())])
        };
        let columns = ["Part", "present", "found"].map(Column::text);
        Table::new("Parts", columns.to_vec()).group("", self.parts.iter().map(row).collect())
    }

    fn table_of_interfaces(&self) -> Table {
        let row = |interface: &Interface| {
            let speed =
                interface.speed_mbit_s.map_or(Cell::none(), |s| Cell::new(format!("{s} Mbit/s")));
            let offloads: Vec<&str> = interface.offloads.iter().map(String::as_str).collect();
            let cells = vec![
                Cell::new(interface.state.clone()),
                speed,
                Cell::new(interface.mtu.to_string()),
                Cell::new(interface.receive_queues.to_string()),
                Cell::new(if interface.xdp { "XDP" } else { "packet" }),
                listed(&offloads),
            ];
            (interface.name.clone(), cells)
        };
        let columns = ["Interface", "state", "speed", "MTU", "queues", "sockets", "offloads"]
            .map(Column::text);
        let note = "Sockets: those that link bridge takes. Offloads: those that a link in user space switches \
                    off while it runs.";
        let rows = self.interfaces.iter().map(row).collect();
        Table::new("Interfaces", columns.to_vec()).group("", rows).noted(note)
    }
}

/// Names with commas between.
fn listed(names: &[&str]) -> Cell {
    if names.is_empty() { Cell::none() } else { Cell::new(names.join(", ")) }
}

/// `laxity doctor`
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let report = Report::of(&Machine::this(), offloads_of_kernel);
    if args.json {
        output::result(&report)?;
    } else {
        output::print(&report.text(output::style()))?;
    }
    let lacking =
        |name: &String| report.commands.iter().any(|v| v.command == name && v.runs != Runs::Yes);
    Ok(if args.require.iter().any(lacking) { ExitCode::from(3) } else { ExitCode::SUCCESS })
}
