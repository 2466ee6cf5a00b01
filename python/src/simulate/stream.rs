//! Simulations of media servers.

use std::sync::Arc;

use laxity_analysis::page::stream_details;
use laxity_analysis::stream;
use laxity_core::{Span, Time};
use laxity_report::{self as report, Page, StreamOutcome as Shown, text};
use laxity_results::csv::Outcome as Fate;
use laxity_results::table::{Table, Tabular};
use laxity_results::{StreamSimulationResult, StreamSimulationRuns};
use laxity_scenario::stream::StreamScenario;
use laxity_scenario::stream::policies::POLICIES;
use laxity_sim::Control;
use laxity_sim::stream::engine::{Loss, Sent, StreamObserver, StreamPacket};
use laxity_sim::stream::simulate::result;
use laxity_sim::stream::{StreamRun, simulate, simulate_all, simulate_structure, summary};
use pyo3::prelude::*;

use super::{Outcome, interruptible, meta, results, seeds_fact};
use crate::choice::{Choice, Request};
use crate::error;
use crate::stream_callback::Callback;
use crate::table::{Numbers, PyTable, Words};

/// Default of `duration`, that of the command.
const DURATION: Span = Span::from_millis(10_000);

/// The finished simulation of a media server.
struct StreamOutcome {
    scenario: Arc<StreamScenario>,
    runs: Vec<StreamRun>,
    results: Vec<StreamSimulationResult>,
    many: bool,
    records: Vec<(&'static str, PyTable)>,
}

/// Runs the policies of a request.
pub fn run(
    py: Python<'_>,
    scenario: &Arc<StreamScenario>,
    request: Request,
) -> PyResult<Box<dyn Outcome>> {
    if request.trace.is_some() {
        return Err(error::input("trace has no meaning for streams: it is about links"));
    }
    let own = &scenario.policy;
    let choices = request.choices(py, POLICIES, super::own_policies(&own.compare, &own.use_))?;
    let control = Arc::new(Control::default());
    let duration = request.duration.unwrap_or(DURATION);
    let (runs, recorder) =
        interruptible(py, &control, || runs(scenario, &choices, &request, duration, &control))?;
    let one = |own: &[StreamRun], seed| result(scenario, own, Some(seed));
    let results = results(&runs, &request.seeds, |run| run.seed, one);
    let records = recorder.map(Recorder::finish).transpose()?;
    let records = records.map(|table| ("packets", table)).into_iter().collect();
    let (scenario, many) = (Arc::clone(scenario), request.many);
    Ok(Box::new(StreamOutcome { scenario, runs, results, many, records }))
}

fn runs(
    scenario: &StreamScenario,
    choices: &[Choice],
    request: &Request,
    duration: Span,
    control: &Arc<Control>,
) -> PyResult<(Vec<StreamRun>, Option<Recorder>)> {
    let names: Option<Vec<String>> = choices.iter().map(Choice::built_in).collect();
    if let (Some(names), false) = (names, request.record) {
        let runs = simulate_all(scenario, &names, &request.seeds, duration, control);
        return Ok((runs.map_err(error::input)?, None));
    }
    let mut recorder = request.record.then(|| Recorder::new(scenario));
    let mut runs = Vec::new();
    for seed in &request.seeds {
        for choice in choices {
            if let Some(recorder) = &mut recorder {
                recorder.run = (choice.name().to_owned(), *seed);
            }
            let mut seen = Observed(recorder.as_mut());
            let run = match choice {
                Choice::BuiltIn(name) => {
                    simulate(scenario, name, *seed, duration, Some(&mut seen), control)
                        .map_err(error::input)?
                }
                Choice::Python { name, factory } => Python::attach(|py| {
                    let (policy, failure) = Callback::new(py, factory, scenario, control)?;
                    let policy = (name.as_str(), policy);
                    let run = simulate_structure(
                        scenario,
                        policy,
                        *seed,
                        duration,
                        Some(&mut seen),
                        control,
                    );
                    failure.check()?;
                    run.map_err(error::input)
                })?,
                Choice::Planned { name, .. } => {
                    return Err(error::input(format_args!("`{name}` is a plan for links")));
                }
            };
            runs.push(run);
        }
    }
    Ok((runs, recorder))
}

/// A recorder, if there is one.
struct Observed<'a>(Option<&'a mut Recorder>);

impl StreamObserver for Observed<'_> {
    fn sent(&mut self, packet: &StreamPacket, how: &Sent) {
        if let Some(recorder) = &mut self.0 {
            let fate = if how.late { Fate::Late } else { Fate::Sent };
            recorder.row(packet, Some(how.end), how.deadline, fate, "");
        }
    }

    fn lost(&mut self, packet: &StreamPacket, deadline: Option<Time>, why: Loss) {
        if let Some(recorder) = &mut self.0 {
            recorder.row(packet, None, deadline, Fate::Dropped, why.name());
        }
    }
}

/// What happened to each packet, as columns.
struct Recorder {
    names: Vec<String>,
    run: (String, u64),
    policies: Words,
    seeds: Numbers,
    seqs: Numbers,
    classes: Words,
    streams: Numbers,
    bytes: Numbers,
    arrivals: Numbers,
    departures: Numbers,
    deadlines: Numbers,
    outcomes: Words,
    reasons: Words,
}

impl Recorder {
    fn new(scenario: &StreamScenario) -> Recorder {
        Recorder {
            names: scenario.streams.iter().map(|class| class.name.clone()).collect(),
            run: (String::new(), 0),
            policies: Words::default(),
            seeds: Numbers::default(),
            seqs: Numbers::default(),
            classes: Words::default(),
            streams: Numbers::default(),
            bytes: Numbers::default(),
            arrivals: Numbers::default(),
            departures: Numbers::default(),
            deadlines: Numbers::default(),
            outcomes: Words::default(),
            reasons: Words::default(),
        }
    }

    fn row(
        &mut self,
        packet: &StreamPacket,
        end: Option<Time>,
        deadline: Option<Time>,
        fate: Fate,
        reason: &str,
    ) {
        self.policies.push(&self.run.0);
        self.seeds.push(Some(self.run.1));
        self.seqs.push(Some(packet.seq));
        self.classes.push(&self.names[packet.class as usize]);
        self.streams.push(Some(packet.stream.into()));
        self.bytes.push(Some(packet.bytes.into()));
        self.arrivals.push(Some(packet.arrival.0));
        self.departures.push(end.map(|t| t.0));
        self.deadlines.push(deadline.map(|t| t.0));
        self.outcomes.push(fate.name());
        self.reasons.push(reason);
    }

    fn finish(self) -> PyResult<PyTable> {
        let columns = [
            ("policy", self.policies.finish(), false),
            ("seed", self.seeds.finish(), false),
            ("seq", self.seqs.finish(), false),
            ("class", self.classes.finish(), false),
            ("stream", self.streams.finish(), false),
            ("bytes", self.bytes.finish(), false),
            ("arrival_ns", self.arrivals.finish(), false),
            ("departure_ns", self.departures.finish(), true),
            ("deadline_ns", self.deadlines.finish(), true),
            ("outcome", self.outcomes.finish(), false),
            ("reason", self.reasons.finish(), false),
        ];
        PyTable::of(columns.into_iter())
    }
}

impl StreamOutcome {
    fn all(&self) -> StreamSimulationRuns {
        StreamSimulationRuns { summary: summary::of(&self.results), runs: self.results.clone() }
    }

    fn shown<T>(&self, show: impl FnOnce(Shown<'_>) -> T) -> T {
        match (self.many, &self.results[..]) {
            (false, [one]) => show(Shown::One(one)),
            _ => show(Shown::Runs(&self.all())),
        }
    }
}

impl Outcome for StreamOutcome {
    fn json(&self) -> serde_json::Result<String> {
        match (self.many, &self.results[..]) {
            (false, [one]) => serde_json::to_string(one),
            _ => serde_json::to_string(&self.all()),
        }
    }

    fn text(&self) -> String {
        let used = Some(self.scenario.policy.use_.as_str());
        self.shown(|outcome| text::stream_simulation(outcome, used, text::Style::PLAIN))
    }

    fn page(&self) -> Page {
        let used = &self.scenario.policy.use_;
        let seeds: Vec<u64> = self.results.iter().filter_map(|r| r.seed).collect();
        let meta = report::Meta { facts: vec![seeds_fact(&seeds)], ..meta(used) };
        let check = stream::analyse(&self.scenario, used);
        let details = stream_details(&self.scenario, &self.runs);
        self.shown(|outcome| report::stream_simulation_page(outcome, &details, Some(&check), &meta))
    }

    fn table(&self) -> Table {
        StreamSimulationResult::table(&self.results)
    }

    fn promises_kept(&self) -> bool {
        !self.runs.iter().any(|run| {
            let check = stream::analyse(&self.scenario, &run.policy);
            let violated = run.classes.iter().any(|c| c.measures.tumbling > 0);
            check.guaranteed && check.intermittent.is_empty() && violated
        })
    }

    fn records(&self) -> &[(&'static str, PyTable)] {
        &self.records
    }
}
