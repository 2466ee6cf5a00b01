//! Runs of a stream scenario: one policy and seed, or many in parallel.

use std::fmt;

use laxity_core::{Span, Time};
use laxity_dwcs::structure::{Structure, Unsupported};
use laxity_dwcs::{JoinError, Ledger, Scheduler};
use laxity_results::{StreamPolicyResult, StreamSimulationResult};
use laxity_scenario::stream::model::{StreamClass, StreamScenario};

use super::arrivals::StreamArrivals;
use super::engine::{self, Setting, StreamEnding, StreamObserver, Tap};
use super::fifos::{FifoClass, Fifos};
use super::measure::{ClassMeasure, histories_fit};
use super::policy::{self, Visitor};
use super::source::Pattern;
use crate::{Control, parallel};

/// Why a run could not start.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamSimulationError {
    /// No policy has this name.
    UnknownPolicy(String),
    /// The policy's options do not go together.
    Policy {
        /// The policy.
        policy: String,
        /// The unsupported option.
        error: Unsupported,
    },
    /// A file or another process gives the packets, and no gap says how often.
    NoPace {
        /// The class.
        class: String,
    },
    /// A stream cannot join.
    Join {
        /// Its class.
        class: String,
        /// Why.
        error: JoinError,
    },
}

impl fmt::Display for StreamSimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamSimulationError::UnknownPolicy(name) => {
                write!(f, "unknown policy `{name}`; `laxity policies` lists them")
            }
            StreamSimulationError::Policy { policy, error } => write!(f, "`{policy}`: {error}"),
            StreamSimulationError::NoPace { class } => write!(
                f,
                "class `{class}`: a simulation sends a packet each gap in place of a file or \
                 another process, and there is no gap; give it another `source`"
            ),
            StreamSimulationError::Join { class, error } => write!(f, "class `{class}`: {error}"),
        }
    }
}

impl std::error::Error for StreamSimulationError {}

/// One policy on one seed.
#[derive(Clone, Debug)]
pub struct StreamRun {
    /// The policy's name.
    pub policy: String,
    /// Seed of the generators.
    pub seed: u64,
    /// By class in file order.
    pub classes: Vec<ClassMeasure>,
    /// How it ended.
    pub ending: StreamEnding,
    /// Requested simulated time.
    pub duration: Span,
}

impl StreamRun {
    /// The result to print.
    pub fn result(&self, scenario: &StreamScenario) -> StreamPolicyResult {
        let classes = scenario.streams.iter().zip(&self.classes);
        StreamPolicyResult {
            streams: scenario.stream_count(),
            utilisation: self.ending.busy as f64 / self.ending.time.0.max(1) as f64,
            classes: classes.map(|(c, m)| (c.name.clone(), m.result(c))).collect(),
        }
    }
}

/// Runs one policy on one seed; `observer`, if any, sees every packet beside the measurement.
///
/// # Errors
/// See [`StreamSimulationError`].
pub fn simulate(
    scenario: &StreamScenario,
    policy: &str,
    seed: u64,
    duration: Span,
    observer: Option<&mut dyn StreamObserver>,
    control: &Control,
) -> Result<StreamRun, StreamSimulationError> {
    let sliding = histories_fit(scenario);
    let drive = Drive { scenario, seed, duration, sliding, observer, control };
    let (classes, ending) = policy::visit(&scenario.policy, policy, tap(scenario), drive)
        .ok_or_else(|| StreamSimulationError::UnknownPolicy(policy.to_owned()))?
        .map_err(|error| {
            let policy = policy.to_owned();
            StreamSimulationError::Policy { policy, error }
        })??;
    Ok(StreamRun { policy: policy.to_owned(), seed, classes, ending, duration })
}

/// Runs a policy that is not in the registry, given its name in results and its empty structure, on one seed.
///
/// # Errors
/// See [`StreamSimulationError`].
pub fn simulate_structure<S: Structure + Send + 'static>(
    scenario: &StreamScenario,
    (policy, structure): (&str, S),
    seed: u64,
    duration: Span,
    observer: Option<&mut dyn StreamObserver>,
    control: &Control,
) -> Result<StreamRun, StreamSimulationError> {
    let sliding = histories_fit(scenario);
    let drive = Drive { scenario, seed, duration, sliding, observer, control };
    let options = policy::any_order();
    let scheduler = Scheduler::with_structure(&options, structure, tap(scenario));
    let (classes, ending) = drive.visit(scheduler)?;
    Ok(StreamRun { policy: policy.to_owned(), seed, classes, ending, duration })
}

/// The measurement of a run.
fn tap(scenario: &StreamScenario) -> Tap {
    let ledger = Ledger::new().with_classes(scenario.streams.len());
    Tap::new(if histories_fit(scenario) { ledger.with_history() } else { ledger })
}

struct Drive<'a, 'o> {
    scenario: &'a StreamScenario,
    seed: u64,
    duration: Span,
    sliding: bool,
    observer: Option<&'o mut dyn StreamObserver>,
    control: &'a Control,
}

impl Visitor<Tap> for Drive<'_, '_> {
    type Output = Result<(Vec<ClassMeasure>, StreamEnding), StreamSimulationError>;

    fn visit<S: Structure + Send + 'static>(
        self,
        mut scheduler: Scheduler<S, Tap>,
    ) -> Self::Output {
        let Drive { scenario, seed, duration, sliding, mut observer, control } = self;
        let end = Time(duration.0);
        let mut patterns = Vec::new();
        let mut streams = Vec::with_capacity(scenario.stream_count() as usize);
        for (i, class) in scenario.streams.iter().enumerate() {
            let name = || class.name.clone();
            let pattern = Pattern::of(class)
                .ok_or_else(|| StreamSimulationError::NoPace { class: name() })?;
            for _ in 0..class.count {
                let stream = scheduler
                    .join(Time::ZERO, &class.attributes)
                    .map_err(|error| StreamSimulationError::Join { class: name(), error })?;
                // A source that is always backlogged has no arrivals to count from.
                if !matches!(pattern, Pattern::Backlogged) {
                    scheduler.meter_mut().ledger.set_class(stream, i);
                }
                streams.push(stream);
            }
            patterns.push((pattern, class.count));
        }
        let arrivals = StreamArrivals::new(&patterns, seed, end);
        let classes: Vec<FifoClass> =
            scenario.streams.iter().zip(&patterns).map(|(c, p)| fifo(scenario, c, &p.0)).collect();
        let class_of = scenario
            .streams
            .iter()
            .zip(0..)
            .flat_map(|(class, i)| std::iter::repeat_n(i, class.count as usize));
        let gaps: Vec<Option<Span>> = scenario.streams.iter().map(|c| c.attributes.gap).collect();
        let mut fifos = Fifos::new(&classes, class_of, seed, &mut observer, control);
        let setting = Setting { streams: &streams, gaps: &gaps, server: &scenario.server, end };
        let ending = engine::run(&mut scheduler, &setting, arrivals, &mut fifos, control);
        let ledger = &scheduler.meter().ledger;
        let mut first = 0;
        let measures = scenario.streams.iter().zip(fifos.counts()).enumerate();
        let measures = measures.map(|(i, (class, counts))| {
            let own = &streams[first..first + class.count as usize];
            first += class.count as usize;
            ClassMeasure::new(ledger, i, own, sliding, *counts)
        });
        Ok((measures.collect(), ending))
    }
}

fn fifo(scenario: &StreamScenario, class: &StreamClass, pattern: &Pattern) -> FifoClass {
    FifoClass {
        backlogged: matches!(pattern, Pattern::Backlogged),
        length: class.packet,
        largest: class.largest(),
        limit: class.buffer.unwrap_or(scenario.server.buffer),
        gap: class.attributes.gap,
    }
}

/// Runs every policy on every seed on as many threads as there are processors; the results come
/// by seed, then policy. A stopped run leaves what was done.
///
/// # Errors
/// The first error by seed and policy.
pub fn simulate_all(
    scenario: &StreamScenario,
    policies: &[String],
    seeds: &[u64],
    duration: Span,
    control: &Control,
) -> Result<Vec<StreamRun>, StreamSimulationError> {
    let jobs: Vec<(u64, &String)> =
        seeds.iter().flat_map(|s| policies.iter().map(move |p| (*s, p))).collect();
    parallel::all(&jobs, control, |(seed, policy)| {
        simulate(scenario, policy, *seed, duration, None, control)
    })
}

/// The results of one seed, to print.
pub fn result(
    scenario: &StreamScenario,
    runs: &[StreamRun],
    seed: Option<u64>,
) -> StreamSimulationResult {
    StreamSimulationResult {
        scenario: scenario.name.clone(),
        seed,
        duration_ns: runs.first().map_or(0, |r| r.duration.0),
        policies: runs.iter().map(|r| (r.policy.clone(), r.result(scenario))).collect(),
    }
}
