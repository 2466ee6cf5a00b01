//! CPUs: the policy itself gets all requests of the tasks, in order of time, and
//! nothing runs.

mod locks;
mod obstacles;
mod replay;
mod validate;

use laxity_core::{Span, Time};
use laxity_cpu::clusters::{self, Clusters};
use laxity_cpu::registry::{self, Options};
use laxity_cpu::{Attributes, GroupId, Policy, Reservation, TaskId};
use laxity_results::{CpuCheckResult, CpuOverheads};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::cpu::model::Overheads;
use laxity_sim::cpu::{Task, readings, tasks, with_overheads};

use crate::AnalysisError;
use obstacles::obstacles;
use replay::{Replay, all_requests};

pub use locks::interference;
pub use replay::AdmittedSet;
pub use validate::{
    CpuFault, CpuRules, CpuValidateError, CpuValidation, LateJob, Live, Premise,
    cluster_of_each_cpu, judge, validate, validate_live,
};

/// A policy's answers to reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reserves {
    /// It refuses hard ones that do not fit.
    hard: bool,
    /// And soft ones.
    soft: bool,
    /// Tasks of a group share one.
    groups: bool,
}

impl Reserves {
    fn of(policy: &str, options: &Options) -> Reserves {
        // Two of this do not fit a CPU.
        let most = Reservation::new(Span::from_millis(6), Span::from_millis(10));
        let takes_two = |wanted: Attributes| {
            let Ok(mut policy) = registry::build(policy, options) else { return true };
            let mut join = |task| policy.join(Time::ZERO, TaskId(task), &wanted).is_ok();
            join(0) && join(1)
        };
        let together = Attributes::hard(most).in_group(GroupId(0));
        let hard = !takes_two(Attributes::hard(most));
        let soft = !takes_two(Attributes::soft(most));
        Reserves { hard, soft, groups: takes_two(together) }
    }

    fn any(self) -> bool {
        self.hard || self.soft
    }
}

/// The admission test of a scenario under a policy, with what would fit.
///
/// # Errors
/// See [`AnalysisError`].
pub fn analyse(scenario: &CpuScenario, policy: &str) -> Result<CpuCheckResult, AnalysisError> {
    Ok(verdict(scenario, &tasks(scenario)?, policy))
}

/// The sets of reservations that a policy admits, one for each cluster and instant at which they change; none
/// for a policy without reservations.
///
/// # Errors
/// See [`AnalysisError`].
pub fn admitted_sets(
    scenario: &CpuScenario,
    policy: &str,
) -> Result<Vec<AdmittedSet>, AnalysisError> {
    let reserves = Reserves::of(policy, &scenario.policy.options);
    let mut replay = Replay::new(scenario, reserves);
    if let (Some(mut policy), true) = (build(scenario, policy), reserves.any()) {
        replay.play(&with_overheads(scenario, &tasks(scenario)?), &mut policy);
    }
    Ok(replay.sets())
}

/// The admission test of tasks that were read: those of the scenario and of the files that it names.
pub fn verdict(scenario: &CpuScenario, tasks: &[Task], policy: &str) -> CpuCheckResult {
    let options = &scenario.policy.options;
    let reserves = Reserves::of(policy, options);
    let counts = reserves.any();
    let mut replay = Replay::new(scenario, reserves);
    let requests = match build(scenario, policy) {
        Some(mut policy) if counts => replay.play(&with_overheads(scenario, tasks), &mut policy),
        _ => all_requests(tasks),
    };
    let locks = if counts { locks::waits(scenario, tasks) } else { Vec::new() };
    let mut obstacles = obstacles(scenario, tasks, policy, reserves, options);
    obstacles.extend(locks::obstacles(scenario, &locks));
    let admitted = requests.iter().all(|r| r.admitted) && replay.refused.is_empty();
    obstacles.append(&mut replay.refused);
    let cpus = f64::from(scenario.cpu.cpus);
    let demand = (replay.peak.need / cpus).min(1.0);
    CpuCheckResult {
        policy: policy.to_owned(),
        options: readings(options, policy),
        cpus: scenario.cpu.cpus,
        admitted,
        guaranteed: admitted && obstacles.is_empty(),
        utilisation: replay.peak.utilisation / cpus,
        demand,
        best_effort_share: counts.then_some(1.0 - demand),
        overheads: overheads(scenario).filter(|_| counts),
        locks,
        obstacles,
        requests,
    }
}

/// The terms that admission adds to each budget; `None` where they are zero.
fn overheads(scenario: &CpuScenario) -> Option<CpuOverheads> {
    let Overheads { switch, release, migration } = scenario.overheads.on(&scenario.cpu);
    let per_job = scenario.overheads.of_job(&scenario.cpu);
    (per_job > Span::ZERO).then_some(CpuOverheads {
        switch_ns: switch.0,
        release_ns: release.0,
        migration_ns: migration.0,
        per_job_ns: per_job.0,
    })
}

/// A policy as it runs on the CPUs of a scenario.
enum Built {
    One(Box<dyn Policy + Send>),
    Clusters(Box<Clusters<Box<dyn Policy + Send>>>),
}

impl Built {
    fn policy(&mut self) -> &mut dyn Policy {
        match self {
            Built::One(policy) => &mut **policy,
            Built::Clusters(clusters) => &mut **clusters,
        }
    }

    /// The cluster of a task that was admitted.
    fn cluster_of(&self, task: TaskId) -> u32 {
        match self {
            Built::One(_) => 0,
            Built::Clusters(clusters) => clusters.home(task).map_or(0, |cluster| cluster.0),
        }
    }
}

fn build(scenario: &CpuScenario, policy: &str) -> Option<Built> {
    let options = &scenario.policy.options;
    match scenario.cpu.layout().ok()? {
        None => registry::build(policy, options).ok().map(Built::One),
        Some(layout) => clusters::build(policy, options, &layout, scenario.cpu.options())
            .ok()
            .map(|built| Built::Clusters(Box::new(built))),
    }
}

#[cfg(test)]
mod tests;
