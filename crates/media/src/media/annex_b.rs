//! H.264 as a byte stream of NAL units behind start codes (ITU-T H.264, Annex B).
//!
//! Access units are separated as in section 7.4.1.2.3, by the NAL units that may only come
//! first and by slices that begin a picture. Times rise in decoding order by one picture each: a
//! stream with reordered pictures should be made without them (`-bf 0`).

use std::ops::Range;

use super::{Codec, Damage, FrameRate, Media, Unit, VIDEO_CLOCK};

const SLICE: u8 = 1;
const IDR: u8 = 5;
const SEI: u8 = 6;
const SPS: u8 = 7;
const PPS: u8 = 8;
const DELIMITER: u8 = 9;
const END_OF_SEQUENCE: u8 = 10;
const FILLER: u8 = 12;
const PREFIX: u8 = 14;
const RESERVED_FIRST: u8 = 18;
/// Types from this one on exist in RTP only (RFC 6184, section 5.2).
const RTP_ONLY: u8 = 24;

/// Whether a file begins with a start code.
pub(super) fn starts(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0, 0, 1]) || bytes.starts_with(&[0, 0, 0, 1])
}

/// The place of the next `00 00 01` at or after `from`.
fn start_code(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(window) = bytes.get(at..at + 3) {
        // The last byte bounds the position of a start code.
        match window[2] {
            0 => at += 1,
            1 if window[0] == 0 && window[1] == 0 => return Some(at),
            _ => at += 3,
        }
    }
    None
}

/// NAL units without their start codes and without the zeros that may follow them.
fn nal_units(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut next = start_code(bytes, 0);
    std::iter::from_fn(move || {
        let first = next? + 3;
        next = start_code(bytes, first);
        let mut end = next.unwrap_or(bytes.len());
        while end > first && bytes[end - 1] == 0 {
            end -= 1;
        }
        Some(first..end)
    })
}

pub(super) fn read(bytes: Vec<u8>, rate: FrameRate) -> Media {
    let nals: Vec<Range<usize>> = nal_units(&bytes).collect();
    let mut media = Media::new(Codec::H264 { sps: Vec::new(), pps: Vec::new() }, bytes);
    let mut grouping = Grouping { rate, first_part: 0, pictured: false, key: false };
    for nal in nals {
        let kind = match media.bytes[nal.clone()] {
            [] => {
                media.fault(nal.start, Damage::Empty);
                continue;
            }
            [header, ..] if header & 0x80 != 0 || !(1..RTP_ONLY).contains(&(header & 31)) => {
                media.fault(nal.start, Damage::NalHeader);
                continue;
            }
            [header, ..] => header & 31,
        };
        keep_parameters(&mut media, kind, &nal);
        let slice = (SLICE..=IDR).contains(&kind);
        // first_mb_in_slice is an Exp-Golomb number: a leading one bit is zero, the first block.
        let begins = match kind {
            SLICE | 2 | IDR => media.bytes.get(nal.start + 1).is_some_and(|b| b & 0x80 != 0),
            SEI | SPS | PPS | DELIMITER => true,
            PREFIX..=RESERVED_FIRST => true,
            _ => false,
        };
        if begins && grouping.pictured {
            grouping.close(&mut media);
        }
        // Filler and end marks carry nothing that a receiver needs.
        if !(END_OF_SEQUENCE..=FILLER).contains(&kind) {
            media.parts.push(nal);
            grouping.pictured |= slice;
            grouping.key |= kind == IDR;
        }
    }
    if grouping.pictured {
        grouping.close(&mut media);
    }
    media.ticks = grouping.ticks(media.units.len() as u64);
    media
}

fn keep_parameters(media: &mut Media, kind: u8, nal: &Range<usize>) {
    let Codec::H264 { sps, pps } = &mut media.codec else { return };
    let place = match kind {
        SPS => sps,
        PPS => pps,
        _ => return,
    };
    if place.is_empty() {
        place.extend_from_slice(&media.bytes[nal.clone()]);
    }
}

/// The access unit that is being gathered.
struct Grouping {
    rate: FrameRate,
    first_part: usize,
    pictured: bool,
    key: bool,
}

impl Grouping {
    fn ticks(&self, pictures: u64) -> u64 {
        let exact = u128::from(pictures) * u128::from(VIDEO_CLOCK) * u128::from(self.rate.seconds);
        u64::try_from(exact / u128::from(self.rate.pictures)).unwrap_or(u64::MAX)
    }

    fn close(&mut self, media: &mut Media) {
        let parts = self.first_part..media.parts.len();
        let at = self.ticks(media.units.len() as u64);
        media.units.push(Unit { at, key: self.key, parts });
        (self.first_part, self.pictured, self.key) = (media.parts.len(), false, false);
    }
}
