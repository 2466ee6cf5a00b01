//! Why hard jobs may be late although all reservations fit.

use laxity_core::{OptionValue, PolicyOptions as _};
use laxity_cpu::Service;
use laxity_cpu::registry::{self, Options};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::cpu::model::{TaskClass, TaskServer, Work};
use laxity_sim::cpu::Task;
use laxity_sim::cpu::attributes;

use super::Reserves;

/// Why a policy does not promise that no hard job is late.
pub(super) fn obstacles(
    scenario: &CpuScenario,
    tasks: &[Task],
    policy: &str,
    reserves: Reserves,
    options: &Options,
) -> Vec<String> {
    let hard = |class: &&TaskClass| {
        attributes(scenario, class).iter().any(|(_, a)| matches!(a.service, Service::Hard(_)))
    };
    let classes: Vec<&TaskClass> = scenario.tasks.iter().filter(hard).collect();
    if tasks.iter().all(|t| !matches!(t.attributes.service, Service::Hard(_))) && classes.is_empty()
    {
        return Vec::new();
    }
    let mut all = Vec::new();
    let keeps = registry::find(policy).is_some_and(|p| p.keeps_deadlines);
    match (reserves.hard, keeps) {
        (true, true) => {}
        (true, false) => all.push(format!(
            "{policy} keeps budgets; it does not promise that a job which may need reclaimed \
             bandwidth, or is due before its period ends, is in time"
        )),
        (false, _) => all.push(format!(
            "{policy} has no reservations: it neither admits hard tasks nor holds them to their \
             budgets"
        )),
    }
    let is = |option, name| options.get(policy, option) == Some(OptionValue::Choice(name));
    for (option, name) in
        [("transition", "stretch"), ("transition", "neither"), ("period-basis", "average")]
    {
        if is(option, name) {
            all.push(format!("With {option} = \"{name}\" hard jobs can be late"));
        }
    }
    for class in classes {
        all.extend(misfits(scenario, class));
        let shares = |other: &&TaskClass| {
            matches!(class.server, TaskServer::Shared(_)) && other.server == class.server
        };
        let tasks: u64 = scenario.tasks.iter().filter(shares).map(|c| u64::from(c.count)).sum();
        if tasks > 1 {
            let name = &class.name;
            all.push(format!("{name} shares its reservation: the others decide when its jobs end"));
        }
    }
    all
}

/// The parts of a task's work that do not fit its reservations.
fn misfits(scenario: &CpuScenario, class: &TaskClass) -> Vec<String> {
    let name = &class.name;
    let Work::Periodic { period, cost, deadline, .. } = &class.work else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for (at, attributes) in attributes(scenario, class) {
        let Service::Hard(r) = attributes.service else {
            all.push(format!("{name} has no hard reservation from {at} on"));
            continue;
        };
        match cost.most() {
            None => all.push(format!(
                "{name} draws its jobs without a limit, and one beyond the budget of {} can be late",
                r.budget
            )),
            Some(most) if most > r.budget => {
                all.push(format!("{name} has jobs of {most}, beyond its budget of {}", r.budget));
            }
            Some(_) => {}
        }
        if *period < r.period {
            all.push(format!("{name} has a job every {period} and a budget every {}", r.period));
        }
        if *deadline < r.deadline {
            all.push(format!(
                "{name} wants jobs done within {deadline} and reserves them within {}",
                r.deadline
            ));
        }
    }
    all.dedup();
    all
}
