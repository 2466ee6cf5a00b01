//! Runs of a scenario: one policy and seed, or many in parallel.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::{FlowId, Span, Time};
use laxity_curve::Envelope;
use laxity_link::buffer::DropReason;
use laxity_link::config::{LinkConfig, LinkConfigError};
use laxity_link::police::Policer;
use laxity_link::registry::{self, BuildError, Visitor};
use laxity_link::{Departure, LinkPolicy, Packet};
use laxity_results::{FlowKind, PolicyResult, SimulationResult};
use laxity_scenario::link::model::{Scenario, Source};
use laxity_traffic::{Arrival, Merge};

use super::closed_loop::{ClosedLoop, Transfers};
use super::engine::{Ending, Observer, run_source};
use super::measure::FlowMeasure;
use super::traffic_source::OpenLoop;
use super::{Generator, Measure};
use crate::{Control, parallel};

/// Where a run's packets come from.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// The scenario's sources, for a time. Traces named by sources are read beforehand.
    Generated {
        /// How long packets arrive.
        duration: Span,
        /// Packets of each source that replays a trace, by flow.
        replayed: Arc<Vec<(FlowId, Vec<Arrival>)>>,
    },
    /// Packets read beforehand, in order of time.
    Recorded(Arc<Vec<Arrival>>),
}

/// Why a run could not start.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimulationError {
    /// A flow has nothing that generates it.
    NoSource {
        /// Its name.
        flow: String,
    },
    /// A bursty or greedy source needs an envelope to be bounded by.
    NoEnvelope {
        /// The flow's name.
        flow: String,
    },
    /// A trace that a source names was not read beforehand.
    TraceNotRead {
        /// The flow's name.
        flow: String,
        /// The file.
        path: PathBuf,
    },
    /// The policy could not be built.
    Policy(BuildError),
    /// It could not because of one flow.
    Flow {
        /// The flow's name.
        flow: String,
        /// The error in it.
        error: LinkConfigError,
    },
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulationError::NoSource { flow } => {
                write!(f, "flow `{flow}` has no `source`; add one, or replay a trace with --trace")
            }
            SimulationError::NoEnvelope { flow } => write!(
                f,
                "flow `{flow}` sends as fast as its envelope allows but has no `envelope`; add one"
            ),
            SimulationError::TraceNotRead { flow, path } => {
                write!(f, "the trace {} of flow `{flow}` was not read", path.display())
            }
            SimulationError::Policy(e) => e.fmt(f),
            SimulationError::Flow { flow, error } => write!(f, "flow `{flow}`: {error}"),
        }
    }
}

impl std::error::Error for SimulationError {}

impl From<BuildError> for SimulationError {
    fn from(e: BuildError) -> Self {
        SimulationError::Policy(e)
    }
}

/// One policy on one sequence of arrivals.
#[derive(Clone, Debug)]
pub struct PolicyRun {
    /// The policy's name.
    pub policy: String,
    /// Seed of the generators.
    pub seed: u64,
    /// The measurements.
    pub measure: Measure,
    /// How it ended.
    pub ending: Ending,
    /// The results of TCP sources, by flow.
    pub transfers: Vec<(FlowId, Transfers)>,
    /// Time over which arrivals were offered, in ns.
    pub duration_ns: u64,
}

impl PolicyRun {
    /// Each flow with what plots need: name, kind, deadline or delay bound, thinned series,
    /// distribution.
    pub fn flows<'a>(
        &'a self,
        scenario: &'a Scenario,
    ) -> impl Iterator<Item = (&'a str, FlowKind, Option<Span>, &'a FlowMeasure)> {
        let realtime = scenario.realtime.iter().map(|f| (FlowKind::Realtime, f.delay_bound()));
        let kinds = realtime.chain(std::iter::repeat((FlowKind::BestEffort, None)));
        let named = scenario.flow_names().zip(kinds).zip(&self.measure.flows);
        named.map(|((name, (kind, deadline)), m)| (name, kind, deadline, m))
    }

    /// The result to print.
    pub fn result(&self, scenario: &Scenario) -> PolicyResult {
        let mut result = self.measure.result(scenario, &self.ending, self.duration_ns);
        for (flow, transfers) in &self.transfers {
            let name = scenario.flow_names().nth(flow.index());
            if let Some(flow) = name.and_then(|name| result.flows.get_mut(name)) {
                flow.tcp = Some(transfers.result(self.duration_ns));
            }
        }
        result
    }
}

impl Traffic {
    /// Over which time packets arrive.
    pub fn duration(&self) -> Span {
        match self {
            Traffic::Generated { duration, .. } => *duration,
            Traffic::Recorded(packets) => Span(packets.last().map_or(0, |p| p.time.0)),
        }
    }

    /// Checks that every flow can be generated.
    ///
    /// # Errors
    /// Names the first flow that cannot.
    pub fn check(&self, scenario: &Scenario) -> Result<(), SimulationError> {
        match self {
            Traffic::Recorded(_) => Ok(()),
            Traffic::Generated { replayed, .. } => {
                flows(scenario).try_for_each(|f| match f.source {
                    _ if f.optional => Ok(()),
                    None => Err(SimulationError::NoSource { flow: f.name.to_owned() }),
                    Some(Source::Trace { path }) if replayed.iter().all(|r| r.0 != f.id) => {
                        let (flow, path) = (f.name.to_owned(), path.clone());
                        Err(SimulationError::TraceNotRead { flow, path })
                    }
                    Some(Source::OnOff { .. } | Source::Greedy { .. }) if f.envelope.is_none() => {
                        Err(SimulationError::NoEnvelope { flow: f.name.to_owned() })
                    }
                    Some(_) => Ok(()),
                })
            }
        }
    }

    /// The generated packets of one seed over `duration`; sources that replay a trace take their
    /// packets from `replayed`.
    pub fn generate<'a>(
        scenario: &'a Scenario,
        seed: u64,
        duration: Span,
        replayed: &'a [(FlowId, Vec<Arrival>)],
    ) -> Merge<Box<dyn Iterator<Item = Arrival> + 'a>> {
        let end = Time(duration.0);
        let mut sources: Vec<Box<dyn Iterator<Item = Arrival>>> = Vec::new();
        for f in flows(scenario) {
            let Some(source) = f.source else { continue };
            if let Some((_, packets)) = replayed.iter().find(|r| r.0 == f.id) {
                sources.push(Box::new(packets.iter().copied().take_while(move |p| p.time < end)));
                continue;
            }
            let policer = f.envelope.map(Policer::new);
            let largest = f.envelope.map_or(scenario.link.max_packet, Envelope::max_packet);
            if let Some(g) = Generator::new(source, f.id, seed, policer, largest, end) {
                sources.push(Box::new(g));
            }
        }
        Merge::new(sources)
    }
}

struct Flow<'a> {
    id: FlowId,
    name: &'a str,
    source: Option<&'a Source>,
    envelope: Option<&'a Envelope>,
    /// The implicit class need not be generated.
    optional: bool,
}

fn flows(scenario: &Scenario) -> impl Iterator<Item = Flow<'_>> {
    let realtime = scenario.realtime.iter().map(|f| Flow {
        id: FlowId(0),
        name: &f.name,
        source: f.source.as_ref(),
        envelope: Some(&f.envelope),
        optional: false,
    });
    let last = scenario.best_effort.len().wrapping_sub(1);
    let best_effort = scenario.best_effort.iter().enumerate().map(move |(i, c)| Flow {
        id: FlowId(0),
        name: &c.name,
        source: c.source.as_ref(),
        envelope: c.envelope.as_ref(),
        optional: i == last && c.source.is_none(),
    });
    realtime.chain(best_effort).zip(0..).map(|(f, i)| Flow { id: FlowId(i), ..f })
}

/// Runs one policy on one seed; `extra`, if any, sees every packet beside the measurement.
///
/// # Errors
/// See [`SimulationError`].
pub fn simulate(
    scenario: &Scenario,
    policy: &str,
    seed: u64,
    traffic: &Traffic,
    extra: Option<&mut dyn Observer>,
    control: &Control,
) -> Result<PolicyRun, SimulationError> {
    driven(scenario, policy, seed, traffic, extra, control, |setup, drive| {
        registry::visit(policy, setup, drive).map_err(|e| named(scenario, e))
    })
}

/// Like [`simulate`], with a policy that the registry does not hold; `name` is its name in results.
///
/// # Errors
/// See [`SimulationError`].
pub fn simulate_policy<P: LinkPolicy + Send + 'static>(
    scenario: &Scenario,
    (name, policy): (&str, P),
    seed: u64,
    traffic: &Traffic,
    extra: Option<&mut dyn Observer>,
    control: &Control,
) -> Result<PolicyRun, SimulationError> {
    driven(scenario, name, seed, traffic, extra, control, |_, drive| Ok(drive.visit(policy)))
}

fn driven(
    scenario: &Scenario,
    name: &str,
    seed: u64,
    traffic: &Traffic,
    extra: Option<&mut dyn Observer>,
    control: &Control,
    drive: impl FnOnce(&LinkConfig, Drive<'_, '_>) -> Result<RunOutcome, SimulationError>,
) -> Result<PolicyRun, SimulationError> {
    traffic.check(scenario)?;
    let setup = LinkConfig { aqm_seed: seed, ..scenario.setup() };
    let duration_ns = traffic.duration().0;
    let mut observer =
        Observed { measure: Measure::new(scenario.flow_count(), duration_ns), extra };
    let parts = Drive { scenario, setup: &setup, seed, traffic, observer: &mut observer, control };
    let RunOutcome { ending, transfers } = drive(&setup, parts)?;
    let (policy, measure) = (name.to_owned(), observer.measure);
    Ok(PolicyRun { policy, seed, measure, ending, transfers, duration_ns })
}

/// The error with the name of the flow that it is about.
fn named(scenario: &Scenario, error: BuildError) -> SimulationError {
    if let BuildError::LinkConfig(error) = &error {
        if let Some(flow) = error.flow().and_then(|flow| scenario.realtime.get(flow)) {
            return SimulationError::Flow { flow: flow.name.clone(), error: error.clone() };
        }
    }
    SimulationError::Policy(error)
}

struct Drive<'a, 'o> {
    scenario: &'a Scenario,
    setup: &'a LinkConfig,
    seed: u64,
    traffic: &'a Traffic,
    observer: &'a mut Observed<'o>,
    control: &'a Control,
}

/// How a run ended, and what its TCP sources achieved.
struct RunOutcome {
    ending: Ending,
    transfers: Vec<(FlowId, Transfers)>,
}

impl Visitor for Drive<'_, '_> {
    type Output = RunOutcome;

    fn visit<P: LinkPolicy + Send + 'static>(self, mut policy: P) -> RunOutcome {
        let (rate, wire) = (self.setup.rate, self.setup.wire);
        let (policy, observer, control) = (&mut policy, self.observer, self.control);
        // All packets from one type of source, and one engine a policy for it.
        let (arrivals, duration) = match self.traffic {
            Traffic::Recorded(packets) => {
                let packets: Box<dyn Iterator<Item = Arrival>> = Box::new(packets.iter().copied());
                (Merge::new(vec![packets]), None)
            }
            Traffic::Generated { duration, replayed } => {
                let arrivals = Traffic::generate(self.scenario, self.seed, *duration, replayed);
                (arrivals, Some(*duration))
            }
        };
        let open = OpenLoop::new(arrivals);
        let source = match duration {
            Some(Span(end)) => ClosedLoop::new(self.scenario, self.seed, Time(end), open),
            None => Err(open),
        };
        let mut transfers = Vec::new();
        let ending = match source {
            Ok(mut closed) => {
                let ending = run_source(policy, &mut closed, rate, wire, observer, control);
                transfers = closed.into_transfers();
                ending
            }
            Err(mut open) => run_source(policy, &mut open, rate, wire, observer, control),
        };
        RunOutcome { ending, transfers }
    }
}

/// The measurement of a run, and who else sees it: one type, and with it one engine a policy for all of them.
struct Observed<'o> {
    measure: Measure,
    extra: Option<&'o mut dyn Observer>,
}

impl Observer for Observed<'_> {
    #[inline]
    fn arrived(&mut self, packet: &Packet) {
        self.measure.arrived(packet);
        if let Some(extra) = &mut self.extra {
            extra.arrived(packet);
        }
    }

    #[inline]
    fn sent(&mut self, departure: &Departure, end: Time) {
        self.measure.sent(departure, end);
        if let Some(extra) = &mut self.extra {
            extra.sent(departure, end);
        }
    }

    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.measure.dropped(now, packet, reason);
        if let Some(extra) = &mut self.extra {
            extra.dropped(now, packet, reason);
        }
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet) {
        self.measure.marked(now, packet);
        if let Some(extra) = &mut self.extra {
            extra.marked(now, packet);
        }
    }
}

/// Runs every policy on every seed on as many threads as there are processors; the results come
/// by seed, then policy, independent of their completion. A stopped run leaves what was done.
///
/// # Errors
/// The first error by seed and policy.
pub fn simulate_all(
    scenario: &Scenario,
    policies: &[String],
    seeds: &[u64],
    traffic: &Traffic,
    control: &Control,
) -> Result<Vec<PolicyRun>, SimulationError> {
    let jobs: Vec<(u64, &String)> =
        seeds.iter().flat_map(|s| policies.iter().map(move |p| (*s, p))).collect();
    parallel::all(&jobs, control, |(seed, policy)| {
        simulate(scenario, policy, *seed, traffic, None, control)
    })
}

/// The results of one seed, to print.
pub fn result(scenario: &Scenario, runs: &[PolicyRun], seed: Option<u64>) -> SimulationResult {
    SimulationResult {
        scenario: scenario.name.clone(),
        seed,
        duration_ns: runs.iter().map(|r| r.duration_ns).max().unwrap_or(0),
        policies: runs.iter().map(|r| (r.policy.clone(), r.result(scenario))).collect(),
    }
}
