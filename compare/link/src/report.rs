//! The results as JSON, a table and a plot.

use std::collections::BTreeMap;

use laxity_report::plot::{Axis, Body, Hue, Mark, Plot, Unit};
use laxity_report::{Block, Cell, Column, Figure, Kind, Page, Section, Table, Tone, text};
use serde_json::{Value, json};

use crate::runs::Run;

/// One discipline on one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// The discipline; ours begin with `laxity-`.
    pub scheduler: String,
    /// Of the trace.
    pub seed: u64,
    /// Per cent of the link.
    pub load: u64,
    /// What came of it.
    pub run: Run,
}

/// A discipline, how many packets wait, and instructions a packet beyond no discipline.
pub type Cost = (String, u64, i64);

/// Over the seeds of one load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Mean over all packets, in ms.
    pub mean_ms: f64,
    /// Real-time packets late.
    pub late: u64,
    /// Real-time packets lost.
    pub lost: u64,
}

/// By load and discipline; disciplines that let nothing through have no mean.
pub fn summaries(rows: &[Row]) -> BTreeMap<(u64, String), Summary> {
    let mut sums: BTreeMap<(u64, String), (f64, u64, Summary)> = BTreeMap::new();
    for row in rows {
        let (weighted, packets, summary) =
            sums.entry((row.load, row.scheduler.clone())).or_default();
        let best =
            row.run.flows.iter().filter(|(n, _)| !crate::runs::REALTIME.contains(&n.as_str()));
        for (_, flow) in best {
            *weighted += (flow.got * flow.mean_us) as f64 / 1000.0;
            *packets += flow.got;
        }
        summary.late += row.run.late();
        summary.lost += row.run.lost();
    }
    let finish = |(weighted, packets, summary): (f64, u64, Summary)| Summary {
        mean_ms: if packets > 0 { weighted / packets as f64 } else { f64::NAN },
        ..summary
    };
    sums.into_iter().map(|(key, sum)| (key, finish(sum))).collect()
}

/// The contract of target/compare-link.json.
pub fn json(rows: &[Row], cost: &[Cost]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "scheduler": row.scheduler, "seed": row.seed, "load": row.load,
                "best_effort_mean_ms": row.run.best_effort_mean_ms(),
                "realtime_late": row.run.late(), "realtime_lost": row.run.lost(),
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

fn delays(load: u64, summaries: &[(&String, &Summary)]) -> Table {
    let columns = vec![
        Column::number("best effort, mean ms"),
        Column::number("real time late"),
        Column::number("lost"),
    ];
    let count = |n: u64| match n {
        0 => Cell::new("0"),
        n => Cell::toned(n.to_string(), Tone::Bad),
    };
    let rows = summaries.iter().map(|(name, s)| {
        let mean =
            if s.mean_ms.is_nan() { Cell::none() } else { Cell::new(format!("{:.2}", s.mean_ms)) };
        ((*name).clone(), vec![mean, count(s.late), count(s.lost)])
    });
    Table::new(format!("Load {load} %"), columns).group("", rows.collect())
}

fn costs(cost: &[Cost]) -> Table {
    let mut backlogs: Vec<u64> = cost.iter().map(|c| c.1).collect();
    backlogs.sort_unstable();
    backlogs.dedup();
    let columns = backlogs.iter().map(|b| Column::number(format!("backlog {b}"))).collect();
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
    let (mut blocks, mut words) = (Vec::new(), String::new());
    for load in loads {
        let of_load: Vec<(&String, &Summary)> =
            summaries.iter().filter(|(k, _)| k.0 == load).map(|(k, s)| (&k.1, s)).collect();
        let table = delays(load, &of_load);
        words += &text::table(&table, text::Style::PLAIN);
        words.push('\n');
        let shown: Vec<_> = of_load.iter().filter(|(_, s)| !s.mean_ms.is_nan()).collect();
        let most = shown.iter().map(|(_, s)| s.mean_ms).fold(1.0, f64::max);
        let names = Axis::names(shown.iter().map(|(n, _)| n.as_str()));
        let x = Axis::linear("mean delay of best effort", Unit::Time, 0.0, most * 1e6);
        let bars = shown.iter().enumerate().map(|(i, (name, s))| Mark::Bar {
            y: -(i as f64),
            x: (0.0, s.mean_ms * 1e6),
            thick: 12.0,
            hue: Hue::Series(usize::from(name.starts_with("laxity-"))),
            body: Body::Solid,
        });
        let plot = Plot::new(format!("Load {load} %"), x, names).with_all(bars);
        blocks.push(Block::Table(table));
        let figure = Figure::new(format!("load-{load}"), format!("Load {load} %"), 1);
        blocks.push(Block::Figure(figure.with(vec![plot])));
    }
    let table = costs(cost);
    words += &text::table(&table, text::Style::PLAIN);
    let sections = vec![
        Section::new("Delay of best effort beside voice and video", blocks),
        Section::new("Cost", vec![Block::Table(table)]),
    ];
    let page = Page {
        title: "The link beside the kernel's disciplines".into(),
        scenario: "compare/link/family.toml".into(),
        kind: Kind::Live,
        sections,
        provenance: vec![("Command".into(), "make compare-link".into())],
    };
    (page, words)
}
