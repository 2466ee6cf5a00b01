//! The pages of `laxity simulate --report` and `laxity check`.

use super::outcome::{Outcome, PolicyDetail};
use super::residual::ResidualPlot;
use super::service::service_figure;
use super::tables::{self, deadline, ns};
use super::tcp_table;
use super::{distributions, timeline, verdict};
use crate::cells;
use crate::number::{Delays, count, percent, span};
use crate::outcome::Runs as _;
use crate::page::{Assessment, Block, Filter, Kind, Meta, Page, Section, footer};
use laxity_results::{CheckResult, FlowKind, SimulationResult, SimulationRuns};

/// The page of a simulated or live run. Sections without data are left out.
pub fn simulation_page<'a>(
    outcome: impl Into<Outcome<'a>>,
    details: &[PolicyDetail],
    check: Option<&CheckResult>,
    residual: Option<&ResidualPlot>,
    meta: &Meta,
) -> Page {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let mut sections = vec![headline(&outcome, check, meta)];
    let mut add = |title: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section::new(title, blocks));
        }
    };
    add("Residual capacity", residual_blocks(check, residual, &policies));
    let tables = tables::delay_tables(outcome);
    if tables.iter().any(|t| !t.is_empty()) {
        let loss = Block::Table(tables::loss_table(outcome));
        add("Delays", vec![Block::Tables(tables), loss]);
    }
    let mut over_time = timeline::blocks(&outcome, details, meta);
    let mut spread: Vec<Block> = [
        distributions::box_figure(&outcome, details),
        distributions::ccdf_figure(&outcome, details),
    ]
    .into_iter()
    .flatten()
    .map(Block::Figure)
    .collect();
    if let (true, Some(seed)) = (outcome.is_many(), outcome.first().and_then(|r| r.seed)) {
        let note = format!("Of {} seeds, seed {seed} is shown.", outcome.runs().len());
        for blocks in [&mut over_time, &mut spread] {
            if !blocks.is_empty() {
                blocks.insert(0, Block::Text(note.clone()));
            }
        }
    }
    add("Delay over time", over_time);
    add("Distribution of delays", spread);
    let margins = tables::margin_table(outcome);
    if !margins.is_empty() {
        let figure = distributions::margin_figure(&outcome).map(Block::Figure);
        add(
            "Margins to the deadlines",
            figure.into_iter().chain([Block::Table(margins)]).collect(),
        );
    }
    let drops = tables::drop_table(outcome);
    if !policies.is_empty() {
        let block = if drops.is_empty() {
            Block::Text("No packet was dropped under any policy.".into())
        } else {
            Block::Table(drops)
        };
        let aqm = tables::aqm_table(outcome);
        let aqm = (!aqm.is_empty()).then_some(Block::Table(aqm));
        add("Drops", [block].into_iter().chain(aqm).collect());
        let tcp = tcp_table(outcome);
        if !tcp.is_empty() {
            add("TCP", vec![Block::Table(tcp)]);
        }
    }
    let scenario = outcome.first().map_or("", |r| r.scenario.as_str());
    let flows = [FlowKind::Realtime, FlowKind::BestEffort].map(|kind| outcome.flows(kind)).concat();
    Page {
        title: scenario.into(),
        scenario: match meta.kind {
            Kind::Live => "report of a live link",
            _ => "report of a simulated link",
        }
        .into(),
        kind: meta.kind,
        filters: vec![Filter::new("Policy", outcome.policies()), Filter::new("Flow", flows)],
        sections,
        provenance: provenance(&outcome, meta),
    }
}

/// The page of an analysis without a run.
pub fn check_page(
    scenario: &str,
    check: &CheckResult,
    residual: Option<&ResidualPlot>,
    meta: &Meta,
) -> Page {
    let mut sections = vec![Section::new("Verdict", verdict::blocks(check, &meta.deadlines, meta))];
    let blocks = residual_blocks(Some(check), residual, &[]);
    if !blocks.is_empty() {
        sections.push(Section::new("Residual capacity", blocks));
    }
    Page {
        title: scenario.into(),
        scenario: "admission report".into(),
        kind: Kind::Analysed,
        filters: Vec::new(),
        sections,
        provenance: footer(meta, Vec::new()),
    }
}

fn residual_blocks(
    check: Option<&CheckResult>,
    residual: Option<&ResidualPlot>,
    policies: &[&str],
) -> Vec<Block> {
    let own = check.map(|c| ResidualPlot::from_corners(&c.residual));
    let figure = residual.or(own.as_ref()).and_then(|r| r.figure(policies));
    let curves = check.and_then(service_figure);
    figure.into_iter().chain(curves).map(Block::Figure).collect()
}

fn headline(outcome: &Outcome, check: Option<&CheckResult>, meta: &Meta) -> Section {
    let mut blocks = Vec::new();
    let mut facts = Vec::new();
    if let Some(check) = check {
        let mut deadlines = meta.deadlines.clone();
        for flow in outcome.flows(FlowKind::Realtime) {
            if let Some(d) = deadline(outcome, flow) {
                if !deadlines.iter().any(|(n, _)| n == flow) {
                    deadlines.push((flow.into(), ns(d)));
                }
            }
        }
        blocks.extend(verdict::blocks(check, &deadlines, meta));
    } else {
        facts.extend(verdict::link_facts(meta));
    }
    if let Some(first) = outcome.first() {
        let (assessment, label, text) = summary_statement(*outcome, meta.policy.as_deref());
        // The verdict holds for all traffic, the run for this one: verdict first.
        blocks.push(Block::Statement(assessment, label, text));
        let packets = first
            .policies
            .values()
            .map(|p| p.flows.values().map(|f| f.packets).fold(0, u64::saturating_add));
        facts.push(("Duration of a run".into(), span(first.duration_ns)));
        facts.push(("Packets in it".into(), tables::count_range(packets).0));
        facts.push(("Runs".into(), seeds(outcome)));
        blocks.push(Block::Facts(facts));
        let table = tables::policy_table(*outcome);
        if !table.is_empty() {
            blocks.push(Block::Table(table));
        }
    }
    Section::new("In short", blocks)
}

/// The summary of a run: (mood, label, text). `policy` is the policy to judge, the last
/// when absent.
pub fn summary_statement<'a>(
    outcome: impl Into<Outcome<'a>>,
    policy: Option<&str>,
) -> (Assessment, String, String) {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let Some(first) = policies.first().copied() else {
        return (Assessment::Neutral, "Nothing was run.".into(), String::new());
    };
    let own = policy.and_then(|p| policies.iter().copied().find(|q| *q == p));
    let own = own.unwrap_or(policies[policies.len() - 1]);
    let missed = outcome.missed(own);
    let others: Vec<String> = policies
        .iter()
        .filter(|p| **p != own && outcome.missed(p) > 0)
        .map(|p| format!("{p} ({})", count(outcome.missed(p))))
        .collect();
    let realtime = !outcome.flows(FlowKind::Realtime).is_empty();
    let (assessment, label) = match (realtime, missed) {
        (false, _) => (Assessment::Neutral, "Run complete.".to_string()),
        (true, 0) => (Assessment::Good, "No deadline missed.".to_string()),
        (true, 1) => (Assessment::Bad, "1 deadline missed.".to_string()),
        (true, n) => (Assessment::Bad, format!("{} deadlines missed.", count(n))),
    };
    let mut text = match (outcome.best_effort_mean(first), outcome.best_effort_mean(own)) {
        (Some(reference), Some(mean)) if own != first => {
            let unit = Delays::of([reference, mean].into_iter());
            let change = match percent((mean - reference).abs(), reference) {
                Some(p) if mean < reference => format!(", {p} less than"),
                Some(p) if mean > reference => format!(", {p} more than"),
                _ => ", against".into(),
            };
            format!(
                "Under {own} a best-effort packet waited {} {} on average{change} the {} {} under \
                 {first}.",
                unit.text(mean),
                unit.unit,
                unit.text(reference),
                unit.unit,
            )
        }
        (_, Some(mean)) => {
            let unit = Delays::of([mean].into_iter());
            format!(
                "Under {own} a best-effort packet waited {} {} on average.",
                unit.text(mean),
                unit.unit
            )
        }
        _ => format!("Under {own} no best-effort packet was sent."),
    };
    if !others.is_empty() {
        text.push_str(&format!(" Deadlines were missed under {}.", others.join(", ")));
    } else if realtime && missed == 0 && policies.len() > 1 {
        text.push_str(" The other policies missed none either.");
    }
    (assessment, label, text)
}

fn seeds(outcome: &Outcome) -> String {
    let seeds: Vec<u64> = outcome.runs().iter().filter_map(|r| r.seed).collect();
    cells::runs(&seeds, "one, from a trace")
}

fn provenance(outcome: &Outcome, meta: &Meta) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(run) = outcome.first() {
        facts.push(("Scenario".into(), run.scenario.clone()));
        facts.push(("Runs".into(), seeds(outcome)));
        facts.push(("Duration".into(), span(run.duration_ns)));
    }
    footer(meta, facts)
}

/// One seed, as a shorthand for callers that hold results by value.
impl Page {
    /// [`simulation_page`] of one run without plots that need details.
    pub fn of_result(result: &SimulationResult, meta: &Meta) -> Page {
        simulation_page(result, &[], None, None, meta)
    }

    /// [`simulation_page`] of several runs without plots that need details.
    pub fn of_runs(runs: &SimulationRuns, meta: &Meta) -> Page {
        simulation_page(runs, &[], None, None, meta)
    }
}
