//! How access units become payloads: H.264 (RFC 6184), VP8 (RFC 7741), Opus (RFC 7587).

use crate::media::Codec;

const STAP_A: u8 = 24;
const FU_A: u8 = 28;
const NRI: u8 = 0x60;
/// Bytes of a VP8 payload descriptor with a picture number of 15 bits.
const VP8_DESCRIPTOR: usize = 4;

/// The payload behind one RTP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The bytes to write.
    pub prefix: &'a [u8],
    /// A piece of the access unit.
    pub body: &'a [u8],
    /// The last of its picture.
    pub marker: bool,
}

/// An access unit that the format forbids to cut and that is too large for one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Its bytes.
    pub bytes: usize,
    /// The maximum length of a payload in bytes.
    pub most: usize,
}

/// Cuts the access units of one stream into payloads.
#[derive(Clone, Debug)]
pub struct Payloader {
    most: usize,
    picture: u16,
    scratch: Vec<u8>,
}

impl Payloader {
    /// Payloads of at most `most` bytes, which is raised to 16 where it is less.
    pub fn new(most: usize) -> Payloader {
        Payloader { most: most.max(16), picture: 0, scratch: Vec::new() }
    }

    /// The largest payload.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Hands the payloads of an access unit to `emit`, in order; answers how many.
    ///
    /// # Errors
    /// A packet of Opus, or bytes without a format, that exceed a payload. Nothing was emitted.
    pub fn cut<'p>(
        &mut self,
        codec: &Codec,
        mut parts: impl Iterator<Item = &'p [u8]> + Clone,
        mut emit: impl FnMut(Payload<'_>),
    ) -> Result<usize, TooLarge> {
        let mut count = 0;
        let mut emit = |payload: Payload<'_>| {
            count += 1;
            emit(payload);
        };
        match codec {
            Codec::H264 { .. } => self.h264(parts, &mut emit),
            Codec::Vp8 => self.vp8(parts.next().unwrap_or_default(), &mut emit),
            Codec::Opus { .. } | Codec::Synthetic => {
                let body = parts.next().unwrap_or_default();
                if body.len() > self.most {
                    return Err(TooLarge { bytes: body.len(), most: self.most });
                }
                emit(Payload { prefix: &[], body, marker: false });
            }
        }
        Ok(count)
    }

    /// Fragments are cut equally long but the last, so that a batch can leave as one segmented
    /// datagram.
    fn vp8(&mut self, frame: &[u8], emit: &mut impl FnMut(Payload<'_>)) {
        self.picture = (self.picture + 1) & 0x7fff;
        let [high, low] = self.picture.to_be_bytes();
        let mut pieces = frame.chunks(self.most - VP8_DESCRIPTOR).peekable();
        // S: the first packet of partition 0; all of a frame is sent as that partition.
        let mut first = 0x10;
        while let Some(body) = pieces.next() {
            let prefix = &[0x80 | first, 0x80, 0x80 | high, low];
            emit(Payload { prefix, body, marker: pieces.peek().is_none() });
            first = 0;
        }
    }

    /// Small NAL units share a packet, large ones are cut (RFC 6184, packetization mode 1).
    fn h264<'p>(
        &mut self,
        nals: impl Iterator<Item = &'p [u8]> + Clone,
        emit: &mut impl FnMut(Payload<'_>),
    ) {
        let mut rest = nals;
        while let Some(nal) = rest.clone().next() {
            let together = self.aggregate(rest.clone());
            if together > 1 {
                let _ = rest.nth(together - 1);
                let marker = rest.clone().next().is_none();
                emit(Payload { prefix: &self.scratch, body: &[], marker });
                continue;
            }
            rest.next();
            let last = rest.clone().next().is_none();
            if nal.len() <= self.most {
                emit(Payload { prefix: &[], body: nal, marker: last });
            } else {
                self.fragment(nal, last, emit);
            }
        }
    }

    /// Gathers the first NAL units that fit into one STAP-A; answers how many.
    fn aggregate<'p>(&mut self, nals: impl Iterator<Item = &'p [u8]>) -> usize {
        self.scratch.clear();
        self.scratch.push(STAP_A);
        let mut count = 0;
        for nal in nals {
            let Ok(len) = u16::try_from(nal.len()) else { break };
            if self.scratch.len() + 2 + nal.len() > self.most {
                break;
            }
            self.scratch.extend_from_slice(&len.to_be_bytes());
            self.scratch.extend_from_slice(nal);
            // As important as the most important inside, damaged as soon as one is.
            let header = self.scratch[0];
            let importance = (header & NRI).max(nal[0] & NRI);
            self.scratch[0] = (header | nal[0]) & 0x80 | importance | STAP_A;
            count += 1;
        }
        count
    }

    fn fragment(&self, nal: &[u8], last: bool, emit: &mut impl FnMut(Payload<'_>)) {
        let (header, body) = (nal[0], &nal[1..]);
        let mut pieces = body.chunks(self.most - 2).peekable();
        let mut start = 0x80;
        while let Some(piece) = pieces.next() {
            let end = pieces.peek().is_none();
            let mark = start | if end { 0x40 } else { 0 } | header & 31;
            let prefix = &[header & !31 | FU_A, mark];
            emit(Payload { prefix, body: piece, marker: last && end });
            start = 0;
        }
    }
}
