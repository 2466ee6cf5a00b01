//! What a thread that is late does to deadlines, with a thread and a time that are made up.

mod support;

use std::collections::VecDeque;

use laxity_core::{Span, Time};
use laxity_sim::Arrival;
use laxity_trace::LinkType;
use laxity_wire::counts::Counts;
use laxity_wire::forwarder::{BATCH, Forwarder, Outgoing};
use support::scenarios::{VIDEO, VOICE, family};
use support::{draw, frame, traffic};

/// How a thread is late, in ns: rarely more than a little.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// Before it looks.
    wakes: u64,
    /// Between its decision and the interface.
    hands: u64,
    /// For how long the interface takes nothing.
    blocked: u64,
}

/// Now and then as late as that, else up to a twentieth of it.
fn lateness(state: &mut u64, most: u64) -> u64 {
    let most = if draw(state, 12) == 0 { most } else { most / 20 };
    draw(state, most + 1)
}

/// A thread that takes its frames in the manner of `Direction`.
fn drive(policy: &str, arrivals: &[Arrival], manner: Manner, seed: u64) -> Counts {
    let mut forwarder = Forwarder::new(&family(), policy, LinkType::ETHERNET).expect(policy);
    let mut chosen: VecDeque<Outgoing> = VecDeque::new();
    let (mut state, mut now, mut next, mut closed) = (seed, 0, 0, 0);
    while next < arrivals.len() || forwarder.waiting() > 0 || !chosen.is_empty() {
        let comes = arrivals.get(next).map(|a| a.time);
        let event = [comes, forwarder.next_event(), Some(Time(closed))];
        let event = event.into_iter().flatten().filter(|at| at.0 > now).min();
        now = event.map_or(now, |at| at.0) + lateness(&mut state, manner.wakes);
        forwarder.now(Time(now));
        let decide = |forwarder: &mut Forwarder, chosen: &mut VecDeque<_>, until: u64| {
            while chosen.len() < BATCH {
                let Some(outgoing) = forwarder.depart(Time(until)) else { break };
                chosen.push_back(outgoing);
            }
        };
        while let Some(arrival) = arrivals.get(next).filter(|a| a.time.0 <= now) {
            decide(&mut forwarder, &mut chosen, arrival.time.0 - 1);
            let slot = frame(forwarder.pool(), arrival, next as u64);
            forwarder.arrive(slot);
            next += 1;
        }
        decide(&mut forwarder, &mut chosen, now);
        if now >= closed {
            while let Some(outgoing) = chosen.pop_front() {
                now += lateness(&mut state, manner.hands);
                forwarder.sent(&outgoing, Time(now));
            }
            closed = now + if draw(&mut state, 40) == 0 { manner.blocked } else { 0 };
        }
    }
    forwarder.counts().clone()
}

/// Fails when a frame is later than the excuse of its threads: tried with the sum of what the link
/// stood still left out, with the longest lag left out, and with the stall that a full interface
/// makes not counted.
#[test]
fn no_frame_is_later_than_its_excuse() {
    let scenario = family();
    let credit = scenario.link.credit;
    let manners = [
        Manner { wakes: 0, hands: 900_000, blocked: 0 },
        Manner { wakes: 30_000_000, hands: 100_000, blocked: 0 },
        Manner { wakes: 1_500_000, hands: 5_000_000, blocked: 0 },
        Manner { wakes: 300_000_000, hands: 50_000_000, blocked: 0 },
        Manner { wakes: 5_000_000, hands: 100_000, blocked: 40_000_000 },
        Manner { wakes: 5_000_000, hands: 100_000, blocked: 900_000_000 },
    ];
    let mut late = 0;
    for policy in ["background", "exact", "slack"] {
        for manner in manners {
            for seed in 1..=5 {
                let mut arrivals = traffic::arrivals(&scenario, seed, Span::from_millis(3000));
                arrivals.iter_mut().for_each(|a| a.time.0 += 1);
                let counts = drive(policy, &arrivals, manner, seed);
                let excuse = counts.excuse(credit);
                for flow in [VOICE, VIDEO] {
                    let most = counts.classes[flow].most_late;
                    assert!(
                        most <= excuse,
                        "{policy}, {manner:?}, seed {seed}: flow {flow} is late by {most} ns, \
                         excused {excuse}"
                    );
                    late += u64::from(most > 0);
                }
            }
        }
    }
    assert!(late > 50, "only {late} were late, which shows nothing");
}

/// Fails when a thread that is never late by more than the credit has any excuse.
#[test]
fn within_the_credit_there_is_no_excuse() {
    let mut counts = Counts::new(0);
    counts.lag.record(1_000_000);
    assert_eq!(counts.excuse(Span(1_000_000)), 0);
    counts.lag.record(1_000_001);
    assert_eq!(counts.excuse(Span(1_000_000)), 1_000_001);
    counts.stalled = Span(5);
    assert_eq!(counts.excuse(Span(1_000_000)), 1_000_006);
}
