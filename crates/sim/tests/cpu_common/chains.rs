//! Random chains of changes beside hard tasks: reservations that rise and fall before the last change is in
//! force, weights that do, tasks that become reservations and back, come and go.

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, Nice, Reservation};
use laxity_sim::Random;
use laxity_sim::cpu::{Change, Cost, Step, Task, Workload};

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
pub fn system(seed: u64, end: u64) -> (Vec<Task>, usize) {
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
