//! Notes and warnings on standard error, or in systemd's journal.

use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

use clap::ArgMatches;
use laxity_daemon::journal::{Journal, Messages, Priority};
use laxity_trace::Report;

static MESSAGES: OnceLock<Messages> = OnceLock::new();

/// Fields of the command line: the options with which several processes of one machine differ.
const FIELDS: &[&str] = &[
    "scenario", "dev", "in", "out", "name", "ingress", "reverse", "policy", "socket", "control",
    "listen",
];

/// Where systemd's journal receives standard error, messages go there with fields: the command, and its options that
/// tell one process from another.
pub fn begin(command: &clap::Command, matches: &ArgMatches) {
    let mut messages = new_messages();
    if let Some(journal) = messages.journal() {
        add_fields(journal, command, matches);
    }
    let _ = MESSAGES.set(messages);
}

fn new_messages() -> Messages {
    Messages::of("laxity")
}

fn add_fields(journal: &mut Journal, command: &clap::Command, matches: &ArgMatches) {
    let (mut command, mut matches, mut words) = (command, matches, Vec::new());
    while let Some((name, below)) = matches.subcommand() {
        let Some(subcommand) = command.find_subcommand(name) else { break };
        (command, matches) = (subcommand, below);
        words.push(name);
    }
    journal.add_field("LAXITY_COMMAND", words.join(" ").as_bytes());
    for argument in command.get_arguments() {
        let name = argument.get_long().unwrap_or(argument.get_id().as_str());
        if !FIELDS.contains(&name) {
            continue;
        }
        let values = matches.try_get_raw(argument.get_id().as_str());
        if let Some(value) = values.ok().flatten().and_then(|mut values| values.next()) {
            let name = format!("LAXITY_{}", name.to_uppercase());
            journal.add_field(&name, value.as_encoded_bytes());
        }
    }
}

/// Prints a note, a warning, or what the command does.
pub fn say(text: impl Display) {
    let text = text.to_string();
    let priority = match text.split(':').next() {
        Some("note") => Priority::Notice,
        Some("warning") => Priority::Warning,
        _ => Priority::Info,
    };
    send(priority, &text, &[]);
}

/// Prints why the command fails, with its exit status.
pub fn fail(text: &str, status: u8) {
    send(Priority::Error, text, &[("LAXITY_EXIT_STATUS", &status.to_string())]);
}

fn send(priority: Priority, text: &str, fields: &[(&str, &str)]) {
    MESSAGES.get_or_init(new_messages).send(priority, text, fields);
}

/// The faults of a capture, each with its offset in the file.
pub fn faults(path: &Path, report: &Report) {
    for fault in report.faults.kept() {
        say(format_args!("{}: {fault}", path.display()));
    }
    let more = report.faults.total() - report.faults.kept().len() as u64;
    if more > 0 {
        say(format_args!("{}: and {more} more faults", path.display()));
    }
    if !report.faults.is_empty() {
        say(format_args!("{}: the other {} packets are used", path.display(), report.frames));
    }
}
