use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use laxity_dwcs::Tolerance;
use rtp_types::RtpPacket;

use super::sequence::{Place, Sequence};
use super::*;
use crate::rtcp;
use crate::rtp::{Numbering, Payload};

fn tolerance(x: u64, y: u64) -> Tolerance {
    Tolerance::new(x, y).unwrap()
}

/// Windows by their definition.
fn slowly(losses: &[bool], x: usize, y: usize) -> WindowsReport {
    let over = |w: &[bool]| w.iter().filter(|l| **l).count();
    let sliding: Vec<usize> = losses.windows(y).map(over).collect();
    WindowsReport {
        tumbling_windows: (losses.len() / y) as u64,
        tumbling_violations: losses.chunks(y).filter(|w| over(w) > x).count() as u64,
        sliding_windows: sliding.len() as u64,
        sliding_violations: sliding.iter().filter(|n| **n > x).count() as u64,
        max_consecutive_losses: losses.split(|l| !l).map(<[bool]>::len).max().unwrap_or(0) as u64,
        max_window_losses: sliding.into_iter().max().unwrap_or(0) as u64,
    }
}

/// Fails when a window begins at the wrong packet or a loss leaves it too early: tried with the
/// slide looked at before it is full, and with windows of `y + 1`.
#[test]
fn windows_count_as_defined() {
    let mut state = 7u64;
    for (x, y) in [(0, 1), (1, 2), (1, 3), (2, 5), (7, 20)] {
        let losses: Vec<bool> = (0..503)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 60) < 5
            })
            .collect();
        let mut windows = Windows::new(tolerance(x as u64, y as u64));
        losses.iter().for_each(|lost| windows.count(*lost));
        assert_eq!(windows.report(), slowly(&losses, x, y), "{x}/{y}");
    }
    let mut none = Windows::new(tolerance(0, 0));
    (0..5).for_each(|_| none.count(true));
    assert_eq!(
        none.report(),
        WindowsReport { max_consecutive_losses: 5, ..WindowsReport::default() }
    );
}

/// Fails when numbers wrap into losses, late packets are lost, or a jump counts as loss.
#[test]
fn sequence_numbers_make_a_line() {
    let mut lost = Vec::new();
    let mut sequence = Sequence::new(65_534);
    let mut record = |s: &mut Sequence, n: u16| s.record(n, &mut |l| lost.push(l));
    assert_eq!(record(&mut sequence, 65_535), Place::Next);
    assert_eq!(record(&mut sequence, 2), Place::Next);
    assert_eq!(record(&mut sequence, 0), Place::Reordered);
    assert_eq!(record(&mut sequence, 0), Place::Twice);
    assert_eq!(record(&mut sequence, 65_533), Place::TooLate);
    assert_eq!(sequence.expected(), 5);
    assert_eq!(record(&mut sequence, 30_000), Place::Strange);
    assert_eq!(record(&mut sequence, 3), Place::Next);
    assert_eq!(record(&mut sequence, 30_000), Place::Strange);
    assert_eq!(record(&mut sequence, 30_001), Place::Restart);
    assert_eq!((sequence.first, sequence.newest), (30_001, 30_001));
    // 65534, 65535, 0, (1), 2, 3
    assert_eq!(lost, [false, false, false, true, false, false]);

    // So far ahead that those between are given up.
    let mut lost = 0;
    let mut sequence = Sequence::new(0);
    assert_eq!(sequence.record(2999, &mut |l| lost += u32::from(l)), Place::Next);
    assert_eq!(lost, 2999 - 1024);
    assert_eq!(sequence.record(1000, &mut |_| panic!("settled twice")), Place::TooLate);
    sequence.finish(&mut |l| lost += u32::from(l));
    assert_eq!(lost, 2998);
}

struct Line {
    meter: SourceMeter,
    numbering: Numbering,
}

impl Line {
    fn new() -> Line {
        Line {
            meter: SourceMeter::new(5, 90_000, tolerance(1, 4), false),
            numbering: Numbering::new(5, 96).unwrap(),
        }
    }

    /// A packet sent at `sent` ms that arrives at `came` ms; lost when that is `None`.
    fn packet(&mut self, sent: u64, came: Option<u64>, stamped: bool) {
        const MS: u64 = 1_000_000;
        let mut bytes = Vec::new();
        let payload = Payload { prefix: &[], body: &[0; 20], marker: false };
        self.numbering.write(&mut bytes, sent * 90, &payload);
        if stamped {
            Stamp { monotonic: 0, wall: sent * MS }.write(&mut bytes, 12);
        }
        let Some(came) = came else { return };
        let at = Arrival { monotonic: came * MS + 77, wall: came * MS };
        self.meter.packet(&RtpPacket::parse(&bytes).unwrap(), bytes.len(), at);
    }
}

/// Fails when delay is measured on the wrong clock, jitter is not smoothed by 16, or losses are not
/// counted: tried with a transit in nanoseconds and a shift of 3.
#[test]
fn a_stream_is_measured() {
    let mut line = Line::new();
    let delays = [Some(5), Some(5), None, Some(21), Some(5), None, None, Some(5)];
    for (i, delay) in delays.iter().enumerate() {
        let sent = 20 * i as u64;
        line.packet(sent, delay.map(|d| sent + d), true);
    }
    let reception = line.meter.reception(0).unwrap();
    assert_eq!((reception.lost, reception.fraction_lost), (3, (3 * 256 / 8) as u8));
    assert_eq!(line.meter.reception(0).unwrap().fraction_lost, 0);
    let report = line.meter.finish();
    assert_eq!((report.received, report.expected, report.lost), (5, 8, 3));
    assert_eq!((report.delay.min(), report.delay.max()), (Some(5_000_000), Some(21_000_000)));
    assert_eq!((report.windows.tumbling_windows, report.windows.tumbling_violations), (2, 1));
    // 16 ms there and back: 1440 ticks each, smoothed by 1/16: (1440 - 90 + 1440) / 16, then / 16.
    let ticks = [0u32, 1440, 1440, 0].iter().fold(0u32, |j, d| j - ((j + 8) >> 4) + d) >> 4;
    assert_eq!(report.jitter_ns, u64::from(ticks) * 1_000_000_000 / 90_000);
}

/// Fails when smoothing takes jitter beyond its 32 bits, as fuzzing found: without the saturation the fourth of
/// these timestamps, half their range apart, overflows.
#[test]
fn jumping_timestamps_leave_jitter_in_bounds() {
    let mut line = Line::new();
    for i in 0..8 {
        line.packet(i * ((1 << 31) / 90), Some(i), false);
    }
    let report = line.meter.finish();
    assert_eq!(report.jitter_ns, u64::from(u32::MAX >> 4) * 1_000_000_000 / 90_000);
}

/// Fails when a sender report is not used for the time of sending.
#[test]
fn sender_reports_tell_delay() {
    let mut line = Line::new();
    line.packet(1000, Some(1003), false);
    let mut bytes = Vec::new();
    let mut at_start = Numbering::new(5, 96).unwrap();
    at_start.write(&mut bytes, 0, &Payload { prefix: &[], body: &[], marker: false });
    let zero = RtpPacket::parse(&bytes).unwrap().timestamp();
    let at = Arrival { monotonic: 0, wall: 0 };
    line.meter.sender_report(rtcp::ntp(0), zero, at);
    line.packet(1020, Some(1024), false);
    line.packet(1040, Some(1039), false);
    let report = line.meter.finish();
    assert_eq!((report.delay.count(), report.negative_delays), (1, 1));
    let delay = report.delay.max().unwrap();
    assert!((3_990_000..4_010_000).contains(&delay), "{delay}");
}

#[test]
fn stamps_round_trip() {
    let stamp = Stamp { monotonic: u64::MAX - 1, wall: 3 };
    let mut packet = [0; 40];
    stamp.write(&mut packet, 12);
    assert_eq!(Stamp::read(&packet[12..]), Some(stamp));
    assert_eq!(Stamp::read(&packet[11..]), None);
    assert_eq!(Stamp::read(&packet[30..]), None);
    stamp.write(&mut packet[..20], 12);
    stamp.write(&mut packet, usize::MAX);
}

/// Receives while `act` runs, and until all that it has sent was received.
fn receive(config: ReceiverConfig, act: impl FnOnce(SocketAddr, SocketAddr)) -> Report {
    let receiver = Receiver::open(config).expect("loopback");
    let to = receiver.address().expect("an address");
    let rtcp = receiver.rtcp_address().expect("a port beside");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| receiver.run(Duration::MAX, &stop).expect("a report"));
        act(to, rtcp);
        stop.store(true, Ordering::Relaxed);
        run.join().expect("a receiver")
    })
}

/// On two ports that follow one another, below those that the kernel gives to others; no other test of this process
/// gets them.
fn config() -> ReceiverConfig {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = (std::process::id() % 64) as u16 * 64;
    let bind = std::iter::repeat_with(|| {
        let first = 28_672 + (own + 2 * NEXT.fetch_add(1, Ordering::Relaxed)) % 4096;
        let free = |port| UdpSocket::bind(("127.0.0.1", port)).is_ok();
        (free(first) && free(first + 1)).then_some(SocketAddr::from(([127, 0, 0, 1], first)))
    });
    let bind = bind.take(2048).flatten().next().expect("two ports");
    ReceiverConfig { reports: None, ..ReceiverConfig::new(bind) }
}

fn rtp(ssrc: u32, number: u16) -> Vec<u8> {
    let number = number.to_be_bytes();
    [&[0x80, 96, number[0], number[1], 0, 0, 0, 0], &ssrc.to_be_bytes()[..], &[0; 20]].concat()
}

/// A sender of one packet under each of very many sources uses bounded memory. Fails when one packet
/// makes a source: tried without probation.
#[test]
fn forged_sources_are_not_measured() {
    let report = receive(config(), |to, _| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for ssrc in 0..1000u32 {
            socket.send_to(&rtp(ssrc + 50_000, 77), to).expect("loopback");
            if ssrc % 100 == 0 {
                socket.send_to(&rtp(5, ssrc as u16 / 100), to).expect("loopback");
            }
        }
    });
    let ssrcs: Vec<u32> = report.sources.iter().map(|source| source.ssrc).collect();
    assert_eq!(ssrcs, [5], "{report:?}");
    assert_eq!((report.sources[0].received, report.sources[0].lost), (10, 0));
    assert_eq!(report.on_probation, 1000);
}

/// Fails when sources are not bounded, or one address occupies all places: tried each.
#[test]
fn one_address_takes_half_of_what_is_left() {
    let report = receive(ReceiverConfig { sources: 8, ..config() }, |to, _| {
        for (address, sources) in [("127.0.0.1:0", 100..150), ("127.0.0.2:0", 200..250)] {
            let socket = UdpSocket::bind(address).expect("a socket");
            for ssrc in sources {
                socket.send_to(&rtp(ssrc, 1), to).expect("loopback");
                socket.send_to(&rtp(ssrc, 2), to).expect("loopback");
            }
        }
    });
    let ssrcs: Vec<u32> = report.sources.iter().map(|source| source.ssrc).collect();
    assert_eq!(ssrcs, [100, 101, 102, 103, 200, 201]);
    assert_eq!(report.over_source_limit, 2 * (46 + 48));
}

/// Fails when reports go to unproven sources, so that they can be aimed at others,
/// or when packets from elsewhere change measurements: tried each.
#[test]
fn reports_go_to_sources_alone() {
    let config = ReceiverConfig { reports: Some(Duration::from_millis(1)), ..config() };
    let report = receive(config, |to, rtcp| {
        let bound = |address| UdpSocket::bind((address, 0)).expect("a socket");
        let (source, its_rtcp, stranger) =
            (bound("127.0.0.1"), bound("127.0.0.1"), bound("127.0.0.2"));
        for number in 1..=3 {
            source.send_to(&rtp(5, number), to).expect("loopback");
        }
        for number in 1..=3 {
            stranger.send_to(&rtp(5, number + 1000), to).expect("loopback");
        }
        let sending = rtcp::Sending::default();
        let report = rtcp::sender_report(5, "x", &sending).expect("a report");
        its_rtcp.send_to(&report, rtcp).expect("loopback");
        stranger.send_to(&report, rtcp).expect("loopback");
        its_rtcp.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        its_rtcp.recv(&mut [0; 100]).expect("a report");
        its_rtcp.recv(&mut [0; 100]).expect("a report");
        stranger.set_nonblocking(true).expect("a socket");
        assert!(stranger.recv(&mut [0; 100]).is_err());
    });
    assert_eq!((report.sources.len(), report.sources[0].received, report.wrong_address), (1, 3, 3));
    assert_eq!(report.sources[0].lost, 0);
}
