//! Once its window has been used, a connection allocates nothing for a packet: a counting allocator sees
//! every call.

#[path = "../../core/tests/allocations/mod.rs"]
mod allocations;

use std::collections::VecDeque;

use laxity_core::{Bytes, Span, Time};
use laxity_transport::congestion::{Bbr, Cubic, Dctcp, NewReno, Prague};
use laxity_transport::{Config, Congestion, Connection, Segment};

const MS: u64 = 1_000_000;

/// A download of a second at a time over 40 ms, of which each 499th segment is lost.
struct Download {
    client: Connection,
    server: Connection,
    now: Time,
    sent: u64,
    /// By arrival.
    down: VecDeque<(Time, Segment)>,
    up: VecDeque<(Time, Segment)>,
}

impl Download {
    fn new(control: fn() -> Box<dyn Congestion>) -> Download {
        // The window is bounded so that its largest size is reached in time.
        let config = Config { receive_window: 300_000, ..Config::default() };
        let client = Connection::client(config, control());
        let mut server = Connection::server(config, control());
        server.write(Bytes(u64::MAX));
        let (down, up) = (VecDeque::with_capacity(1000), VecDeque::with_capacity(1000));
        Download { client, server, now: Time::ZERO, sent: 0, down, up }
    }

    /// Goes on for a second, in steps of 100 us.
    fn second(&mut self) {
        for _ in 0..10_000 {
            let arrival = self.now + Span(20 * MS);
            while self.down.front().is_some_and(|(at, _)| *at <= self.now) {
                let (_, segment) = self.down.pop_front().expect("one");
                self.client.handle_segment(self.now, &segment);
                while let Some(segment) = self.client.poll_transmit(self.now) {
                    self.up.push_back((arrival, segment));
                }
            }
            while self.up.front().is_some_and(|(at, _)| *at <= self.now) {
                let (_, segment) = self.up.pop_front().expect("one");
                self.server.handle_segment(self.now, &segment);
            }
            for end in [&mut self.client, &mut self.server] {
                if end.poll_timeout().is_some_and(|at| at <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
            while let Some(segment) = self.client.poll_transmit(self.now) {
                self.up.push_back((arrival, segment));
            }
            while let Some(segment) = self.server.poll_transmit(self.now) {
                self.sent += 1;
                if self.sent % 499 != 0 {
                    self.down.push_back((arrival, segment));
                }
            }
            self.now += Span(MS / 10);
        }
    }
}

// Fails when sending, acknowledging, losing or repairing a segment allocates: tried with a vector of the
// segments that an acknowledgement reports.
#[test]
fn a_running_connection_does_not_allocate() {
    let controls: [fn() -> Box<dyn Congestion>; 5] = [
        || Box::new(NewReno),
        || Box::new(Cubic::default()),
        || Box::new(Dctcp::default()),
        || Box::new(Prague::default()),
        || Box::new(Bbr::default()),
    ];
    for control in controls {
        let mut download = Download::new(control);
        for _ in 0..20 {
            download.second();
        }
        let (calls, received) = (allocations::calls(), download.client.received());
        for _ in 0..20 {
            download.second();
        }
        assert_eq!(allocations::calls() - calls, 0, "{}", control().name());
        let segments = (download.client.received().0 - received.0) / 1448;
        assert!(segments > 10_000, "{segments}");
        assert!(download.server.counters().retransmissions > 20);
    }
}
