use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use laxity_core::Span;
use laxity_dwcs::{Attributes, Tolerance};
use proptest::prelude::*;
use rtcp_types::{Compound, Packet};

use super::read::SentRange;
use super::*;
use crate::fuzz;
use crate::server::{Config, Handle, Server, Snapshot, Source, Stop, StreamConfig};

fn reception(ssrc: u32, highest: u32) -> ReceptionReport {
    ReceptionReport {
        ssrc,
        highest,
        fraction_lost: 3,
        lost: -2,
        jitter: 17,
        ..ReceptionReport::default()
    }
}

/// Fails when a field is written to another place than it is read from, or a negative loss comes
/// out as millions: tried without the sign of 24 bits.
#[test]
fn reports_round_trip() {
    let blocks: Vec<ReceptionReport> = (0..31).map(|i| reception(i, 1000 + i)).collect();
    let bytes = receiver_report(99, "receiver", &blocks).unwrap();
    let (blocks, goodbyes) = report_blocks(&bytes).unwrap();
    assert_eq!((blocks.len(), goodbyes), (31, 0));
    let ReceptionReport { ssrc, fraction_lost, lost, highest, jitter, .. } = blocks[30];
    assert_eq!((ssrc, fraction_lost, lost, highest, jitter), (30, 3, -2, 1030, 17));
    assert!(receiver_report(99, "receiver", &[reception(1, 1); 32]).is_err());

    let sending =
        Sending { ntp: 0x1234_5678_9abc_def0, rtp: 42, packets: 3, octets: 4, ends: false };
    let bytes = sender_report(7, &"ü".repeat(200), &sending).unwrap();
    let packets: Vec<Packet<'_>> =
        Compound::parse(&bytes).unwrap().map(|packet| packet.unwrap()).collect();
    let Packet::Sr(report) = &packets[0] else { panic!("{packets:?}") };
    assert_eq!((report.ssrc(), report.ntp_timestamp()), (7, 0x1234_5678_9abc_def0));
    assert_eq!(middle(0x1234_5678_9abc_def0), 0x5678_9abc);
}

#[test]
fn wall_clocks_survive_ntp() {
    for wall in [0, 1, 1_700_000_000_123_456_789, 4_000_000_000_999_999_999] {
        let back = from_ntp(ntp(wall));
        // An NTP fraction is finer than a nanosecond, and both directions round down.
        assert!(back.is_some_and(|b| wall - b <= 1) || wall >= 2_085_978_496_000_000_000);
    }
    assert_eq!(from_ntp(0), None);
}

/// Fails when an implausible block is accepted: tried without either check.
#[test]
fn implausible_reports_are_ignored() {
    let range = SentRange { first: 65_530, numbered: 10 };
    let block = |highest: u32, lost: i32| ReceptionReport {
        ssrc: 1,
        fraction_lost: 0,
        lost,
        highest,
        jitter: 0,
        last_report: 0,
        since_report: 0,
    };
    let mut report = ReceiverReport::default();
    assert!(block(65_530, 0).apply(range, None, &mut report));
    assert!(block(65_536 + 3, 10).apply(range, Some(5), &mut report));
    assert!(!block(65_536 + 4, 0).apply(range, None, &mut report), "not sent yet");
    assert!(!block(65_529, 0).apply(range, None, &mut report), "before the first");
    assert!(!block(65_530, 11).apply(range, None, &mut report), "more lost than sent");
    assert_eq!((report.reports, report.implausible, report.round_trip_ns), (2, 3, Some(5)));
    assert_eq!((report.highest_sequence, report.lost), (65_539, 10));
}

proptest! {
    /// Fails when some datagram makes reading panic.
    #[test]
    fn no_datagram_causes_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        sound in any::<bool>(),
        mark in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = bytes;
        if sound {
            bytes = receiver_report(1, "x", &[reception(2, 3), reception(4, 5)]).unwrap();
            let at = mark.index(bytes.len());
            bytes[at] = value;
        }
        fuzz::rtcp(&bytes);
    }
}

fn until(handle: &Handle, enough: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let snapshot = handle.snapshot().unwrap();
        if enough(&snapshot) || Instant::now() > end {
            return snapshot;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A receiver sees sender reports and answers; liars and strangers are counted.
///
/// Fails when reports are not sent, a round trip is made up, or any sender may report: tried with
/// round trips by the receiver's claim alone, and without the check of the address. Fails when
/// players get no goodbye at the end: tried without it.
#[test]
fn reports_go_both_ways() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let rtp = UdpSocket::bind(any).unwrap();
    rtp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let rtcp = UdpSocket::bind(any).unwrap();
    rtcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // So few packets that those of a minute wait in the socket's own buffer.
    let attributes = Attributes::new(Tolerance::new(1, 10).unwrap(), Span(200_000_000));
    let source = Source::Constant { bytes: 100 };
    let mut stream = StreamConfig::new("a", attributes, rtp.local_addr().unwrap(), 77, source);
    stream.rtcp = Some(rtcp.local_addr().unwrap());
    let config = Config { rtcp: Some(any), streams: vec![stream], ..Config::default() };
    let server = Server::start(config).unwrap();
    let handle = server.handle().clone();

    let mut buffer = [0; 1500];
    let (bytes, from) = rtcp.recv_from(&mut buffer).unwrap();
    assert_eq!(Some(from), handle.rtcp_address());
    let Packet::Sr(report) = Compound::parse(&buffer[..bytes]).unwrap().next().unwrap().unwrap()
    else {
        panic!("no sender report")
    };
    let (source, ntp) = (report.ssrc(), report.ntp_timestamp());
    assert_eq!(source, 77);
    let (bytes, _) = rtp.recv_from(&mut buffer).unwrap();
    let first = rtp_types::RtpPacket::parse(&buffer[..bytes]).unwrap().sequence_number();

    let good = ReceptionReport {
        ssrc: 77,
        highest: u32::from(first),
        last_report: middle(ntp),
        ..ReceptionReport::default()
    };
    let liar = ReceptionReport { lost: 1_000_000, ..good };
    let stranger = ReceptionReport { ssrc: 78, ..good };
    let forged = ReceptionReport { last_report: good.last_report ^ 1, ..good };
    let send = |blocks: &[ReceptionReport]| {
        rtcp.send_to(&receiver_report(1, "r", blocks).unwrap(), from).unwrap();
    };
    // It refers to a report that was never sent.
    send(&[forged]);
    let seen = until(&handle, |s| s.network.receiver_reports == 1);
    let report = seen.stream("a").unwrap().receiver_report;
    assert_eq!((report.reports, report.round_trip_ns), (1, None));
    send(&[good, liar]);
    send(&[stranger]);
    rtcp.send_to(b"nonsense", from).unwrap();
    let elsewhere = UdpSocket::bind("127.0.0.2:0").unwrap();
    let foreign = ReceptionReport { fraction_lost: 255, ..good };
    elsewhere.send_to(&receiver_report(1, "r", &[foreign]).unwrap(), from).unwrap();

    let seen = until(&handle, |s| {
        let n = s.network;
        n.receiver_reports + n.malformed + n.unknown_stream + n.wrong_address + n.implausible >= 6
    });
    let n = seen.network;
    assert_eq!((n.receiver_reports, n.implausible, n.unknown_stream), (2, 1, 1), "{n:?}");
    assert_eq!((n.malformed, n.wrong_address), (1, 1), "{n:?}");
    let report = seen.stream("a").unwrap().receiver_report;
    assert_eq!((report.reports, report.implausible, report.fraction_lost), (2, 1, 0));
    assert!(report.round_trip_ns.is_some_and(|ns| ns < 20_000_000_000));
    server.stop(Stop::Drop);
    let sent = loop {
        let (bytes, _) = rtcp.recv_from(&mut buffer).expect("a goodbye");
        let packets: Vec<_> = Compound::parse(&buffer[..bytes]).unwrap().flatten().collect();
        let [Packet::Sr(report), _, Packet::Bye(bye)] = &packets[..] else { continue };
        assert!(bye.ssrcs().eq([77]));
        break report.packet_count();
    };
    for n in 1..sent {
        assert!(rtp.recv(&mut buffer).is_ok(), "{n} packets of {sent}");
    }
    rtp.set_nonblocking(true).unwrap();
    assert!(rtp.recv(&mut buffer).is_err(), "more than {sent} packets");
}
