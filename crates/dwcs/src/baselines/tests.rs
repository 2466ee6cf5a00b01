use std::boxed::Box;
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

use laxity_core::{Span, Time};

use super::*;
use crate::history::History;
use crate::{Attributes, Decision, Late, Ledger, Options, Queues, Scheduler, StreamId, Tolerance};

/// Arrivals that wait, by slot.
#[derive(Default)]
struct Fifos(Vec<VecDeque<Time>>);

impl Queues for Fifos {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        let queue = &mut self.0[stream.slot()];
        queue.pop_front();
        queue.front().copied()
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        self.serve(stream)
    }
}

fn attributes(tolerance: &str, gap: u64) -> Attributes {
    let attributes = Attributes::new(tolerance.parse().unwrap(), Span(gap));
    Attributes { late: Late::Send, ..attributes }
}

/// Serves a backlog at time 0 with these arrivals, one packet a unit of time; returns the order of
/// slots.
fn order<P: Precedence>(streams: &[(Attributes, &[u64])], decisions: u64) -> Vec<usize> {
    let options = Options { ahead: None, ..Options::default() };
    let mut scheduler =
        Scheduler::<Baseline<P>, Ledger>::with_meter(&options, Ledger::new()).unwrap();
    let mut queues = Fifos::default();
    for (attributes, arrivals) in streams {
        let id = scheduler.join(Time::ZERO, attributes).unwrap();
        queues.0.push(arrivals.iter().map(|a| Time(*a)).collect());
        scheduler.arrive(Time(arrivals[0]), id).unwrap();
    }
    let serve = |now| match scheduler.next(Time(now), &mut queues) {
        Decision::Serve { stream, .. } => Some(stream.slot()),
        _ => None,
    };
    (0..decisions).filter_map(serve).collect()
}

/// Fails when a policy does not follow its own rule: tried with another's for each, with windows
/// instead of tolerances for priorities, and without weights.
#[test]
fn baselines_follow_their_rules() {
    let streams: [(Attributes, &[u64]); 3] = [
        (attributes("1/10", 50), &[2, 2, 2]),
        (attributes("1/2", 20), &[0, 3, 5]),
        (attributes("1/20", 90), &[1, 4, 6]),
    ];
    assert_eq!(order::<Fifo>(&streams, 9), [1, 2, 0, 0, 0, 1, 2, 1, 2]);
    // Due at 52, 102, 152; 20, 40, 60; 91, 181, 271.
    assert_eq!(order::<Edf>(&streams, 9), [1, 1, 0, 1, 2, 0, 0, 2, 2]);
    assert_eq!(order::<StaticPriority>(&streams, 9), [2, 2, 2, 0, 0, 0, 1, 1, 1]);
    // Windows that move do not count: after one service 1/3 has 1/2 left.
    let close: [(Attributes, &[u64]); 2] =
        [(attributes("1/3", 50), &[5, 5, 5]), (attributes("1/2", 50), &[0])];
    assert_eq!(order::<StaticPriority>(&close, 4), [0, 0, 0, 1]);
    // One packet costs 55, 40 and 94.
    assert_eq!(order::<Wfq>(&streams, 9), [1, 0, 1, 2, 0, 1, 0, 2, 2]);
    // Distances 2, 2 and 2 at first; a stream that is served stays there, so by deadline.
    assert_eq!(order::<Dbp>(&streams, 9), order::<Edf>(&streams, 9));
}

/// Fails when virtual time stops while a stream is idle, or an idle stream accumulates its share.
#[test]
fn idle_streams_accumulate_no_credit() {
    let mut wfq = Wfq::new(Options::default().rank());
    let record = |gap| crate::Record::new(&attributes("0/1", gap), Time::ZERO, 0);
    wfq.joined(0, &record(10));
    wfq.joined(1, &record(10));
    wfq.woken(0);
    (0..5).for_each(|_| wfq.served(0));
    wfq.woken(1);
    let record = record(10);
    assert!(wfq.before((0, &record), (1, &record)), "both end at 60: by slot");
    wfq.served(0);
    assert!(wfq.before((1, &record), (0, &record)));
}

/// Distance to failure by its definition: how many misses until the last y slots hold too many.
/// Fails when a slot that leaves the window is not considered; tried.
#[test]
fn dbp_distances_match_the_definition() {
    let mut seed = 1u64;
    let mut random = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % limit
    };
    for (x, y) in [(0, 1), (0, 5), (1, 2), (1, 8), (3, 8), (7, 8), (2, 65), (5, 130)] {
        let tolerance = Tolerance::new(x, y).unwrap();
        let mut history = History::new(tolerance);
        let mut slots = vec![false; y as usize];
        for _ in 0..400 {
            let missed = random(4) == 0;
            if missed {
                history.missed(1);
            } else {
                history.met();
            }
            slots.remove(0);
            slots.push(missed);
            let fails = |after: usize| {
                let kept = slots[after..].iter().filter(|m| **m).count();
                (kept + after) as u64 > x
            };
            let want = (0..=y as usize).find(|after| fails(*after)).unwrap();
            assert_eq!(usize::from(history.distance()), want, "{x}/{y}: {slots:?}");
        }
    }
}

struct Name;

impl Visitor for Name {
    type Output = &'static str;
    fn visit<P: Precedence + Send + 'static>(self) -> &'static str {
        P::NAME
    }
}

/// Fails when a line of one of the two lists is missing or leads to another policy.
#[test]
fn every_name_leads_to_its_policy() {
    for policy in POLICIES {
        assert_eq!(visit(policy.name, Name), Some(policy.name));
    }
    assert_eq!(visit("dwcs", Name), None);
}

/// A server that is not overloaded: the stream that is nearest to failure goes first. Fails when
/// misses do not raise the priority, or when service does not lower it.
#[test]
fn misses_lower_the_distance() {
    let mut dbp = Dbp::new(Options::default().rank());
    let record = crate::Record::new(&attributes("1/4", 10), Time::ZERO, 0);
    let _: [(); 2] = [0, 1].map(|slot| dbp.joined(slot, &record));
    assert_eq!([dbp.distance(0), dbp.distance(1)], [2, 2]);
    dbp.missed(1, 1);
    assert_eq!([dbp.distance(0), dbp.distance(1)], [2, 1]);
    assert!(dbp.before((1, &record), (0, &record)));
    dbp.missed(1, 1);
    assert_eq!(dbp.distance(1), 0);
    (0..3).for_each(|_| dbp.served(1));
    assert_eq!(dbp.distance(1), 2, "the first miss has left, the second is the oldest slot");
    let everything: Box<[Attributes]> = Box::new([attributes("3/3", 10), attributes("0/0", 10)]);
    for (slot, attributes) in (2..).zip(&everything) {
        dbp.joined(slot, &crate::Record::new(attributes, Time::ZERO, 0));
        dbp.missed(slot, 5);
        assert_eq!(dbp.distance(slot), u16::MAX);
    }
}
