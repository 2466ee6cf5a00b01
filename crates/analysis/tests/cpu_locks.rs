//! Under bandwidth inheritance no admitted hard job is late whose budget covers its execution and what other tasks
//! can execute on its server: all small systems on a grid, and random larger ones.

use laxity_analysis::cpu::interference;
use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES, build};
use laxity_cpu::{Admitted, Attributes, Refusal, Reservation, Service, TaskId};
use laxity_scenario::cpu::locks::Section;
use laxity_sim::cpu::{Cost, Gap, Job, Machine, Observer, Task, Workload, run};
use laxity_sim::{Control, Random};

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn section(lock: u32, at: u64, hold: u64) -> Section {
    Section { lock, at: ms(at), hold: ms(hold) }
}

/// Jobs of admitted hard tasks.
struct HardJobs {
    hard: Vec<bool>,
    refused: u64,
    jobs: u64,
    late: u64,
}

impl Observer for HardJobs {
    fn asked(&mut self, _: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        if answer.is_err() {
            self.hard[task.index()] = false;
            self.refused += 1;
        }
    }
    fn ended(&mut self, task: TaskId, job: &Job) {
        if self.hard[task.index()] {
            self.jobs += 1;
            self.late += u64::from(job.tardiness() > Span::ZERO);
        }
    }
    fn unfinished(&mut self, task: TaskId, job: &Job) {
        self.late += u64::from(self.hard[task.index()] && job.overdue().is_some());
    }
}

/// Gives each hard task the budget of its execution and its interference, without `less` of that.
fn budgeted(mut tasks: Vec<Task>, less: Span) -> Vec<Task> {
    for i in 0..tasks.len() {
        let waits: u64 = interference(&tasks, i).iter().map(|(_, wait)| wait.0).sum();
        if let Service::Hard(reservation) = &mut tasks[i].attributes.service {
            reservation.budget = Span(reservation.budget.0 + waits.saturating_sub(less.0));
        }
    }
    tasks
}

fn is_hard(task: &Task) -> bool {
    matches!(task.attributes.service, Service::Hard(_))
}

fn judge(policy: &str, tasks: &[Task], length: Span) -> HardJobs {
    let hard = tasks.iter().map(is_hard).collect();
    let mut seen = HardJobs { hard, refused: 0, jobs: 0, late: 0 };
    let mut policy = build(policy, &Options::default()).expect("a policy of the registry");
    let machine = Machine::single(Time::ZERO + length, 1);
    run(&mut policy, tasks, machine, &mut seen, &Control::default()).expect("a run to its end");
    seen
}

/// The policies that keep deadlines.
fn policies() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|p| p.keeps_deadlines).map(|p| p.name)
}

/// Sections of a job of 3 ms on a grid of 1 ms, with one section or two of two locks.
fn shapes() -> Vec<Vec<Section>> {
    let mut all = vec![Vec::new()];
    for (at, hold) in [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)] {
        all.extend((0..2).map(|lock| vec![section(lock, at, hold)]));
    }
    for inner in [(0, 1), (0, 3), (1, 1), (1, 2)] {
        all.push(vec![section(0, 0, 3), section(1, inner.0, inner.1)]);
    }
    for (first, second) in [(0, 1), (1, 0), (0, 0)] {
        all.push(vec![section(first, 0, 1), section(second, 1, 2)]);
    }
    all
}

/// Two hard tasks, a best-effort one, which takes its locks before the others come, and others without locks.
fn small(sections: [&Vec<Section>; 3], phases: [u64; 2]) -> Vec<Task> {
    let hard = |period, phase| {
        let task = Task::hard("hard", Reservation::new(ms(3), ms(period)), Cost::Fixed(ms(3)));
        Task { phase: ms(phase), ..task }
    };
    let low = Task::frames("low", ms(20), Cost::Fixed(ms(3)));
    let mut tasks = vec![hard(12, phases[0]), hard(20, phases[1]), low];
    for (task, sections) in tasks.iter_mut().zip(sections) {
        task.sections.clone_from(sections);
    }
    tasks.resize_with(5, || Task::new("hog", Workload::CpuBound));
    tasks
}

/// Fails when the bound leaves out the waits of nested sections, or counts one other task alone, or the engine follows
/// one wait of a chain (each tried).
#[test]
fn no_hard_job_is_late_in_small_systems() {
    let shapes = shapes();
    let all = || (0..shapes.len().pow(3)).map(|i| [i % 20, i / 20 % 20, i / 400]);
    assert_eq!(shapes.len(), 20);
    for policy in policies() {
        let (mut jobs, mut refused) = (0, 0);
        for places in all() {
            let phases = if (places[0] + places[1]) % 2 == 0 { [2, 1] } else { [1, 2] };
            let tasks = budgeted(small(places.map(|place| &shapes[place]), phases), Span::ZERO);
            let seen = judge(policy, &tasks, ms(61));
            assert_eq!(seen.late, 0, "{policy}: {places:?}");
            (jobs, refused) = (jobs + seen.jobs, refused + seen.refused);
        }
        assert!(jobs > 50_000 && refused < 3_000, "{policy}: {jobs} jobs, {refused} refused");
    }
    // Budgets are not larger than they must be: with less, jobs are late.
    let short = |places: [usize; 3]| {
        let tasks = budgeted(small(places.map(|place| &shapes[place]), [2, 1]), ms(1));
        judge("cbs", &tasks, ms(61)).late
    };
    assert!(all().map(short).sum::<u64>() > 100);
}

/// Sections of random lengths, nested ones of later locks.
fn random_sections(r: &mut Random, (from, to): (u64, u64), lock: u32, all: &mut Vec<Section>) {
    let mut at = from;
    while lock < 4 && at < to && all.len() < 6 && r.uniform(0, 2) > 0 {
        let begin = r.uniform(at, to - 1);
        let end = r.uniform(begin + 1, to);
        let lock = r.uniform(lock.into(), 3) as u32;
        all.push(Section { lock, at: Span(begin), hold: Span(end - begin) });
        random_sections(r, (begin, end), lock + 1, all);
        at = end;
    }
}

/// A random system: hard, soft and best-effort tasks with up to four locks; some leave.
fn random_system(seed: u64) -> Vec<Task> {
    let mut r = Random::new(seed, u32::MAX);
    let mut tasks = Vec::new();
    for i in 0..r.uniform(4, 12) {
        let period = r.uniform(10_000_000, 150_000_000);
        let least = period * r.uniform(1, 6) / 100;
        let most = least + r.uniform(0, least);
        let cost = Cost::Uniform(Span(least), Span(most));
        let (reservation, gap) = (Reservation::new(Span(most), Span(period)), Span(period / 2));
        let poll = Workload::Interactive { sleep: Gap::Exponential(gap), burst: cost };
        let mut task = match i % 4 {
            0 | 1 => Task::hard("hard", reservation, cost),
            2 => Task::new("soft", poll).with(Attributes::soft(reservation)),
            _ => Task::new("low", poll),
        };
        random_sections(&mut r, (0, least), 0, &mut task.sections);
        task.phase = Span(r.uniform(0, period));
        task.leaves = (r.uniform(0, 5) == 0).then(|| Time(r.uniform(0, 500_000_000)));
        tasks.push(task);
    }
    tasks.resize_with(tasks.len() + 2, || Task::new("hog", Workload::CpuBound));
    tasks
}

/// Fails when the engine follows one wait of a chain (tried), or budgets have no part for waits (counted below).
#[test]
fn no_hard_job_is_late_in_random_systems() {
    for policy in policies() {
        let (mut jobs, mut unprotected) = (0, 0);
        for seed in 0..150 {
            let tasks = random_system(seed);
            let alone = judge(policy, &tasks, ms(500));
            let seen = judge(policy, &budgeted(tasks, Span::ZERO), ms(500));
            assert_eq!(seen.late, 0, "{policy}: system {seed}");
            (jobs, unprotected) = (jobs + seen.jobs, unprotected + alone.late);
        }
        println!("{policy}: {jobs} jobs, {unprotected} late without budgets for waits");
        assert!(jobs > 2_000 && unprotected > 10, "{policy}: {jobs} jobs, {unprotected}");
    }
}
