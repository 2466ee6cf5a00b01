//! When earlier packets are forgotten: the paper's rules when nothing waits, `exact` whenever no
//! real-time packet waits and the best-effort head gains. That it is safe is searched for in
//! `safety_exhaustive.rs`.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{Arrival, BYTE_PER_NS, Link, arrival, config, flow, leaky};
use laxity_core::{PolicyInfo, Rate, Span, Time};
use laxity_curve::{Blocking, ShiftedLine};
use laxity_link::assign::{Assigner, Background, Shifted};
use laxity_link::config::{Excess, LinkConfig};
use laxity_link::pipeline::{ByDeadline, Pipeline};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Assign(u64, u64),
    /// When, and the bytes that are remembered.
    Restart(u64, u32),
}

struct Logged {
    inner: Shifted,
    log: Rc<RefCell<Vec<Event>>>,
}

impl Assigner for Logged {
    const INFO: PolicyInfo = Background::INFO;

    fn assign(&mut self, release: Time, wire: u32) -> Time {
        let deadline = self.inner.assign(release, wire);
        self.log.borrow_mut().push(Event::Assign(release.0, deadline.0));
        deadline
    }

    fn reset(&mut self) {
        self.inner.reset();
    }

    fn restart(&mut self, at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        if head.is_none() {
            self.log.borrow_mut().push(Event::Restart(at.0, in_flight));
        }
        self.inner.restart(at, in_flight, head)
    }
}

/// Deadlines on a line of half a byte a nanosecond, and the restarts with nothing waiting between.
fn events(config: &LinkConfig, trace: &[Arrival]) -> Vec<Event> {
    let line = ShiftedLine { slope: Rate(BYTE_PER_NS / 2), shift: Span(0) };
    let log = Rc::new(RefCell::new(vec![]));
    let logged = Logged { inner: Shifted::new(&line), log: Rc::clone(&log) };
    let mut link = Link::new(Pipeline::new(config, ByDeadline(logged)).unwrap(), config);
    link.run(trace);
    assert_eq!(link.sent.len(), trace.len());
    log.take()
}

fn one_flow(blocking: Blocking) -> LinkConfig {
    let flow = flow(leaky(8, 16, BYTE_PER_NS / 4), 100);
    LinkConfig { blocking, ..config(BYTE_PER_NS, 8, vec![flow]) }
}

/// Fails when a packet on the wire keeps the history although `E` has room for it, or when it does
/// not become the first packet although `E` has none.
#[test]
fn the_history_restarts_with_the_packet_on_the_wire() {
    use Event::{Assign, Restart};
    let trace = [arrival(0, 1, 4), arrival(3, 1, 4)];
    let got = events(&one_flow(Blocking::Paper), &trace);
    assert_eq!(got, [Assign(0, 8), Restart(0, 0), Assign(3, 11), Restart(4, 0)]);
    let got = events(&one_flow(Blocking::Exact), &trace);
    assert_eq!(got, [Assign(0, 8), Restart(0, 4), Assign(3, 16), Restart(4, 4)]);
    // With a second packet behind it the first is forgotten as that one starts, at 4.
    let trace = [arrival(0, 1, 4), arrival(1, 1, 2), arrival(5, 1, 4)];
    let got = events(&one_flow(Blocking::Exact), &trace);
    let second = [Assign(1, 12), Restart(4, 2)];
    assert_eq!(
        got,
        [&[Assign(0, 8), Restart(0, 4)], &second[..], &[Assign(5, 16), Restart(6, 4)]].concat()
    );
}

/// Fails when best effort restarts while real-time packets wait.
#[test]
fn real_time_packets_that_wait_keep_the_history() {
    use Event::{Assign, Restart};
    // Deadline 8 goes first; then two real-time packets until 20, the last one from 12 on.
    let trace = [
        arrival(0, 1, 4),
        arrival(0, 0, 8),
        arrival(1, 0, 8),
        arrival(11, 1, 4),
        arrival(14, 1, 4),
    ];
    let got = events(&one_flow(Blocking::Paper), &trace);
    assert_eq!(got, [Assign(0, 8), Assign(11, 19), Assign(14, 27), Restart(20, 0)]);
}

/// A packet that does not conform yet is not work of the link. Fails when shaped packets count as
/// waiting.
#[test]
fn shaped_packets_do_not_keep_the_history() {
    use Event::{Assign, Restart};
    let mut config = one_flow(Blocking::Paper);
    config.realtime[0].excess = Excess::Delay;
    let mut trace: Vec<_> = (0..3).map(|_| arrival(0, 0, 8)).collect();
    trace.insert(0, arrival(0, 1, 4)); // the third real-time packet conforms at 32
    trace.push(arrival(25, 1, 4));
    let got = events(&config, &trace);
    assert_eq!(got, [Assign(0, 8), Restart(12, 0), Assign(25, 33), Restart(25, 0), Restart(32, 0)]);
}
