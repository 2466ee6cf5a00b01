//! The reference pages of `docs/reference` that describe this command agree with the code.
//!
//! Set `LAXITY_BLESS=1` to write the tables of metrics.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use laxity_live::server::{Config, Server, Stop};

use crate::args::Laxity;
use crate::live::{cpu, link};

const HEAD: &str = "| metric | type | unit | meaning |\n|---|---|---|---|\n";

fn page(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The unit that the suffix of a metric's name stands for.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_seconds", "s"),
        ("_bytes", "B"),
        ("_bits", "bit/s"),
        ("_ratio", "1"),
        ("_up", "0 or 1"),
        ("_attached", "0 or 1"),
        ("_ended", "0 or 1"),
    ];
    let base = name.strip_suffix("_total").unwrap_or(name);
    units.iter().find(|(suffix, _)| base.ends_with(suffix)).map_or("count", |(_, unit)| unit)
}

/// The table of all metrics on a page of Prometheus.
fn table(metrics: &str) -> String {
    let mut rows = HEAD.to_owned();
    for family in metrics.split("# HELP ").skip(1) {
        let (name, rest) = family.split_once(' ').unwrap();
        let (help, rest) = rest.split_once('\n').unwrap();
        let kind = rest.lines().next().unwrap().rsplit(' ').next().unwrap();
        rows += &format!("| `{name}` | {kind} | {} | {help} |\n", unit(name));
    }
    rows
}

/// A page with another table of metrics in its section.
fn with_table(text: &str, section: &str, table: &str) -> String {
    let start = text.find(&format!("\n## {section}\n")).unwrap();
    let start = start + text[start..].find(HEAD).unwrap();
    let end = text[start..].find("\n\n").map_or(text.len(), |end| start + end + 1);
    [&text[..start], table, &text[end..]].concat()
}

// Fails when a metric is added, renamed or explained differently and the page is not: tried with
// another name of `laxity_link_attached`.
#[test]
fn the_reference_lists_every_metric() {
    let (path, committed) = page("metrics.md");
    let links = link::export::page(&link::record::Links::default());
    let cpus = cpu::metrics::page(Some(&cpu::status::tests::sample()), &Default::default());
    let server = Server::start(Config::default()).unwrap();
    let streams = laxity_live::metrics::page(&server.handle().snapshot().unwrap());
    server.stop(Stop::Drop);
    let mut text = committed.clone();
    for (section, metrics) in [("Links", links), ("CPUs", cpus), ("Media streams", streams)] {
        let table = table(&metrics);
        assert!(table.lines().count() > 10, "{section}: {table}");
        text = with_table(&text, section, &table);
    }
    if std::env::var_os("LAXITY_BLESS").is_some() {
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
