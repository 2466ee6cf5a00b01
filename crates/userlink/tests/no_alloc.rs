//! The loop of a direction between interfaces that are made up: full, down, or refusing frames
//! when they like. After set-up it does not allocate, and it loses nothing.

#[path = "../../core/tests/allocations/mod.rs"]
mod allocations;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_core::{Span, Time};
use laxity_link::config::{Aqm, FlowQueueing, QueueBy};
use laxity_trace::{LinkType, SimPacket};
use laxity_traffic::FlowHasher;
use laxity_userlink::WireError;
use laxity_userlink::direction::Direction;
use laxity_userlink::forwarder::Forwarder;
use laxity_userlink::pool::{Pool, Slot};
use laxity_userlink::port::{Intake, Obstacle, Receive, Transmit, Transmitted};

use support::draw;
use support::made_up::source;

/// Of the flow for real time.
const VOICE: &str = r#"
deadline = "10 ms"
envelope = { packet = "200 B", peak = "10 MB/s", burst = "8 kB", rate = "1 MB/s" }
match = { dport = 49152 }
"#;

/// Up to 120 frames at once, until it is quiet.
fn noise(sent: Arc<AtomicU64>, quiet: Arc<AtomicBool>, clock: Arc<AtomicU64>) -> Box<dyn Receive> {
    let mut state = 3;
    source(move |Intake { pool, arrived, .. }| {
        let now = Time(clock.load(Ordering::Relaxed));
        if quiet.load(Ordering::Relaxed) {
            return;
        }
        for _ in 0..draw(&mut state, 120) {
            let Some(slot) = pool.allocate() else { return };
            let number = sent.fetch_add(1, Ordering::Relaxed);
            let flow = draw(&mut state, 3) as u32;
            let bytes = if flow == 0 { 200 } else { 60 + draw(&mut state, 1500) as u32 };
            let packet = SimPacket { flow, bytes, dscp: 0, sequence: number };
            pool.buffer(slot)[..42].copy_from_slice(packet.frame().expect("small").bytes());
            pool.received(slot, bytes as usize, now);
            arrived.push(slot);
        }
    })
}

struct Sink {
    state: u64,
    transmitted: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
    quiet: Arc<AtomicBool>,
}

impl Transmit for Sink {
    fn transmit(&mut self, _: &Pool, frames: &[Slot]) -> Result<Transmitted, WireError> {
        let most = draw(&mut self.state, frames.len() as u64 + 1) as usize;
        let obstacle = match draw(&mut self.state, 8) {
            _ if self.quiet.load(Ordering::Relaxed) => None,
            0 => Some(Obstacle::Full),
            1 => Some(Obstacle::Down),
            2 if most < frames.len() => Some(Obstacle::TooLong),
            3 if most < frames.len() => Some(Obstacle::Unroutable),
            _ => None,
        };
        let frames = if obstacle.is_none() { frames.len() } else { most };
        self.transmitted.fetch_add(frames as u64, Ordering::Relaxed);
        if matches!(obstacle, Some(Obstacle::TooLong | Obstacle::Unroutable)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Transmitted { frames, obstacle })
    }

    fn check(&mut self) -> Result<(), WireError> {
        Ok(())
    }
}

/// Fails when the loop allocates, or a frame is lost or doubled where the interface takes a part,
/// none, or never takes one: tried with the chosen frames cleared when it is down, and with arrivals
/// gathered in a new vector each round.
#[test]
fn nothing_is_lost_and_nothing_allocated() {
    let plain = ["exact", "slack", "background"].map(|policy| (policy, None, Aqm::None));
    let flows = Some(FlowQueueing { by: QueueBy::HostAndFlow, ..FlowQueueing::default() });
    let managed =
        [("exact", flows, Aqm::CODEL), ("slack", flows, Aqm::L4S), ("slack", None, Aqm::PIE)];
    for (policy, flows, aqm) in plain.into_iter().chain(managed) {
        let buffer = "{ total = \"300 kB\", best_effort = \"200 kB\" }";
        let mut scenario = support::scenarios::voice_web_bulk("100 Mbit/s", buffer, VOICE);
        (scenario.best_effort[1].flows, scenario.best_effort[1].aqm) = (flows, aqm);
        let forwarder = Forwarder::new(&scenario, policy, LinkType::ETHERNET, FlowHasher::fixed())
            .expect(policy);
        let [sent, transmitted, refused, clock] =
            std::array::from_fn(|_| Arc::new(AtomicU64::new(0)));
        // Set by the test, which says what time it is: no machine is too slow for that.
        let quiet = Arc::new(AtomicBool::new(false));
        let source = noise(Arc::clone(&sent), Arc::clone(&quiet), Arc::clone(&clock));
        let sink = Sink {
            state: 5,
            transmitted: Arc::clone(&transmitted),
            refused: Arc::clone(&refused),
            quiet: Arc::clone(&quiet),
        };
        let now = Arc::clone(&clock);
        let mut direction = Direction::new(forwarder, source, Box::new(sink), Span::ZERO)
            .with_clock(move || Time(now.load(Ordering::Relaxed)));
        let before = allocations::calls();
        for round in 0..2600u64 {
            // In the end nothing comes any more and everything is taken.
            quiet.store(round >= 2000, Ordering::Relaxed);
            let now = Time(round * 700_000);
            clock.store(now.0, Ordering::Relaxed);
            direction.round(now).expect("made-up interfaces stay");
        }
        let calls = allocations::calls() - before;
        assert_eq!(calls, 0, "{policy}: the allocator was called {calls} times");
        let forwarder = direction.forwarder();
        let counts = forwarder.counts();
        let sum = |of: &dyn Fn(&laxity_userlink::counts::ClassCounts) -> u64| -> u64 {
            counts.classes.iter().map(of).sum()
        };
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        assert_eq!(sum(&|c| c.packets), load(&sent), "{policy}");
        assert_eq!(sum(&|c| c.sent()), load(&transmitted), "{policy}");
        assert_eq!(sum(&|c| c.too_long + c.unroutable), load(&refused), "{policy}");
        let met = [counts.blocked, counts.down, load(&refused)];
        assert!(met.iter().all(|n| *n > 5), "{policy}: obstacles met: {met:?}");
        assert!(sum(&|c| c.dropped.iter().sum()) > 100, "{policy}: more comes than fits");
        assert_eq!(sum(&|c| c.waiting()), 0, "{policy}: all have gone");
        assert_eq!(forwarder.pool().free(), forwarder.pool().slots(), "{policy}");
    }
}
