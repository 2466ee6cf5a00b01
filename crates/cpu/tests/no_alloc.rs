//! After tasks have joined, no policy calls the allocator, as a counting allocator shows.

#[path = "../../core/tests/allocations/mod.rs"]
mod allocations;

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES, Visitor, visit};
use laxity_cpu::{Attributes, CpuId, Policy, Reservation, TaskId};

const TASKS: u32 = 64;

struct Drive;

impl Visitor for Drive {
    type Output = u64;

    /// Reports a random mixture of all events but joins and changes; returns the number of allocator calls.
    fn visit<P: Policy + Send + 'static>(self, mut policy: P) -> u64 {
        let mut now = Time::ZERO;
        for t in 0..TASKS {
            let reservation = Reservation::new(Span(100_000), Span(20_000_000));
            let attributes = match t % 8 {
                0 => Attributes::hard(reservation),
                1 => Attributes::soft(reservation),
                _ => Attributes::default(),
            };
            policy.join(now, TaskId(t), &attributes).expect("room for all");
        }
        let before = allocations::calls();
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut running = None;
        for _ in 0..50_000 {
            let step = Span(random(300_000));
            now += step;
            if let Some(task) = running {
                match random(3) {
                    0 => policy.block(now, task, step),
                    _ => policy.ran(now, task, step),
                }
            }
            policy.wake(now, TaskId(random(u64::from(TASKS)) as u32));
            if policy.next_event().is_some_and(|at| at <= now) {
                policy.timer(now);
            }
            running = policy.pick(now, CpuId::FIRST).map(|p| p.task);
        }
        for t in 0..TASKS / 2 {
            policy.leave(now, TaskId(t), Span::ZERO);
        }
        allocations::calls() - before
    }
}

/// Fails when a queue does not reserve capacity at joins: tried without `reserve` in `linux-2.6`.
#[test]
fn only_joins_and_changes_allocate() {
    for p in POLICIES {
        let calls = visit(p.name, &Options::default(), Drive).expect("a name of the registry");
        assert!(calls == 0, "{} called the allocator {calls} times", p.name);
    }
}
