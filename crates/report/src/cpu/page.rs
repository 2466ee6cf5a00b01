//! The pages of `laxity simulate --report` and `laxity check --report` for CPUs.

use super::outcome::{CpuOutcome, CpuPolicyDetail, is_due};
use super::{distributions, gantt, progress, tables, verdict};
use crate::cells::percent;
use crate::number::{count, span};
use crate::outcome::Runs as _;
use crate::page::{Assessment, Block, Filter, Kind, Meta, Page, Section, footer};
use laxity_results::{CpuCheckResult, TaskKind};

/// The page of a simulated run.
pub fn cpu_simulation_page(
    outcome: CpuOutcome<'_>,
    details: &[CpuPolicyDetail],
    check: Option<&CpuCheckResult>,
    meta: &Meta,
) -> Page {
    let mut sections = vec![headline(&outcome, check, meta)];
    let shown = match (outcome.is_many(), outcome.first().and_then(|r| r.seed)) {
        (true, Some(seed)) => {
            let note = format!("Of {} seeds, seed {seed} is shown.", outcome.runs().len());
            Some(Block::Text(note))
        }
        _ => None,
    };
    let mut add = |title: &str, figures: Vec<Option<crate::Figure>>, once: Option<Block>| {
        let mut blocks: Vec<Block> = figures.into_iter().flatten().map(Block::Figure).collect();
        if !blocks.is_empty() {
            blocks.splice(0..0, once);
            sections.push(Section::new(title, blocks));
        }
    };
    add("The schedule", vec![gantt::figure(&outcome, details)], shown);
    let progress =
        vec![progress::figure(&outcome, details), progress::differences(&outcome, details)];
    add("Progress", progress, None);
    let distributions = vec![
        distributions::response(&outcome, details),
        distributions::tardiness(&outcome, details),
    ];
    add("Response and tardiness", distributions, None);
    let tables = tables::cpu_tables(outcome).into_iter().map(Block::Table).collect();
    sections.push(Section::new("All numbers", tables));
    let run = outcome.first();
    let mut facts = Vec::new();
    if let Some(run) = run {
        facts.push(("Scenario".into(), run.scenario.clone()));
        facts.push(("Duration".into(), span(run.duration_ns)));
    }
    let left_out: u64 = details.iter().map(|d| d.left_out).fold(0, u64::saturating_add);
    if left_out > 0 {
        let text = format!("{} slices and jobs at the end of the run", count(left_out));
        facts.push(("Left out of the plots".into(), text));
    }
    Page {
        title: run.map_or(String::new(), |r| r.scenario.clone()),
        scenario: "report of simulated CPUs".into(),
        kind: meta.kind,
        filters: vec![
            Filter::new("Policy", outcome.policies()),
            Filter::new("Task", outcome.items()),
        ],
        sections,
        provenance: footer(meta, facts),
    }
}

/// The page of an analysis without a run.
pub fn cpu_check_page(scenario: &str, check: &CpuCheckResult, meta: &Meta) -> Page {
    let (assessment, label, text) = verdict::cpu_verdict(check);
    let mut blocks = vec![Block::Statement(assessment, label.into(), text)];
    blocks.extend(details(check));
    Page {
        title: scenario.into(),
        scenario: "admission report".into(),
        kind: Kind::Analysed,
        filters: Vec::new(),
        sections: vec![Section::new("Verdict", blocks)],
        provenance: footer(meta, Vec::new()),
    }
}

fn details(check: &CpuCheckResult) -> Vec<Block> {
    let mut blocks: Vec<Block> = verdict::cpu_reasons(check).into_iter().map(Block::Text).collect();
    if !check.requests.is_empty() {
        blocks.push(Block::Table(verdict::cpu_check_table(check)));
    }
    blocks
}

fn headline(outcome: &CpuOutcome<'_>, check: Option<&CpuCheckResult>, meta: &Meta) -> Section {
    let mut blocks = Vec::new();
    if let Some(check) = check {
        let (assessment, label, text) = verdict::cpu_verdict(check);
        blocks.push(Block::Statement(assessment, label.into(), text));
    }
    let (assessment, label, text) = cpu_statement(*outcome, meta.policy.as_deref());
    blocks.push(Block::Statement(assessment, label, text));
    if let Some(run) = outcome.first() {
        let seeds: Vec<u64> = outcome.runs().iter().filter_map(|r| r.seed).collect();
        blocks.push(Block::Facts(vec![
            ("CPUs".into(), count(run.cpus.into())),
            ("Tasks".into(), count(outcome.items().len() as u64)),
            ("Duration of a run".into(), span(run.duration_ns)),
            ("Runs".into(), crate::cells::runs(&seeds, "one")),
        ]));
    }
    if let Some(check) = check {
        let why = details(check);
        if !why.is_empty() {
            blocks.push(Block::More("What admission rests on".into(), why));
        }
    }
    Section::new("In short", blocks)
}

/// The summary of a run: (mood, label, text). `policy` is the policy to judge, the last
/// when absent.
pub fn cpu_statement(
    outcome: CpuOutcome<'_>,
    policy: Option<&str>,
) -> (Assessment, String, String) {
    let policies = outcome.policies();
    let Some(last) = policies.last().copied() else {
        return (Assessment::Neutral, "Nothing was run.".into(), String::new());
    };
    let own = policy.and_then(|p| policies.iter().copied().find(|q| *q == p)).unwrap_or(last);
    let missed = |policy| outcome.total(policy, |t| t.deadline_misses);
    let hard = |policy| {
        outcome.total(policy, |t| if t.kind == TaskKind::Hard { t.deadline_misses } else { 0 })
    };
    let due = outcome.total(own, |t| if is_due(t) { t.jobs } else { 0 });
    let refused = outcome.total(own, |t| u64::from(t.refused.is_some()));
    if refused > 0 {
        let text = format!(
            "Under {own} {} refused, and did not run or ran without the reservation.",
            tasks(refused)
        );
        return (Assessment::Bad, "Refused.".into(), text);
    }
    if due == 0 {
        let text =
            "No task had a deadline within the run; shares, response times and gaps are below."
                .into();
        return (Assessment::Neutral, "No deadlines.".into(), text);
    }
    let (assessment, label) = match (hard(own), missed(own)) {
        (0, 0) => (Assessment::Good, "Every deadline met.".to_owned()),
        (0, n) => (Assessment::Neutral, format!("{} missed, none of a hard task.", deadlines(n))),
        (n, _) => (Assessment::Bad, format!("{} of hard tasks missed.", deadlines(n))),
    };
    let mut text = match missed(own) {
        0 => format!("Under {own} all {} jobs with a deadline were in time.", count(due)),
        n => format!(
            "Under {own} {} of {} jobs with a deadline were late, {}%.",
            count(n),
            count(due),
            percent(n as f64 / due as f64)
        ),
    };
    let others: Vec<String> = policies
        .iter()
        .filter(|p| **p != own)
        .map(|p| format!("{} under {p}", count(missed(p))))
        .collect();
    if !others.is_empty() {
        text.push_str(&format!(" Missed with the others: {}.", others.join(", ")));
    }
    (assessment, label, text)
}

fn deadlines(n: u64) -> String {
    if n == 1 { "1 deadline".into() } else { format!("{} deadlines", count(n)) }
}

fn tasks(n: u64) -> String {
    if n == 1 { "1 task was".into() } else { format!("{} tasks were", count(n)) }
}
