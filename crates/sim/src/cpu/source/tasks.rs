//! Tasks of a scenario in the terms of the engine.

use std::collections::HashSet;

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, GroupId, Nice, Service, TaskId};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::cpu::model::{self, Share, TaskClass, TaskServer, Work};

use super::recording::{self, RecordingError};
use crate::cpu::{Change, Cost, Gap, Late, Step, Task, Workload};

/// Every task of the scenario: those of [`CpuScenario::each`] in their order, then those of the
/// files that it names. Names are unique.
///
/// # Errors
/// When a file cannot be read or played.
pub fn tasks(scenario: &CpuScenario) -> Result<Vec<Task>, RecordingError> {
    tasks_and(scenario, Vec::new())
}

/// The tasks of [`tasks`], then `further` ones, which wake each other by their places in `further`.
///
/// # Errors
/// When a file cannot be read or played.
pub fn tasks_and(scenario: &CpuScenario, further: Vec<Task>) -> Result<Vec<Task>, RecordingError> {
    let mut all: Vec<Task> =
        scenario.each().map(|(name, class)| task(scenario, name, class)).collect();
    for recording in &scenario.recordings {
        let loaded = recording::load(recording)?;
        append(&mut all, loaded);
    }
    append(&mut all, further);
    let mut names = HashSet::new();
    for task in &mut all {
        let name = task.name.clone();
        let mut n = 2;
        while !names.insert(task.name.clone()) {
            task.name = format!("{name} ({n})");
            n += 1;
        }
    }
    Ok(all)
}

/// Appends tasks that wake each other by their places in `further`.
fn append(all: &mut Vec<Task>, mut further: Vec<Task>) {
    let before = all.len() as u32;
    for task in &mut further {
        if let Workload::Script { steps, .. } = &mut task.workload {
            for step in steps {
                if let Step::Wake(TaskId(other)) = step {
                    *other += before;
                }
            }
        }
    }
    all.append(&mut further);
}

fn task(scenario: &CpuScenario, name: String, class: &TaskClass) -> Task {
    let changes = attributes(scenario, class);
    let mut changes = changes.into_iter();
    let first = changes.next().map_or(Attributes::default(), |(_, attributes)| attributes);
    Task {
        name,
        attributes: first,
        workload: workload(&class.work),
        joins: class.join,
        phase: class.phase,
        leaves: class.leave,
        changes: changes.map(|(at, attributes)| Change { at, attributes }).collect(),
        sections: class.sections.clone(),
    }
}

/// The requests of a task of a class and their times: at its joining, then at each change.
pub fn attributes(scenario: &CpuScenario, class: &TaskClass) -> Vec<(Time, Attributes)> {
    let (mut nice, mut server) = (class.nice, &class.server);
    let mut all = vec![(class.join, of(scenario, class, nice, server))];
    for change in &class.changes {
        nice = change.nice.unwrap_or(nice);
        server = change.server.as_ref().unwrap_or(server);
        all.push((change.at, of(scenario, class, nice, server)));
    }
    all
}

fn of(scenario: &CpuScenario, class: &TaskClass, nice: Nice, server: &TaskServer) -> Attributes {
    let service = scenario.reserved(server).map_or(Service::BestEffort, |r| r.service());
    let plain = Attributes { nice, service, group: None, affinity: class.affinity };
    match server {
        TaskServer::BestEffort | TaskServer::Own(_) => plain,
        TaskServer::Shared(place) => plain.in_group(GroupId(*place as u32)),
        TaskServer::Group(name) => {
            let mut groups: Vec<&String> = Vec::new();
            for class in &scenario.tasks {
                match &class.server {
                    TaskServer::Group(other) if !groups.contains(&other) => groups.push(other),
                    _ => {}
                }
            }
            let place = groups.iter().position(|g| *g == name).unwrap_or(groups.len());
            plain.in_group(GroupId((scenario.reservations.len() + place) as u32))
        }
    }
}

fn workload(work: &Work) -> Workload {
    match work {
        Work::CpuBound => Workload::CpuBound,
        Work::Interactive { burst, think } => {
            Workload::Interactive { sleep: gap(think), burst: cost(burst) }
        }
        Work::Periodic { period, cost: of, deadline, late } => Workload::Frames {
            period: *period,
            deadline: *deadline,
            cost: cost(of),
            late: match late {
                model::Late::Rephase => Late::Rephase,
                model::Late::Skip => Late::Skip,
                model::Late::Grid => Late::Grid,
            },
        },
        Work::Poller { poll } => Workload::Poller { gap: gap(poll) },
        Work::Script { steps, repeat } => {
            let step = |step: &model::Step| match *step {
                model::Step::Run(span) => Step::Run(span),
                model::Step::Sleep(span) => Step::Sleep(span),
                model::Step::Until(span) => Step::SleepUntil(span),
            };
            Workload::Script { steps: steps.iter().map(step).collect(), repeat: *repeat }
        }
    }
}

fn cost(cost: &model::Cost) -> Cost {
    let cv = |mean: Span, deviation: Span| deviation.0 as f64 / mean.0.max(1) as f64;
    match *cost {
        model::Cost::Fixed(cost) => Cost::Fixed(cost),
        model::Cost::Uniform { least, most } => Cost::Uniform(least, most),
        model::Cost::Normal { mean, deviation } => Cost::Gauss { mean, cv: cv(mean, deviation) },
        model::Cost::Gop { mean, deviation } => Cost::Gop { mean, cv: cv(mean, deviation) },
        model::Cost::Correlated { mean, deviation, correlation: Share(share) } => {
            let rho = f64::from(share) / f64::from(Share::WHOLE.0);
            Cost::Autoregressive { mean, cv: cv(mean, deviation), rho }
        }
        model::Cost::Scenes { mean, deviation, frames } => {
            Cost::Scenes { mean, cv: cv(mean, deviation), frames }
        }
    }
}

fn gap(gap: &model::Gap) -> Gap {
    match *gap {
        model::Gap::Fixed(length) => Gap::Fixed(length),
        model::Gap::Uniform { least, most } => Gap::Uniform(least, most),
        model::Gap::Exponential(mean) => Gap::Exponential(mean),
    }
}
