use super::*;
use crate::fuzz;

/// A TCP or UDP packet over IPv4 or IPv6, with a payload of counting bytes.
fn packet(tcp: bool, v4: bool, payload: usize) -> Vec<u8> {
    let transport = if tcp { 32 } else { 8 };
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let above = transport + payload;
    if v4 {
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(((20 + above) as u16).to_be_bytes());
        frame.extend([0xff, 0xff, 0x40, 0, 64, if tcp { 6 } else { 17 }, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    } else {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend((above as u16).to_be_bytes());
        frame.extend([if tcp { 6 } else { 17 }, 64]);
        frame.extend([[0xfd, 1], [0, 2]].concat().repeat(8));
    }
    frame.extend([0x12, 0x34, 0, 80]);
    if tcp {
        frame.extend([0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 1, 0x80, 0x99, 1, 0, 0, 0, 0, 0]);
        frame.extend([1; 12]);
    } else {
        frame.extend((above as u16).to_be_bytes());
        frame.extend([0, 0]);
    }
    frame.extend((0..payload).map(|i| i as u8));
    frame
}

/// Writes the sum of the pseudo header where the checksum belongs, and says where TCP or UDP starts.
fn begin_checksum(frame: &mut [u8]) -> usize {
    let headers = decode(LinkType::ETHERNET, frame);
    let start = headers.transport_offset.unwrap() as usize;
    let network = headers.network_offset.unwrap() as usize;
    let v4 = headers.ip_version == Some(4);
    let addresses = if v4 { network + 12..network + 20 } else { network + 8..network + 40 };
    let protocol = headers.protocol.unwrap();
    let at = start + if protocol == 6 { 16 } else { 6 };
    let length = (frame.len() - start) as u64;
    let pseudo = sum(&frame[addresses], u64::from(protocol) + length);
    frame[at..at + 2].copy_from_slice(&fold(pseudo).to_be_bytes());
    start
}

/// Checks checksums by their definition: the sum over all that they cover is all ones.
fn is_complete(frame: &[u8]) {
    let headers = decode(LinkType::ETHERNET, frame);
    let (network, transport) =
        (headers.network_offset.unwrap() as usize, headers.transport_offset.unwrap() as usize);
    let v4 = headers.ip_version == Some(4);
    assert_eq!(headers.ip_len.map(|len| network + len as usize), Some(frame.len()));
    let addresses = if v4 { 12..20 } else { 8..40 };
    let mut covered = frame[network..][addresses].to_vec();
    let length = (frame.len() - transport) as u32;
    covered.extend([0, 0, 0, headers.protocol.unwrap()]);
    covered.extend(length.to_be_bytes());
    covered.extend(&frame[transport..]);
    let ones = |bytes: &[u8]| {
        let words =
            bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b)));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16)
    };
    assert_eq!(ones(&covered), 0xffff, "of TCP or UDP");
    if v4 && frame[network + 10..network + 12] != [0, 0] {
        assert_eq!(ones(&frame[network..transport]), 0xffff, "of IP");
    }
}

/// Fails when a packet keeps the length, number or sequence of the whole, is marked as the last
/// too early, or a sum is wrong: tried each.
#[test]
fn segments_are_complete_packets() {
    for (tcp, v4) in [(true, true), (true, false), (false, true), (false, false)] {
        let whole = packet(tcp, v4, 3001);
        let mut packets = Packets::of(&whole, Cut { tcp, size: 1400 }).expect("well-formed");
        let head = whole.len() - 3001;
        assert_eq!(packets.longest(), head + 1400);
        let mut payload: Vec<u8> = Vec::new();
        let mut buffer = [0; 2000];
        let mut number = 0;
        while let Some(len) = packets.next_into(&mut buffer) {
            let one = &buffer[..len];
            is_complete(one);
            if tcp {
                let transport = head - 32;
                let sequence = u32::from_be_bytes(*one[transport + 4..].first_chunk().unwrap());
                assert_eq!(sequence, 0xffff_fff0u32.wrapping_add(payload.len() as u32));
                let flags = one[transport + 13];
                assert_eq!(flags & 0x09 != 0, number == 2, "FIN and PSH belong to the last");
                assert_eq!(flags & 0x80 != 0, number == 0, "CWR belongs to the first");
            }
            if v4 {
                assert_ne!(one[24..26], [0, 0], "the sum of the IP header is written");
                let id = u16::from_be_bytes([one[18], one[19]]);
                assert_eq!(id, 0xffffu16.wrapping_add(number));
            }
            payload.extend(&one[head..]);
            number += 1;
        }
        assert_eq!(number, 3);
        assert_eq!(payload, whole[head..]);
    }
}

/// Fails when the pseudo header's sum, which is there already, is not part of the sum.
#[test]
fn checksums_are_completed() {
    for v4 in [true, false] {
        for payload in [1, 2, 999] {
            let mut frame = packet(false, v4, payload);
            let start = begin_checksum(&mut frame);
            complete(&mut frame, (start, 6)).expect("inside");
            is_complete(&frame);
            assert_eq!(complete(&mut frame, (start, payload + 8)), Err(Malformed));
        }
    }
}

/// Fails when any bytes make this panic: tried without the check of the header's length.
#[test]
fn arbitrary_bytes_cause_no_panic() {
    let mut state = 7u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    let mut buffer = [0; 1500];
    for _ in 0..200_000 {
        let mut frame = packet(draw() % 2 == 0, draw() % 2 == 0, draw() % 3000);
        if draw() % 2 == 0 {
            begin_checksum(&mut frame);
        }
        for _ in 0..draw() % 8 {
            let at = draw() % frame.len().min(80);
            frame[at] = draw() as u8;
        }
        if draw() % 4 > 0 {
            frame.truncate(1 + draw() % frame.len());
        }
        let mut prefix = [0; 10];
        prefix.fill_with(|| draw() as u8);
        if draw() % 2 == 0 {
            // A checksum that belongs into most frames.
            prefix[6..8].copy_from_slice(&(draw() as u16 % 100).to_ne_bytes());
            prefix[8..].copy_from_slice(&(draw() as u16 % 40).to_ne_bytes());
        }
        prefix[1] = [0, 1, 4, 5, 0x81, 3][draw() % 6];
        fuzz::segments(&[&prefix, &frame[..]].concat());
        if let Ok(Todo { checksum, cut }) = Todo::read(&prefix) {
            if let Some((start, offset)) = checksum {
                let _ = complete(&mut frame, (start % 100, offset % 40));
                let _ = complete(&mut frame, (start, offset));
            }
            for cut in cut.into_iter().chain([Cut { tcp: true, size: 500 }]) {
                if let Ok(mut packets) = Packets::of(&frame, cut) {
                    let mut payload = 0;
                    while let Some(len) = packets.next_into(&mut buffer) {
                        payload += len;
                        assert!(payload < 1 << 24, "it ends");
                    }
                }
            }
        }
    }
}
