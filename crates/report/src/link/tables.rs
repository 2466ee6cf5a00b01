//! Tables of delays, losses and shares, for page and terminal.

use super::outcome::Outcome;
use crate::number::{Delays, count, fixed, percent};
use crate::outcome::Runs as _;
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::{FlowKind, FlowResult, Spread};

/// Improvements below one percent are noise, not marked.
const NOTABLE: f64 = 0.99;

type Of = fn(&FlowResult) -> Option<f64>;

/// Mean and maximum delay for each flow and policy, each with its percentage of the first policy
/// in the style of the paper's Tables 1 and 2 (Chakraborty, Gries, Thiele, RTAS 2002, section 5).
pub fn delay_tables<'a>(outcome: impl Into<Outcome<'a>>) -> Vec<Table> {
    let outcome = outcome.into();
    vec![
        delay_table(&outcome, "Mean delay", |f| f.mean_ms, |f| f.demoted_mean_ms),
        delay_table(&outcome, "Maximum delay", |f| f.max_ms, |f| f.demoted_max_ms),
    ]
}

fn delay_table(outcome: &Outcome, what: &str, of: Of, demoted: Of) -> Table {
    let policies = outcome.policies();
    let flows = [FlowKind::Realtime, FlowKind::BestEffort].map(|k| outcome.flows(k));
    let all = policies
        .iter()
        .flat_map(|p| flows.iter().flatten().filter_map(|f| Some(outcome.spread(p, f, of)?.mean)));
    let unit = Delays::of(all);
    let mut columns = vec![Column::text("Flow")];
    columns.extend(policies.iter().map(|p| Column::number(*p)));
    let seeds = match outcome.runs().len() {
        0 | 1 => String::new(),
        n => format!(", mean over {n} seeds \u{b1} half the range"),
    };
    let mut table = Table::new(format!("{what} in {}{seeds}", unit.unit), columns);
    for (kind, names) in [FlowKind::Realtime, FlowKind::BestEffort].into_iter().zip(&flows) {
        let rows = names
            .iter()
            .map(|flow| {
                let spreads: Vec<_> =
                    policies.iter().map(|p| outcome.spread(p, flow, of)).collect();
                (label(outcome, flow, kind), delay_row(&spreads, &unit, kind, outcome.is_many()))
            })
            .collect();
        table = table.group(group_title(kind), rows);
    }
    // Packets beyond the envelope have no deadline, so they are no part of the rows above.
    let rows = flows[0].iter().filter_map(|flow| {
        let spreads: Vec<_> = policies.iter().map(|p| outcome.spread(p, flow, demoted)).collect();
        let any = spreads.iter().any(Option::is_some);
        let row = || delay_row(&spreads, &unit, FlowKind::Realtime, outcome.is_many());
        any.then(|| ((*flow).to_owned(), row()))
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        table = table.group("Demoted: beyond the envelope, sent as best effort", rows);
    }
    match policies.first() {
        Some(first) if policies.len() > 1 => table.noted(format!(
            "Percentages are relative to {first}. Best-effort delays below those of {first} are \
             green, the lowest of a row stands out."
        )),
        _ => table,
    }
}

fn delay_row(spreads: &[Option<Spread>], unit: &Delays, kind: FlowKind, many: bool) -> Vec<Cell> {
    let reference = spreads.first().copied().flatten().map(|s| s.mean);
    // As shown: means that round alike are all the lowest.
    let lowest = spreads.iter().flatten().map(|s| s.mean).fold(f64::INFINITY, f64::min);
    let lowest = unit.text(lowest);
    spreads
        .iter()
        .map(|spread| {
            let Some(s) = spread else { return Cell::none() };
            let mut text = unit.text(s.mean);
            if many {
                text.push_str(&format!(" \u{b1} {}", unit.text((s.max - s.min) / 2.0)));
            }
            let mut cell = Cell::new(text);
            let Some(reference) = reference else { return cell };
            if spreads.len() > 1 {
                if let Some(p) = percent(s.mean, reference) {
                    cell = cell.with_secondary(format!("/ {p}"));
                }
            }
            if kind == FlowKind::BestEffort && s.mean < reference * NOTABLE {
                cell.tone = if unit.text(s.mean) == lowest { Tone::Best } else { Tone::Better };
            }
            cell
        })
        .collect()
}

/// Packets, and for each policy the packets missed, dropped and demoted, summed over the runs. Where
/// numbers of packets differ by policy, as with TCP sources, their range.
pub fn loss_table<'a>(outcome: impl Into<Outcome<'a>>) -> Table {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let mut columns = vec![Column::text("Flow"), Column::number("packets")];
    columns.extend(policies.iter().map(|p| Column::number(*p)));
    let many = if outcome.is_many() { ", summed over all seeds" } else { "" };
    let mut table = Table::new(format!("Packets missed / dropped by policy{many}"), columns);
    let mut differ = false;
    for kind in [FlowKind::Realtime, FlowKind::BestEffort] {
        let rows = outcome
            .flows(kind)
            .into_iter()
            .map(|flow| {
                let of = |p: &&'a str| outcome.sum(p, flow, |f| f.packets);
                let counts = policies.iter().filter(|p| outcome.each(p, flow).next().is_some());
                let (text, range) = count_range(counts.map(of));
                differ |= range;
                let mut cells = vec![Cell::new(text)];
                cells.extend(policies.iter().map(|p| loss_cell(&outcome, p, flow, kind)));
                (label(&outcome, flow, kind), cells)
            })
            .collect();
        table = table.group(group_title(kind), rows);
    }
    let closed_loop = match differ {
        true => " Packets from TCP sources depend on the policy: the fewest to the most.",
        false => "",
    };
    table.noted(format!(
        "Missed: sent after the deadline. Dropped: not sent; neither is hidden in the delays, \
         which are over packets sent. Best-effort flows have no deadline to miss.{closed_loop}"
    ))
}

/// Counts under several policies, and whether they differ.
pub(super) fn count_range(counts: impl Iterator<Item = u64>) -> (String, bool) {
    let (least, most) = counts.fold((u64::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    match least < most {
        true => (format!("{}\u{2013}{}", count(least), count(most)), true),
        false => (count(most), false),
    }
}

fn loss_cell<'a>(outcome: &Outcome<'a>, policy: &'a str, flow: &'a str, kind: FlowKind) -> Cell {
    if outcome.each(policy, flow).next().is_none() {
        return Cell::none();
    }
    let missed = outcome.sum(policy, flow, |f| f.deadline_misses);
    let dropped = outcome.sum(policy, flow, |f| f.dropped);
    let demoted = outcome.sum(policy, flow, |f| f.demoted);
    let mut text = match kind {
        FlowKind::Realtime => format!("{} / {}", count(missed), count(dropped)),
        FlowKind::BestEffort => format!("{} / {}", crate::number::NONE, count(dropped)),
    };
    if demoted > 0 {
        text.push_str(&format!(" ({} demoted)", count(demoted)));
    }
    match kind {
        FlowKind::Realtime if missed > 0 => Cell::toned(format!("\u{2717} {text}"), Tone::Bad),
        _ if dropped > 0 || demoted > 0 => Cell::new(text),
        _ => Cell::toned(text, Tone::Muted),
    }
}

/// Use of the link, mean best-effort delay and misses of each policy.
pub fn policy_table<'a>(outcome: impl Into<Outcome<'a>>) -> Table {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let unit = Delays::of(policies.iter().filter_map(|p| outcome.best_effort_mean(p)));
    let columns = vec![
        Column::text("Policy"),
        Column::number(format!("best-effort mean ({})", unit.unit)),
        Column::number("real-time missed"),
        Column::number("link busy"),
    ];
    let reference = policies.first().and_then(|p| outcome.best_effort_mean(p));
    let lowest =
        policies.iter().filter_map(|p| outcome.best_effort_mean(p)).fold(f64::INFINITY, f64::min);
    let lowest = unit.text(lowest);
    let rows = policies
        .iter()
        .map(|p| {
            let mean = match (outcome.best_effort_mean(p), reference) {
                (Some(mean), Some(reference)) => {
                    let mut cell = Cell::new(unit.text(mean));
                    if let (Some(share), true) = (percent(mean, reference), policies.len() > 1) {
                        cell = cell.with_secondary(format!("/ {share}"));
                    }
                    if mean < reference * NOTABLE {
                        cell.tone =
                            if unit.text(mean) == lowest { Tone::Best } else { Tone::Better };
                    }
                    cell
                }
                (Some(mean), None) => Cell::new(unit.text(mean)),
                _ => Cell::none(),
            };
            let missed = match outcome.missed(p) {
                0 => Cell::new("0"),
                n => Cell::toned(format!("\u{2717} {}", count(n)), Tone::Bad),
            };
            let runs = outcome.runs();
            let busy: f64 =
                runs.iter().filter_map(|r| Some(r.policies.get(*p)?.utilisation)).sum::<f64>()
                    / runs.len().max(1) as f64;
            (p.to_string(), vec![mean, missed, Cell::new(format!("{}%", fixed(busy * 100.0, 1)))])
        })
        .collect();
    Table::new("Policies, mean best-effort delay over all packets", columns).group("", rows)
}

/// Drop reasons for each flow and policy; empty when every packet was sent.
pub fn drop_table<'a>(outcome: impl Into<Outcome<'a>>) -> Table {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let mut columns = vec![Column::text("Flow and reason")];
    columns.extend(policies.iter().map(|p| Column::number(*p)));
    let mut table = Table::new("Packets not sent, by flow and reason", columns);
    for kind in [FlowKind::Realtime, FlowKind::BestEffort] {
        let mut rows = Vec::new();
        for flow in outcome.flows(kind) {
            let mut reasons: Vec<&str> = Vec::new();
            for f in policies.iter().flat_map(|p| outcome.each(p, flow)) {
                for (reason, n) in &f.drop_reasons {
                    if *n > 0 && !reasons.contains(&reason.as_str()) {
                        reasons.push(reason);
                    }
                }
            }
            for reason in reasons {
                let of = |f: &FlowResult| f.drop_reasons.get(reason).copied().unwrap_or(0);
                let cells = policies
                    .iter()
                    .map(|p| match outcome.sum(p, flow, of) {
                        0 => Cell::toned("0", Tone::Muted),
                        n => Cell::new(count(n)),
                    })
                    .collect();
                rows.push((format!("{flow}: {reason}"), cells));
            }
        }
        table = table.group(group_title(kind), rows);
    }
    table
}

/// Drops and marks by the AQM, for each class that has one; empty without any.
pub fn aqm_table<'a>(outcome: impl Into<Outcome<'a>>) -> Table {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let mut columns = vec![Column::text("Flow")];
    columns.extend(policies.iter().map(|p| Column::number(*p)));
    let mut table = Table::new("AQM: packets dropped / marked by policy", columns);
    for kind in [FlowKind::Realtime, FlowKind::BestEffort] {
        let managed = |flow: &&str| {
            policies.iter().flat_map(|p| outcome.each(p, flow)).any(|f| f.aqm_drops.is_some())
        };
        let rows = outcome.flows(kind).into_iter().filter(managed).map(|flow| {
            let cells = policies.iter().map(|p| {
                let drops = outcome.sum(p, flow, |f| f.aqm_drops.unwrap_or(0));
                let marks = outcome.sum(p, flow, |f| f.ecn_marks.unwrap_or(0));
                let text = format!("{} / {}", count(drops), count(marks));
                if drops + marks > 0 { Cell::new(text) } else { Cell::toned(text, Tone::Muted) }
            });
            (flow.to_owned(), cells.collect())
        });
        table = table.group(group_title(kind), rows.collect());
    }
    table
}

/// Least margin to the deadline of each real-time flow; negative margins are misses.
pub fn margin_table<'a>(outcome: impl Into<Outcome<'a>>) -> Table {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let flows = outcome.flows(FlowKind::Realtime);
    let all = policies
        .iter()
        .flat_map(|p| flows.iter().filter_map(|f| Some(worst_lateness(&outcome, p, f)?.abs())));
    let unit = Delays::of(all);
    let mut columns = vec![Column::text("Flow")];
    columns.extend(policies.iter().map(|p| Column::number(*p)));
    let rows = flows
        .iter()
        .map(|flow| {
            let cells = policies
                .iter()
                .map(|p| match worst_lateness(&outcome, p, flow) {
                    None => Cell::none(),
                    Some(late) if late > 0.0 => {
                        Cell::toned(format!("\u{2717} {}", unit.text(-late)), Tone::Bad)
                    }
                    Some(late) => {
                        let cell = Cell::new(unit.text(-late));
                        let share = deadline(&outcome, flow).and_then(|d| percent(-late, d));
                        share.map_or(cell.clone(), |s| cell.with_secondary(format!("/ {s}")))
                    }
                })
                .collect();
            (label(&outcome, flow, FlowKind::Realtime), cells)
        })
        .collect();
    Table::new(
        format!("Least margin to the deadline in {}, and as part of the deadline", unit.unit),
        columns,
    )
    .group("", rows)
}

/// Largest lateness in ms over the runs; negative is margin.
pub(crate) fn worst_lateness<'a>(
    outcome: &Outcome<'a>,
    policy: &'a str,
    flow: &'a str,
) -> Option<f64> {
    outcome.spread(policy, flow, |f| f.max_lateness_ms).map(|s| s.max)
}

/// A flow's deadline in ms.
pub(crate) fn deadline<'a>(outcome: &Outcome<'a>, flow: &'a str) -> Option<f64> {
    outcome.policies().into_iter().flat_map(|p| outcome.each(p, flow)).find_map(|f| f.deadline_ms)
}

/// Nanoseconds of a figure in ms.
pub(crate) fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn label<'a>(outcome: &Outcome<'a>, flow: &'a str, kind: FlowKind) -> String {
    match (kind, deadline(outcome, flow)) {
        (FlowKind::Realtime, Some(d)) => format!("{flow} ({})", crate::number::span(ns(d))),
        _ => flow.into(),
    }
}

fn group_title(kind: FlowKind) -> &'static str {
    match kind {
        FlowKind::Realtime => "Real-time (deadline)",
        FlowKind::BestEffort => "Best effort",
    }
}
