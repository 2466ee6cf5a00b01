//! Times, gaps and arrivals of any size and in any order: nothing panics, nothing hangs, and
//! structures still agree. Arrivals may come from other processes, which owe us no sense.

use crate::common::Random;
use crate::play::options;
use laxity_core::{Span, Time};
use laxity_dwcs::structure::{Buckets, Fastest, Heaps, List, Structure, Wheel};
use laxity_dwcs::{
    Attributes, Decision, Dropped, Late, Ledger, Options, Overdue, Queues, Scheduler, StreamId,
    Tolerance,
};
use proptest::prelude::*;

/// A number of any magnitude.
fn any_size(random: &mut Random) -> u64 {
    match random.below(20) {
        0 => u64::MAX - random.below(3),
        _ => random.below(u64::MAX) >> random.below(64),
    }
}

/// Queues with arbitrary arrivals. Each stream has numbers of its own, so that structures
/// may visit streams in different orders.
struct Nonsense(Vec<Random>);

impl Nonsense {
    fn arrival(&mut self, stream: StreamId) -> Option<Time> {
        let random = &mut self.0[stream.slot()];
        (random.below(8) > 0).then(|| Time(any_size(random)))
    }
}

impl Queues for Nonsense {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        self.arrival(stream)
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        self.arrival(stream)
    }

    /// Even the count is wrong at times.
    fn drop_heads(&mut self, stream: StreamId, which: Overdue) -> Dropped {
        let next = self.arrival(stream);
        let wrong = self.0[stream.slot()].below(10) == 0;
        Dropped { count: if wrong { u64::MAX } else { which.at_most }, next }
    }
}

/// None where the structure does not support the order.
fn decisions<S: Structure>(options: &Options, seed: u64) -> Option<Vec<Decision>> {
    const STREAMS: u64 = 8;
    let mut random = Random(seed);
    let ledger = Ledger::new().with_history();
    let mut scheduler = Scheduler::<S, _>::with_meter(options, ledger).ok()?;
    let mut queues = Nonsense((0..STREAMS).map(|i| Random(seed ^ i << 32)).collect());
    let mut ids = vec![];
    for _ in 0..STREAMS {
        let y = random.below(5);
        let attributes = Attributes {
            tolerance: Tolerance::new(random.below(y + 1), y).expect("x is at most y"),
            gap: (random.below(5) > 0).then(|| Span(any_size(&mut random).max(1))),
            late: [Late::Drop, Late::Send][random.below(2) as usize],
        };
        ids.push(scheduler.join(Time(any_size(&mut random)), &attributes).expect("joins"));
    }
    let mut decisions = vec![];
    for _ in 0..60 {
        let id = ids[random.below(STREAMS) as usize];
        scheduler.arrive(Time(any_size(&mut random)), id).expect("is there");
        decisions.push(scheduler.next(Time(any_size(&mut random)), &mut queues));
        scheduler.cost(Span(any_size(&mut random)));
    }
    decisions.push(scheduler.next(Time::MAX, &mut queues));
    scheduler.check(Time::MAX, &mut queues);
    let total = scheduler.meter().total();
    assert!(total.served <= 61 && total.missed >= total.dropped);
    Some(decisions)
}

/// An idle scheduler, and one of which a stream waits, at the last instant.
fn ends<S: Structure>(options: &Options) -> Option<[Decision; 3]> {
    let mut scheduler = Scheduler::<S, _>::with_meter(options, Ledger::new()).ok()?;
    let mut queues = Nonsense(vec![Random(1)]);
    let idle = scheduler.next(Time::MAX, &mut queues);
    let attributes = Attributes {
        tolerance: Tolerance::new(1, 2).expect("x is at most y"),
        gap: None,
        late: Late::Drop,
    };
    let id = scheduler.join(Time::MAX, &attributes).expect("joins");
    scheduler.arrive(Time::MAX, id).expect("is there");
    Some([idle, scheduler.next(Time::MAX, &mut queues), scheduler.next(Time::MAX, &mut queues)])
}

/// Fails when a structure searches for ever because no release is later than the last instant: tried without
/// `has_lists` in `timed/pending.rs`.
#[test]
fn the_last_instant_hangs_no_structure() {
    for options in [Options::default(), Options::tolerance_first(), Options::paper()] {
        let list = ends::<List>(&options);
        assert!(list.is_some());
        let others = [ends::<Heaps>, ends::<Fastest>, ends::<Wheel>, ends::<Buckets>];
        let ended: Vec<_> = others.iter().filter_map(|ends| ends(&options)).collect();
        assert!(ended.len() >= 2, "{}", ended.len());
        for decisions in ended {
            assert_eq!(Some(decisions), list);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Fails when any sum of times or counts can overflow: tried with `+=` for `saturating_add`
    /// in `Measures::merge`, and without the clamp in `Scheduler::miss`.
    #[test]
    fn no_input_panics(options in options(), seed in any::<u64>()) {
        let list = decisions::<List>(&options, seed);
        prop_assert!(list.is_some());
        let others = [decisions::<Heaps>, decisions::<Fastest>, decisions::<Wheel>, decisions::<Buckets>];
        for decided in others.iter().filter_map(|decisions| decisions(&options, seed)) {
            prop_assert_eq!(Some(&decided), list.as_ref());
        }
    }
}
