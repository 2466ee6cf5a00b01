//! After a stream has joined nothing allocates: a counting allocator sees every call.

#[path = "../../core/tests/allocations/mod.rs"]
mod allocations;
mod common;

use common::{Endless, Random, backlogged, priority, sent_late, stream};
use laxity_core::Time;
use laxity_dwcs::structure::{Fastest, Heaps, List, Structure};
use laxity_dwcs::{Decision, Ledger, Options, RuleC};

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
    let before = allocations::calls();
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
    let calls = allocations::calls() - before;
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

impl laxity_dwcs::Queues for Pausing {
    fn serve(&mut self, stream: laxity_dwcs::StreamId) -> Option<Time> {
        self.queues.serve(stream).filter(|head| head.0 % self.pauses != 0)
    }

    fn drop_head(&mut self, stream: laxity_dwcs::StreamId) -> Option<Time> {
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
    let before = allocations::calls();
    drop(std::hint::black_box(Box::new(1)));
    assert!(allocations::calls() >= before + 2);
}
