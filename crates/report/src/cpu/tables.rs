//! Tables of shares, misses, response times, tardiness, gaps and switches.

use super::outcome::{CpuOutcome, is_due};
use crate::cells::{delay, percent};
use crate::number::{Delays, count, fixed};
use crate::outcome::Runs as _;
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::{CpuTaskResult, TaskKind};

type Of = fn(&CpuTaskResult) -> Option<f64>;

/// Every table of a run, the most important first; empty ones are left out.
pub fn cpu_tables(outcome: CpuOutcome<'_>) -> Vec<Table> {
    let response: [(&str, Of); 3] = [
        ("Mean", |t| t.mean_response_ms),
        ("99th percentile", |t| t.p99_response_ms),
        ("Largest", |t| t.max_response_ms),
    ];
    let tardiness: [(&str, Of); 3] = [
        ("Mean over all jobs", |t| t.mean_tardiness_ms),
        ("99th percentile of the late ones", |t| t.p99_tardiness_ms),
        ("Largest", |t| t.max_tardiness_ms),
    ];
    let latency: [(&str, Of); 2] =
        [("Mean", |t| t.mean_latency_ms), ("99th percentile", |t| t.p99_latency_ms)];
    let gap: [(&str, Of); 1] = [("", |t| Some(t.max_wait_ms))];
    let tables = [
        shares(&outcome),
        missed(&outcome),
        times(&outcome, "Response time", &response)
            .noted("From the release of a job, or a wake-up, to the end of its computation."),
        times(&outcome, "Tardiness", &tardiness)
            .noted("Time from the deadline of a late job to its end."),
        times(&outcome, "Longest time without service", &gap)
            .noted("The longest time that the task was ready and did not run."),
        times(&outcome, "Time from wake-up to the CPU", &latency)
            .noted("Of a task that polls: from an event to seeing it."),
        switches(&outcome),
        refusals(&outcome),
    ];
    tables.into_iter().filter(|t| !t.is_empty()).collect()
}

fn columns(outcome: &CpuOutcome<'_>) -> Vec<Column> {
    let mut columns = vec![Column::text("Task")];
    columns.extend(outcome.policies().into_iter().map(Column::number));
    columns
}

/// A task with its kind of service: `sound (hard)`.
fn label(outcome: &CpuOutcome<'_>, task: &str) -> String {
    let first = outcome.first().and_then(|r| r.policies.values().next()?.tasks.get(task));
    match first.map(|t| t.kind) {
        Some(TaskKind::Hard) => format!("{task} (hard)"),
        Some(TaskKind::Soft) => format!("{task} (soft)"),
        _ => task.to_owned(),
    }
}

/// One row for each task with a value, one cell for each policy.
fn rows<'a>(
    outcome: &CpuOutcome<'a>,
    has: impl Fn(&CpuTaskResult) -> bool,
    cell: impl Fn(&'a str, &'a str) -> Cell,
) -> Vec<(String, Vec<Cell>)> {
    let policies = outcome.policies();
    let tasks = outcome.items().into_iter().filter(|t| outcome.any(t, &has));
    let row = |task: &'a str| {
        let cells = policies.iter().map(|policy| cell(policy, task)).collect();
        (label(outcome, task), cells)
    };
    tasks.map(row).collect()
}

fn over_seeds(outcome: &CpuOutcome<'_>) -> String {
    match outcome.runs().len() {
        0 | 1 => String::new(),
        n => format!(", mean over {n} seeds \u{b1} half the range"),
    }
}

fn shares(outcome: &CpuOutcome<'_>) -> Table {
    let rows = rows(
        outcome,
        |_| true,
        |policy, task| {
            if outcome.each(policy, task).all(|t| t.refused.is_some() && t.cpu_ms == 0.0) {
                return Cell::toned("\u{2717} refused", Tone::Bad);
            }
            match outcome.spread(policy, task, |t| Some(t.share * 100.0)) {
                None => Cell::none(),
                Some(s) if s.max > s.min => Cell::new(format!(
                    "{}% \u{b1} {}",
                    fixed(s.mean, 1),
                    fixed((s.max - s.min) / 2.0, 1)
                )),
                Some(s) => Cell::new(format!("{}%", fixed(s.mean, 1))),
            }
        },
    );
    let caption = format!("Share of a CPU while the task is there{}", over_seeds(outcome));
    Table::new(caption, columns(outcome)).group("", rows)
}

fn missed(outcome: &CpuOutcome<'_>) -> Table {
    let rows = rows(outcome, is_due, |policy, task| {
        let jobs = outcome.sum(policy, task, |t| t.jobs);
        match outcome.sum(policy, task, |t| t.deadline_misses) {
            _ if jobs == 0 => Cell::none(),
            0 => Cell::toned("0", Tone::Muted).with_secondary(format!("of {}", count(jobs))),
            n => {
                let share = percent(n as f64 / jobs as f64);
                let text = format!("\u{2717} {}", count(n));
                Cell::toned(text, Tone::Bad).with_secondary(format!("of {}, {share}%", count(jobs)))
            }
        }
    });
    let seeds = if outcome.is_many() { ", summed over all seeds" } else { "" };
    Table::new(format!("Deadlines missed{seeds}"), columns(outcome)).group("", rows)
}

/// Times of each task under each policy, in one unit.
fn times(outcome: &CpuOutcome<'_>, title: &str, groups: &[(&str, Of)]) -> Table {
    let policies = outcome.policies();
    let tasks = outcome.items();
    let cells = || policies.iter().flat_map(|p| tasks.iter().map(move |t| (*p, *t)));
    let all = groups.iter().flat_map(|(_, of)| {
        cells().filter_map(|(p, t)| Some(outcome.spread(p, t, *of)?.mean)).collect::<Vec<_>>()
    });
    let unit = Delays::of(all);
    let caption = format!("{title} in {}{}", unit.unit, over_seeds(outcome));
    let mut table = Table::new(caption, columns(outcome));
    for (group, of) in groups {
        let cell = |policy, task| delay(outcome.spread(policy, task, *of), &unit);
        let rows = rows(outcome, |t| of(t).is_some(), cell);
        if !rows.is_empty() {
            table = table.group(*group, rows);
        }
    }
    table
}

/// Context switches and options of each policy.
fn switches(outcome: &CpuOutcome<'_>) -> Table {
    let mut columns = vec![
        Column::text("Policy"),
        Column::number("switches"),
        Column::number("a second"),
        Column::number("CPU busy"),
    ];
    let several = outcome.first().is_some_and(|r| r.cpus > 1);
    if several {
        columns.insert(2, Column::number("migrations"));
    }
    columns.push(Column::text("Options"));
    let row = |policy: &&str| {
        let each = || outcome.runs().iter().filter_map(|r| Some((r, r.policies.get(*policy)?)));
        let total: u64 = each().map(|(_, p)| p.switches).fold(0, u64::saturating_add);
        let seconds: f64 = each().map(|(r, _)| r.duration_ns as f64 / 1e9).sum();
        let busy: f64 = each().map(|(_, p)| p.utilisation).sum::<f64>();
        let runs = each().count().max(1) as f64;
        let rate = if seconds > 0.0 { fixed(total as f64 / seconds, 1) } else { "0".into() };
        let options = each().next().map_or(String::new(), |(_, p)| {
            let options = p.options.iter().map(|(name, value)| format!("{name} {value}"));
            options.collect::<Vec<_>>().join(", ")
        });
        let mut cells = vec![
            Cell::new(count(total)),
            Cell::new(rate),
            Cell::new(format!("{}%", fixed(busy / runs * 100.0, 1))),
            Cell::new(options),
        ];
        if several {
            let moved = each().filter_map(|(_, p)| p.migrations).fold(0, u64::saturating_add);
            cells.insert(1, Cell::new(count(moved)));
        }
        (policy.to_string(), cells)
    };
    let seeds = if outcome.is_many() { ", summed over all seeds" } else { "" };
    Table::new(format!("Context switches, and how each policy was read{seeds}"), columns)
        .group("", outcome.policies().iter().map(row).collect())
}

/// Refused tasks, with the reason.
fn refusals(outcome: &CpuOutcome<'_>) -> Table {
    let mut table = Table::new("Refused", vec![Column::text("Task"), Column::text("Reason")]);
    for policy in outcome.policies() {
        let refused = |task: &str| {
            let why = outcome.first()?.policies.get(policy)?.tasks.get(task)?.refused.clone()?;
            Some((task.to_owned(), vec![Cell::toned(why, Tone::Bad)]))
        };
        let rows: Vec<_> = outcome.items().into_iter().filter_map(refused).collect();
        if !rows.is_empty() {
            table = table.group(policy, rows);
        }
    }
    table
}
