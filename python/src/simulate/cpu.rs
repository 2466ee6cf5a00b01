//! Simulations of CPUs.

use std::sync::Arc;

use laxity_analysis::cpu;
use laxity_analysis::page::cpu_detail;
use laxity_core::{Span, Time};
use laxity_cpu::registry::POLICIES;
use laxity_cpu::{CpuId, TaskId};
use laxity_report::{self as report, CpuOutcome as Shown, CpuPolicyDetail, Page, text};
use laxity_results::csv::JobOutcome;
use laxity_results::table::{Table, Tabular};
use laxity_results::{CpuSimulationResult, CpuSimulationRuns, TaskKind};
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::Control;
use laxity_sim::cpu::{
    CpuRun, Job, Observer, Recording, Task, result, simulate, simulate_all, simulate_policy,
    summary, tasks,
};
use pyo3::prelude::*;

use super::{Outcome, interruptible, meta, results, seeds_fact};
use crate::choice::{Choice, Request};
use crate::cpu_callback::Callback;
use crate::error;
use crate::table::{Numbers, PyTable, Words};

/// Default of `duration`, that of the command.
const DURATION: Span = Span::from_millis(10_000);

/// The finished simulation of CPUs.
struct CpuOutcome {
    scenario: Arc<CpuScenario>,
    tasks: Vec<Task>,
    runs: Vec<CpuRun>,
    results: Vec<CpuSimulationResult>,
    /// Schedules of the first seed, for plots.
    details: Vec<CpuPolicyDetail>,
    many: bool,
    records: Vec<(&'static str, PyTable)>,
}

/// Runs the policies of a request.
pub fn run(
    py: Python<'_>,
    scenario: &Arc<CpuScenario>,
    request: Request,
) -> PyResult<Box<dyn Outcome>> {
    if request.trace.is_some() {
        return Err(error::input(
            "trace has no meaning for CPUs: it is about packets; give `recording` for threads",
        ));
    }
    let own = &scenario.policy;
    let choices = request.choices(py, POLICIES, super::own_policies(&own.compare, &own.use_))?;
    let control = Arc::new(Control::default());
    let duration = request.duration.unwrap_or(DURATION);
    let (tasks, runs, schedules) = interruptible(py, &control, || {
        let tasks = match &request.recording {
            Some(recording) => recording.beside(scenario)?,
            None => tasks(scenario).map_err(error::input)?,
        };
        let (runs, schedules) = runs(scenario, &tasks, &choices, &request, duration, &control)?;
        Ok((tasks, runs, schedules))
    })?;
    let one = |own: &[CpuRun], seed| result(scenario, &tasks, own, Some(seed));
    let results = results(&runs, &request.seeds, |run| run.seed, one);
    let first = request.seeds.first();
    let pairs = || runs.iter().zip(&schedules);
    let details = pairs().filter(|(r, _)| Some(&r.seed) == first);
    let details = details.map(|(run, schedule)| detail(&tasks, run, schedule)).collect();
    let records = match request.record {
        true => vec![("slices", slices(&tasks, pairs())?), ("jobs", jobs(&tasks, pairs())?)],
        false => Vec::new(),
    };
    let (scenario, many) = (Arc::clone(scenario), request.many);
    Ok(Box::new(CpuOutcome { scenario, tasks, runs, results, details, many, records }))
}

fn runs(
    scenario: &CpuScenario,
    tasks: &[Task],
    choices: &[Choice],
    request: &Request,
    duration: Span,
    control: &Arc<Control>,
) -> PyResult<(Vec<CpuRun>, Vec<Schedule>)> {
    let names: Option<Vec<String>> = choices.iter().map(Choice::built_in).collect();
    if let (Some(names), false) = (names, request.record) {
        let runs = simulate_all(scenario, tasks, &names, &request.seeds, duration, control);
        return Ok((runs.map_err(error::input)?, Vec::new()));
    }
    let (mut runs, mut schedules) = (Vec::new(), Vec::new());
    for seed in &request.seeds {
        for choice in choices {
            let mut schedule = request.record.then(Schedule::default);
            let run = match choice {
                Choice::BuiltIn(name) => simulate(
                    scenario,
                    tasks,
                    name,
                    *seed,
                    duration,
                    Some(&mut Observed(schedule.as_mut())),
                    control,
                )
                .map_err(error::input)?,
                Choice::Python { name, factory } => Python::attach(|py| {
                    let (policy, failure) = Callback::new(py, factory, scenario, control)?;
                    let (policy, mut seen) = ((name.as_str(), policy), Observed(schedule.as_mut()));
                    let run = simulate_policy(
                        scenario,
                        tasks,
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
            schedules.extend(schedule);
            runs.push(run);
        }
    }
    Ok((runs, schedules))
}

/// Slices and jobs of one run.
#[derive(Default)]
struct Schedule {
    recording: Recording,
    /// Jobs that had not ended when the run ended or their task left.
    unfinished: Vec<(TaskId, Job)>,
}

/// A schedule, if it is recorded.
struct Observed<'a>(Option<&'a mut Schedule>);

impl Observer for Observed<'_> {
    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        if let Some(schedule) = &mut self.0 {
            schedule.recording.ran(from, to, cpu, task);
        }
    }

    fn ended(&mut self, task: TaskId, job: &Job) {
        if let Some(schedule) = &mut self.0 {
            schedule.recording.ended(task, job);
        }
    }

    fn unfinished(&mut self, task: TaskId, job: &Job) {
        if let Some(schedule) = &mut self.0 {
            schedule.unfinished.push((task, *job));
        }
    }
}

fn detail(tasks: &[Task], run: &CpuRun, schedule: &Schedule) -> CpuPolicyDetail {
    let Schedule { recording, unfinished } = schedule;
    let jobs = recording.jobs.iter().chain(unfinished);
    cpu_detail(tasks, run, &recording.slices, jobs, recording.left_out)
}

fn slices<'a>(
    tasks: &[Task],
    runs: impl Iterator<Item = (&'a CpuRun, &'a Schedule)>,
) -> PyResult<PyTable> {
    let (mut policies, mut names) = (Words::default(), Words::default());
    let [mut seeds, mut cpus, mut from, mut to] = std::array::from_fn(|_| Numbers::default());
    for (run, schedule) in runs {
        for slice in &schedule.recording.slices {
            policies.push(&run.policy);
            seeds.push(Some(run.seed));
            cpus.push(Some(slice.cpu.0.into()));
            names.push(&tasks[slice.task.index()].name);
            from.push(Some(slice.from.0));
            to.push(Some(slice.to.0));
        }
    }
    let columns = [
        ("policy", policies.finish(), false),
        ("seed", seeds.finish(), false),
        ("cpu", cpus.finish(), false),
        ("task", names.finish(), false),
        ("from_ns", from.finish(), false),
        ("to_ns", to.finish(), false),
    ];
    PyTable::of(columns.into_iter())
}

fn jobs<'a>(
    tasks: &[Task],
    runs: impl Iterator<Item = (&'a CpuRun, &'a Schedule)>,
) -> PyResult<PyTable> {
    let [mut policies, mut names, mut outcomes] = std::array::from_fn(|_| Words::default());
    let [mut seeds, mut releases, mut deadlines, mut ends] =
        std::array::from_fn(|_| Numbers::default());
    for (run, schedule) in runs {
        let ended = schedule.recording.jobs.iter().map(|job| (job, false));
        let unfinished = schedule.unfinished.iter().map(|job| (job, true));
        for ((id, job), unfinished) in ended.chain(unfinished) {
            policies.push(&run.policy);
            seeds.push(Some(run.seed));
            names.push(&tasks[id.index()].name);
            releases.push(Some(job.release.0));
            deadlines.push(job.deadline.map(|t| t.0));
            ends.push(Some(job.end.0));
            let late = job.deadline.is_some_and(|deadline| job.end > deadline);
            let outcome = match (unfinished, late) {
                (true, _) => JobOutcome::Unfinished,
                (false, true) => JobOutcome::Late,
                (false, false) => JobOutcome::Ended,
            };
            outcomes.push(outcome.name());
        }
    }
    let columns = [
        ("policy", policies.finish(), false),
        ("seed", seeds.finish(), false),
        ("task", names.finish(), false),
        ("release_ns", releases.finish(), false),
        ("deadline_ns", deadlines.finish(), true),
        ("end_ns", ends.finish(), false),
        ("outcome", outcomes.finish(), false),
    ];
    PyTable::of(columns.into_iter())
}

impl CpuOutcome {
    fn all(&self) -> CpuSimulationRuns {
        CpuSimulationRuns { summary: summary::of(&self.results), runs: self.results.clone() }
    }

    fn shown<T>(&self, show: impl FnOnce(Shown<'_>) -> T) -> T {
        match (self.many, &self.results[..]) {
            (false, [one]) => show(Shown::One(one)),
            _ => show(Shown::Runs(&self.all())),
        }
    }
}

impl Outcome for CpuOutcome {
    fn json(&self) -> serde_json::Result<String> {
        match (self.many, &self.results[..]) {
            (false, [one]) => serde_json::to_string(one),
            _ => serde_json::to_string(&self.all()),
        }
    }

    fn text(&self) -> String {
        let used = Some(self.scenario.policy.use_.as_str());
        self.shown(|outcome| text::cpu_simulation(outcome, used, text::Style::PLAIN))
    }

    fn page(&self) -> Page {
        let used = &self.scenario.policy.use_;
        let seeds: Vec<u64> = self.results.iter().filter_map(|r| r.seed).collect();
        let meta = report::Meta { facts: vec![seeds_fact(&seeds)], ..meta(used) };
        let check = cpu::verdict(&self.scenario, &self.tasks, used);
        self.shown(|outcome| {
            report::cpu_simulation_page(outcome, &self.details, Some(&check), &meta)
        })
    }

    fn table(&self) -> Table {
        CpuSimulationResult::table(&self.results)
    }

    fn promises_kept(&self) -> bool {
        !self.runs.iter().any(|run| {
            let results = run.result(&self.scenario, &self.tasks).tasks;
            let late = results.values().any(|t| t.kind == TaskKind::Hard && t.deadline_misses > 0);
            let known = POLICIES.iter().any(|p| p.name == run.policy);
            late && known && cpu::verdict(&self.scenario, &self.tasks, &run.policy).guaranteed
        })
    }

    fn records(&self) -> &[(&'static str, PyTable)] {
        &self.records
    }
}
