//! Media files as access units on the clock of their RTP payload.
//!
//! A file is read whole, once, and shared by all streams that play it. Damage is no reason to give
//! up: each piece that cannot be used becomes a [`Fault`] with its offset, and the rest is played.

mod annex_b;
mod fault;
mod ivf;
mod ogg_opus;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

pub use fault::{Damage, Fault, MediaError};

/// Files above this are refused: they are held in memory.
pub const LARGEST_FILE: u64 = 1 << 30;

/// The RTP clock of video, Hz (RFC 6184, RFC 7741).
pub const VIDEO_CLOCK: u32 = 90_000;

/// The RTP clock of Opus, Hz, whatever it was sampled at (RFC 7587, section 4.1).
pub const OPUS_CLOCK: u32 = 48_000;

/// Faults beyond this many are counted, not kept.
const FAULTS_KEPT: usize = 64;

/// The codec of a payload, with its parameters for a session description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Opus.
    Opus {
        /// Channels, 1 or 2.
        channels: u8,
    },
    /// H.264 with the parameter sets that its file holds first.
    H264 {
        /// The first sequence parameter set, a whole NAL unit; empty when there is none.
        sps: Vec<u8>,
        /// The first picture parameter set.
        pps: Vec<u8>,
    },
    /// VP8.
    Vp8,
    /// Bytes without meaning that carry their own time of sending.
    Synthetic,
}

impl Codec {
    /// Ticks a second of the RTP timestamp.
    pub fn clock(&self) -> u32 {
        match self {
            Codec::Opus { .. } => OPUS_CLOCK,
            _ => VIDEO_CLOCK,
        }
    }
}

/// Pictures a second as a fraction: 30000/1001 is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameRate {
    /// Pictures ...
    pub pictures: u32,
    /// ... in so many seconds.
    pub seconds: u32,
}

impl Default for FrameRate {
    fn default() -> Self {
        FrameRate { pictures: 25, seconds: 1 }
    }
}

/// One access unit: the input of a decoder at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// When, in ticks of the codec's clock from the start of the file.
    pub at: u64,
    /// Decodable without what came before.
    pub key: bool,
    parts: Range<usize>,
}

/// A media file, ready to be packetised.
#[derive(Debug)]
pub struct Media {
    codec: Codec,
    bytes: Vec<u8>,
    parts: Vec<Range<usize>>,
    units: Vec<Unit>,
    ticks: u64,
    faults: Vec<Fault>,
    faults_in_all: u64,
    longest: OnceLock<usize>,
}

impl Media {
    /// Reads a file: Ogg/Opus, IVF with VP8, or H.264 as an Annex B byte stream, recognised by
    /// their first bytes. `rate` is used for H.264, which carries no time.
    ///
    /// # Errors
    /// The file cannot be read, is too large, of an unknown kind, or holds nothing to play.
    pub fn open(path: &Path, rate: FrameRate) -> Result<Media, MediaError> {
        let unreadable = |source| MediaError::Unreadable { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(MediaError::TooLarge { path: path.to_owned() });
        }
        Media::read(bytes, rate).map_err(|e| e.in_file(path))
    }

    /// As [`open`](Self::open), from memory.
    ///
    /// # Errors
    /// As there; the path in them is empty.
    pub fn read(bytes: Vec<u8>, rate: FrameRate) -> Result<Media, MediaError> {
        if rate.pictures == 0 || rate.seconds == 0 {
            return Err(MediaError::FrameRate);
        }
        let media = if bytes.starts_with(b"OggS") {
            ogg_opus::read(&bytes)?
        } else if bytes.starts_with(b"DKIF") {
            ivf::read(bytes)?
        } else if annex_b::starts(&bytes) {
            annex_b::read(bytes, rate)
        } else {
            return Err(MediaError::UnknownKind { path: Default::default() });
        };
        if media.units.is_empty() {
            let first = media.faults.first().copied();
            return Err(MediaError::NothingToPlay { path: Default::default(), first });
        }
        Ok(media)
    }

    fn new(codec: Codec, bytes: Vec<u8>) -> Media {
        Media {
            codec,
            bytes,
            parts: Vec::new(),
            units: Vec::new(),
            ticks: 0,
            faults: Vec::new(),
            faults_in_all: 0,
            longest: OnceLock::new(),
        }
    }

    /// The codec of the payload.
    pub fn codec(&self) -> &Codec {
        &self.codec
    }

    /// The access units in the order in which they are to be sent.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The pieces of a unit: NAL units without start codes for H.264, else one.
    pub fn parts(&self, unit: &Unit) -> impl Iterator<Item = &[u8]> + Clone {
        self.parts[unit.parts.clone()].iter().map(|range| &self.bytes[range.clone()])
    }

    /// Bytes of the longest piece.
    pub fn longest(&self) -> usize {
        *self
            .longest
            .get_or_init(|| self.parts.iter().map(ExactSizeIterator::len).max().unwrap_or(0))
    }

    /// Ticks after which the file starts again when it is repeated.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The first few faults for which parts of the file are not used.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many faults there were in all.
    pub fn faults_in_all(&self) -> u64 {
        self.faults_in_all
    }

    fn fault(&mut self, offset: usize, damage: Damage) {
        self.faults_in_all += 1;
        if self.faults.len() < FAULTS_KEPT {
            self.faults.push(Fault { offset: offset as u64, damage });
        }
    }

    /// Adds a unit of a single part that lies at `range`.
    fn push_whole(&mut self, at: u64, key: bool, range: Range<usize>) {
        let first = self.parts.len();
        self.parts.push(range);
        self.units.push(Unit { at, key, parts: first..first + 1 });
    }
}
