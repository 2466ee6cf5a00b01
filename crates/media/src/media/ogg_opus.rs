//! Opus in Ogg (RFC 3533, RFC 7845). Pages are found by their capture pattern, so that a damaged
//! one costs only what it holds; checksums and packets are the `ogg` crate's work.

use ogg::reading::{BasePacketReader, OggReadError, PageParser};

use super::{Codec, Damage, Media, MediaError};

const PAGE_HEADER: usize = 27;
/// An Opus packet lasts at most 120 ms (RFC 6716, section 3.2.5).
const LONGEST_PACKET: u64 = 120 * 48;

pub(super) fn read(bytes: &[u8]) -> Result<Media, MediaError> {
    // Packets can lie across pages, so they are copied to where each is in one piece.
    let mut media = Media::new(Codec::Opus { channels: 2 }, Vec::with_capacity(bytes.len()));
    let mut reader = BasePacketReader::new();
    let mut stream = Stream::default();
    let mut at = 0;
    while at < bytes.len() {
        let Some(found) = find_page(bytes, at) else {
            media.fault(at, Damage::Stray { bytes: (bytes.len() - at) as u64 });
            break;
        };
        if found > at {
            media.fault(at, Damage::Stray { bytes: (found - at) as u64 });
        }
        match page(bytes, found) {
            Ok(Page { parsed, serial, sequence, end }) => {
                at = end;
                if *stream.serial.get_or_insert(serial) != serial {
                    media.fault(found, Damage::OtherStream);
                    continue;
                }
                if stream.sequence.is_some_and(|s| s.wrapping_add(1) != sequence) {
                    media.fault(found, Damage::Gap);
                    reader.update_after_seek();
                }
                stream.sequence = Some(sequence);
                if reader.push_page(parsed).is_err() {
                    media.fault(found, Damage::Gap);
                    reader.update_after_seek();
                    continue;
                }
                while let Some(packet) = reader.read_packet() {
                    stream.packet(&mut media, found, &packet.data)?;
                }
            }
            Err(damage) => {
                media.fault(found, damage);
                // The next page may begin inside what this one claimed.
                at = found + 4;
            }
        }
    }
    media.ticks = stream.ticks;
    Ok(media)
}

fn find_page(bytes: &[u8], from: usize) -> Option<usize> {
    bytes[from..].windows(4).position(|w| w == b"OggS").map(|n| from + n)
}

struct Page {
    parsed: ogg::reading::OggPage,
    serial: u32,
    sequence: u32,
    end: usize,
}

fn page(bytes: &[u8], at: usize) -> Result<Page, Damage> {
    let header = bytes.get(at..at + PAGE_HEADER).ok_or(Damage::CutOff)?;
    let header: [u8; PAGE_HEADER] = header.try_into().map_err(|_| Damage::CutOff)?;
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (mut parser, segments) = PageParser::new(header).map_err(|_| Damage::Checksum)?;
    let body = at + PAGE_HEADER + segments;
    let table = bytes.get(at + PAGE_HEADER..body).ok_or(Damage::CutOff)?;
    let end = body + parser.parse_segments(table.to_vec());
    let contents = bytes.get(body..end).ok_or(Damage::CutOff)?;
    match parser.parse_packet_data(contents.to_vec()) {
        Ok(parsed) => Ok(Page { parsed, serial: number(14), sequence: number(18), end }),
        Err(OggReadError::HashMismatch(..)) => Err(Damage::Checksum),
        Err(_) => Err(Damage::Gap),
    }
}

/// The logical stream that is played, and how far it has come.
#[derive(Default)]
struct Stream {
    serial: Option<u32>,
    sequence: Option<u32>,
    headed: bool,
    ticks: u64,
}

impl Stream {
    fn packet(&mut self, media: &mut Media, page: usize, data: &[u8]) -> Result<(), MediaError> {
        if data.starts_with(b"OpusTags") {
            return Ok(());
        }
        if data.starts_with(b"OpusHead") {
            self.headed = true;
            return match data.get(9) {
                Some(&channels @ 1..=2) => {
                    media.codec = Codec::Opus { channels };
                    Ok(())
                }
                other => Err(unsupported(
                    page,
                    format!("Opus with {} channels; RTP carries 1 or 2", other.map_or(0, |n| *n)),
                )),
            };
        }
        if !self.headed && media.faults.is_empty() {
            return Err(unsupported(page, "an Ogg stream that is not Opus".into()));
        }
        match duration(data) {
            Some(ticks) => {
                let first = media.bytes.len();
                media.bytes.extend_from_slice(data);
                media.push_whole(self.ticks, true, first..media.bytes.len());
                self.ticks += ticks;
            }
            None => media.fault(page, Damage::NotOpus),
        }
        Ok(())
    }
}

fn unsupported(offset: usize, found: String) -> MediaError {
    MediaError::Unsupported { path: Default::default(), offset: offset as u64, found }
}

/// How long an Opus packet plays, in ticks of 1/48000 s: its configuration gives the length of a
/// frame, its code the number of frames (RFC 6716, section 3.1).
fn duration(packet: &[u8]) -> Option<u64> {
    let toc = *packet.first()?;
    let frame = match toc >> 3 {
        silk @ 0..=11 => [480, 960, 1920, 2880][usize::from(silk & 3)],
        hybrid @ 12..=15 => [480, 960][usize::from(hybrid & 1)],
        celt => [120, 240, 480, 960][usize::from(celt & 3)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u64::from(packet.get(1)? & 63),
    };
    let ticks = frame * frames;
    (1..=LONGEST_PACKET).contains(&ticks).then_some(ticks)
}
