//! Decisions a second against the number of tasks: `cargo bench -p laxity-cpu --bench decisions`.
//!
//! A decision is the work of a scheduler when a task stops: charge its execution, block or replenish
//! it, wake another task, and pick. Half of the tasks are CPU-bound, half sleep for a while after
//! each burst, so that budgets, releases, wake-ups and preemptions all occur.

use std::time::Instant;

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES, Visitor, visit};
use laxity_cpu::{Attributes, CpuId, Policy, TaskId};

struct Drive {
    tasks: u32,
    decisions: u64,
}

impl Visitor for Drive {
    type Output = f64;

    fn visit<P: Policy + Send + 'static>(self, mut policy: P) -> f64 {
        let mut now = Time::ZERO;
        for t in 0..self.tasks {
            policy.join(now, TaskId(t), &Attributes::default()).expect("room for all");
            policy.wake(now, TaskId(t));
        }
        // Tasks wake in the order in which they blocked, at a constant number of sleepers.
        let sleepers = (self.tasks / 4).max(1) as usize;
        let mut asleep = std::collections::VecDeque::with_capacity(sleepers + 1);
        let start = Instant::now();
        for _ in 0..self.decisions {
            if policy.next_event().is_some_and(|at| at <= now) {
                policy.timer(now);
            }
            let Some(pick) = policy.pick(now, CpuId::FIRST) else {
                now = policy.next_event().unwrap_or(now + Span(1)).max(now);
                continue;
            };
            let sleeps = pick.task.0 % 2 == 0;
            let most = pick.until.since(now).0.max(1);
            let ran = Span(if sleeps { most.min(100_000) } else { most.min(1_000_000) });
            now += ran;
            if sleeps {
                policy.block(now, pick.task, ran);
                asleep.push_back(pick.task);
                if asleep.len() > sleepers {
                    policy.wake(now, asleep.pop_front().expect("just checked"));
                }
            } else {
                policy.ran(now, pick.task, ran);
            }
        }
        self.decisions as f64 / start.elapsed().as_secs_f64()
    }
}

fn main() {
    println!("{:16} {:>10} {:>10} {:>10} {:>10}  decisions/s", "tasks", 10, 100, 1_000, 10_000);
    for p in POLICIES {
        print!("{:16}", p.name);
        for tasks in [10, 100, 1_000, 10_000] {
            // Policies that scan all tasks would take too long.
            let scans = ["linux-2.4", "eevdf", "sched-deadline", "linux-2.6", "posix"];
            let decisions = if scans.contains(&p.name) && tasks > 100 { 20_000 } else { 2_000_000 };
            let rate = visit(p.name, &Options::default(), Drive { tasks, decisions });
            print!(" {:>10.0}", rate.expect("a name from the registry"));
        }
        println!();
    }
}
