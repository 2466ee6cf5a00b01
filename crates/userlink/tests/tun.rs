//! A machine's own packets, by a tunnel device, in a network namespace that the test makes.

mod support;

use std::net::UdpSocket;
use std::time::Duration;

use laxity_core::{Span, Time};
use laxity_scenario::link::model::Scenario;
use laxity_trace::LinkType;
use laxity_userlink::WireError;
use laxity_userlink::bridge::{Running, Schedule};
use laxity_userlink::device::Device;
use laxity_userlink::pool::{Pool, Slot};
use laxity_userlink::port::{Obstacle, Transmit as _, Transmitted};
use laxity_userlink::tun::{RawTransmitter, TunReceiver};
use support::scenarios::{FLOWS, VOICE, family_with, parsed};
use support::traffic::{self, Receivers};
use support::{LINK, RECEIVER, own_processor, until};

/// A tunnel device and the raw sockets behind it.
fn start() -> (Running, Scenario) {
    // A raw packet lacks the Ethernet header, check sequence, preamble and gap.
    let scenario = parsed(&family_with("credit", "overhead = \"38 B\"\ncredit"));
    let out = Device::find("out").expect("it is there");
    let receive = Box::new(TunReceiver::create("tun0").expect("root may"));
    let transmit = Box::new(RawTransmitter::open(&out).expect("root may"));
    let schedule = Schedule::of(scenario.clone());
    let link = Running::start("tun0", &schedule, LinkType::RAW, receive, transmit);
    (link.expect("it starts"), scenario)
}

/// Fails when packets take another interface or are lost: tried with the sockets not bound (they come back through the tunnel).
#[test]
fn local_packets_are_scheduled_and_forwarded() {
    let Some(network) = support::network_with_tunnels() else { return };
    network.enter(LINK);
    network.ip(LINK, "address add 10.9.0.1/24 dev out").expect("an address");
    // Packets that change processors may change places.
    own_processor(1);
    let (link, scenario) = start();
    assert!(TunReceiver::create("tun0").is_err(), "the name is taken");
    assert!(matches!(TunReceiver::create("a/b"), Err(WireError::BadName { .. })));
    network.ip(LINK, "link set tun0 up").expect("it comes up");
    network.ip(LINK, "route add 10.9.0.2/32 dev tun0 src 10.9.0.1").expect("a route");
    // The neighbour is found first, so that the packets that count do not wait for that.
    let socket = UdpSocket::bind("10.9.0.1:0").expect("a port");
    until("the receiver is found", || {
        socket.send_to(b"who", "10.9.0.2:9").expect("routed");
        std::thread::sleep(Duration::from_millis(50));
        let known = network.ip(LINK, "neighbour show dev out").expect("it lists");
        known.contains("lladdr")
    });
    let receivers = Receivers::start(&network, FLOWS);
    let lost = receivers.lost;
    let arrivals = traffic::arrivals(&scenario, 4, Span::from_millis(800));
    let sent = traffic::send_from(&network, LINK, arrivals, FLOWS).join().expect("it sends");
    receivers.wait(&network, &sent);
    let received = receivers.finish();
    // A thread that is kept waiting may have lost some, which the device counts.
    let lost = network.lost() - lost;
    let ended = link.stop().expect("it stops");
    assert!(ended.error.is_none(), "{:?}", ended.error);
    let counts = ended.report.counts;
    let mut missing = [0, 0];
    for flow in 0..FLOWS - 1 {
        let (class, received) = (&counts.classes[flow], &received[flow]);
        missing[0] += sent[flow].checked_sub(class.packets).expect("no more comes than is sent");
        missing[1] += sent[flow].checked_sub(received.packets).expect("nor in the end");
        assert_eq!(received.disorder, 0, "flow {flow}");
    }
    assert!(missing[0] <= counts.overflow, "{missing:?} missing, {} too many", counts.overflow);
    assert!(missing[1] <= lost, "{missing:?} missing, {lost} lost");
    let voice = &counts.classes[VOICE];
    assert!(
        voice.max_lateness_ns <= counts.excuse(scenario.link.credit),
        "{} ns",
        voice.max_lateness_ns
    );
    // The device goes with the link.
    until("the device is gone", || network.ip(LINK, "link show tun0").is_err());
    assert!(network.ip(RECEIVER, "link show b0").is_ok());
}

/// Fails when what cannot be sent holds up what can, or is taken for sent.
#[test]
fn undeliverable_packets_are_counted_separately() {
    let Some(network) = support::network() else { return };
    network.enter(LINK);
    network.ip(LINK, "address add 10.9.0.1/24 dev out").expect("an address");
    let out = Device::find("out").expect("it is there");
    let mut transmit = RawTransmitter::open(&out).expect("root may");
    let mut pool = Pool::new(4, 1600).expect("small");
    let mut packet = |start: &[u8], len: usize| {
        let slot = pool.allocate().expect("free");
        pool.buffer(slot)[..start.len()].copy_from_slice(start);
        pool.received(slot, len, Time(0));
        slot
    };
    let good = [
        0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2, 0, 9, 0, 9, 0, 8, 0, 0,
    ];
    let slots =
        [packet(&good, 28), packet(&[0xff; 60], 60), packet(&good, 1550), packet(&good, 28)];
    let mut transmitted = |slots: &[Slot]| transmit.transmit(&pool, slots).expect("it is up");
    let first = transmitted(&slots);
    assert_eq!(first, Transmitted { frames: 1, obstacle: Some(Obstacle::Unroutable) });
    let second = transmitted(&slots[2..]);
    assert_eq!(second, Transmitted { frames: 0, obstacle: Some(Obstacle::TooLong) });
    assert_eq!(transmitted(&slots[3..]), Transmitted { frames: 1, obstacle: None });
}

/// Fails when a packet that is longer than any the scenario knows goes on without its end: tried
/// with the length that was read.
#[test]
fn a_packet_that_does_not_fit_is_dropped_and_counted() {
    let Some(network) = support::network_with_tunnels() else { return };
    network.enter(LINK);
    network.ip(LINK, "address add 10.9.0.1/24 dev out").expect("an address");
    let (link, _) = start();
    network.ip(LINK, "link set tun0 mtu 4000 up").expect("it comes up");
    network.ip(LINK, "route add 10.9.0.2/32 dev tun0 src 10.9.0.1").expect("a route");
    let socket = UdpSocket::bind("10.9.0.1:0").expect("a port");
    let rest = FLOWS - 1;
    let class = || link.report().expect("it runs").counts.classes[rest].clone();
    let oversize = || class().drops().find(|(why, _)| *why == "oversize").map_or(0, |(_, n)| n);
    for (number, bytes) in [1600, 1700, 3900].into_iter().enumerate() {
        socket.send_to(&vec![7; bytes], "10.9.0.2:9").expect("routed");
        until("it is dropped", || oversize() == number as u64 + 1);
    }
    let class = class();
    assert_eq!((class.sent(), class.dropped_bytes), (0, 1600 + 1700 + 3900 + 3 * 28));
}

/// Fails when the thread goes on without its device, or spins.
#[test]
fn a_removed_tunnel_ends_the_link() {
    let Some(network) = support::network_with_tunnels() else { return };
    network.enter(LINK);
    let (link, _) = start();
    std::thread::sleep(Duration::from_millis(300));
    assert!(link.is_running(), "a device that is down is no reason to end");
    network.ip(LINK, "link delete tun0").expect("it goes");
    until("the link ends", || !link.is_running());
    match link.stop().expect("it ended").error {
        Some(WireError::Gone { device }) => assert_eq!(device, "tun0"),
        other => panic!("it ended with {other:?}"),
    }
}
