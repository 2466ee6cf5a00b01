//! Decisions of task policies against the number of tasks.
//!
//! A decision is the work of a scheduler when a task stops: charge its run, put it to sleep or exhaust
//! its budget, wake another, and pick. Half of the tasks compute for ever, half sleep after each
//! burst until a quarter as many others have gone to sleep, so that budgets, releases, wake-ups and
//! preemptions all occur.

use std::collections::VecDeque;
use std::hint::black_box;

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, Visitor, visit};
use laxity_cpu::{Attributes, CpuId, Policy, TaskId};

use crate::baselines::heap_edf::HeapEdf;
use crate::{Contender, Group, Operation};

const COUNTS: [(u32, &str); 4] = [(10, "10"), (100, "100"), (1_000, "1k"), (10_000, "10k")];

/// Policies within O(log n): one of each kind.
const OURS: [&str; 4] = ["bebs", "bebs-credit", "cbs", "berate"];
/// Policies that visit all tasks; too slow at the largest count.
const SCANNING: [&str; 2] = ["linux-2.4", "eevdf"];

/// The longest that a task computes before it sleeps, or before something else happens.
const BURST: u64 = 100_000;
const STRETCH: u64 = 1_000_000;

pub(crate) fn groups() -> Vec<Group> {
    let mut groups = Vec::new();
    for (tasks, label) in COUNTS {
        for name in OURS {
            let baseline = if name == "bebs" {
                "binary-heap".to_owned()
            } else {
                format!("binary-heap-by-{name}")
            };
            groups.push(Group(vec![
                Contender::new(format!("cpu/{name}/{label}"), move || registered(name, tasks)),
                Contender::new(format!("cpu/{baseline}/{label}"), move || {
                    drive(HeapEdf::new(), tasks)
                }),
            ]));
        }
        if tasks <= 1_000 {
            let scanning = SCANNING.map(|name| {
                Contender::new(format!("cpu/{name}/{label}"), move || registered(name, tasks))
            });
            groups.push(Group(scanning.into()));
        }
    }
    groups
}

struct Drive(u32);

impl Visitor for Drive {
    type Output = Operation;

    fn visit<P: Policy + Send + 'static>(self, policy: P) -> Operation {
        Box::new(drive(policy, self.0))
    }
}

/// Decisions of the policy of a name with so many tasks.
///
/// # Panics
/// When no policy has this name.
pub fn registered(name: &str, tasks: u32) -> Operation {
    visit(name, &Options::default(), Drive(tasks)).expect("a name of the registry")
}

/// Decisions of a policy with so many tasks.
pub fn drive<P: Policy>(mut policy: P, tasks: u32) -> impl FnMut(u64) {
    let mut now = Time::ZERO;
    for t in 0..tasks {
        // None is refused: best-effort tasks reserve nothing.
        let _ = policy.join(now, TaskId(t), &Attributes::default());
        policy.wake(now, TaskId(t));
    }
    // Sleepers wake in the order in which they went to sleep, when so many others have.
    let sleepers = (tasks as usize / 4).max(1);
    let mut asleep = VecDeque::with_capacity(sleepers + 1);
    move |count| {
        for _ in 0..count {
            if policy.next_event().is_some_and(|at| at <= now) {
                policy.timer(now);
            }
            let Some(pick) = black_box(policy.pick(now, CpuId::FIRST)) else {
                now = policy.next_event().unwrap_or(now + Span(1)).max(now);
                continue;
            };
            let sleeps = pick.task.0 % 2 == 0;
            let most = pick.until.since(now).0.max(1);
            let ran = Span(most.min(if sleeps { BURST } else { STRETCH }));
            now += ran;
            if !sleeps {
                policy.ran(now, pick.task, ran);
                continue;
            }
            policy.block(now, pick.task, ran);
            asleep.push_back(pick.task);
            if asleep.len() > sleepers {
                if let Some(first) = asleep.pop_front() {
                    policy.wake(now, first);
                }
            }
        }
    }
}
