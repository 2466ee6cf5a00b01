//! Rules of the RFCs, one by one, as the peer sees them.

use laxity_core::{Bytes, Span, Time};
use laxity_transport::congestion::{Cubic, NewReno};
use laxity_transport::{Config, Connection, Ecn, Kind, Segment};

const MS: u64 = 1_000_000;
const MSS: u64 = 1448;

fn ms(n: u64) -> Time {
    Time(n * MS)
}

fn transmit(end: &mut Connection, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| end.poll_transmit(now)).collect()
}

/// Client and server after a handshake of 40 ms, at 40 ms; the client's last segment has arrived.
fn open(config: Config) -> (Connection, Connection) {
    let mut client = Connection::client(config, Box::new(NewReno));
    let mut server = Connection::server(config, Box::new(NewReno));
    let syn = transmit(&mut client, ms(0));
    server.handle_segment(ms(0), &syn[0]);
    let answer = transmit(&mut server, ms(0));
    client.handle_segment(ms(40), &answer[0]);
    let ack = transmit(&mut client, ms(40));
    assert_eq!((syn.len(), answer.len(), ack.len()), (1, 1, 1));
    assert_eq!((syn[0].kind, answer[0].kind), (Kind::Syn, Kind::SynAck));
    server.handle_segment(ms(40), &ack[0]);
    (client, server)
}

/// The server sends `segments` at 40 ms.
fn download(config: Config, segments: u64) -> (Connection, Connection, Vec<Segment>) {
    let (client, mut server) = open(config);
    server.write(Bytes(segments * MSS));
    let sent = transmit(&mut server, ms(40));
    (client, server, sent)
}

/// The acknowledgements of one segment after another, handed to `client` at `now`.
fn acknowledge(client: &mut Connection, now: Time, segments: &[Segment]) -> Vec<Segment> {
    let mut acks = Vec::new();
    for segment in segments {
        client.handle_segment(now, segment);
        acks.extend(transmit(client, now));
    }
    acks
}

// Fails when the initial window is another (RFC 6928), or is not one after a lost SYN (RFC 5681 3.1).
#[test]
fn the_initial_window_is_ten_segments_or_one_after_a_lost_handshake() {
    assert_eq!(download(Config::default(), 100).2.len(), 10);
    let mut client = Connection::client(Config::default(), Box::new(NewReno));
    let mut server = Connection::server(Config::default(), Box::new(NewReno));
    assert_eq!(transmit(&mut client, ms(0)).len(), 1);
    assert_eq!(client.poll_timeout(), Some(ms(1000)));
    assert_eq!(transmit(&mut client, ms(999)).len(), 0);
    let syn = transmit(&mut client, ms(1000));
    assert_eq!(client.poll_timeout(), Some(ms(3000)));
    server.handle_segment(ms(1020), &syn[0]);
    client.handle_segment(ms(1040), &transmit(&mut server, ms(1020))[0]);
    client.write(Bytes(100 * MSS));
    assert_eq!(transmit(&mut client, ms(1040)).iter().filter(|s| s.len > 0).count(), 1);
}

// Fails when the first 16 segments are not acknowledged at once, or later ones not in pairs, or a single
// one not after 40 ms (RFC 1122 4.2.3.2): tried with 15 quick acknowledgements.
#[test]
fn acknowledgements_are_quick_then_for_pairs_then_delayed() {
    let config = Config { initial_window: 100, ..Config::default() };
    let (mut client, _, sent) = download(config, 21);
    assert_eq!(acknowledge(&mut client, ms(80), &sent[..16]).len(), 16);
    let acks = acknowledge(&mut client, ms(80), &sent[16..20]);
    assert_eq!(acks.iter().map(|a| a.ack).collect::<Vec<_>>(), [18 * MSS, 20 * MSS]);
    assert!(acknowledge(&mut client, ms(90), &sent[20..]).is_empty());
    assert_eq!(client.poll_timeout(), Some(ms(130)));
    client.handle_timeout(ms(130));
    assert_eq!(transmit(&mut client, ms(130)).len(), 1);
    assert_eq!(client.poll_timeout(), None);
}

// Fails when a gap, what fills it or a duplicate waits for a second segment (RFC 5681 4.2), or a change
// between marked and unmarked segments does (RFC 8257 3.2).
#[test]
fn gaps_duplicates_and_marks_are_acknowledged_at_once() {
    let config = Config { initial_window: 100, quick_acks: 0, ecn: true, ..Config::default() };
    let (mut client, _, mut sent) = download(config, 12);
    let block = |from: u64, to: u64| laxity_transport::Range { start: from * MSS, end: to * MSS };
    let mut acks =
        |segment: &Segment| acknowledge(&mut client, ms(80), std::slice::from_ref(segment));
    assert!(acks(&sent[0]).is_empty());
    let gap = acks(&sent[2]);
    assert_eq!(gap[0].sack.received(), [block(2, 3)]);
    // The latest block first, at most three (RFC 2018 section 4).
    acks(&sent[4]);
    acks(&sent[6]);
    assert_eq!(acks(&sent[8])[0].sack.received(), [block(8, 9), block(6, 7), block(4, 5)]);
    assert_eq!(acks(&sent[3])[0].sack.received(), [block(2, 5), block(8, 9), block(6, 7)]);
    // A duplicate above the acknowledgement stands before its block, one below it alone (RFC 2883).
    let duplicate = acks(&sent[4]);
    assert_eq!(duplicate[0].sack.duplicate(), Some(block(4, 5)));
    assert_eq!(duplicate[0].sack.received()[0], block(2, 5));
    assert_eq!(acks(&sent[0])[0].sack.duplicate(), Some(block(0, 1)));
    assert_eq!(acks(&sent[1])[0].ack, 5 * MSS);
    for filled in [5, 7] {
        assert_eq!(acks(&sent[filled]).len(), 1);
    }
    assert!(sent[9].mark() && sent[10].mark());
    let marked = acks(&sent[9]);
    assert!(marked[0].ece && marked[0].ce_received == 1);
    assert!(acks(&sent[10]).is_empty());
    assert_eq!(acks(&sent[11])[0].ce_received, 2);
}

// Fails when the echo is of a segment beyond a gap (RFC 7323 4.3), which would make a round trip of one
// that was lost seem short: tried without the test of `last_ack`.
#[test]
fn the_timestamp_of_the_last_segment_in_order_is_echoed() {
    let (mut client, mut server, mut sent) = download(Config::default(), 11);
    sent[2].sent = ms(50);
    let acks = acknowledge(&mut client, ms(80), &[sent[0], sent[2]]);
    assert_eq!(acks.iter().map(|a| a.echo).collect::<Vec<_>>(), [Some(ms(40)); 2]);
    server.handle_segment(ms(80), &acks[0]);
    let new = transmit(&mut server, ms(80));
    assert_eq!(new[0].sent, ms(80));
    assert_eq!(acknowledge(&mut client, ms(120), &[sent[1]])[0].echo, Some(ms(40)));
}

// Fails when the window grows though the application leaves it unused (RFC 7661): tried without the test
// in `adjust_window`.
#[test]
fn an_unused_window_does_not_grow() {
    let (mut client, mut server) = open(Config::default());
    for round in 1..50 {
        server.write(Bytes(2 * MSS));
        let sent = transmit(&mut server, ms(40 * round));
        for ack in acknowledge(&mut client, ms(40 * round + 20), &sent) {
            server.handle_segment(ms(40 * (round + 1)), &ack);
        }
    }
    assert_eq!(server.window().cwnd, 10);
}

/// A server whose window is 80 segments, with nothing in flight, at 200 ms.
fn grown() -> (Connection, Connection) {
    let (mut client, mut server) = open(Config::default());
    server.write(Bytes(70 * MSS));
    for round in 1..5 {
        let sent = transmit(&mut server, ms(40 * round));
        for ack in acknowledge(&mut client, ms(40 * round + 20), &sent) {
            server.handle_segment(ms(40 * (round + 1)), &ack);
        }
        if client.poll_timeout().is_some() {
            client.handle_timeout(ms(40 * round + 60));
            let ack = transmit(&mut client, ms(40 * round + 60))[0];
            server.handle_segment(ms(40 * (round + 1)), &ack);
        }
    }
    assert_eq!(server.acknowledged(), Bytes(70 * MSS));
    (client, server)
}

// Fails when a burst of the old window follows a pause (RFC 5681 4.1, RFC 2861), or a short pause
// costs it.
#[test]
fn slow_start_follows_idle_time() {
    let (_, server) = grown();
    let window = server.window().cwnd;
    assert!(window > 40, "{window}");
    for (idle, expected) in [(200, window), (260, window / 2), (5_000, 10)] {
        let (_, mut server) = grown();
        server.write(Bytes(1000 * MSS));
        let burst = transmit(&mut server, ms(160 + idle)).len() as u32;
        assert_eq!(burst, expected, "after {idle} ms");
    }
}

// Fails when more is in flight than the peer's window holds (RFC 9293 3.8.6).
#[test]
fn the_receive_window_bounds_what_is_in_flight() {
    let config = Config { initial_window: 5000, receive_window: 6_000_000, ..Config::default() };
    let sent = download(config, 100_000).2;
    assert_eq!(sent.last().map(|s| s.range().end), Some(6_000_000));
}

// Fails when a probe is sent earlier or later than two round trips, or a timeout earlier than 200 ms after
// one (RFC 8985 7.2, RFC 6298): tried with three.
#[test]
fn a_probe_goes_first_then_a_timeout() {
    let (_, mut server, sent) = download(Config::default(), 3);
    assert_eq!(server.poll_timeout(), Some(ms(40 + 2 * 40)));
    server.handle_timeout(ms(120));
    let probe = transmit(&mut server, ms(120));
    assert_eq!((probe.len(), probe[0].start), (1, 2 * MSS));
    assert_eq!(server.poll_timeout(), Some(ms(120 + 40 + 200)));
    server.handle_timeout(ms(360));
    let again = transmit(&mut server, ms(360));
    assert_eq!((again.len(), again[0].range()), (1, sent[0].range()));
    assert_eq!(server.window().cwnd, 1);
    assert_eq!(server.poll_timeout(), Some(ms(360 + 2 * 240)));
    // A single segment may have met a delayed acknowledgement.
    let (_, server, _) = download(Config::default(), 1);
    assert_eq!(server.poll_timeout(), Some(ms(40 + 240)));
}

// Fails when a probe is new data that the window forbids it to be, or no new data though there is some
// (RFC 8985 7.3).
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    let (_, mut server, sent) = download(Config::default(), 11);
    assert_eq!(sent.len(), 10);
    server.handle_timeout(ms(120));
    let probe = transmit(&mut server, ms(120));
    assert_eq!((probe.len(), probe[0].start), (1, 10 * MSS));
}

// Fails when three segments above a gap do not show a loss at once, or fewer do before a quarter of the
// round trip (RFC 8985 6.2): tried with a threshold of four.
#[test]
fn three_segments_show_a_loss_and_fewer_after_a_quarter_round_trip() {
    let (mut client, mut server, sent) = download(Config::default(), 10);
    for ack in acknowledge(&mut client, ms(80), &sent[1..3]) {
        server.handle_segment(ms(80), &ack);
    }
    assert_eq!(transmit(&mut server, ms(80)).len(), 0);
    assert_eq!(server.poll_timeout(), Some(ms(80 + 10)));
    let mut other = (client, server);
    for ack in acknowledge(&mut other.0, ms(80), &sent[3..4]) {
        other.1.handle_segment(ms(80), &ack);
    }
    assert_eq!(transmit(&mut other.1, ms(80))[0].range(), sent[0].range());
}

// Fails when retransmissions are marked ECN-capable (RFC 3168 6.1.5), or pure acknowledgements (6.1.4),
// or a reduction is not announced by CWR (6.1.2).
#[test]
fn only_new_data_is_ecn_capable() {
    let config = Config { ecn: true, ..Config::default() };
    let (mut client, mut server, mut sent) = download(config, 100);
    assert!(sent.iter().all(|s| s.ecn == Ecn::Ect0 && !s.cwr));
    assert!(sent[1].mark());
    let acks = acknowledge(&mut client, ms(80), &sent[1..]);
    assert!(acks.iter().all(|a| a.ecn == Ecn::NotEct && a.ece));
    let mut next = Vec::new();
    for ack in &acks {
        server.handle_segment(ms(80), ack);
        next.extend(transmit(&mut server, ms(80)));
    }
    assert!(next.iter().all(|s| (s.ecn == Ecn::NotEct) == (s.start < 10 * MSS)));
    let cwr: Vec<bool> = next.iter().filter(|s| s.start >= 10 * MSS).map(|s| s.cwr).collect();
    assert!(cwr.len() > 1 && cwr[0] && cwr[1..].iter().all(|cwr| !cwr), "{cwr:?}");
    assert!(!acknowledge(&mut client, ms(120), &next).last().expect("one").ece);
}

// Fails when anything but the header, the options and the payload counts.
#[test]
fn packets_have_the_sizes_of_linux() {
    let (mut client, _, sent) = download(Config::default(), 3);
    assert_eq!(sent[0].bytes(), 1500);
    let acks = acknowledge(&mut client, ms(80), &[sent[0], sent[2]]);
    assert_eq!((acks[0].bytes(), acks[1].bytes()), (52, 64));
    let mut client = Connection::client(Config::default(), Box::new(Cubic::default()));
    assert_eq!(transmit(&mut client, Time::ZERO)[0].bytes(), 60);
    assert_eq!(client.smoothed_rtt(), None::<Span>);
}

/// Three segments, of which the last is not acknowledged before its probe at 320 ms.
fn probe_for_the_third() -> (Connection, Connection, Vec<Segment>, Segment) {
    let (mut client, mut server, sent) = download(Config::default(), 3);
    for ack in acknowledge(&mut client, ms(80), &sent[..2]) {
        server.handle_segment(ms(80), &ack);
    }
    assert_eq!(server.poll_timeout(), Some(ms(320)));
    server.handle_timeout(ms(320));
    let probe = transmit(&mut server, ms(320));
    assert_eq!((probe.len(), probe[0].range()), (1, sent[2].range()));
    (client, server, sent, probe[0])
}

// Fails when a loss that a probe repaired leaves the window as it was (RFC 8985 7.4.2): tried without the
// reduction.
#[test]
fn a_loss_that_a_probe_repairs_reduces_the_window() {
    let (mut client, mut server, _, probe) = probe_for_the_third();
    let window = server.window().cwnd;
    server.write(Bytes(MSS));
    let new = transmit(&mut server, ms(330));
    for ack in acknowledge(&mut client, ms(370), &[probe, new[0]]) {
        server.handle_segment(ms(370), &ack);
    }
    assert_eq!(server.acknowledged(), Bytes(4 * MSS));
    assert_eq!((server.counters().reductions, server.window().cwnd), (1, window / 2));
}

// Fails when a probe that was for nothing reduces the window: tried without the test of the duplicate.
#[test]
fn a_probe_for_nothing_reduces_no_window() {
    let (mut client, mut server, sent, probe) = probe_for_the_third();
    server.write(Bytes(MSS));
    let new = transmit(&mut server, ms(330));
    let acks = acknowledge(&mut client, ms(370), &[sent[2], probe, new[0]]);
    assert_eq!(acks[1].sack.duplicate(), Some(probe.range()));
    for ack in &acks {
        server.handle_segment(ms(370), ack);
    }
    assert_eq!(server.acknowledged(), Bytes(4 * MSS));
    assert_eq!(server.counters().reductions, 0);
}

// Fails when repeated timeouts of one segment reduce the threshold again (RFC 5681 3.1): tried without
// the test of progress.
#[test]
fn the_threshold_falls_once_for_repeated_timeouts() {
    let (_, mut server, _) = download(Config::default(), 10);
    for _ in 0..6 {
        let at = server.poll_timeout().expect("a timer");
        server.handle_timeout(at);
        transmit(&mut server, at);
    }
    assert_eq!(server.counters().timeouts, 5);
    assert_eq!((server.counters().reductions, server.window().ssthresh), (1, 5));
}

// Fails when the back-off lasts though a timestamp measures the round trip of a retransmission (RFC 7323
// 4.1, RFC 6298 section 3): tried without that sample.
#[test]
fn the_timestamp_of_a_retransmission_ends_the_back_off() {
    let (mut client, mut server, _) = download(Config::default(), 1);
    let (mut now, mut last) = (ms(40), Vec::new());
    while server.counters().timeouts < 3 {
        now = server.poll_timeout().expect("a timer");
        server.handle_timeout(now);
        last = transmit(&mut server, now);
    }
    now += Span(40 * MS);
    for ack in acknowledge(&mut client, now, &last) {
        server.handle_segment(now, &ack);
    }
    server.write(Bytes(MSS));
    assert_eq!(transmit(&mut server, now).len(), 1);
    let probe = server.poll_timeout().expect("a probe timer");
    server.handle_timeout(probe);
    assert_eq!(transmit(&mut server, probe).len(), 1);
    let timeout = server.poll_timeout().expect("a timer").since(probe);
    assert_eq!(timeout, Span(240 * MS));
}
