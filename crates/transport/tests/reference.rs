//! Steady states beside those that were measured with Linux 6.18 in a deterministic virtual machine
//! (`captures/linux-tcp.csv`, means): 19 Mbit/s, 40 ms, no other traffic, 12 s after 4 s.

mod linux;
mod path;

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_transport::congestion::{Bbr, Cubic, Dctcp, Prague};
use laxity_transport::{Config, Congestion};
use linux::{Steady, is_near, recorded};
use path::{CoDel, MS, Path, Queue};

const WARM_UP: Time = Time(4_000 * MS);
const END: Time = Time(16_000 * MS);

type Control = fn() -> Box<dyn Congestion>;

const CUBIC: Control = || Box::new(Cubic::default());

#[derive(Debug)]
struct Measured {
    /// The mean time in the queue in ms.
    queueing: u64,
    /// In kbit/s: at most 18 172, 1448 of 1514 bytes of the rate.
    goodput: u64,
    dropped: u64,
    marked: u64,
}

/// `flows` downloads.
fn measure(flows: usize, queue: Queue, config: Config, control: Control) -> Measured {
    let mut path = Path::new(Rate(19_000_000), Span(40 * MS), queue);
    path.measure_from = WARM_UP;
    for _ in 0..flows {
        let pair = path.connect(config, control);
        path.pairs[pair].server.write(Bytes(u64::MAX));
        path.pump(pair);
    }
    let received = |path: &Path| path.pairs.iter().map(|p| p.client.received().0).sum::<u64>();
    path.run(WARM_UP, |_, _| {});
    let before = received(&path);
    path.run(END, |_, _| {});
    let timeouts: u64 = path.pairs.iter().map(|p| p.server.counters().timeouts).sum();
    assert_eq!(timeouts, 0);
    let measured = Measured {
        queueing: path.mean_sojourn().0 / MS,
        goodput: (received(&path) - before) * 8 / 12_000,
        dropped: path.dropped,
        marked: path.marked,
    };
    println!("{flows} flows, {}: {measured:?}", control().name());
    measured
}

/// Linux's steady state for some downloads behind a queue.
fn linux(queue: &str, flows: usize) -> Steady {
    recorded()[&(queue.to_owned(), flows as u32)]
}

// Fails when CUBIC or loss recovery deviates: without HyStart the queue is 533 ms with one flow, without
// the 5 % of growth before the first loss 298 ms.
#[test]
fn cubic_fills_a_fifo_of_1000_packets_as_linux_does() {
    let measure = |flows, control| measure(flows, Queue::Fifo(1000), Config::default(), control);
    for flows in [1, 8] {
        let (measured, linux) = (measure(flows, CUBIC), linux("fifo", flows));
        assert!(is_near(measured.queueing, linux.queueing / 1000, 15), "{linux:?}: {measured:?}");
        assert!(is_near(measured.goodput, linux.goodput, 1), "{linux:?}: {measured:?}");
    }
    let measured = measure(1, || Box::new(Cubic::without_hystart()));
    assert!(measured.queueing > 500, "{measured:?}");
}

// Fails when reductions or the growth after them deviate. Linux was measured behind fq_codel, whose
// queues are CoDel's for one flow, and share it for more.
#[test]
fn cubic_uses_a_codel_queue_as_linux_does() {
    for flows in [1, 8] {
        let linux = linux("fq_codel", flows).goodput;
        let dropping = measure(flows, Queue::CoDel(CoDel::default()), Config::default(), CUBIC);
        assert!(is_near(dropping.goodput, linux, 2), "Linux {linux}: {dropping:?}");
        let config = Config { ecn: true, ..Config::default() };
        let marking = measure(flows, Queue::CoDel(CoDel::default()), config, CUBIC);
        assert!(is_near(marking.goodput, linux, 2), "Linux {linux}: {marking:?}");
        assert!(marking.dropped == 0 && marking.marked > 0, "{marking:?}");
    }
}

// Fails when a scalable control reacts to a mark as to a loss, or Prague sends bursts: NewReno has 0.8
// Mbit/s at a step of 1 ms, Prague without pacing 7, DCTCP, which does not pace, 4.
#[test]
fn scalable_controls_use_a_short_step_queue() {
    let cases: [(Control, u64, u64); 2] =
        [(|| Box::new(Dctcp::default()), 5, 17_500), (|| Box::new(Prague::default()), 1, 16_000)];
    for (control, step, least) in cases {
        for flows in [1, 8] {
            let queue = Queue::Step(Span(step * MS));
            let measured = measure(flows, queue, Config::default(), control);
            assert!(measured.goodput >= least && measured.queueing <= step, "{measured:?}");
            assert_eq!(measured.dropped, 0);
        }
    }
}

// Fails when BBR fills the queue as a control does that waits for losses: its window of two products of
// bandwidth and round trip leaves one, 40 ms, in the queue where several flows measure each other. Tried
// with a window of three, and with a delivery rate that knows only the time of sending.
#[test]
fn bbr_keeps_a_fifo_short() {
    for (flows, most) in [(1, 5), (2, 60), (8, 60)] {
        let control: Control = || Box::new(Bbr::default());
        let measured = measure(flows, Queue::Fifo(1000), Config::default(), control);
        assert!(measured.queueing <= most && measured.goodput > 17_500, "{measured:?}");
        assert_eq!(measured.dropped, 0);
    }
}

// Fails when a least round trip counts for ever, or the window does not return after it was measured again.
#[test]
fn bbr_measures_the_round_trip_again_after_ten_seconds() {
    let mut path = Path::new(Rate(19_000_000), Span(40 * MS), Queue::Fifo(1000));
    for _ in 0..2 {
        let pair = path.connect(Config::default(), || Box::new(Bbr::default()));
        path.pairs[pair].server.write(Bytes(u64::MAX));
        path.pump(pair);
    }
    let (mut least, mut last, mut after) = ([u32::MAX; 20], 0, 0);
    path.run(Time(20_000 * MS), |path, _| {
        let cwnd = path.pairs[0].server.window().cwnd;
        let second = &mut least[(path.now.0 / 1_000 / MS) as usize % 20];
        *second = cwnd.min(*second);
        if last == 4 && cwnd > 4 {
            after = cwnd;
        }
        last = cwnd;
    });
    assert!(after > 40, "{after}");
    assert!(least[2..9].iter().all(|cwnd| *cwnd > 40), "{least:?}");
    assert!(least[10..14].contains(&4), "{least:?}");
    assert!(least[15..19].iter().all(|cwnd| *cwnd > 40), "{least:?}");
}
