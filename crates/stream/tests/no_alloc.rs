//! After a stream has joined nothing allocates: a counting allocator sees every call.
//!
//! Only in this test binary, and the only `unsafe` here, is the allocator. The counter is the
//! thread's own: the test harness allocates in its own threads when it likes.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Endless, Random, backlogged, priority, sent_late, stream};
use laxity_core::Time;
use laxity_stream::structure::{Fastest, Heaps, List, Structure};
use laxity_stream::{Decision, Ledger, Options, RuleC};

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

/// Streams of all kinds, served too slowly and too fast by turns, pausing and leaving.
fn play<S: Structure>(options: &Options) {
    const STREAMS: u64 = 200;
    let kinds = |i| match i % 5 {
        0 => priority("1/9"),
        1 => sent_late("1/7", 90 + i),
        2 => stream("0/3", 150),
        _ => stream("2/9", 100 + i),
    };
    let streams: Vec<_> = (0..STREAMS).map(kinds).collect();
    let ledger = Ledger::new().with_history().with_classes(2);
    let (mut scheduler, mut queues) = backlogged::<S, Ledger>(options, &streams, ledger);
    let mut ids: Vec<_> = (0..streams.len()).filter_map(|i| scheduler.stream_at(i)).collect();
    ids.iter().for_each(|id| scheduler.meter_mut().set_class(*id, id.slot() % 3));
    let mut random = Random(1);
    let mut paused = Pausing { queues, pauses: 7 };
    let mut now = 0;
    let mut served = 0;
    let before = CALLS.get();
    for step in 0..40_000u64 {
        match scheduler.next(Time(now), &mut paused) {
            Decision::Serve { .. } => served += 1,
            Decision::Wait(until) => now = until.0,
            Decision::Idle => now += 1,
        }
        now += if step % 10_000 < 5000 { 1 } else { random.below(5) };
        let id = ids[random.below(ids.len() as u64) as usize];
        scheduler.arrive(Time(now), id).expect("is there");
        if step % 1000 == 999 {
            let id = ids.swap_remove(random.below(ids.len() as u64) as usize);
            scheduler.leave(id).expect("is there");
        }
    }
    let calls = CALLS.get() - before;
    assert_eq!(calls, 0, "{} called the allocator {calls} times", S::NAME);
    assert!(served > 10_000);
    queues = paused.queues;
    assert!(scheduler.meter().total().missed > 1000 && queues.dropped.iter().sum::<u64>() > 1000);
    assert!(scheduler.meter().delays(1).is_some_and(|delays| delays.count() > 1000));
}

/// Every few packets a stream runs dry.
struct Pausing {
    queues: Endless,
    pauses: u64,
}

impl laxity_stream::Queues for Pausing {
    fn serve(&mut self, stream: laxity_stream::StreamId) -> Option<Time> {
        self.queues.serve(stream).filter(|head| head.0 % self.pauses != 0)
    }

    fn drop_head(&mut self, stream: laxity_stream::StreamId) -> Option<Time> {
        self.queues.drop_head(stream).filter(|head| head.0 % self.pauses != 0)
    }
}

#[test]
fn nothing_allocates_after_joining() {
    let widening = Options { rule_c: RuleC::Widen, ..Options::paper() };
    for options in [Options::default(), Options::tolerance_first(), Options::paper(), widening] {
        play::<List>(&options);
        play::<Heaps>(&options);
        play::<Fastest>(&options);
    }
    // The counter itself works.
    let before = CALLS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert!(CALLS.get() >= before + 2);
}
