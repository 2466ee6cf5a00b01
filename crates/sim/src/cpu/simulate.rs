//! Runs of a CPU scenario: one policy and seed, or many in parallel.

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;
use laxity_core::{Histogram, PolicyOptions as _, Span, Time};
use laxity_cpu::clusters::{self, BuildError, LayoutError};
use laxity_cpu::registry::{self, Options};
use laxity_cpu::{Attributes, Policy, Service, TaskId};
use laxity_results::{CpuPolicyResult, CpuSimulationResult, CpuTaskResult, TaskKind};
use laxity_scenario::cpu::CpuScenario;

use crate::cpu::{
    self, Ending, EngineError, Machine, Measure, Observer, RowSink, Task, TaskMeasure, Workload,
};
use crate::{Control, parallel};

/// Why a run could not start or continue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CpuSimulationError {
    /// No policy has this name.
    UnknownPolicy(String),
    /// The policy cannot run on these CPUs.
    Clusters(BuildError),
    /// There cannot be so many CPUs.
    Layout(LayoutError),
    /// Records do not say which task executes for another.
    LocksInRecord,
    /// A task or the policy stopped making progress.
    Engine {
        /// The policy.
        policy: String,
        /// The task's name, where it is about one.
        task: Option<String>,
        /// The error of the engine.
        error: EngineError,
    },
}

impl fmt::Display for CpuSimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuSimulationError::UnknownPolicy(name) => {
                write!(f, "unknown policy `{name}`; `laxity policies` lists them")
            }
            CpuSimulationError::Clusters(error) => error.fmt(f),
            CpuSimulationError::Layout(error) => error.fmt(f),
            CpuSimulationError::LocksInRecord => write!(
                f,
                "a record of a run does not say which task executes for one that waits for its lock; leave out the \
                 record, or `lock` in all tasks"
            ),
            CpuSimulationError::Engine { policy, task: None, error } => {
                write!(f, "`{policy}`: {error}")
            }
            CpuSimulationError::Engine { policy, task: Some(task), error } => {
                write!(f, "`{policy}`, task `{task}`: {error}")
            }
        }
    }
}

impl std::error::Error for CpuSimulationError {}

/// One policy on one seed.
#[derive(Clone, Debug)]
pub struct CpuRun {
    /// The policy's name.
    pub policy: String,
    /// Seed of what tasks draw.
    pub seed: u64,
    /// The measurements of each task.
    pub measure: Measure,
    /// How it ended.
    pub ending: Ending,
    /// Requested simulated time.
    pub duration: Span,
}

impl CpuRun {
    /// The result to print.
    pub fn result(&self, scenario: &CpuScenario, tasks: &[Task]) -> CpuPolicyResult {
        let end = self.ending.time;
        let tasks = tasks.iter().zip(&self.measure.tasks);
        let tasks = tasks.map(|(task, measure)| (task.name.clone(), self.task(task, measure)));
        let busy: u64 = self.measure.tasks.iter().map(|t| t.executed.0).sum();
        CpuPolicyResult {
            migrations: (scenario.cpu.cpus > 1).then_some(self.measure.migrations),
            options: readings(&scenario.policy.options, &self.policy),
            utilisation: busy as f64 / (end.0.max(1) as f64 * f64::from(scenario.cpu.cpus)),
            switches: self.measure.switches,
            tasks: tasks.collect(),
        }
    }

    fn task(&self, of: &Task, task: &TaskMeasure) -> CpuTaskResult {
        let ms = |ns: u64| ns as f64 / 1e6;
        let mean = |h: &Histogram| h.mean().map(|ns| ns / 1e6);
        let at = |h: &Histogram, per_mille| h.quantile(per_mille).map(ms);
        let due = matches!(of.workload, Workload::Frames { .. }) && task.jobs > 0;
        let gone = of.leaves.map_or(self.ending.time, |leave| leave.min(self.ending.time));
        let there = task.joined.map_or(0, |joined| gone.since(joined).0);
        CpuTaskResult {
            kind: match of.attributes.service {
                Service::Hard(_) => TaskKind::Hard,
                Service::Soft(_) => TaskKind::Soft,
                Service::BestEffort => TaskKind::BestEffort,
            },
            share: if there == 0 { 0.0 } else { task.executed.0 as f64 / there as f64 },
            cpu_ms: ms(task.executed.0),
            switches: task.switches,
            jobs: task.jobs,
            deadline_misses: task.missed,
            mean_response_ms: mean(&task.response),
            p50_response_ms: at(&task.response, 500),
            p99_response_ms: at(&task.response, 990),
            max_response_ms: task.response.max().map(ms),
            mean_tardiness_ms: task.mean_tardiness().filter(|_| due).map(|ns| ns / 1e6),
            p99_tardiness_ms: at(&task.tardiness, 990),
            max_tardiness_ms: due.then(|| ms(task.tardiness.max().unwrap_or(0))),
            mean_latency_ms: mean(&task.latency),
            p99_latency_ms: at(&task.latency, 990),
            max_wait_ms: ms(task.longest_gap.0),
            refused: task.refused.map(|refusal| refusal.to_string()),
        }
    }
}

/// Every option of a policy with its value: which reading of its paper runs.
pub fn readings(options: &Options, policy: &str) -> IndexMap<String, String> {
    let accepted = registry::find(policy).map_or(&[][..], |p| p.options);
    let value = |name| options.get(policy, name).map_or(String::new(), |v| v.to_string());
    accepted.iter().map(|o| (o.name.to_owned(), value(o.name))).collect()
}

/// Runs one policy on one seed, on the [`tasks`](super::tasks) of the scenario; `observer`, if any,
/// sees the schedule beside the measurement.
///
/// # Errors
/// See [`CpuSimulationError`].
pub fn simulate(
    scenario: &CpuScenario,
    tasks: &[Task],
    policy: &str,
    seed: u64,
    duration: Span,
    observer: Option<&mut dyn Observer>,
    control: &Control,
) -> Result<CpuRun, CpuSimulationError> {
    let machine = machine(scenario, seed, duration);
    let enlarged = with_overheads(scenario, tasks);
    let drive = Drive { tasks: &enlarged, machine, observer, control };
    let done = match layout(scenario)? {
        // On one CPU the policy runs in its own type.
        None => registry::visit(policy, &scenario.policy.options, drive)
            .map_err(|e| CpuSimulationError::UnknownPolicy(e.0))?,
        Some(layout) => registry::Visitor::visit(drive, clustered(scenario, policy, &layout)?),
    };
    finished(done, (policy, tasks), (seed, duration), control)
}

/// Like [`simulate`], with a record of the run.
///
/// # Errors
/// See [`CpuSimulationError`].
pub fn simulate_recorded(
    scenario: &CpuScenario,
    tasks: &[Task],
    policy: &str,
    seed: u64,
    duration: Span,
    (observer, sink): (Option<&mut dyn Observer>, RowSink<'_>),
    control: &Control,
) -> Result<CpuRun, CpuSimulationError> {
    if tasks.iter().any(|task| !task.sections.is_empty()) {
        return Err(CpuSimulationError::LocksInRecord);
    }
    let machine = machine(scenario, seed, duration);
    let enlarged = with_overheads(scenario, tasks);
    // Writing takes far longer than calls of the policy.
    let mut boxed: Box<dyn Policy + Send> = match layout(scenario)? {
        None => registry::build(policy, &scenario.policy.options)
            .map_err(|e| CpuSimulationError::UnknownPolicy(e.0))?,
        Some(layout) => Box::new(clustered(scenario, policy, &layout)?),
    };
    let mut observed = (Measure::new(tasks.len()), observer);
    let ending = cpu::run_recorded(&mut boxed, &enlarged, machine, &mut observed, sink, control);
    let done = ending.map(|ending| measured(observed.0, ending));
    finished(done, (policy, tasks), (seed, duration), control)
}

/// The clusters of the scenario's CPUs; none for one CPU.
fn layout(scenario: &CpuScenario) -> Result<Option<clusters::Layout>, CpuSimulationError> {
    scenario.cpu.layout().map_err(CpuSimulationError::Layout)
}

fn clustered(
    scenario: &CpuScenario,
    policy: &str,
    layout: &clusters::Layout,
) -> Result<impl Policy + Send + use<>, CpuSimulationError> {
    let options = &scenario.policy.options;
    clusters::build(policy, options, layout, scenario.cpu.options())
        .map_err(CpuSimulationError::Clusters)
}

fn machine(scenario: &CpuScenario, seed: u64, duration: Span) -> Machine {
    let job_overhead = scenario.overheads.of_job(&scenario.cpu);
    let locks = scenario.locks.protocol;
    let cpus = scenario.cpu.cpus;
    Machine { cpus, job_overhead, locks, ..Machine::single(Time(duration.0), seed) }
}

/// The tasks with reservations as policies admit them: each budget enlarged by what scheduling costs a job.
pub fn with_overheads<'a>(scenario: &CpuScenario, tasks: &'a [Task]) -> Cow<'a, [Task]> {
    let overhead = scenario.overheads.of_job(&scenario.cpu);
    if overhead == Span::ZERO {
        return Cow::Borrowed(tasks);
    }
    let enlarge = |attributes: &mut Attributes| match &mut attributes.service {
        Service::Hard(reservation) | Service::Soft(reservation) => {
            reservation.budget = reservation.budget + overhead;
        }
        Service::BestEffort => {}
    };
    let mut tasks = tasks.to_vec();
    for task in &mut tasks {
        enlarge(&mut task.attributes);
        task.changes.iter_mut().for_each(|change| enlarge(&mut change.attributes));
    }
    Cow::Owned(tasks)
}

/// Like [`simulate`], with a policy that the registry does not hold; `name` is its name in results.
///
/// # Errors
/// The engine's.
pub fn simulate_policy<P: Policy + Send + 'static>(
    scenario: &CpuScenario,
    tasks: &[Task],
    (name, policy): (&str, P),
    seed: u64,
    duration: Span,
    observer: Option<&mut dyn Observer>,
    control: &Control,
) -> Result<CpuRun, CpuSimulationError> {
    let machine = machine(scenario, seed, duration);
    let enlarged = with_overheads(scenario, tasks);
    let run = Drive { tasks: &enlarged, machine, observer, control };
    let done = registry::Visitor::visit(run, policy);
    finished(done, (name, tasks), (seed, duration), control)
}

/// The run, or the error with the names of the policy and the task.
fn finished(
    done: Result<(Measure, Ending), EngineError>,
    (policy, tasks): (&str, &[Task]),
    (seed, duration): (u64, Span),
    control: &Control,
) -> Result<CpuRun, CpuSimulationError> {
    let (measure, ending) = done.map_err(|error| {
        let task = match error {
            EngineError::NoProgress { task, .. }
            | EngineError::BadPick { task, .. }
            | EngineError::BadSections { task }
            | EngineError::Deadlock { task, .. } => Some(task),
            _ => None,
        };
        let name = |TaskId(i)| tasks.get(i as usize).map(|t| t.name.clone());
        CpuSimulationError::Engine { policy: policy.into(), task: task.and_then(name), error }
    })?;
    control.advance(duration);
    Ok(CpuRun { policy: policy.to_owned(), seed, measure, ending, duration })
}

struct Drive<'a, 'o> {
    tasks: &'a [Task],
    machine: Machine,
    observer: Option<&'o mut dyn Observer>,
    control: &'a Control,
}

impl registry::Visitor for Drive<'_, '_> {
    type Output = Result<(Measure, Ending), EngineError>;

    fn visit<P: Policy + Send + 'static>(self, mut policy: P) -> Self::Output {
        let Drive { tasks, machine, observer, control } = self;
        let mut both = (Measure::new(tasks.len()), observer);
        let ending = cpu::run(&mut policy, tasks, machine, &mut both, control)?;
        Ok(measured(both.0, ending))
    }
}

fn measured(mut measure: Measure, ending: Ending) -> (Measure, Ending) {
    measure.finish(ending.time);
    (measure, ending)
}

/// Runs every policy on every seed on as many threads as there are processors; the results come
/// by seed, then policy. A stopped run leaves what was done.
///
/// # Errors
/// The first error by seed and policy.
pub fn simulate_all(
    scenario: &CpuScenario,
    tasks: &[Task],
    policies: &[String],
    seeds: &[u64],
    duration: Span,
    control: &Control,
) -> Result<Vec<CpuRun>, CpuSimulationError> {
    let jobs: Vec<(u64, &String)> =
        seeds.iter().flat_map(|s| policies.iter().map(move |p| (*s, p))).collect();
    parallel::all(&jobs, control, |(seed, policy)| {
        simulate(scenario, tasks, policy, *seed, duration, None, control)
    })
}

/// The results of one seed, to print.
pub fn result(
    scenario: &CpuScenario,
    tasks: &[Task],
    runs: &[CpuRun],
    seed: Option<u64>,
) -> CpuSimulationResult {
    CpuSimulationResult {
        scenario: scenario.name.clone(),
        seed,
        duration_ns: runs.first().map_or(0, |r| r.duration.0),
        cpus: scenario.cpu.cpus,
        policies: runs.iter().map(|r| (r.policy.clone(), r.result(scenario, tasks))).collect(),
    }
}
