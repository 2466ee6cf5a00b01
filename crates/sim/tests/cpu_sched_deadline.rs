//! `SCHED_DEADLINE`: throttling, reclaiming, and the rule at wake-ups.

use crate::cpu_common::{cpu_bound, measure, ms};
use laxity_cpu::layered::Layered;
use laxity_cpu::round_robin::RoundRobin;
use laxity_cpu::sched_deadline::SchedDeadline;
use laxity_cpu::{Attributes, Policy, Reservation};
use laxity_sim::cpu::{Cost, Step, Task, Workload};

fn policy(reclaim: bool) -> impl Policy {
    Layered::new(SchedDeadline::new(reclaim), RoundRobin::new(ms(10)))
}

fn greedy(budget: u64, period: u64) -> Task {
    cpu_bound("greedy").with(Attributes::hard(Reservation::new(ms(budget), ms(period))))
}

fn shares(tasks: &[Task], reclaim: bool) -> Vec<f64> {
    let m = measure(&mut policy(reclaim), tasks, ms(100_000), 1);
    m.tasks.iter().map(|t| t.executed.0 as f64 / 100e9).collect()
}

/// Without reclaiming each has exactly its share. With it, budgets are used up at the speed of
/// the active shares, `U_act / 0.95`: two of a fifth use 0.475 each, and 5 % are left to best
/// effort.
///
/// Fails when a task's own share is the speed regardless of other active tasks.
#[test]
fn reclaiming_divides_unreserved_bandwidth() {
    let tasks = [greedy(20, 100), greedy(20, 100), cpu_bound("below")];
    let close = |found: Vec<f64>, want: [f64; 3]| {
        assert!(found.iter().zip(want).all(|(f, w)| (f - w).abs() < 0.005), "{found:?} {want:?}");
    };
    close(shares(&tasks, false), [0.2, 0.2, 0.6]);
    close(shares(&tasks, true), [0.475, 0.475, 0.05]);
}

/// A task that sleeps until shortly before its deadline may not then use all of its budget at once
/// under that deadline: a wake-up with more left than its share gives it a new one, and the hard
/// task beside it is in time.
///
/// Fails when the old budget and deadline are retained.
#[test]
fn a_late_wake_up_gets_a_new_deadline() {
    let steps = vec![
        Step::Run(ms(1)),
        Step::SleepUntil(ms(80)),
        Step::Run(ms(49)),
        Step::SleepUntil(ms(200)),
    ];
    let sleeper = Task::new("sleeper", Workload::Script { steps, repeat: false })
        .with(Attributes::hard(Reservation::new(ms(50), ms(100))));
    let mut other = Task::hard("hard", Reservation::new(ms(18), ms(40)), Cost::Fixed(ms(18)));
    other.phase = ms(75);
    let m = measure(&mut policy(false), &[sleeper, other], ms(199), 1);
    assert_eq!(m.tasks[1].missed, 0);
    assert!(m.tasks[1].jobs >= 3);
}
