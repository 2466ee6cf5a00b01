//! `always-check` while real time is silent: best effort waits for so long and no longer, and what
//! a silent flow sends then is held back by one packet at most.

use crate::common::scopes::{Scope, scopes};
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, Link, arrival, config, flow, periodic, try_build,
};
use laxity_core::{Span, Time};
use laxity_link::config::{Excess, LinkConfig};

/// The scope's config under `always-check`, where flows lend their places after `silence`.
fn lending(scope: &Scope, change: impl Fn(&mut LinkConfig), silence: u64) -> LinkConfig {
    scope.with(|s| {
        s.options.always_check = true;
        s.options.release_idle = Span(silence);
        change(s);
    })
}

/// The times that the largest best-effort packet occupies the link.
const MOST: u64 = 3;

/// Nothing is late from its conformance, nothing waits for ever, and a packet conforms later than
/// it arrived only after silence, by one best-effort packet at most.
fn explore(scope: &Scope, config: &LinkConfig) -> (usize, usize) {
    let mut link = Link::new(try_build("slack", config).unwrap(), config);
    let mut held = 0;
    let count = scope.traces(config, &[1, 3], |trace| {
        link.run(trace);
        let what = || format!("{}: {config:#?}\n{trace:?}\n{:?}", scope.name, link.sent);
        assert!(link.late_realtime().is_none(), "late: {}", what());
        assert!(link.dropped.is_empty(), "dropped: {}", what());
        assert_eq!(link.sent.len(), trace.len(), "waits for ever: {}", what());
        for s in link.sent.iter().filter(|s| s.realtime()) {
            let packet = &s.departure.packet;
            let promised = packet.arrival + config.realtime[packet.flow.index()].deadline;
            let by = s.departure.deadline.since(promised).0;
            assert!(s.departure.deadline >= promised && by <= MOST, "{by}: {}", what());
            held += usize::from(by > 0);
        }
        link.rest(64);
    });
    (count, held)
}

/// Fails when a flow lends its place without its packets being held back, when one lends whose
/// buckets are not full, when the search leaves silent flows out instead of counting them as due
/// later, when packets on their way through the shaper are not seen, when the link is not asked
/// again once a flow has been silent for long enough.
#[test]
fn every_packet_is_sent_and_none_is_late() {
    let (mut traces, mut held) = (0, 0);
    for scope in scopes() {
        for blocking in BLOCKINGS {
            for excess in [Excess::Drop, Excess::Delay] {
                for silence in [1, 3, 9] {
                    let change = |s: &mut LinkConfig| {
                        s.blocking = blocking;
                        s.realtime.iter_mut().for_each(|f| f.excess = excess);
                    };
                    let (n, h) = explore(&scope, &lending(&scope, change, silence));
                    (traces, held) = (traces + n, held + h);
                }
            }
        }
    }
    println!("{traces} traces, {held} packets held back");
    assert!(traces > 100_000 && held > 1_000);
}

/// One packet of 4 bytes every 40 ns, due 5 ns after it, and best effort of up to 8 bytes.
fn slow(silence: u64) -> LinkConfig {
    let mut config = config(BYTE_PER_NS, 8, vec![flow(periodic(40, 4, 0), 5)]);
    config.options.always_check = true;
    config.options.release_idle = Span(silence);
    config
}

fn starts(config: &LinkConfig, trace: &[Arrival]) -> Vec<(u64, u64)> {
    let mut link = Link::new(try_build("slack", config).unwrap(), config);
    link.run(trace);
    assert!(link.late_realtime().is_none() && link.dropped.is_empty());
    link.sent.iter().map(|s| (s.departure.packet.seq, s.start.0)).collect()
}

/// Fails when best effort waits longer than the silence, or the silence is counted from anything
/// but the last packet that conformed; when it is shorter than the flow needs to be as before.
#[test]
fn best_effort_waits_for_the_configured_silence() {
    // Just after a real-time packet there is room until the next one, 40 ns after the first.
    let trace = [arrival(0, 0, 4), arrival(1, 1, 8), arrival(1, 1, 8)];
    assert_eq!(starts(&slow(100), &trace), [(0, 0), (1, 4), (2, 12)]);
    // Later there is none: after 100 ns of silence, after a period where that is longer.
    let trace = [arrival(0, 0, 4), arrival(50, 1, 8)];
    assert_eq!(starts(&slow(100), &trace), [(0, 0), (1, 100)]);
    assert_eq!(starts(&slow(7), &trace), [(0, 0), (1, 50)]);
    let trace = [arrival(0, 0, 4), arrival(35, 1, 8)];
    assert_eq!(starts(&slow(7), &trace), [(0, 0), (1, 40)]);
    // Never.
    assert_eq!(starts(&slow(0), &trace), [(0, 0)]);
}

/// Fails when a packet that arrives behind best effort in a lent place conforms before its end.
#[test]
fn packets_behind_lent_capacity_conform_at_its_end() {
    let config = slow(100);
    let mut link = Link::new(try_build("slack", &config).unwrap(), &config);
    link.run(&[arrival(200, 1, 8), arrival(201, 0, 4)]);
    let voice = &link.sent[1];
    assert_eq!((voice.start, voice.departure.deadline), (Time(208), Time(213)));
    assert!(!voice.late());
}
