//! A direction that has ended beside the simulator.

use laxity_report::{Cell, Column, Table, number, text};
use laxity_sim::link::compare::{Live, compare};
use laxity_traffic::Arrival;
use laxity_userlink::bridge::Schedule;
use laxity_userlink::counts::Counts;

use super::Place;
use crate::failure::Failure;
use crate::{output, warning};

/// Arrivals that `--compare` keeps: some 100 MB.
pub const RECORD: usize = 1 << 22;

/// The simulation of the received frames.
///
/// # Errors
/// The simulator cannot run them.
pub fn compared(
    direction: &Place,
    schedule: &Schedule,
    counts: &Counts,
    arrivals: Vec<Arrival>,
    complete: bool,
    json: bool,
) -> Result<(), Failure> {
    if !complete {
        warning::say(format!(
            "--compare keeps {RECORD} frames; further ones from {} are not compared",
            direction.from
        ));
        return Ok(());
    }
    let live: Vec<Live> = counts
        .classes
        .iter()
        .map(|class| Live::new(class.sent(), &class.delay, class.deadline_misses))
        .collect();
    let rows = compare(&schedule.scenario, &schedule.policy, arrivals, &live);
    let rows = rows.map_err(Failure::input)?;
    let ms = |ns: Option<f64>| ns.map_or_else(Cell::none, |ns| Cell::new(number::short(ns / 1e6)));
    let columns = vec![
        Column::text("Flow"),
        Column::number("packets, live"),
        Column::number("simulated"),
        Column::number("mean delay (ms), live"),
        Column::number("simulated"),
        Column::number("difference (%)"),
    ];
    let cells = rows.iter().map(|row| {
        let percent = |part: f64| Cell::new(format!("{:+.1}", part * 100.0));
        let cells = vec![
            Cell::new(row.sent.0.to_string()),
            Cell::new(row.sent.1.to_string()),
            ms(row.mean.0),
            ms(row.mean.1),
            row.difference().map_or_else(Cell::none, percent),
        ];
        (row.name.clone(), cells)
    });
    let caption = format!("{} to {}: live beside simulated", direction.from, direction.to);
    let table = Table::new(caption, columns).group("", cells.collect());
    let text = text::table(&table, output::style());
    // With JSON there is one document on standard output.
    if json {
        warning::say(text.trim_end());
        return Ok(());
    }
    output::print(&text)
}
