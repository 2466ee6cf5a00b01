//! What other tasks can execute on a task's server because of locks, under bandwidth inheritance.
//!
//! Locks are handed on in order of arrival, so while a task waits for one, each other task holds it at most once:
//! the wait for a lock is at most the sum over all other tasks of the longest section in which each holds it. A
//! section that takes further locks within it counts with its waits for them, in which the waiting task itself has
//! no part. A job's interference is the sum over its own sections, nested ones too. Lamastra, Lipari, Abeni (RTSS
//! 2001) show that a hard task whose server has a budget of execution and interference is never late.

use std::collections::HashMap;

use laxity_core::Span;
use laxity_cpu::{Reservation, Service};
use laxity_results::{CpuLockWait, TaskKind};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::cpu::locks::{LockProtocol, Nesting, Section};
use laxity_scenario::cpu::model::TaskClass;
use laxity_sim::cpu::{Task, attributes};

/// The waits of one task for locks.
struct Waits<'a> {
    tasks: &'a [Task],
    /// By task: each of its sections with each that lies within it.
    within: Vec<Vec<(usize, usize)>>,
    /// The task that waits.
    of: usize,
    /// By lock: the longest section of each task but `of`, with its waits, and their sum.
    known: HashMap<u32, (Vec<(usize, Span)>, Span)>,
}

/// The most that other tasks execute on the server of a task during one of its jobs, for each of its sections. None of
/// the tasks nests locks in the opposite order of another, which scenarios refuse.
pub fn interference(tasks: &[Task], of: usize) -> Vec<(Section, Span)> {
    let Some(sections) = tasks.get(of).map(|task| &task.sections) else { return Vec::new() };
    if sections.is_empty() {
        return Vec::new();
    }
    let within = |task: &Task| Nesting::of(&task.sections).unwrap_or_default().within;
    let within = tasks.iter().map(within).collect();
    let mut waits = Waits { tasks, within, of, known: HashMap::new() };
    sections.iter().map(|section| (*section, waits.wait(section.lock, of))).collect()
}

impl Waits<'_> {
    /// The longest wait of a task for a lock while `of` waits for it, or of `of` itself.
    fn wait(&mut self, lock: u32, waiter: usize) -> Span {
        if !self.known.contains_key(&lock) {
            let longest = self.longest(lock);
            let sum = longest.iter().fold(Span::ZERO, |sum, (_, length)| sum + *length);
            self.known.insert(lock, (longest, sum));
        }
        let (longest, sum) = &self.known[&lock];
        let own = longest.binary_search_by_key(&waiter, |(task, _)| *task);
        own.map_or(*sum, |at| Span(sum.0.saturating_sub(longest[at].1.0)))
    }

    /// The longest section of a lock of each other task, with its waits for locks within.
    fn longest(&mut self, lock: u32) -> Vec<(usize, Span)> {
        let (tasks, of) = (self.tasks, self.of);
        let mut all = Vec::new();
        for (i, task) in tasks.iter().enumerate().filter(|(i, _)| *i != of) {
            let mut longest = Span::ZERO;
            for (at, section) in task.sections.iter().enumerate().filter(|(_, s)| s.lock == lock) {
                let inner: Vec<usize> =
                    self.within[i].iter().filter(|(outer, _)| *outer == at).map(|w| w.1).collect();
                let mut length = section.hold;
                for inner in inner {
                    length = length + self.wait(task.sections[inner].lock, i);
                }
                longest = longest.max(length);
            }
            if longest > Span::ZERO {
                all.push((i, longest));
            }
        }
        all
    }
}

/// What locks add to the jobs of each class that has a reservation at some time.
pub(super) fn waits(scenario: &CpuScenario, tasks: &[Task]) -> Vec<CpuLockWait> {
    let mut first = 0;
    let mut all = Vec::new();
    for class in &scenario.tasks {
        let task = first;
        first += class.count as usize;
        let reserved = reservations(scenario, class);
        let (false, Some(kind), Some(execution)) = (
            class.sections.is_empty(),
            reserved.iter().map(|(kind, _)| *kind).min_by_key(|kind| *kind != TaskKind::Hard),
            class.work.job().and_then(|cost| cost.most()),
        ) else {
            continue;
        };
        let mut wait = CpuLockWait {
            task: class.name.clone(),
            kind,
            execution_ns: execution.0,
            interference_ns: None,
            by_lock_ns: Default::default(),
        };
        if scenario.locks.protocol == LockProtocol::Inherit {
            let mut all_locks = 0u64;
            for (section, length) in interference(tasks, task) {
                let of_lock = wait.by_lock_ns.entry(name(scenario, section.lock).to_owned());
                let of_lock = of_lock.or_insert(0);
                *of_lock = of_lock.saturating_add(length.0);
                all_locks = all_locks.saturating_add(length.0);
            }
            wait.interference_ns = Some(all_locks);
        }
        all.push(wait);
    }
    all
}

/// Why hard jobs can be late because of locks.
pub(super) fn obstacles(scenario: &CpuScenario, waits: &[CpuLockWait]) -> Vec<String> {
    let mut all = Vec::new();
    for wait in waits.iter().filter(|wait| wait.kind == TaskKind::Hard) {
        let Some(class) = scenario.tasks.iter().find(|class| class.name == wait.task) else {
            continue;
        };
        let Some(interference) = wait.interference_ns else {
            all.push(without_inheritance(scenario, class));
            continue;
        };
        let need = Span(wait.execution_ns.saturating_add(interference));
        for (kind, reservation) in reservations(scenario, class) {
            // Jobs beyond the budget by themselves are named as such.
            let enough = reservation.budget >= need || reservation.budget.0 < wait.execution_ns;
            if kind == TaskKind::Hard && !enough && interference > 0 {
                all.push(format!(
                    "{} has jobs of {}, in which others execute up to {} for locks, beyond its budget of {}; with {need} \
                     it covers both",
                    class.name,
                    Span(wait.execution_ns),
                    Span(interference),
                    reservation.budget
                ));
            }
        }
    }
    all.dedup();
    all
}

/// Why the waits of a class have no bound under [`LockProtocol::None`].
fn without_inheritance(scenario: &CpuScenario, class: &TaskClass) -> String {
    let locks = reachable(scenario, class);
    let holds = |other: &&TaskClass| other.sections.iter().any(|s| locks.contains(&s.lock));
    let others = scenario.tasks.iter().filter(|other| other.name != class.name).filter(holds);
    let remedy = "with protocol = \"inherit\" its wait is bounded";
    let unreserved = |other: &&TaskClass| {
        attributes(scenario, other).iter().any(|(_, a)| a.service == Service::BestEffort)
    };
    match others.clone().find(unreserved) {
        Some(holder) => format!(
            "{} can wait without bound for a lock that {} holds, which has no reservation; {remedy}",
            class.name, holder.name
        ),
        None => format!(
            "{} can wait for a lock while its holder has used its own budget up; {remedy}",
            class.name
        ),
    }
}

/// The locks for which a class can wait: its own, and those that others take within them.
fn reachable(scenario: &CpuScenario, class: &TaskClass) -> Vec<u32> {
    let mut locks: Vec<u32> = class.sections.iter().map(|s| s.lock).collect();
    let mut next = 0;
    while let Some(lock) = locks.get(next).copied() {
        next += 1;
        for other in &scenario.tasks {
            let within = Nesting::of(&other.sections).unwrap_or_default().within;
            for (outer, inner) in within {
                let inner = other.sections[inner].lock;
                if other.sections[outer].lock == lock && !locks.contains(&inner) {
                    locks.push(inner);
                }
            }
        }
    }
    locks
}

fn name(scenario: &CpuScenario, lock: u32) -> &str {
    scenario.locks.names.get(lock as usize).map_or("", String::as_str)
}

/// The reservations of a class, in order of time.
fn reservations(scenario: &CpuScenario, class: &TaskClass) -> Vec<(TaskKind, Reservation)> {
    let of = |service| match service {
        Service::Hard(reservation) => Some((TaskKind::Hard, reservation)),
        Service::Soft(reservation) => Some((TaskKind::Soft, reservation)),
        Service::BestEffort => None,
    };
    attributes(scenario, class).into_iter().filter_map(|(_, a)| of(a.service)).collect()
}
