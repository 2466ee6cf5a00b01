//! The pages of `laxity simulate --report` and `laxity check --report` for streams.

use super::outcome::{StreamOutcome, StreamPolicyDetail};
use super::{distributions, figures, tables, verdict};
use crate::cells::percent;
use crate::number::{count, fixed, span};
use crate::outcome::Runs as _;
use crate::page::{Assessment, Block, Filter, Kind, Meta, Page, Section, footer};
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::StreamCheckResult;

/// The page of a simulated or live run.
pub fn stream_simulation_page(
    outcome: StreamOutcome<'_>,
    details: &[StreamPolicyDetail],
    check: Option<&StreamCheckResult>,
    meta: &Meta,
) -> Page {
    let mut sections = vec![headline(&outcome, check, meta)];
    let mut add = |title: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section::new(title, blocks));
        }
    };
    let figure = |figure: Option<_>| figure.map(Block::Figure).into_iter().collect::<Vec<_>>();
    add("Deadlines missed", figure(figures::missed(&outcome)));
    add("Windows violated", figure(figures::windows(&outcome)));
    add("Runs of misses", figure(figures::runs(&outcome)));
    let mut delays = figure(distributions::figure(&outcome, details));
    if let (true, false, Some(seed)) =
        (outcome.is_many(), delays.is_empty(), outcome.first().and_then(|r| r.seed))
    {
        let note = format!("Of {} seeds, seed {seed} is shown.", outcome.runs().len());
        delays.insert(0, Block::Text(note));
    }
    add("Delay in the queue", delays);
    add("All numbers", tables::stream_tables(outcome).into_iter().map(Block::Table).collect());
    let run = outcome.first();
    let mut facts = Vec::new();
    if let Some(run) = run {
        facts.push(("Scenario".into(), run.scenario.clone()));
        facts.push(("Duration".into(), span(run.duration_ns)));
    }
    Page {
        title: run.map_or(String::new(), |r| r.scenario.clone()),
        scenario: match meta.kind {
            Kind::Live => "report of a live media server",
            _ => "report of a simulated media server",
        }
        .into(),
        kind: meta.kind,
        filters: vec![
            Filter::new("Policy", outcome.policies()),
            Filter::new("Class", outcome.items()),
        ],
        sections,
        provenance: footer(meta, facts),
    }
}

/// The page of an analysis without a run.
pub fn stream_check_page(scenario: &str, check: &StreamCheckResult, meta: &Meta) -> Page {
    Page {
        title: scenario.into(),
        scenario: "admission report".into(),
        kind: Kind::Analysed,
        filters: Vec::new(),
        sections: vec![Section::new("Verdict", verdict_blocks(check))],
        provenance: footer(meta, Vec::new()),
    }
}

fn verdict_blocks(check: &StreamCheckResult) -> Vec<Block> {
    let (assessment, label, text) = verdict::stream_verdict(check);
    let mut blocks = vec![Block::Statement(assessment, label.into(), text)];
    blocks.extend(verdict::stream_reasons(check).into_iter().map(Block::Text));
    blocks.push(Block::Table(verdict::stream_check_table(check)));
    blocks
}

fn headline(
    outcome: &StreamOutcome<'_>,
    check: Option<&StreamCheckResult>,
    meta: &Meta,
) -> Section {
    let mut blocks = Vec::new();
    if let Some(check) = check {
        let (assessment, label, text) = verdict::stream_verdict(check);
        blocks.push(Block::Statement(assessment, label.into(), text));
    }
    let (assessment, label, text) = stream_statement(*outcome, meta.policy.as_deref());
    blocks.push(Block::Statement(assessment, label, text));
    if let Some(run) = outcome.first() {
        let streams = run.policies.values().next().map_or(0, |p| p.streams);
        let seeds: Vec<u64> = outcome.runs().iter().filter_map(|r| r.seed).collect();
        blocks.push(Block::Facts(vec![
            ("Streams".into(), count(streams)),
            ("Duration of a run".into(), span(run.duration_ns)),
            ("Runs".into(), crate::cells::runs(&seeds, "one")),
        ]));
        blocks.push(Block::Table(policy_table(outcome)));
    }
    if let Some(check) = check {
        let mut why: Vec<Block> =
            verdict::stream_reasons(check).into_iter().map(Block::Text).collect();
        why.push(Block::Table(verdict::stream_check_table(check)));
        blocks.push(Block::More("What admission rests on".into(), why));
    }
    Section::new("In short", blocks)
}

/// Misses, violated windows and server utilisation of each policy.
fn policy_table(outcome: &StreamOutcome<'_>) -> Table {
    let columns = vec![
        Column::text("Policy"),
        Column::number("windows violated"),
        Column::number("streams concerned"),
        Column::number("deadlines missed"),
        Column::number("server busy"),
    ];
    let row = |policy: &&str| {
        let violated = outcome.total(policy, |c| c.tumbling_violations);
        let concerned = outcome.total(policy, |c| c.violated_streams);
        let bad = |n: u64| match n {
            0 => Cell::new("0"),
            n => Cell::toned(format!("\u{2717} {}", count(n)), Tone::Bad),
        };
        let runs = outcome.runs();
        let busy: f64 =
            runs.iter().filter_map(|r| Some(r.policies.get(*policy)?.utilisation)).sum::<f64>()
                / runs.len().max(1) as f64;
        let cells = vec![
            bad(violated),
            bad(concerned),
            Cell::new(count(outcome.total(policy, |c| c.deadline_misses))),
            Cell::new(format!("{}%", fixed(busy * 100.0, 1))),
        ];
        (policy.to_string(), cells)
    };
    let seeds = if outcome.is_many() { ", summed over all seeds" } else { "" };
    Table::new(format!("Policies{seeds}"), columns)
        .group("", outcome.policies().iter().map(row).collect())
}

/// The summary of a run: (mood, label, text). `policy` is the policy to judge, the last
/// when absent.
pub fn stream_statement(
    outcome: StreamOutcome<'_>,
    policy: Option<&str>,
) -> (Assessment, String, String) {
    let policies = outcome.policies();
    let Some(last) = policies.last().copied() else {
        return (Assessment::Neutral, "Nothing was run.".into(), String::new());
    };
    let own = policy.and_then(|p| policies.iter().copied().find(|q| *q == p)).unwrap_or(last);
    let broken = |policy| outcome.total(policy, |c| c.tumbling_violations);
    let (assessment, label) = match broken(own) {
        0 => (Assessment::Good, "Every tolerance kept.".to_owned()),
        1 => (Assessment::Bad, "1 window violated.".to_owned()),
        n => (Assessment::Bad, format!("{} windows violated.", count(n))),
    };
    let missed = outcome.total(own, |c| c.deadline_misses);
    let all = outcome.total(own, super::outcome::slots);
    let mut text = match missed {
        0 => format!("Under {own} no deadline was missed."),
        n => format!(
            "Under {own} {} of {} deadlines were missed, {}% of all{}.",
            count(n),
            count(all),
            percent(n as f64 / all.max(1) as f64),
            if broken(own) == 0 { ", none beyond what its stream tolerates" } else { "" }
        ),
    };
    let others: Vec<String> = policies
        .iter()
        .filter(|p| **p != own && broken(p) > 0)
        .map(|p| format!("{} under {p}", count(broken(p))))
        .collect();
    if !others.is_empty() {
        text.push_str(&format!(" Windows violated: {}.", others.join(", ")));
    } else if policies.len() > 1 && broken(own) == 0 {
        text.push_str(" The other policies violated no window either.");
    }
    (assessment, label, text)
}
