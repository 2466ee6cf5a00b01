//! Random chains of changes beside hard tasks: reservations that rise and fall before the last change is in
//! force, weights that do, tasks that become reservations and back, come and go.
//!
//! Debug builds assert the rule of `laxity_cpu::servers` after every event, so a chain that breaks it fails
//! here although no job happens to be late. LAXITY_SYSTEMS says how many systems; `make chains` runs 100,000.

use crate::cpu_common::ms;
use crate::cpu_common::systems::HardJobs;
use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, build};
use laxity_cpu::{Attributes, Nice, Reservation};
use laxity_sim::cpu::{Change, Cost, Machine, Step, Task, Workload, run};
use laxity_sim::{Control, Random};

fn systems() -> u64 {
    std::env::var("LAXITY_SYSTEMS").map_or(400, |n| n.parse().expect("LAXITY_SYSTEMS is a number"))
}

fn reservation(r: &mut Random, period: u64) -> Attributes {
    let budget = (period * r.uniform(1, 500) / 1000).max(1000);
    Attributes::hard(Reservation::new(Span(budget), Span(period)))
}

fn best_effort(r: &mut Random) -> Attributes {
    Attributes::best_effort(Nice::new(r.uniform(0, 39) as i8 - 20).expect("in range"))
}

fn work(r: &mut Random) -> Workload {
    let steps = (0..r.uniform(1, 3)).flat_map(|_| {
        let run = Step::Run(Span(r.uniform(1_000_000, 80_000_000)));
        [run, Step::Sleep(Span(r.uniform(1_000_000, 60_000_000)))]
    });
    let script = Workload::Script { steps: steps.collect(), repeat: true };
    if r.uniform(0, 1) == 0 { Workload::CpuBound } else { script }
}

/// Three or more changes, some a fraction of a period apart.
fn chain(r: &mut Random, end: u64, mut next: impl FnMut(&mut Random) -> Attributes) -> Vec<Change> {
    let mut at = r.uniform(0, end / 2);
    (0..r.uniform(2, 6))
        .map(|_| {
            at += match r.uniform(0, 3) {
                0 => r.uniform(0, 100_000_000),
                1 => 0,
                _ => r.uniform(0, 3_000_000),
            };
            Change { at: Time(at), attributes: next(r) }
        })
        .collect()
}

/// The first tasks are asked about; the others change.
fn system(seed: u64, end: u64) -> (Vec<Task>, usize) {
    let mut r = Random::new(seed, u32::MAX - 7);
    let r = &mut r;
    let mut tasks = Vec::new();
    for _ in 0..r.uniform(1, 2) {
        let period = Span(r.uniform(5_000_000, 400_000_000));
        let budget = Span(period.0 * r.uniform(10, 45) / 100);
        let mut task = Task::hard("hard", Reservation::new(budget, period), Cost::Fixed(budget));
        task.phase = Span(r.uniform(0, end / 4));
        tasks.push(task);
    }
    let hard = tasks.len();
    for _ in 0..r.uniform(1, 2) {
        let period = r.uniform(2_000_000, 300_000_000);
        let mixed = r.uniform(0, 3) == 0;
        let mut task = Task::new("changes", work(r)).with(reservation(r, period));
        task.changes = chain(r, end, |r| match r.uniform(0, 2) {
            0 if mixed => best_effort(r),
            _ => reservation(r, period),
        });
        tasks.push(task);
    }
    for _ in 0..r.uniform(1, 5) {
        let mut task = Task::new("best effort", work(r)).with(best_effort(r));
        if r.uniform(0, 1) == 0 {
            task.changes = chain(r, end, best_effort);
        }
        task.joins = Time(r.uniform(0, 1) * r.uniform(0, end / 2));
        task.leaves = (r.uniform(0, 2) == 0).then(|| task.joins + Span(r.uniform(1, end)));
        tasks.push(task);
    }
    (tasks, hard)
}

/// Says which system it was when an assertion of the policy fails.
struct Running(&'static str, u64);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}: system {}", self.0, self.1);
        }
    }
}

/// Fails with each mend of `crates/cpu/tests/faults` undone but those that need more than two tasks to
/// wake in the right order, which `crates/cpu/tests/search.rs` finds.
#[test]
fn chains_of_changes_make_no_hard_job_late() {
    let length = ms(2000);
    for policy in ["bebs", "bebs-credit", "cbs", "iris", "edf"] {
        let (mut jobs, mut late, mut refused) = (0, Vec::new(), 0);
        for seed in 0..systems() {
            let _running = Running(policy, seed);
            let (tasks, hard) = system(seed, length.0);
            let mut seen = HardJobs::of((0..tasks.len()).map(|i| i < hard).collect());
            let machine = Machine::single(Time::ZERO + length, seed);
            let mut served = build(policy, &Options::default()).expect("a name of the registry");
            run(&mut served, &tasks, machine, &mut seen, &Control::default()).expect("a run");
            (jobs, refused) = (jobs + seen.jobs, refused + seen.refused);
            if seen.late > 0 {
                late.push(seed);
            }
        }
        println!("{policy}: {jobs} jobs, {refused} refused");
        assert!(late.is_empty(), "{policy}: late jobs in systems {late:?}");
        assert!(
            jobs > 10 * systems() && refused > systems() / 10,
            "{jobs} jobs, {refused} refused"
        );
    }
}
