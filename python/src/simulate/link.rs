//! Simulations of links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use laxity_analysis::{link, page};
use laxity_core::{FlowId, Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::registry::POLICIES;
use laxity_link::{Departure, Packet};
use laxity_report::{self as report, Page, text};
use laxity_results::csv::Outcome as Fate;
use laxity_results::table::{Table, Tabular};
use laxity_results::{SimulationResult, SimulationRuns};
use laxity_scenario::link::model::{Scenario, Source};
use laxity_sim::Control;
use laxity_sim::link::measure::{MARKED, UNSERVED};
use laxity_sim::link::simulate::result;
use laxity_sim::link::{
    Observer, PolicyRun, Traffic, replay, simulate, simulate_all, simulate_policy, summary,
};
use pyo3::prelude::*;

use super::{Outcome, interruptible, meta, results, seeds_fact};
use crate::choice::{Choice, Request};
use crate::error;
use crate::link_callback::Callback;
use crate::table::{Flags, Numbers, PyTable, Words};

/// Default of `duration`, that of the command.
const DURATION: Span = Span::from_millis(60_000);

/// The finished simulation of a link.
struct LinkOutcome {
    scenario: Arc<Scenario>,
    runs: Vec<PolicyRun>,
    results: Vec<SimulationResult>,
    /// Whether several seeds were requested.
    many: bool,
    generated: bool,
    records: Vec<(&'static str, PyTable)>,
}

/// Runs the policies of a request.
pub fn run(
    py: Python<'_>,
    scenario: &Arc<Scenario>,
    request: Request,
) -> PyResult<Box<dyn Outcome>> {
    let own = &scenario.policy;
    let choices = request.choices(py, POLICIES, super::own_policies(&own.compare, &own.use_))?;
    let control = Arc::new(Control::default());
    let (runs, recorder, generated) = interruptible(py, &control, || {
        let traffic = traffic(scenario, &request)?;
        let generated = matches!(traffic, Traffic::Generated { .. });
        let (runs, recorder) = runs(scenario, &choices, &request, &traffic, &control)?;
        Ok((runs, recorder, generated))
    })?;
    let one = |own: &[PolicyRun], seed| result(scenario, own, generated.then_some(seed));
    let results = results(&runs, &request.seeds, |run| run.seed, one);
    let records = recorder.map(Recorder::finish).transpose()?;
    let records = records.map(|table| ("packets", table)).into_iter().collect();
    let (scenario, many) = (Arc::clone(scenario), request.many);
    Ok(Box::new(LinkOutcome { scenario, runs, results, many, generated, records }))
}

fn traffic(scenario: &Scenario, request: &Request) -> PyResult<Traffic> {
    if let Some(trace) = &request.trace {
        return Ok(Traffic::Recorded(Arc::new(trace.packets(scenario)?)));
    }
    let mut replayed = Vec::new();
    let realtime = scenario.realtime.iter().map(|f| f.source.as_ref());
    let best_effort = scenario.best_effort.iter().map(|c| c.source.as_ref());
    for (source, id) in realtime.chain(best_effort).zip((0..).map(FlowId)) {
        if let Some(Source::Trace { path }) = source {
            replayed.push((id, replay::read_flow(path, scenario, id).map_err(error::input)?));
        }
    }
    let duration = request.duration.unwrap_or(DURATION);
    Ok(Traffic::Generated { duration, replayed: Arc::new(replayed) })
}

fn runs(
    scenario: &Arc<Scenario>,
    choices: &[Choice],
    request: &Request,
    traffic: &Traffic,
    control: &Arc<Control>,
) -> PyResult<(Vec<PolicyRun>, Option<Recorder>)> {
    let names: Option<Vec<String>> = choices.iter().map(Choice::built_in).collect();
    if let (Some(names), false) = (names, request.record) {
        let runs = simulate_all(scenario, &names, &request.seeds, traffic, control);
        return Ok((runs.map_err(error::input)?, None));
    }
    let mut recorder = request.record.then(|| Recorder::new(scenario));
    let mut runs = Vec::new();
    for seed in &request.seeds {
        for choice in choices {
            let mut extra = Observed(recorder.as_mut());
            extra.begin(choice.name(), *seed);
            let run = match choice {
                Choice::BuiltIn(name) => {
                    simulate(scenario, name, *seed, traffic, Some(&mut extra), control)
                        .map_err(error::input)?
                }
                Choice::Python { name, factory } => Python::attach(|py| {
                    let (policy, failure) = Callback::new(py, factory, scenario, control)?;
                    let policy = (name.as_str(), policy);
                    let run = simulate_policy(
                        scenario,
                        policy,
                        *seed,
                        traffic,
                        Some(&mut extra),
                        control,
                    );
                    failure.check()?;
                    run.map_err(error::input)
                })?,
                Choice::Planned { name, plan } => {
                    let policy = (name.as_str(), plan.policy(scenario)?);
                    simulate_policy(scenario, policy, *seed, traffic, Some(&mut extra), control)
                        .map_err(error::input)?
                }
            };
            extra.end(run.ending.complete);
            runs.push(run);
        }
    }
    Ok((runs, recorder))
}

impl LinkOutcome {
    fn all(&self) -> Option<SimulationRuns> {
        self.many.then(|| SimulationRuns {
            summary: summary::of(&self.results),
            runs: self.results.clone(),
        })
    }
}

impl Outcome for LinkOutcome {
    fn json(&self) -> serde_json::Result<String> {
        match (self.all(), &self.results[..]) {
            (None, [one]) => serde_json::to_string(one),
            (all, _) => serde_json::to_string(&all),
        }
    }

    fn text(&self) -> String {
        let used = Some(self.scenario.policy.use_.as_str());
        match (self.all(), &self.results[..]) {
            (None, [one]) => text::simulation(one, used, text::Style::PLAIN),
            (Some(all), _) => text::simulation(&all, used, text::Style::PLAIN),
            (None, _) => String::new(),
        }
    }

    fn page(&self) -> Page {
        let traffic = match self.generated {
            true => "generated from the scenario's sources",
            false => "recorded",
        };
        let mut facts = vec![("Traffic".to_owned(), traffic.to_owned())];
        if self.generated {
            let seeds: Vec<u64> = self.results.iter().filter_map(|r| r.seed).collect();
            facts.push(seeds_fact(&seeds));
        }
        let meta = report::Meta {
            facts,
            ..page::link_meta(&self.scenario, meta(&self.scenario.policy.use_))
        };
        let check = link::analyse(&self.scenario, &self.scenario.policy.use_).ok();
        let plot = page::residual_plot(&self.scenario);
        let details = page::link_details(&self.scenario, &self.runs);
        let show = |outcome: report::Outcome<'_>| {
            report::simulation_page(outcome, &details, check.as_ref(), plot.as_ref(), &meta)
        };
        match (self.all(), &self.results[..]) {
            (None, [one]) => show(report::Outcome::One(one)),
            (all, _) => show(report::Outcome::Runs(&all.unwrap_or(SimulationRuns {
                summary: summary::of(&self.results),
                runs: self.results.clone(),
            }))),
        }
    }

    fn table(&self) -> Table {
        SimulationResult::table(&self.results)
    }

    fn promises_kept(&self) -> bool {
        !self.runs.iter().any(|r| {
            let realtime = &r.measure.flows[..self.scenario.realtime.len()];
            realtime.iter().any(|f| f.missed > 0) && link::promises(&self.scenario, &r.policy)
        })
    }

    fn records(&self) -> &[(&'static str, PyTable)] {
        &self.records
    }
}

/// What happened to each packet, as columns.
struct Recorder {
    names: Vec<String>,
    policy: String,
    seed: u64,
    /// Packets that wait, by number.
    waiting: BTreeMap<u64, Packet>,
    /// Those of them that the AQM marked.
    marked: BTreeSet<u64>,
    policies: Words,
    seeds: Numbers,
    seqs: Numbers,
    flows: Words,
    bytes: Numbers,
    arrivals: Numbers,
    departures: Numbers,
    deadlines: Numbers,
    outcomes: Words,
    demoted: Flags,
    reasons: Words,
}

impl Recorder {
    fn new(scenario: &Scenario) -> Recorder {
        Recorder {
            names: scenario.flow_names().map(str::to_owned).collect(),
            policy: String::new(),
            seed: 0,
            waiting: BTreeMap::new(),
            marked: BTreeSet::new(),
            policies: Words::default(),
            seeds: Numbers::default(),
            seqs: Numbers::default(),
            flows: Words::default(),
            bytes: Numbers::default(),
            arrivals: Numbers::default(),
            departures: Numbers::default(),
            deadlines: Numbers::default(),
            outcomes: Words::default(),
            demoted: Flags::default(),
            reasons: Words::default(),
        }
    }

    fn row(
        &mut self,
        packet: &Packet,
        end: Option<Time>,
        deadline: Option<Time>,
        fate: Fate,
        reason: &str,
    ) {
        self.policies.push(&self.policy);
        self.seeds.push(Some(self.seed));
        self.seqs.push(Some(packet.seq));
        self.flows.push(&self.names[packet.flow.index()]);
        self.bytes.push(Some(packet.bytes.into()));
        self.arrivals.push(Some(packet.arrival.0));
        self.departures.push(end.map(|t| t.0));
        self.deadlines.push(deadline.map(|t| t.0));
        self.outcomes.push(fate.name());
        self.demoted.push(packet.demoted);
        self.reasons.push(reason);
    }

    fn finish(self) -> PyResult<PyTable> {
        let columns = [
            ("policy", self.policies.finish(), false),
            ("seed", self.seeds.finish(), false),
            ("seq", self.seqs.finish(), false),
            ("flow", self.flows.finish(), false),
            ("bytes", self.bytes.finish(), false),
            ("arrival_ns", self.arrivals.finish(), false),
            ("departure_ns", self.departures.finish(), true),
            ("deadline_ns", self.deadlines.finish(), true),
            ("outcome", self.outcomes.finish(), false),
            ("demoted", self.demoted.finish(), false),
            ("reason", self.reasons.finish(), false),
        ];
        PyTable::of(columns.into_iter())
    }
}

/// A recorder, if there is one.
struct Observed<'a>(Option<&'a mut Recorder>);

impl Observed<'_> {
    fn begin(&mut self, policy: &str, seed: u64) {
        let Some(recorder) = &mut self.0 else { return };
        policy.clone_into(&mut recorder.policy);
        recorder.seed = seed;
        recorder.waiting.clear();
        recorder.marked.clear();
    }

    /// Packets that still wait are rows too, unless the run was broken off.
    fn end(&mut self, complete: bool) {
        let Some(recorder) = &mut self.0 else { return };
        let waiting = std::mem::take(&mut recorder.waiting);
        for packet in waiting.values().filter(|_| complete) {
            recorder.row(packet, None, None, Fate::Dropped, UNSERVED);
        }
    }
}

impl Observer for Observed<'_> {
    fn arrived(&mut self, packet: &Packet) {
        if let Some(recorder) = &mut self.0 {
            recorder.waiting.insert(packet.seq, *packet);
        }
    }

    fn sent(&mut self, departure: &Departure, end: Time) {
        let Some(recorder) = &mut self.0 else { return };
        let packet = &departure.packet;
        recorder.waiting.remove(&packet.seq);
        let marked = recorder.marked.remove(&packet.seq);
        let late = departure.realtime && end > departure.deadline;
        let deadline = Some(departure.deadline).filter(|d| *d != Time::MAX);
        let reason = match (packet.demoted, marked) {
            (true, _) => DropReason::Excess.name(),
            (false, true) => MARKED,
            (false, false) => "",
        };
        recorder.row(
            packet,
            Some(end),
            deadline,
            if late { Fate::Late } else { Fate::Sent },
            reason,
        );
    }

    fn marked(&mut self, _: Time, packet: &Packet) {
        if let Some(recorder) = &mut self.0 {
            recorder.marked.insert(packet.seq);
        }
    }

    fn dropped(&mut self, _: Time, packet: &Packet, reason: DropReason) {
        let Some(recorder) = &mut self.0 else { return };
        recorder.waiting.remove(&packet.seq);
        recorder.marked.remove(&packet.seq);
        recorder.row(packet, None, None, Fate::Dropped, reason.name());
    }
}
