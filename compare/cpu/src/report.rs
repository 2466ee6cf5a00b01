//! The results as JSON, tables and plots.

use laxity_report::plot::{Axis, Body, Hue, Mark, Plot, Unit};
use laxity_report::{Block, Cell, Column, Figure, Kind, Page, Section, Table, text};
use serde_json::{Value, json};

use crate::plan::is_laxity;
use crate::{All, Row};

/// The contract of target/compare-cpu.json.
pub fn json(all: &All) -> Value {
    let each = all.rows.iter().flat_map(|row| row.metrics.iter().map(move |m| (row, m)));
    let rows: Vec<Value> = each
        .map(|(row, metric)| {
            json!({
                "scheduler": row.scheduler, "test": row.test.name,
                "metric": metric.name, "unit": metric.unit,
                "value": (metric.value * 1000.0).round() / 1000.0,
                "beginnings": row.beginnings,
            })
        })
        .collect();
    let skipped: Vec<Value> =
        all.lacking.iter().map(|(subject, why)| json!({ "run": subject, "reason": why })).collect();
    json!({ "rows": rows, "skipped": skipped })
}

fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

fn table(rows: &[&Row]) -> Table {
    let mut metrics: Vec<(&str, &str)> = Vec::new();
    for metric in rows.iter().flat_map(|r| &r.metrics) {
        if !metrics.iter().any(|(name, _)| *name == metric.name) {
            metrics.push((&metric.name, metric.unit));
        }
    }
    let columns = metrics.iter().map(|(name, unit)| Column::number(format!("{name}, {unit}")));
    let columns = std::iter::once(Column::text("scheduler")).chain(columns).collect();
    let lines = rows.iter().map(|row| {
        let cell = |(name, _): &(&str, &str)| {
            row.get(name).map_or_else(Cell::none, |value| Cell::new(short(value)))
        };
        (row.scheduler.to_owned(), metrics.iter().map(cell).collect())
    });
    let many = rows.iter().filter(|row| row.beginnings > 1);
    let many = many.map(|row| format!("{} of {}", row.scheduler, row.beginnings));
    let mut note = many.collect::<Vec<_>>().join(", ");
    if !note.is_empty() {
        note = format!("Medians over beginnings: {note}.");
    }
    Table::new(rows[0].test.title, columns).group("", lines.collect()).noted(note)
}

/// A bar for each scheduler.
fn bars(rows: &[&Row]) -> Option<Plot> {
    let name = rows[0].test.drawn;
    let shown: Vec<_> = rows.iter().filter_map(|r| Some((r.scheduler, r.get(name)?))).collect();
    let unit = rows.iter().flat_map(|r| &r.metrics).find(|m| m.name == name)?.unit;
    let most = shown.iter().map(|(_, v)| *v).fold(0.01, f64::max);
    let axis = Axis::linear(format!("{name}, {unit}"), Unit::Plain, 0.0, most * 1.05);
    let names = Axis::names(shown.iter().map(|(n, _)| *n));
    let bars = shown.iter().enumerate().map(|(i, (scheduler, value))| Mark::Bar {
        y: -(i as f64),
        x: (0.0, *value),
        thick: 12.0,
        hue: Hue::Series(usize::from(is_laxity(scheduler))),
        body: Body::Solid,
    });
    // The figure has the title.
    Some(Plot::new("", axis, names).with_all(bars))
}

/// A page, and the same tables as text.
pub fn page(all: &All) -> (Page, String) {
    let (mut blocks, mut tables) = (Vec::new(), String::new());
    let mut names: Vec<&str> = all.rows.iter().map(|r| r.test.name).collect();
    names.dedup();
    for name in names {
        let rows: Vec<&Row> = all.rows.iter().filter(|r| r.test.name == name).collect();
        let table = table(&rows);
        tables += &text::table(&table, text::Style::PLAIN);
        tables.push('\n');
        blocks.push(Block::Table(table));
        if let Some(plot) = bars(&rows) {
            let figure = Figure::new(name, rows[0].test.title, 1);
            blocks.push(Block::Figure(figure.with(vec![plot])));
        }
    }
    for (subject, why) in &all.lacking {
        tables += &format!("without {subject}: {why}\n");
    }
    let mut sections = vec![Section::new("Tests", blocks)];
    if !all.lacking.is_empty() {
        let lines =
            all.lacking.iter().map(|(subject, why)| (subject.clone(), vec![Cell::new(why)]));
        let columns = vec![Column::text("run"), Column::text("reason")];
        let table = Table::new("Skipped runs", columns).group("", lines.collect());
        sections.push(Section::new("Skipped", vec![Block::Table(table)]));
    }
    let page = Page {
        filters: Vec::new(),
        title: "The CPUs' policies beside other schedulers".into(),
        scenario: "guest time of a virtual machine".into(),
        kind: Kind::Live,
        sections,
        provenance: vec![("Command".into(), "make compare-cpu".into())],
    };
    (page, tables)
}
