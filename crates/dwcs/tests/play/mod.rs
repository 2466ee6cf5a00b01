//! Random histories, played to two structures at once.
#![allow(dead_code, reason = "each test uses its part")]

pub mod long;

use std::num::NonZeroU32;

use crate::common::Fifos;
use laxity_core::{Span, Time};
use laxity_dwcs::structure::{List, Structure};
use laxity_dwcs::{
    Attributes, Check, Decision, Late, Ledger, Options, Order, Record, RuleA, RuleC, Scheduler,
    StreamId, Tolerance, ZeroTie,
};
use proptest::prelude::*;

/// Events of a scheduler. Stream numbers count modulo the streams present.
#[derive(Clone, Debug)]
pub enum Event {
    Join(Attributes),
    Leave(usize),
    Change(usize, Attributes),
    /// So many packets arrive.
    Arrive(usize, u8),
    /// Time passes and the scheduler decides, this many times.
    Next(u64, u8),
    /// The decisions of late cost this much.
    Cost(u64),
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let tolerance = (0..5u64)
        .prop_flat_map(|y| (0..=y, Just(y)))
        .prop_map(|(x, y)| Tolerance::new(x, y).expect("x is at most y"));
    let gap =
        prop_oneof![8 => (1..12u64).prop_map(Some), 1 => Just(Some(1 << 40)), 1 => Just(None)];
    let late = prop_oneof![2 => Just(Late::Drop), 1 => Just(Late::Send)];
    (tolerance, gap, late).prop_map(|(tolerance, gap, late)| Attributes {
        tolerance,
        gap: gap.map(Span),
        late,
    })
}

/// A short history of small times, so that much coincides.
pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let any_stream = 0..20usize;
    let event = prop_oneof![
        3 => attributes().prop_map(Event::Join),
        1 => any_stream.clone().prop_map(Event::Leave),
        1 => (any_stream.clone(), attributes()).prop_map(|(i, a)| Event::Change(i, a)),
        6 => (any_stream, 1..6u8).prop_map(|(i, n)| Event::Arrive(i, n)),
        6 => (0..4u64, 1..8u8).prop_map(|(time, n)| Event::Next(time, n)),
        1 => (0..200u64, 1..3u8).prop_map(|(time, n)| Event::Next(time, n)),
        1 => (0..200u64).prop_map(Event::Cost),
    ];
    prop::collection::vec(event, 1..120)
}

/// All options.
pub fn options() -> impl Strategy<Value = Options> {
    let count = |n| NonZeroU32::new(n).expect("not zero");
    let order = prop_oneof![Just(Order::DeadlineFirst), Just(Order::ToleranceFirst)];
    let a = prop_oneof![Just(RuleA::Rolling), Just(RuleA::Printed)];
    let c = prop_oneof![Just(RuleC::Tag), Just(RuleC::Reset), Just(RuleC::Widen)];
    let check = prop_oneof![
        3 => Just(Check::ALWAYS),
        1 => (2..6u32).prop_map(move |n| Check::Every(count(n))),
        1 => Just(Check::Adaptive { budget: Span(50), most: count(8) }),
    ];
    let ahead = prop_oneof![
        2 => Just(NonZeroU32::new(1)),
        1 => Just(NonZeroU32::new(3)),
        2 => Just(None)
    ];
    let tie = prop_oneof![Just(ZeroTie::Deadline), Just(ZeroTie::FirstCome)];
    (order, a, c, check, any::<(bool, bool)>(), ahead, tie).prop_map(
        |(order, rule_a, rule_c, check, (settle, align), ahead, zero_tie)| Options {
            order,
            rule_a,
            rule_c,
            check,
            settle,
            align,
            ahead,
            zero_tie,
        },
    )
}

/// A scheduler, its queues, and the streams in them.
pub struct Play<S> {
    pub scheduler: Scheduler<S, Ledger>,
    pub queues: Fifos,
    pub streams: Vec<StreamId>,
    pub now: Time,
}

/// All that can be seen after an event.
pub type Seen = (Vec<Decision>, Vec<(usize, Time)>, Vec<(usize, Time)>, Vec<Record>);

impl<S: Structure> Play<S> {
    pub fn new(options: &Options) -> Play<S> {
        let ledger = Ledger::new().with_history();
        let scheduler = Scheduler::with_meter(options, ledger).expect("a supported order");
        Play { scheduler, queues: Fifos::default(), streams: vec![], now: Time::ZERO }
    }

    fn stream(&self, i: usize) -> Option<usize> {
        (!self.streams.is_empty()).then(|| i % self.streams.len())
    }

    pub fn play(&mut self, event: &Event) -> Vec<Decision> {
        let mut decisions = vec![];
        match *event {
            Event::Join(ref attributes) => {
                self.streams.push(self.scheduler.join(self.now, attributes).expect("joins"));
            }
            Event::Leave(i) => {
                if let Some(i) = self.stream(i) {
                    let id = self.streams.swap_remove(i);
                    self.scheduler.leave(id).expect("is there");
                    if let Some(queue) = self.queues.queues.get_mut(id.slot()) {
                        queue.clear();
                    }
                }
            }
            Event::Change(i, ref attributes) => {
                if let Some(i) = self.stream(i) {
                    let (now, id) = (self.now, self.streams[i]);
                    self.scheduler.change(now, id, attributes, &mut self.queues).expect("changes");
                }
            }
            Event::Arrive(i, count) => {
                if let Some(i) = self.stream(i) {
                    let id = self.streams[i];
                    (0..count).for_each(|_| self.queues.push(id.slot(), self.now));
                    self.scheduler.arrive(self.now, id).expect("is there");
                }
            }
            Event::Next(time, count) => {
                for _ in 0..count {
                    self.now.0 += time;
                    decisions.push(self.scheduler.next(self.now, &mut self.queues));
                }
            }
            Event::Cost(cost) => (0..64).for_each(|_| self.scheduler.cost(Span(cost))),
        }
        decisions
    }

    /// All that can be seen after an event, the records of the streams among it when `closely`.
    pub fn see(&mut self, event: &Event, closely: bool) -> Seen {
        let decisions = self.play(event);
        let record = |id: &StreamId| {
            let mut record = self.scheduler.record(*id).expect("is there");
            record.link = 0;
            record
        };
        let seen = if closely { self.streams.len() } else { 0 };
        let records = self.streams.iter().take(seen).map(record).collect();
        // Which stream's misses are seen first is the structure's affair.
        let mut dropped = std::mem::take(&mut self.queues.dropped);
        dropped.sort_by_key(|(slot, _)| *slot);
        (decisions, std::mem::take(&mut self.queues.served), dropped, records)
    }
}

/// Plays events to a structure and the list, and compares all that can be seen.
pub fn agrees<S: Structure>(options: &Options, events: &[Event]) {
    let (mut list, mut other) = (Play::<List>::new(options), Play::<S>::new(options));
    for (i, event) in events.iter().enumerate() {
        // With many streams not each time: an error remains visible.
        let closely = list.streams.len() < 50 || i % 64 == 0 || i + 1 == events.len();
        let (want, got) = (list.see(event, closely), other.see(event, closely));
        assert_eq!(want, got, "{} after {event:?}", S::NAME);
        assert!(!closely || list.queues == other.queues, "{} after {event:?}", S::NAME);
    }
    assert_eq!(list.scheduler.meter().total(), other.scheduler.meter().total());
}
