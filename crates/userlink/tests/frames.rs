//! Frames as neighbours in the same machine send them: tagged, not summed up, several in one. And
//! what a link leaves behind.

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use laxity_core::Time;
use laxity_trace::SimPacket;
use laxity_userlink::bridge::{Attached, Io, Schedule};
use laxity_userlink::counts::Counts;
use laxity_userlink::device::Device;
use laxity_userlink::offload;
use laxity_userlink::packet::{PacketReceiver, PacketTransmitter};
use laxity_userlink::pool::Pool;
use laxity_userlink::port::{Intake, Obstacle, Receive as _, Transmit as _};
use support::link::Link;
use support::scenarios::parsed;
use support::traffic::warm_up;
use support::{LINK, Network, RECEIVER, SENDER, enter, eventually, until};

const FAST: &str = r#"
[link]
rate = "400 Mbit/s"
max_packet = "1600 B"
credit = "1 ms"
buffer = { total = "4 MB", best_effort = "4 MB" }
[[best_effort]]
name = "tagged"
match = { priority = 5 }
[[best_effort]]
name = "tcp"
match = { protocol = "tcp" }
"#;
const TAGGED: usize = 0;
const TCP: usize = 1;

fn start(io: Io) -> Option<(Network, Link)> {
    let network = support::network()?;
    let link = Link::start(&network, Schedule::of(parsed(FAST)), io);
    warm_up(&network);
    Some((network, link))
}

/// Fails when a checksum is left unfinished or a large frame is not cut: tried both; then not a
/// byte arrives, or the sender learns to send small frames after long pauses.
#[test]
fn offloaded_checksums_and_segmentation_are_completed() {
    for io in [Io::Packet, Io::Xdp] {
        let Some((network, link)) = start(io) else { return };
        let namespace = network.name(RECEIVER).to_owned();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver = std::thread::spawn(move || {
            enter(&namespace);
            let listener = TcpListener::bind(("10.9.0.2", 4000)).expect("a port");
            ready.send(()).expect("it waits");
            let (mut stream, _) = listener.accept().expect("the sender comes");
            let mut all = Vec::new();
            stream.read_to_end(&mut all).expect("all arrives");
            all
        });
        is_ready.recv().expect("it listens");
        let data: Vec<u8> = (0..3_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let (namespace, sent) = (network.name(SENDER).to_owned(), data.clone());
        let sender = std::thread::spawn(move || {
            enter(&namespace);
            let mut stream = TcpStream::connect(("10.9.0.2", 4000)).expect("it listens");
            stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a time");
            stream.write_all(&sent).expect("it goes through");
        });
        sender.join().expect("it sends");
        assert!(receiver.join().expect("it receives") == data, "{io:?}: other bytes arrive");
        let counts = link.stop().report.counts;
        let dropped: Vec<_> = counts.classes[TCP].drops().collect();
        assert_eq!(counts.malformed, 0, "{io:?}");
        assert!(!dropped.iter().any(|(why, _)| *why == "oversize"), "{io:?}: {dropped:?}");
        if io == Io::Packet {
            assert!(counts.segmented > 0, "the sender joined nothing, so nothing was tested");
        }
        // A frame that is cut is not counted here: its packets are summed up anyway.
        assert!(counts.checksums > 0, "{io:?}: the sender finished all sums");
        let delay = &counts.classes[TCP].delay;
        assert!(delay.count() > 2000, "{io:?}: {} packets of at most 1500 B", delay.count());
    }
}

/// Fails when a tag is lost, doubled or unseen by the rules, or the second of two tags is: tried
/// without `insert_tag`, and with tags left to the interface under XDP.
#[test]
fn vlan_tags_are_forwarded() {
    for io in [Io::Packet, Io::Xdp] {
        let Some((network, link)) = start(io) else { return };
        network.enter(RECEIVER);
        let mut pool = Pool::new(600, 1600).expect("small");
        let mut listener =
            PacketReceiver::open(&Device::find("b0").expect("it is there")).expect("root may");
        network.enter(SENDER);
        let mut sender =
            PacketTransmitter::open(&Device::find("a0").expect("it is there")).expect("root may");
        let mut sent = Vec::new();
        for (number, tags) in [
            &[][..],
            &[0x81, 0, 0xa0, 7][..],
            &[0x88, 0xa8, 0xa0, 9, 0x81, 0, 0x20, 7][..],
            &[0x81, 0, 0x60, 7][..],
        ]
        .iter()
        .enumerate()
        {
            let packet = SimPacket { flow: 3, bytes: 200, dscp: 0, sequence: number as u64 };
            let headers = packet.frame().expect("small");
            let frame = [&headers.bytes()[..12], tags, &headers.bytes()[12..], &[7; 158]].concat();
            let slot = pool.allocate().expect("free");
            pool.buffer(slot)[..frame.len()].copy_from_slice(&frame);
            pool.received(slot, frame.len(), Time(0));
            let transmitted = sender.transmit(&pool, &[slot]).expect("it is up");
            assert_eq!(transmitted.frames, 1);
            sent.push(frame);
            pool.release(slot);
        }
        let mut seen = Vec::new();
        until(&format!("{io:?}: all frames come"), || {
            let (mut arrived, mut counts) = (Vec::new(), Counts::new(0));
            let mut intake = Intake { pool: &mut pool, arrived: &mut arrived, counts: &mut counts };
            listener.receive(&mut intake).expect("it is up");
            for slot in arrived {
                let frame = pool.frame(slot).to_vec();
                if frame.ends_with(&[7; 158]) {
                    seen.push(frame);
                }
                pool.release(slot);
            }
            seen.len() >= sent.len()
        });
        // Frames of several classes that come together may change places.
        seen.sort_unstable();
        sent.sort_unstable();
        assert!(seen == sent, "{io:?}: {seen:x?} instead of {sent:x?}");
        let counts = link.stop().report.counts;
        assert_eq!(counts.classes[TAGGED].packets, 2, "{io:?}: two have priority 5 outside");
    }
}

/// Fails when a frame beyond the MTU stops the others, or goes uncounted, or a new MTU is not
/// heard of: tried with such an error taken for a lack of room, and without asking again.
#[test]
fn oversize_frames_are_counted_separately() {
    for io in [Io::Packet, Io::Xdp] {
        let Some(network) = support::network() else { return };
        network.ip(LINK, "link set out mtu 1000").expect("it is there");
        network.enter(LINK);
        let mut attached = eventually(|| Attached::to("out", io));
        let mut pool = Pool::new(8, 1600).expect("small");
        let mut frame = |len: usize| {
            let slot = pool.allocate().expect("free");
            pool.buffer(slot)[12..14].copy_from_slice(&[8, 0]);
            pool.received(slot, len, Time(0));
            slot
        };
        let frames = [frame(200), frame(1014), frame(1400), frame(100)];
        let transmitted = attached.transmit.transmit(&pool, &frames).expect("it is up");
        assert_eq!(
            (transmitted.frames, transmitted.obstacle),
            (2, Some(Obstacle::TooLong)),
            "{io:?}"
        );
        let transmitted = attached.transmit.transmit(&pool, &frames[3..]).expect("it is up");
        assert_eq!((transmitted.frames, transmitted.obstacle), (1, None), "{io:?}");
        network.ip(LINK, "link set out mtu 500").expect("it is there");
        attached.transmit.check().expect("it is there");
        let transmitted = attached.transmit.transmit(&pool, &frames[..2]).expect("it is up");
        assert_eq!(
            (transmitted.frames, transmitted.obstacle),
            (1, Some(Obstacle::TooLong)),
            "{io:?}"
        );
    }
}

/// Fails when features stay off, come back otherwise than they were, or what a killed link left is
/// taken for how they were: tried without the record, and without its removal.
#[test]
fn interface_features_are_restored() {
    let Some(network) = support::network() else { return };
    network.enter(LINK);
    let device = Device::find("in").expect("it is there");
    let state = || offload::state(&device).expect("it says");
    let before = state();
    let on = |state: &[(String, bool)]| state.iter().filter(|(_, on)| *on).count() as u32;
    assert!(on(&before) > 0, "this machine's interfaces join nothing: {before:?}");
    let off = offload::Offload::off(&device, true).expect("root may");
    assert_eq!(off.changed(), on(&before));
    assert_eq!(on(&state()), 0);
    // Killed: nothing is put back, the record stays.
    std::mem::forget(off);
    let again = offload::Offload::off(&device, false).expect("root may");
    assert_eq!(on(&state()), 0);
    drop(again);
    // Features that the second did not touch are still known to have been on.
    assert_eq!(state(), before);
    let once_more = offload::Offload::off(&device, true).expect("root may");
    assert_eq!(once_more.changed(), on(&before));
    let record = offload::record_of(&device).expect("it has a place");
    assert!(record.exists());
    drop(once_more);
    assert_eq!(state(), before);
    assert!(!record.exists(), "a later link would put back what is no longer so");
    let first = Attached::to("in", Io::Packet).expect("it is free");
    let second = Attached::to("in", Io::Packet);
    assert!(matches!(second, Err(laxity_userlink::WireError::Occupied { .. })), "{second:?}");
    drop(first);
    drop(eventually(|| Attached::to("in", Io::Auto)));
    assert!(matches!(
        Attached::to("lo", Io::Auto),
        Err(laxity_userlink::WireError::NotEthernet { .. })
    ));
    assert!(matches!(
        Attached::to("none", Io::Auto),
        Err(laxity_userlink::WireError::NoDevice { .. })
    ));
}
