//! The history is forgotten only when nothing waits and nothing is being sent.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{BYTE_PER_NS, Link, arrival, flow, leaky, setup};
use laxity_core::{PolicyInfo, Rate, Span, Time};
use laxity_curve::ShiftedLine;
use laxity_link::assign::{Assigner, Background, Shifted};
use laxity_link::pipeline::{ByDeadline, Pipeline};
use laxity_link::setup::{Excess, Setup};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Assign(u64, u64),
    Reset,
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
        self.log.borrow_mut().push(Event::Reset);
    }
}

/// Deadlines on a line of half a byte a nanosecond, and the resets between them.
fn events(setup: &Setup, trace: &[common::Arrival]) -> Vec<Event> {
    let line = ShiftedLine { slope: Rate(BYTE_PER_NS / 2), shift: Span(0) };
    let log = Rc::new(RefCell::new(vec![]));
    let logged = Logged { inner: Shifted::new(&line), log: Rc::clone(&log) };
    let mut link = Link::new(Pipeline::new(setup, ByDeadline(logged)).unwrap(), setup);
    link.run(trace);
    assert_eq!(link.sent.len(), trace.len());
    log.take()
}

fn one_flow() -> Setup {
    setup(BYTE_PER_NS, 8, vec![flow(leaky(8, 16, BYTE_PER_NS / 4), 100)])
}

/// Fails when the reset comes as the last packet leaves the queue: the second one would get
/// deadline 3 + 8 while it waits behind the first on the wire.
#[test]
fn the_last_packet_on_the_wire_keeps_the_history() {
    let got = events(&one_flow(), &[arrival(0, 1, 4), arrival(3, 1, 4)]);
    assert_eq!(got, [Event::Assign(0, 8), Event::Assign(3, 16), Event::Reset]);
    // An arrival at the very end of the transmission finds the link still busy.
    let got = events(&one_flow(), &[arrival(0, 1, 4), arrival(4, 1, 4)]);
    assert_eq!(got, [Event::Assign(0, 8), Event::Assign(4, 16), Event::Reset]);
}

/// Fails when nothing is ever forgotten.
#[test]
fn an_idle_link_forgets() {
    let got = events(&one_flow(), &[arrival(0, 1, 4), arrival(5, 1, 4)]);
    assert_eq!(got, [Event::Assign(0, 8), Event::Reset, Event::Assign(5, 13), Event::Reset]);
}

/// Fails when a reset only asks for best effort: real-time work keeps the link busy here.
#[test]
fn real_time_work_keeps_the_history() {
    // Deadline 8 goes first; then two real-time packets until 20.
    let trace = [arrival(0, 1, 4), arrival(0, 0, 8), arrival(1, 0, 8), arrival(14, 1, 4)];
    let got = events(&one_flow(), &trace);
    assert_eq!(got, [Event::Assign(0, 8), Event::Assign(14, 22), Event::Reset]);
    let trace = [arrival(0, 1, 8), arrival(0, 0, 8), arrival(1, 0, 8), arrival(23, 1, 4)];
    let got = events(&one_flow(), &trace);
    assert_eq!(got, [Event::Assign(0, 16), Event::Assign(23, 31), Event::Reset]);
    // The same with the last real-time packet on the wire and nothing else anywhere.
    let trace = [arrival(0, 1, 8), arrival(0, 0, 1), arrival(8, 1, 8)];
    let got = events(&one_flow(), &trace);
    assert_eq!(got, [Event::Assign(0, 16), Event::Assign(8, 32), Event::Reset]);
}

/// A packet that does not conform yet is not work of the link: while it is held back the link is
/// idle, and its busy period starts when it is let in. Fails when shaped packets count as waiting.
#[test]
fn shaped_packets_do_not_keep_the_history() {
    let mut setup = one_flow();
    setup.realtime[0].excess = Excess::Delay;
    let mut trace: Vec<_> = (0..3).map(|_| arrival(0, 0, 8)).collect();
    trace.insert(0, arrival(0, 1, 4)); // the third real-time packet conforms at 32
    trace.push(arrival(25, 1, 4));
    let got = events(&setup, &trace);
    assert_eq!(
        got,
        [Event::Assign(0, 8), Event::Reset, Event::Assign(25, 33), Event::Reset, Event::Reset]
    );
}
