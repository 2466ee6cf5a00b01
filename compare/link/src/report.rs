//! The results as JSON, a table and a plot.

use std::collections::{BTreeMap, BTreeSet};

use laxity_report::plot::{Axis, Body, Hue, Mark, Plot, Unit};
use laxity_report::{Block, Cell, Column, Figure, Kind, Page, Section, Table, Tone, text};
use serde_json::{Value, json};

use crate::runs::{Delay, Run, is_realtime};

/// One discipline on one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// The discipline; Laxity's begin with `laxity-`.
    pub scheduler: String,
    /// Of the trace.
    pub seed: u64,
    /// Per cent of the link.
    pub load: u64,
    /// Its results.
    pub run: Run,
}

/// A discipline, how many packets wait, and instructions a packet beyond no discipline.
pub type Cost = (String, u64, i64);

/// Over the seeds of one load.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    best_effort: Delay,
    flows: BTreeMap<String, Delay>,
    sent: u64,
    late: u64,
    lost: u64,
}

impl Summary {
    /// Mean delay of best effort over packets, `None` when none came through.
    pub fn mean_ms(&self) -> Option<f64> {
        self.best_effort.mean_ms()
    }

    fn mean_of_ms(&self, flow: &str) -> Option<f64> {
        self.flows.get(flow)?.mean_ms()
    }

    /// Real-time packets late or lost, per cent of those sent.
    fn failed(&self) -> f64 {
        (self.late + self.lost) as f64 * 100.0 / self.sent.max(1) as f64
    }
}

/// By load and discipline.
pub fn summaries(rows: &[Row]) -> BTreeMap<(u64, String), Summary> {
    let mut summaries: BTreeMap<(u64, String), Summary> = BTreeMap::new();
    for row in rows {
        let summary = summaries.entry((row.load, row.scheduler.clone())).or_default();
        for (name, flow) in &row.run.flows {
            summary.flows.entry(name.clone()).or_default().add(flow.got, flow.mean_us);
            if is_realtime(name) {
                summary.sent += flow.sent;
            } else {
                summary.best_effort.add(flow.got, flow.mean_us);
            }
        }
        summary.late += row.run.late();
        summary.lost += row.run.lost();
    }
    summaries
}

/// The contract of target/compare-link.json.
pub fn json(rows: &[Row], cost: &[Cost]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "scheduler": row.scheduler, "seed": row.seed, "load": row.load,
                "best_effort_mean_ms": row.run.best_effort_mean_ms(),
                "realtime_deadline_misses": row.run.late(), "realtime_lost": row.run.lost(),
            })
        })
        .collect();
    let cost: Vec<Value> = cost
        .iter()
        .map(|(qdisc, backlog, n)| {
            json!({ "qdisc": qdisc, "backlog": backlog, "instructions_per_packet": n })
        })
        .collect();
    json!({ "rows": rows, "cost": cost })
}

/// A discipline and what came of it.
type Ranked<'a> = (&'a str, &'a Summary);

fn delays(load: u64, flows: &[&str], ranking: &[Ranked<'_>]) -> Table {
    let heads = ["best effort"].iter().chain(flows).chain(&["late", "lost"]);
    let columns = heads.map(|title| Column::number(*title));
    let columns = std::iter::once(Column::text("discipline")).chain(columns).collect();
    let count = |n: u64| match n {
        0 => Cell::new("0"),
        n => Cell::toned(n.to_string(), Tone::Bad),
    };
    let mean = |ms: Option<f64>| ms.map_or_else(Cell::none, |ms| Cell::new(format!("{ms:.2}")));
    let rows = ranking.iter().map(|(name, s)| {
        let of_flows = flows.iter().map(|flow| s.mean_of_ms(flow));
        let means = std::iter::once(s.mean_ms()).chain(of_flows).map(mean);
        ((*name).to_owned(), means.chain([count(s.late), count(s.lost)]).collect())
    });
    Table::new(format!("Load {load} %"), columns)
        .group("", rows.collect())
        .noted("Mean delay in ms over all packets; real-time packets late and lost.")
}

/// A bar for each discipline that has a value.
fn bars(
    title: &str,
    (label, unit, scale): (&str, Unit, f64),
    ranking: &[Ranked<'_>],
    value: impl Fn(&Summary) -> Option<f64>,
) -> Plot {
    let shown: Vec<_> = ranking.iter().filter_map(|(n, s)| Some((*n, value(s)?))).collect();
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

fn plots(flows: &[&str], ranking: &[Ranked<'_>]) -> Vec<Plot> {
    let delay = ("mean delay", Unit::Time, 1e6);
    let failed = ("per cent of those sent", Unit::Plain, 1.0);
    let mut plots = vec![
        bars("best effort together", delay, ranking, Summary::mean_ms),
        // Without those that let nothing through, beside which nothing could be seen.
        bars("real time late or lost", failed, ranking, |s| s.mean_ms().map(|_| s.failed())),
    ];
    plots.extend(flows.iter().map(|flow| bars(flow, delay, ranking, |s| s.mean_of_ms(flow))));
    plots
}

fn costs(cost: &[Cost]) -> Table {
    let mut backlogs: Vec<u64> = cost.iter().map(|c| c.1).collect();
    backlogs.sort_unstable();
    backlogs.dedup();
    let columns = backlogs.iter().map(|b| Column::number(format!("backlog {b}")));
    let columns = std::iter::once(Column::text("discipline")).chain(columns).collect();
    let mut names: Vec<&String> = cost.iter().map(|c| &c.0).collect();
    names.dedup();
    let cell = |name: &String, backlog: u64| {
        let found = cost.iter().find(|c| c.0 == *name && c.1 == backlog);
        found.map_or_else(Cell::none, |c| Cell::new(c.2.to_string()))
    };
    let rows = names
        .iter()
        .map(|name| ((*name).clone(), backlogs.iter().map(|b| cell(name, *b)).collect()));
    Table::new("Instructions a packet", columns).group("", rows.collect())
}

/// A page, and the same tables as text.
pub fn page(rows: &[Row], cost: &[Cost]) -> (Page, String) {
    let summaries = summaries(rows);
    let mut loads: Vec<u64> = summaries.keys().map(|k| k.0).collect();
    loads.dedup();
    let (mut blocks, mut tables) = (Vec::new(), String::new());
    for load in loads {
        let of_load = summaries.iter().filter(|(k, _)| k.0 == load);
        let mut ranking: Vec<Ranked<'_>> = of_load.map(|(k, s)| (k.1.as_str(), s)).collect();
        let delay = |s: &Summary| s.mean_ms().unwrap_or(f64::INFINITY);
        ranking.sort_by(|a, b| delay(a.1).total_cmp(&delay(b.1)));
        let names: BTreeSet<&str> =
            ranking.iter().flat_map(|(_, s)| s.flows.keys().map(String::as_str)).collect();
        let flows: Vec<&str> = names.into_iter().collect();
        let table = delays(load, &flows, &ranking);
        tables += &text::table(&table, text::Style::PLAIN);
        tables.push('\n');
        blocks.push(Block::Table(table));
        let figure = Figure::new(format!("load-{load}"), format!("At {load} %"), 2);
        blocks.push(Block::Figure(figure.with(plots(&flows, &ranking))));
    }
    let mut sections = vec![Section::new("Delays, and what was late or lost", blocks)];
    if !cost.is_empty() {
        let table = costs(cost);
        tables += &text::table(&table, text::Style::PLAIN);
        sections.push(Section::new("Cost", vec![Block::Table(table)]));
    }
    let page = Page {
        filters: Vec::new(),
        title: "The link beside the kernel's disciplines".into(),
        scenario: "compare/link/family.toml".into(),
        kind: Kind::Live,
        sections,
        provenance: vec![("Command".into(), "make compare-link".into())],
    };
    (page, tables)
}
