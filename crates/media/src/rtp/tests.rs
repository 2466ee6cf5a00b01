use std::collections::BTreeSet;

use rtp_types::RtpPacket;

use super::*;
use crate::media::{Codec, FrameRate, Media};

const H264: &[u8] = include_bytes!("../../tests/media/picture.h264");
const VP8: &[u8] = include_bytes!("../../tests/media/picture.ivf");

fn h264() -> Codec {
    Codec::H264 { sps: Vec::new(), pps: Vec::new() }
}

fn cut(codec: &Codec, most: usize, parts: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
    let mut out = Vec::new();
    let emit = |p: Payload<'_>| out.push(([p.prefix, p.body].concat(), p.marker));
    let count = Payloader::new(most).cut(codec, parts.iter().copied(), emit).unwrap();
    assert_eq!(count, out.len());
    out
}

/// NAL units from payloads, as a receiver puts them together (RFC 6184, sections 5.7 and 5.8).
fn assemble(payloads: &[(Vec<u8>, bool)]) -> Vec<Vec<u8>> {
    let mut nals: Vec<Vec<u8>> = Vec::new();
    for (payload, _) in payloads {
        match payload[0] & 31 {
            24 => {
                let mut rest = &payload[1..];
                while let [high, low, tail @ ..] = rest {
                    let (nal, after) = tail.split_at(usize::from(*high) << 8 | usize::from(*low));
                    nals.push(nal.to_vec());
                    rest = after;
                }
            }
            28 => {
                if payload[1] & 0x80 != 0 {
                    nals.push(vec![payload[0] & 0xe0 | payload[1] & 31]);
                }
                nals.last_mut().expect("a start").extend_from_slice(&payload[2..]);
            }
            _ => nals.push(payload.clone()),
        }
    }
    nals
}

/// Fails when a byte is lost or doubled in cutting, a payload is too large, or the marker is not on
/// the last packet of a picture: tried with fragments that keep the NAL header, `most - 1` in place
/// of `most - 2`, and the marker on every fragment.
#[test]
fn pictures_round_trip() {
    for most in [16, 40, 100, 500, 1188, 60_000] {
        let media = Media::read(H264.to_vec(), FrameRate::default()).unwrap();
        for unit in media.units() {
            let parts: Vec<&[u8]> = media.parts(unit).collect();
            let payloads = cut(media.codec(), most, &parts);
            assert!(payloads.iter().all(|(p, _)| p.len() <= most));
            assert_eq!(assemble(&payloads), parts);
            let markers = payloads.iter().filter(|(_, m)| *m).count();
            assert!(markers == 1 && payloads.last().unwrap().1);
        }
        let media = Media::read(VP8.to_vec(), FrameRate::default()).unwrap();
        for unit in media.units() {
            let frame: Vec<&[u8]> = media.parts(unit).collect();
            let payloads = cut(media.codec(), most, &frame);
            assert!(payloads.iter().all(|(p, _)| p.len() <= most));
            let begins: Vec<bool> = payloads.iter().map(|(p, _)| p[0] & 0x10 != 0).collect();
            assert!(begins[0] && !begins[1..].contains(&true));
            let bodies: Vec<&[u8]> = payloads.iter().map(|(p, _)| &p[4..]).collect();
            assert_eq!(bodies.concat(), frame[0]);
            assert!(payloads.last().unwrap().1 && payloads.iter().filter(|p| p.1).count() == 1);
        }
    }
}

/// Fails when parameter sets do not share a packet, or its header loses their importance: tried
/// with an NRI of zero.
#[test]
fn small_nal_units_share_a_packet() {
    let payloads = cut(&h264(), 100, &[&[0x67, 1, 2], &[0x48, 3], &[0x65; 200]]);
    assert_eq!(payloads[0].0, [0x78, 0, 3, 0x67, 1, 2, 0, 2, 0x48, 3]);
    assert_eq!(payloads.len(), 4);
}

/// Fails when an Opus packet is cut: no receiver could put it together.
#[test]
fn opus_is_never_cut() {
    let opus = Codec::Opus { channels: 2 };
    assert_eq!(cut(&opus, 100, &[&[1; 100]]), [(vec![1; 100], false)]);
    let mut payloader = Payloader::new(100);
    let large: &[u8] = &[1; 101];
    let result = payloader.cut(&opus, [large].into_iter(), |_| panic!("emitted"));
    assert_eq!(result, Err(payload::TooLarge { bytes: 101, most: 100 }));
}

/// Fails when numbers do not go up by one or timestamps do not wrap.
#[test]
fn packets_are_numbered() {
    let mut numbering = Numbering::new(0xfeed_beef, 96).unwrap();
    let mut packet = vec![9; 3];
    let mut seen = Vec::new();
    for i in 0..3u64 {
        let payload = Payload { prefix: &[1, 2], body: &[3], marker: i == 1 };
        numbering.write(&mut packet, i << 31, &payload);
        let read = RtpPacket::parse(&packet).unwrap();
        assert_eq!((read.ssrc(), read.payload_type()), (0xfeed_beef, 96));
        assert_eq!((read.payload(), read.marker_bit()), (&[1, 2, 3][..], i == 1));
        seen.push((read.sequence_number(), read.timestamp()));
    }
    assert_eq!(seen[1].0, seen[0].0.wrapping_add(1));
    assert_eq!(seen[1].1, seen[0].1.wrapping_add(1 << 31));
    assert_eq!(seen[2].1, seen[0].1);
    assert!(Numbering::new(1, 128).unwrap_err().to_string().contains("0 to 127"));
}

/// Fails when all streams start alike.
#[test]
fn streams_start_at_different_numbers() {
    let firsts: BTreeSet<u16> =
        (0..100).map(|ssrc| Numbering::new(ssrc, 96).unwrap().sequence).collect();
    assert!(firsts.len() > 90);
}
