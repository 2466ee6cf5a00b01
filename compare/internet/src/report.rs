//! The results as JSON, tables, plots, and where CAKE does better than ours.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use laxity_report::plot::{Axis, Body, Hue, Mark, Plot, Unit};
use laxity_report::{Block, Cell, Column, Figure, Kind, Page, Section, Table, text};
use serde_json::{Value, json};

use crate::links::{LINKS, SHORT};
use crate::results::Run;

/// A measure of the tables: its name, its column, and whether more is better.
const MEASURES: [(&str, &str, bool); 14] = [
    ("realtime_late", "late", false),
    ("realtime_lost", "lost", false),
    ("ping_p50_ms", "ping 50th", false),
    ("ping_p99_ms", "ping 99th", false),
    ("ping_lost_percent", "ping lost, %", false),
    ("page_100kB_ms", "page 100 kB", false),
    ("page_2MB_ms", "page 2 MB", false),
    ("goodput_mbit", "goodput", true),
    ("bulk_down_mbit", "bulk down", true),
    ("bulk_up_mbit", "bulk up", true),
    ("film_mbit", "film", true),
    ("jain", "Jain", true),
    ("jain_hosts", "Jain of hosts", true),
    ("jain_hosts_up", "Jain of hosts, up", true),
];

/// The contract of target/compare-internet.json.
pub fn json(runs: &[Run]) -> Value {
    let rows = runs.iter().flat_map(|run| {
        // JSON has no word for what could not be measured, as a page of which nothing came.
        run.metrics.iter().filter(|m| m.2.is_finite()).map(|(metric, unit, value)| {
            json!({
                "scheduler": run.scheduler, "link": run.link.name, "seed": run.seed,
                "metric": metric, "unit": unit, "value": (value * 1e4).round() / 1e4,
            })
        })
    });
    json!({ "rows": rows.collect::<Vec<_>>() })
}

/// Means over seeds, by metric; schedulers of a link in the order of their names.
type Means = BTreeMap<String, BTreeMap<String, f64>>;

fn means(runs: &[Run], link: &str) -> Means {
    let mut sums = BTreeMap::<String, BTreeMap<String, (f64, f64)>>::new();
    for run in runs.iter().filter(|run| run.link.name == link) {
        for (metric, _, value) in &run.metrics {
            let of_scheduler = sums.entry(run.scheduler.clone()).or_default();
            let (sum, n) = of_scheduler.entry(metric.clone()).or_default();
            (*sum, *n) = (*sum + value, *n + 1.0);
        }
    }
    let of_scheduler = |all: BTreeMap<String, (f64, f64)>| {
        all.into_iter().map(|(metric, (sum, n))| (metric, sum / n)).collect()
    };
    sums.into_iter().map(|(name, all)| (name, of_scheduler(all))).collect()
}

fn shown(value: Option<&f64>) -> Cell {
    let Some(value) = value.filter(|v| v.is_finite()) else { return Cell::none() };
    let digits = if *value >= 100.0 || *value == 0.0 { 0 } else { 2 };
    Cell::new(format!("{value:.digits$}"))
}

fn table(link: &str, means: &Means) -> Table {
    let columns = MEASURES.iter().map(|m| Column::number(m.1));
    let columns = std::iter::once(Column::text("scheduler")).chain(columns).collect();
    let rows = means
        .iter()
        .map(|(name, of)| (name.clone(), MEASURES.iter().map(|m| shown(of.get(m.0))).collect()));
    Table::new(format!("{link} Mbit/s"), columns)
        .group("", rows.collect())
        .noted("Means over seeds. Real-time packets late and lost, times in ms, rates in Mbit/s.")
}

fn bars(title: &str, (label, unit, scale): (&str, Unit, f64), means: &Means, metric: &str) -> Plot {
    let shown: Vec<(&str, f64)> = means
        .iter()
        .filter_map(|(name, of)| Some((name.as_str(), *of.get(metric)?)))
        .filter(|bar| bar.1.is_finite())
        .collect();
    let most = shown.iter().map(|(_, v)| *v).fold(1.0, f64::max);
    let names = Axis::names(shown.iter().map(|(n, _)| *n));
    let bars = shown.iter().enumerate().map(|(i, (name, value))| Mark::Bar {
        y: -(i as f64),
        x: (0.0, value * scale),
        thick: 12.0,
        hue: Hue::Series(usize::from(name.starts_with("laxity-"))),
        body: Body::Solid,
    });
    Plot::new(title, Axis::linear(label, unit, 0.0, most * scale), names).with_all(bars)
}

fn plots(means: &Means) -> Vec<Plot> {
    let time = ("time", Unit::Time, 1e6);
    let plain = |label| (label, Unit::Plain, 1.0);
    vec![
        bars("real-time packets late", plain("packets"), means, "realtime_late"),
        bars("real-time packets lost", plain("packets"), means, "realtime_lost"),
        bars("ping, median", time, means, "ping_p50_ms"),
        bars("ping, 99th percentile", time, means, "ping_p99_ms"),
        bars("page of 100 kB", time, means, "page_100kB_ms"),
        bars("page of 2 MB", time, means, "page_2MB_ms"),
        bars("goodput", plain("Mbit/s"), means, "goodput_mbit"),
        bars("Jain's index, downloads", plain("index"), means, "jain"),
    ]
}

/// A line for each measure in which the better CAKE is ahead of one of ours, by 2 % or more.
fn cake_wins(link: &str, means: &Means) -> String {
    let mut lines = String::new();
    let cakes = ["cake", "cake-rtt"].map(|name| means.get(name));
    for (name, ours) in means.iter().filter(|m| m.0.starts_with("laxity-")) {
        for (metric, _, more) in MEASURES {
            let values = cakes.iter().flatten().filter_map(|of| of.get(metric).copied());
            let best = values.reduce(if more { f64::max } else { f64::min });
            let (Some(cake), Some(own)) = (best, ours.get(metric)) else { continue };
            let ahead = if more { cake > own * 1.02 } else { own > &(cake * 1.02) };
            if ahead {
                let _ = writeln!(lines, "{link}: CAKE wins {metric}: {cake:.2}, {name} {own:.2}");
            }
        }
    }
    lines
}

/// A page, and as text its tables and where CAKE wins.
pub fn page(runs: &[Run], kernel: &str) -> (Page, String) {
    let (mut sections, mut words) = (Vec::new(), String::new());
    for link in LINKS.iter().chain([&SHORT]) {
        let means = means(runs, link.name);
        if means.is_empty() {
            continue;
        }
        let table = table(link.name, &means);
        words += &text::table(&table, text::Style::PLAIN);
        words.push('\n');
        let wins = cake_wins(link.name, &means);
        words += &wins;
        words.push('\n');
        let id = link.name.replace('/', "-");
        let title = format!("{} Mbit/s", link.name);
        let figure = Figure::new(format!("internet-{id}"), &title, 2).with(plots(&means));
        let mut blocks = vec![Block::Table(table), Block::Figure(figure)];
        blocks.extend(wins.lines().map(|line| Block::Text(line.into())));
        sections.push(Section::new(title, blocks));
    }
    let page = Page {
        filters: Vec::new(),
        title: "An access link under load, beside other shapers".into(),
        scenario: "compare/internet".into(),
        kind: Kind::Live,
        sections,
        provenance: vec![
            ("Command".into(), "make compare-internet".into()),
            ("Kernel".into(), kernel.into()),
        ],
    };
    (page, words)
}
