//! After tasks have joined, no policy calls the allocator: a counting one sees every call.
//!
//! Only in this test binary, and the only `unsafe` here, is the allocator. The counter is the
//! thread's own: the test harness allocates in its own threads when it likes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES, Visitor, visit};
use laxity_cpu::{Attributes, CpuId, Policy, Reservation, TaskId};

struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// A thread that is ending has no counter any more, and nobody asks for it.
fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count();
        // SAFETY: `place` came from `alloc` above with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`, and `size` is the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TASKS: u32 = 64;

struct Drive;

impl Visitor for Drive {
    type Output = u64;

    /// Everything but joining and changing, in a lively mixture; answers the calls counted.
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
        let before = CALLS.get();
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
        CALLS.get() - before
    }
}

/// Fails when a queue is not given room at joins: tried without `reserve` in `linux-2.6`.
#[test]
fn nothing_allocates_but_joining() {
    for p in POLICIES {
        let calls = visit(p.name, &Options::default(), Drive).expect("a name of the registry");
        assert!(calls == 0, "{} called the allocator {calls} times", p.name);
    }
}
