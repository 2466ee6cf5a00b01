//! The reference pages of `docs/reference` that describe this command agree with the code.
//!
//! Set `LAXITY_BLESS=1` to write the page of commands and the tables of metrics.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use laxity_media::server::Snapshot;
use laxity_telemetry::{Metric, table as metrics};

use crate::args::Laxity;
use crate::live::{cpu, link};

const HEAD: &str = "| metric | type | unit | meaning |\n|---|---|---|---|\n";

fn page(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The rows of the reference for some metrics.
fn table(metrics: &[Metric]) -> String {
    let mut rows = HEAD.to_owned();
    for m in metrics {
        let (name, kind, unit, help) = (m.name(), m.kind().name(), m.unit().symbol(), m.help());
        rows += &format!("| `{name}` | {kind} | {unit} | {help} |\n");
    }
    rows
}

/// The names of the metrics on a page of Prometheus.
fn exported(page: &str) -> Vec<&str> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|family| family.split(' ').next()).collect()
}

/// A page with another table of metrics in its section.
fn with_table(text: &str, section: &str, table: &str) -> String {
    let start = text.find(&format!("\n## {section}\n")).unwrap();
    let start = start + text[start..].find(HEAD).unwrap();
    let end = text[start..].find("\n\n").map_or(text.len(), |end| start + end + 1);
    [&text[..start], table, &text[end..]].concat()
}

// Fails when no page has a metric of the table, or a page has one twice, in another order or of another
// page's table: tried with `laxity_link_attached` left out of the page, and with it written twice.
#[test]
fn every_metric_of_the_table_is_exported() {
    let links = link::export::page(&link::record::Links::default());
    let cpus = cpu::metrics::page(Some(&cpu::status::tests::sample()), &Default::default());
    let streams = laxity_media::metrics::page(&Snapshot::default());
    for (page, metrics) in
        [(links, metrics::link::ALL), (cpus, metrics::cpu::ALL), (streams, metrics::stream::ALL)]
    {
        let names: Vec<&str> = metrics.iter().map(Metric::name).collect();
        assert_eq!(exported(&page), names, "left: on the page, right: in the table of telemetry");
    }
}

// Fails when a metric is added, renamed or explained differently and the page is not: tried with
// another name of `laxity_link_attached`.
#[test]
fn the_reference_lists_every_metric() {
    let (path, committed) = page("metrics.md");
    let mut text = committed.clone();
    for (section, metrics) in [
        ("Links", metrics::link::ALL),
        ("CPUs", metrics::cpu::ALL),
        ("Media streams", metrics::stream::ALL),
    ] {
        text = with_table(&text, section, &table(metrics));
    }
    if std::env::var_os("LAXITY_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    } else {
        assert!(committed == text, "run this test with LAXITY_BLESS=1 to write {}", path.display());
    }
}

/// A row for an option or argument: its form, values and default, meaning.
fn row(arg: &clap::Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.iter().map(|v| format!("<{v}>")).collect::<Vec<_>>().join(" ");
    let values = if arg.get_action().takes_values() { values } else { String::new() };
    let short = arg.get_short().map(|c| format!("-{c}"));
    let long = arg.get_long().map(|name| format!("--{name}"));
    let names = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    let form = format!("{names} {values}");
    let default = arg.get_default_values().iter().map(|v| format!("`{}`", v.to_string_lossy()));
    let default = default.filter(|_| arg.get_action().takes_values());
    let default = default.collect::<Vec<_>>().join(" ");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    let possible = arg
        .get_possible_values()
        .iter()
        .filter(|v| !v.is_hide_set())
        .map(|v| format!("`{}`", v.get_name()))
        .collect::<Vec<_>>()
        .join(", ");
    let help = match possible.as_str() {
        "" => help,
        names if arg.get_action().takes_values() => format!("{help}: {names}"),
        _ => help,
    };
    format!("| `{}` | {default} | {help} |\n", form.trim().replace('|', "\\|"))
}

/// The sections of a command and of its subcommands.
fn sections(command: &clap::Command, parents: &str, text: &mut String) {
    let name = format!("{parents}{}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let level = "#".repeat(2 + parents.split_whitespace().count().min(2));
    text.push_str(&format!("\n{level} `{name}`\n\n{about}\n"));
    let rows: Vec<String> = command
        .get_arguments()
        .filter(|a| !a.is_hide_set() && !["help", "version"].contains(&a.get_id().as_str()))
        .map(row)
        .collect();
    if !rows.is_empty() {
        text.push_str("\n| option | default | meaning |\n|---|---|---|\n");
        text.extend(rows);
    }
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        sections(sub, &format!("{name} "), text);
    }
}

// Fails when a command or an option is added, renamed or explained differently and the page is not:
// tried with another name of `--seed`.
#[test]
fn the_reference_lists_every_command() {
    let mut command = Laxity::command().disable_help_subcommand(true);
    command.build();
    let mut text = String::from(
        "# Commands\n\nEvery command with its options, as `--help` has them. A test writes this page from \
         them. Values in\n`<>` are described where the command says so; quantities carry units, as in \
         [scenarios](scenario.md).\n",
    );
    sections(&command, "", &mut text);
    let (path, committed) = page("commands.md");
    // A build without a part of the command has fewer sections.
    if !cfg!(all(feature = "kernel", feature = "reproduce")) {
        let heads = |text: &str| -> BTreeSet<String> {
            text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
        };
        assert!(heads(&committed).is_superset(&heads(&text)));
    } else if std::env::var_os("LAXITY_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    } else {
        assert!(committed == text, "run this test with LAXITY_BLESS=1 to write {}", path.display());
    }
}

// Fails when an exit status of the help has no row, or a row no status in the help: tried without
// the row of 3.
#[test]
fn the_reference_lists_every_exit_status() {
    let help = Laxity::command().get_after_help().unwrap().to_string();
    let (_, listed) = help.split_once("Exit status: ").unwrap();
    let status = |text: &str| text.trim().split(' ').next()?.parse::<u8>().ok();
    let of_help: BTreeSet<u8> = listed.split(';').filter_map(status).collect();
    let (_, text) = page("exit-status.md");
    let rows = text.lines().filter_map(|line| status(line.strip_prefix("| ")?));
    assert_eq!(rows.collect::<BTreeSet<u8>>(), of_help);
    assert_eq!(of_help.len(), 6);
}
