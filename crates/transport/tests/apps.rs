//! Applications on an idle link and beside each other.

mod network;

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_transport::app::{
    Bulk, Completion, Game, Ladder, Page, PageLoad, Pairs, Requests, RequestsPlan, Stream,
    TcpApplication, Video, Workload,
};
use laxity_transport::congestion::Cubic;
use laxity_transport::{Config, Direction};
use network::{MS, Network};

fn ms(n: u64) -> Time {
    Time(n * MS)
}

/// 19 Mbit/s down, 5 up, 40 ms.
fn network() -> Network {
    Network::new(Rate(19_000_000), Rate(5_000_000), 1000, Span(40 * MS))
}

fn over_tcp<W: Workload>(start: Time, connections: usize, workload: W) -> TcpApplication<W> {
    let control = || Box::new(Cubic::default()) as _;
    TcpApplication::new(start, workload, Pairs::new(connections, Config::default(), &control))
}

fn load(page: Page) -> Completion {
    let mut network = network();
    let connections = page.connections;
    network.add(over_tcp(ms(100), connections, PageLoad::new(page)));
    network.run(ms(20_000));
    assert_eq!(network.completions.len(), 1);
    network.completions[0].1
}

// Fails when a file is requested twice or not at all, or a connection waits for another: the sizes are
// the sums, the times those of handshake, requests and slow start. Tried with one connection for six.
#[test]
fn pages_load_whole_in_the_time_of_slow_start() {
    // 69 segments: handshake, request, windows of 10, 20 and 39.
    let small = load(Page::small());
    assert_eq!((small.started, small.bytes), (ms(100), Bytes(100_000)));
    assert!((160..200).contains(&(small.duration().0 / MS)), "{}", small.duration());
    // 0.88 s of the link's time.
    let large = load(Page::large());
    assert_eq!(large.bytes, Bytes(2_000_000));
    assert!((900..1_500).contains(&(large.duration().0 / MS)), "{}", large.duration());
    let median = load(Page::median());
    assert_eq!(median.bytes, Bytes(18_000 + 70 * 37_600));
    assert!((1_200..2_200).contains(&(median.duration().0 / MS)), "{}", median.duration());
    let one = load(Page { connections: 1, ..Page::large() });
    assert!(one.duration() > large.duration(), "{}", one.duration());
}

// Fails when an answer precedes its request, or the pause is not kept.
#[test]
fn answers_take_a_round_trip_and_follow_the_pause() {
    let plan = RequestsPlan { request: Bytes(200), response: Bytes(1000), pause: Span(500 * MS) };
    let mut network = network();
    network.add(over_tcp(Time::ZERO, 1, Requests::new(plan)));
    network.run(ms(10_000));
    assert_eq!(network.completions.len(), 19);
    for (i, (_, answer)) in network.completions.iter().enumerate() {
        let least = if i == 0 { 80 } else { 40 };
        assert!((least..least + 2).contains(&(answer.duration().0 / MS)), "{}", answer.duration());
    }
    let pause = network.completions[3].1.started.since(network.completions[2].1.ended);
    assert_eq!(pause, plan.pause);
}

/// Qualities in kbit/s of the segments that arrive in 80 s.
fn watch(rate: u64) -> Vec<u64> {
    let mut network = Network::new(Rate(rate), Rate(5_000_000), 1000, Span(40 * MS));
    network.add(over_tcp(Time::ZERO, 1, Video::new(Ladder::default())));
    network.run(ms(80_000));
    network.completions.iter().map(|(_, segment)| segment.bytes.0 * 8 / 4_000).collect()
}

// Fails when the quality exceeds 80 % of the harmonic mean, or the buffer is not kept: a segment is
// requested when 16 of 20 s are left, so 24 cover the 80 played. Tried with a buffer of 24 s.
#[test]
fn video_takes_the_quality_that_throughput_allows() {
    let fast = watch(19_000_000);
    assert_eq!((fast.len(), fast[0], fast[23]), (24, 400, 8_000), "{fast:?}");
    let slow = watch(3_000_000);
    assert!(slow[1..].iter().all(|kbit| *kbit == 1_000), "{slow:?}");
    let slower = watch(1_000_000);
    assert!(slower.iter().all(|kbit| *kbit == 400), "{slower:?}");
}

// Fails when a datagram is late on an idle link, or one is missed.
#[test]
fn datagrams_leave_at_their_interval() {
    let mut network = network();
    let up = Stream { bytes: Bytes(61), interval: Span(20 * MS) };
    let down = Stream { bytes: Bytes(211), interval: Span(50 * MS) };
    network.add(Game::new(ms(5), up, down));
    network.run(ms(1_045));
    let sizes = |bytes| network.completions.iter().filter(|(_, c)| c.bytes == Bytes(bytes)).count();
    assert_eq!((sizes(61), sizes(211)), (51, 21));
    for (_, datagram) in &network.completions {
        // 75 B at 5 Mbit/s, 225 at 19.
        let wire = if datagram.bytes == up.bytes { 120_000 } else { 94_737 };
        assert_eq!(datagram.duration(), Span(20 * MS + wire));
    }
}

// Fails when a run depends on anything but its input, or a transfer loses a byte beside others.
#[test]
fn the_same_run_has_the_same_result() {
    let run = || {
        let mut network = Network::new(Rate(19_000_000), Rate(5_000_000), 50, Span(40 * MS));
        for i in 0..4 {
            let direction = if i % 2 == 0 { Direction::Down } else { Direction::Up };
            let bytes = Some(Bytes(500_000 + i * 1_000));
            network.add(over_tcp(ms(10 * i), 1, Bulk::new(direction, bytes)));
        }
        network.add(over_tcp(ms(100), 6, PageLoad::new(Page::large())));
        network.run(ms(30_000));
        network.completions
    };
    let completions = run();
    let mut bytes: Vec<u64> = completions.iter().map(|(_, c)| c.bytes.0).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [500_000, 501_000, 502_000, 503_000, 2_000_000]);
    assert_eq!(completions, run());
}
