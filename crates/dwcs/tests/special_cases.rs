//! Attributes under which DWCS is static priority, earliest deadline first or fair sharing,
//! decision by decision beside small schedulers that are obviously these.

use std::collections::VecDeque;

use crate::common::{Fifos, priority, sent_late, stream};
use laxity_core::Time;
use laxity_dwcs::structure::{Heaps, List, Structure};
use laxity_dwcs::{Attributes, Decision, Options, Scheduler};
use proptest::prelude::*;

/// Queues of arrival times, and a rule by which one of those that wait is chosen.
trait Twin {
    /// Takes a packet that arrives.
    fn arrive(&mut self, stream: usize, now: u64);
    /// The stream served now.
    fn next(&mut self, now: u64) -> Option<usize>;
}

/// The lowest class first, within it the earliest head arrival.
struct StaticPriority {
    classes: Vec<usize>,
    queues: Vec<VecDeque<u64>>,
}

impl Twin for StaticPriority {
    fn arrive(&mut self, stream: usize, now: u64) {
        self.queues[stream].push_back(now);
    }

    fn next(&mut self, _: u64) -> Option<usize> {
        let waiting = (0..self.queues.len()).filter(|i| !self.queues[*i].is_empty());
        let first = waiting.min_by_key(|i| (self.classes[*i], self.queues[*i][0], *i))?;
        self.queues[first].pop_front();
        Some(first)
    }
}

/// The earliest deadline first; a packet is due a gap after it came, but no sooner than a gap
/// after the packet before it. Late ones are dropped.
struct EarliestDeadline {
    gaps: Vec<u64>,
    last: Vec<u64>,
    /// Deadline and arrival.
    queues: Vec<VecDeque<(u64, u64)>>,
}

impl Twin for EarliestDeadline {
    fn arrive(&mut self, stream: usize, now: u64) {
        self.last[stream] = self.last[stream].max(now) + self.gaps[stream];
        self.queues[stream].push_back((self.last[stream], now));
    }

    fn next(&mut self, now: u64) -> Option<usize> {
        for queue in &mut self.queues {
            queue.retain(|(deadline, _)| *deadline >= now);
        }
        let waiting = (0..self.queues.len()).filter(|i| !self.queues[*i].is_empty());
        let first = waiting.min_by_key(|i| (self.queues[*i][0], *i))?;
        self.queues[first].pop_front();
        Some(first)
    }
}

/// Zhang's virtual clock: each packet advances its stream's clock by the inverse of the stream's
/// rate, the least stamp goes first, and no stream waits while the others are idle.
struct VirtualClock {
    inverse_rates: Vec<u64>,
    clocks: Vec<u64>,
    queues: Vec<VecDeque<(u64, u64)>>,
}

impl Twin for VirtualClock {
    fn arrive(&mut self, stream: usize, now: u64) {
        self.clocks[stream] = self.clocks[stream].max(now) + self.inverse_rates[stream];
        self.queues[stream].push_back((self.clocks[stream], now));
    }

    fn next(&mut self, _: u64) -> Option<usize> {
        let waiting = (0..self.queues.len()).filter(|i| !self.queues[*i].is_empty());
        let first = waiting.min_by_key(|i| (self.queues[*i][0], *i))?;
        self.queues[first].pop_front();
        Some(first)
    }
}

/// At each unit of time: which streams get a packet.
fn arrivals(streams: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(prop::collection::vec(0..streams, 0..4), 1..150)
}

fn same<S: Structure>(
    options: &Options,
    streams: &[Attributes],
    twin: &mut impl Twin,
    arrivals: &[Vec<usize>],
) {
    let mut scheduler = Scheduler::<S>::new(options).expect("an order");
    let join = |attributes| scheduler.join(Time::ZERO, attributes).expect("joins");
    let ids: Vec<_> = streams.iter().map(join).collect();
    let mut queues = Fifos::default();
    for (now, coming) in (0..).zip(arrivals) {
        for stream in coming {
            twin.arrive(*stream, now);
            queues.push(*stream, Time(now));
            scheduler.arrive(Time(now), ids[*stream]).expect("is there");
        }
        let served = match scheduler.next(Time(now), &mut queues) {
            Decision::Serve { stream, .. } => Some(stream.slot()),
            Decision::Wait(_) | Decision::Idle => None,
        };
        assert_eq!(served, twin.next(now), "at {now}");
    }
}

const STREAMS: usize = 6;

/// Every stream may go ahead of its deadline as far as it likes.
fn ahead(options: Options) -> Options {
    Options { ahead: None, ..options }
}

proptest! {
    /// Streams without deadlines: the lower `x/y` the higher the priority, whatever the form.
    ///
    /// Fails when service changes a tolerance without deadlines: tried without the first lines of
    /// `Rules::met` (which has a `1/1` roll).
    #[test]
    fn static_priority(arrivals in arrivals(STREAMS), classes in prop::collection::vec(0..6usize, STREAMS)) {
        let tolerances = ["0/9", "0/3", "1/100", "1/2", "2/3", "1/1"];
        let streams: Vec<_> = classes.iter().map(|class| priority(tolerances[*class])).collect();
        for options in [Options::default(), Options::tolerance_first(), Options::paper()] {
            let queues = vec![VecDeque::new(); STREAMS];
            let mut twin = StaticPriority { classes: classes.clone(), queues };
            same::<List>(&options, &streams, &mut twin, &arrivals);
        }
    }

    /// All at 0/0: earliest deadline first, in either form, with late packets dropped.
    ///
    /// Fails when two 0/0 streams are not compared by deadline: tried with `zero` in `Rank::key`
    /// and in `Rank::before` without `y > 0`.
    #[test]
    fn earliest_deadline_first(arrivals in arrivals(STREAMS), gaps in prop::collection::vec(1..12u64, STREAMS)) {
        let streams: Vec<_> = gaps.iter().map(|gap| stream("0/0", *gap)).collect();
        for options in [ahead(Options::default()), ahead(Options::tolerance_first()), Options::paper()] {
            let twin = || EarliestDeadline {
                gaps: gaps.clone(),
                last: vec![0; STREAMS],
                queues: vec![VecDeque::new(); STREAMS],
            };
            same::<List>(&options, &streams, &mut twin(), &arrivals);
            same::<Heaps>(&options, &streams, &mut twin(), &arrivals);
        }
    }

    /// All at 0/0, gaps in proportion to the inverse of the shares and together within the server,
    /// working ahead: Zhang's virtual clock, the whole server shared in proportion.
    #[test]
    fn fair_sharing(arrivals in arrivals(STREAMS), weights in prop::collection::vec(1..9u64, STREAMS)) {
        let whole: u64 = weights.iter().sum();
        // 2520 divides by every weight: sum of 1/gap is exactly 1/2520 of the server.
        let gaps: Vec<u64> = weights.iter().map(|w| whole * 2520 / w).collect();
        let streams: Vec<_> = gaps.iter().map(|gap| sent_late("0/0", *gap)).collect();
        for options in [ahead(Options::default()), ahead(Options::tolerance_first())] {
            let mut twin = VirtualClock {
                inverse_rates: gaps.clone(),
                clocks: vec![0; STREAMS],
                queues: vec![VecDeque::new(); STREAMS],
            };
            same::<Heaps>(&options, &streams, &mut twin, &arrivals);
        }
    }

    /// Backlogged streams of such gaps are served in proportion at every moment. While deadlines
    /// around `D` go out, each of `n` streams is at most one packet behind `D/T`, so at most one
    /// behind its share of what was sent, and at most `n` times its share ahead.
    ///
    /// Fails with windows of 1/2 and tolerances first; tried.
    #[test]
    fn shares_are_fair_at_every_moment(weights in prop::collection::vec(1..9u64, 2..STREAMS)) {
        let whole: u64 = weights.iter().sum();
        let streams: Vec<_> = weights.iter().map(|w| sent_late("0/0", whole * 2520 / w)).collect();
        let (mut scheduler, mut queues) =
            crate::common::backlogged::<Heaps, ()>(&ahead(Options::default()), &streams, ());
        for now in 0..500 {
            crate::common::unit_service(&mut scheduler, &mut queues, now..now + 1);
            for (served, weight) in queues.heads.iter().zip(&weights) {
                let (have, due) = (served * whole, (now + 1) * weight);
                let most = due + weight * weights.len() as u64;
                prop_assert!(have <= most && due <= have + whole, "{served} at {weight}/{whole}");
            }
        }
    }
}
