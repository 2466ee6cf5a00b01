//! Tables of misses, violated windows, runs, losses and delays.

use super::outcome::{StreamOutcome, slots, tolerance};
use crate::cells::{delay, percent};
use crate::number::{Delays, count, span};
use crate::outcome::Runs as _;
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::StreamClassResult;

/// Every table of a run, the most important first; empty ones are left out.
pub fn stream_tables(outcome: StreamOutcome<'_>) -> Vec<Table> {
    let tables = [
        windows(&outcome),
        missed(&outcome),
        runs(&outcome),
        stream_delay_table(outcome),
        losses(&outcome),
    ];
    tables.into_iter().filter(|t| !t.is_empty()).collect()
}

fn columns(first: &str, outcome: &StreamOutcome<'_>) -> Vec<Column> {
    let mut columns = vec![Column::text(first)];
    columns.extend(outcome.policies().into_iter().map(Column::number));
    columns
}

/// One row for each class, one cell for each policy.
fn rows<'a>(
    outcome: &StreamOutcome<'a>,
    cell: impl Fn(&'a str, &'a str) -> Cell,
) -> Vec<(String, Vec<Cell>)> {
    let policies = outcome.policies();
    let row = |class: &'a str| {
        let cells = policies.iter().map(|policy| cell(policy, class)).collect();
        (outcome.label(class), cells)
    };
    outcome.items().into_iter().map(row).collect()
}

fn summed(outcome: &StreamOutcome<'_>) -> &'static str {
    if outcome.is_many() { ", summed over all seeds" } else { "" }
}

/// Violated windows, and the number of streams with one.
fn windows(outcome: &StreamOutcome<'_>) -> Table {
    let has_window = |class: &str| {
        outcome.any(class).is_some_and(|c| c.gap_ns.is_some() && tolerance(c).is_some())
    };
    let rows =
        rows(outcome, |policy, class| {
            if !has_window(class) {
                return Cell::none();
            }
            let violated = outcome.sum(policy, class, |c| c.tumbling_violations);
            let worst = outcome.each(policy, class).map(|c| c.violated_streams).max().unwrap_or(0);
            let streams = outcome.any(class).map_or(0, |c| c.streams);
            match violated {
                0 => Cell::toned("0", Tone::Muted),
                n => Cell::toned(format!("\u{2717} {}", count(n)), Tone::Bad)
                    .with_secondary(format!("in {} of {}", count(worst), count(streams))),
            }
        });
    let mut note = "Windows of y packets, back to back from the start, with more than x missed; \
                    and how many streams of the class had one."
        .to_owned();
    if outcome.is_many() {
        note.push_str(" Streams: of the worst seed.");
    }
    Table::new(format!("Windows violated{}", summed(outcome)), columns("Class (x/y)", outcome))
        .group("", rows)
        .noted(note)
}

/// The share of deadlines missed.
fn missed(outcome: &StreamOutcome<'_>) -> Table {
    let rows = rows(outcome, |policy, class| {
        let all = outcome.sum(policy, class, slots);
        let missed = outcome.sum(policy, class, |c| c.deadline_misses);
        if all == 0 {
            return Cell::none();
        }
        let share = missed as f64 / all as f64;
        let allowed = outcome.any(class).and_then(tolerance).map(|(share, _)| share);
        let text = format!("{}%", percent(share));
        match (missed, allowed) {
            (0, _) => Cell::toned(text, Tone::Muted),
            (_, Some(allowed)) if share > allowed => {
                Cell::toned(format!("\u{2717} {text}"), Tone::Bad)
            }
            _ => Cell::new(text),
        }
    });
    Table::new(format!("Deadlines missed{}", summed(outcome)), columns("Class (x/y)", outcome))
        .group("", rows)
        .noted("Of all packets sent and deadlines missed. Marked where it is more than x/y.")
}

/// The longest run of misses.
fn runs(outcome: &StreamOutcome<'_>) -> Table {
    let rows = rows(outcome, |policy, class| {
        match outcome.each(policy, class).map(|c| c.max_consecutive_misses).max() {
            None => Cell::none(),
            Some(0) => Cell::toned("0", Tone::Muted),
            Some(n) => Cell::new(count(n)),
        }
    });
    let seeds = if outcome.is_many() { ", over all seeds" } else { "" };
    Table::new(
        format!("Most deadlines missed in a row by one stream{seeds}"),
        columns("Class (x/y)", outcome),
    )
    .group("", rows)
}

/// Mean and 99th percentile of the delay in the queue.
pub fn stream_delay_table(outcome: StreamOutcome<'_>) -> Table {
    let classes = outcome.items();
    let seen: Vec<&str> = classes
        .into_iter()
        .filter(|c| {
            outcome.policies().into_iter().any(|p| outcome.each(p, c).any(|c| c.mean_ms.is_some()))
        })
        .collect();
    type Of = fn(&StreamClassResult) -> Option<f64>;
    let of: [(&str, Of); 2] = [("Mean", |c| c.mean_ms), ("99th percentile", |c| c.p99_ms)];
    let policies = outcome.policies();
    let all = of.iter().flat_map(|(_, of)| {
        let cells = policies.iter().flat_map(|p| seen.iter().map(move |c| (*p, *c)));
        cells.filter_map(|(p, c)| Some(outcome.spread(p, c, *of)?.mean)).collect::<Vec<_>>()
    });
    let unit = Delays::of(all);
    let seeds = match outcome.runs().len() {
        0 | 1 => String::new(),
        n => format!(", mean over {n} seeds \u{b1} half the range"),
    };
    let mut table = Table::new(
        format!("Delay in the queue in {}{seeds}", unit.unit),
        columns("Class (gap)", &outcome),
    );
    for (title, of) in of {
        let row = |class: &&str| {
            let gap = outcome.any(class).and_then(|c| c.gap_ns);
            let label = gap.map_or(class.to_string(), |gap| format!("{class} ({})", span(gap)));
            let cells = policies.iter().map(|p| delay(outcome.spread(p, class, of), &unit));
            (label, cells.collect())
        };
        table = table.group(title, seen.iter().map(row).collect());
    }
    table.noted(
        "From arrival to the start of sending, over packets sent: what was dropped has no \
                 delay.",
    )
}

/// Packets that missed their deadline, by reason.
fn losses(outcome: &StreamOutcome<'_>) -> Table {
    type Of = fn(&StreamClassResult) -> u64;
    let kinds: [(&str, Of); 3] = [
        ("Dropped: the deadline passed", |c| c.dropped),
        ("Sent late", |c| c.sent_late),
        ("Lost: the queue was full", |c| c.overflows),
    ];
    let caption = format!("Packets lost or late{}", summed(outcome));
    let mut table = Table::new(caption, columns("Class", outcome));
    for (title, of) in kinds {
        if outcome.policies().into_iter().all(|p| outcome.total(p, of) == 0) {
            continue;
        }
        let mut rows = rows(outcome, |policy, class| match outcome.sum(policy, class, of) {
            0 => Cell::toned("0", Tone::Muted),
            n => Cell::new(count(n)),
        });
        rows.retain(|(_, cells)| cells.iter().any(|c| c.text != "0"));
        table = table.group(title, rows);
    }
    table
}
