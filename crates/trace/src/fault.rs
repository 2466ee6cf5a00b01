//! Errors of captures, which end the reading, and faults, which do not.

use std::fmt;
use std::io;

/// Faults that are kept one by one; the ones after them are only counted.
pub const MAX_FAULTS: usize = 64;

/// Why a capture could not be opened, or why its reading ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The reader failed.
    Io {
        /// Offset of the first byte that was not used.
        offset: u64,
        /// The reader's error.
        source: io::Error,
    },
    /// The file is empty.
    Empty,
    /// The file ends inside its file header.
    HeaderTruncated {
        /// Bytes there are.
        have: u64,
        /// Bytes the header has.
        need: u64,
    },
    /// The file is compressed.
    Compressed {
        /// The program that decompresses it.
        with: &'static str,
    },
    /// The file is another kind of capture.
    OtherFormat {
        /// Its name.
        name: &'static str,
    },
    /// The first four bytes are those of no capture format.
    NotACapture {
        /// The first four bytes, as they are in the file.
        magic: [u8; 4],
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Io { offset, source } => write!(
                f,
                "offset {offset}: reading failed ({source}); what was read before is usable, read again for the rest"
            ),
            CaptureError::Empty => {
                write!(f, "offset 0: the capture is empty; record it again or check the path")
            }
            CaptureError::HeaderTruncated { have, need } => write!(
                f,
                "offset 0: the file ends after {have} of the {need} bytes of its header; copy or record it again"
            ),
            CaptureError::Compressed { with } => {
                write!(f, "offset 0: the file is compressed; decompress it first, with {with}")
            }
            CaptureError::OtherFormat { name } => write!(
                f,
                "offset 0: this is a {name} file, neither pcap nor pcapng; convert it with `editcap -F pcapng`"
            ),
            CaptureError::NotACapture { magic: [a, b, c, d] } => write!(
                f,
                "offset 0: bytes {a:02x} {b:02x} {c:02x} {d:02x} start neither a pcap nor a pcapng file; check that the path names a capture"
            ),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CaptureError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a pcap record header cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadHeader {
    /// The captured length is over [`crate::MAX_RECORD_BYTES`].
    CapturedLength(u32),
    /// The original length is 0 or over [`crate::MAX_ORIGINAL_BYTES`].
    OriginalLength(u32),
    /// The part of the time below a second is a second or more.
    Fraction(u32),
    /// The record would reach past the end of the file, and records are found before that.
    PastEnd(u32),
    /// The record would reach over the start of another one.
    Overlap(u32),
}

impl fmt::Display for BadHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadHeader::CapturedLength(n) => write!(f, "captured length {n}"),
            BadHeader::OriginalLength(n) => write!(f, "original length {n}"),
            BadHeader::Fraction(n) => write!(f, "sub-second time {n}"),
            BadHeader::PastEnd(n) => write!(f, "captured length {n} reaches past the end"),
            BadHeader::Overlap(n) => write!(f, "captured length {n} reaches over another record"),
        }
    }
}

/// Why a pcapng block cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadBlock {
    /// The length is not a multiple of four, too small, or over [`crate::MAX_BLOCK_BYTES`].
    Length(u32),
    /// The length at the end is another one than at the start, and no block follows.
    Trailer {
        /// The length at the start of the block.
        length: u32,
        /// The length at its end.
        trailer: u32,
    },
    /// A section header without a byte-order mark.
    ByteOrder(u32),
    /// The block would reach past the end of the file, and blocks are found before that.
    PastEnd(u32),
}

impl fmt::Display for BadBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadBlock::Length(n) => write!(f, "length {n}"),
            BadBlock::Trailer { length, trailer } => {
                write!(f, "length {length} at its start, {trailer} at its end")
            }
            BadBlock::ByteOrder(n) => write!(f, "byte-order mark {n:#010x}"),
            BadBlock::PastEnd(n) => write!(f, "length {n} reaches past the end"),
        }
    }
}

/// A fault at one place of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The file ends inside a record or block, which is left out.
    Truncated {
        /// Bytes of it that are there.
        have: u64,
        /// Bytes it has.
        need: u64,
    },
    /// A pcap record header that cannot be one; reading went on after it when it could.
    BadRecord {
        /// The contradiction.
        reason: BadHeader,
        /// Bytes that were passed over.
        skipped: u64,
        /// Whether a plausible record was found after them.
        resumed: bool,
    },
    /// A pcapng block that cannot be one; reading went on after it when it could.
    BadBlock {
        /// The contradiction.
        reason: BadBlock,
        /// Bytes that were passed over.
        skipped: u64,
        /// Whether a plausible block was found after them.
        resumed: bool,
    },
    /// The length at the end of a block is wrong; the block was used, as another follows it.
    BadTrailer {
        /// The length at the start of the block.
        length: u32,
        /// The length at its end.
        trailer: u32,
    },
    /// A block whose contents do not fit into it; it was left out.
    BadContents {
        /// The block's type number.
        block: u32,
    },
    /// The original length is smaller than the captured one, which was used for both.
    ShortOriginal {
        /// The length on the wire that the file claims.
        original: u32,
        /// The number of bytes captured.
        captured: u32,
    },
    /// A packet of an interface that the file does not describe; it was left out.
    UnknownInterface {
        /// The packet's interface number within its section.
        id: u32,
        /// Interfaces that the section has described before it.
        known: u32,
    },
    /// More than [`crate::MAX_INTERFACES`] interfaces; this one and its packets are left out.
    TooManyInterfaces,
    /// A packet without a time; it was given the time of the packet before it. Reported once for a
    /// file, see [`crate::Report::untimed_frames`].
    NoTime,
    /// A time outside of 1970 to 2554; the nearest one inside was used.
    TimeRange,
    /// A version of the format that is not known; it was read like the known one.
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
}

/// Something wrong at one place of a capture, after which reading went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Offset in the file of the record or block, in bytes.
    pub offset: u64,
    /// The fault.
    pub kind: FaultKind,
}

impl Fault {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            FaultKind::Truncated { .. } => "copy the file again, or go on without its last packet",
            FaultKind::BadRecord { resumed: true, .. } => {
                "copy the file again, or take the packets around this place with care"
            }
            FaultKind::BadBlock { resumed: true, .. } => {
                "copy the file again; an interface described in the lost bytes shifts later ones"
            }
            FaultKind::BadRecord { .. } | FaultKind::BadBlock { .. } => {
                "copy the file again, or go on without the packets after this place"
            }
            FaultKind::BadTrailer { .. } | FaultKind::BadContents { .. } => {
                "copy the file again, or rewrite it with `editcap`"
            }
            FaultKind::ShortOriginal { .. } => "check the program that wrote the file",
            FaultKind::UnknownInterface { .. } => "copy the file again, or merge with `mergecap`",
            FaultKind::TooManyInterfaces => "split the file with `editcap`",
            FaultKind::NoTime => "record with enhanced packet blocks, as `dumpcap` does",
            FaultKind::TimeRange => "shift the times with `editcap -t`",
            FaultKind::Version { .. } => "rewrite the file with `editcap`",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: ", self.offset)?;
        let passed = |f: &mut fmt::Formatter<'_>, skipped, resumed| match resumed {
            true => write!(f, "; skipped {skipped} bytes"),
            false => write!(f, "; nothing readable in the {skipped} bytes to the end"),
        };
        match self.kind {
            FaultKind::Truncated { have, need } => {
                write!(f, "the file ends after {have} of {need} bytes")?
            }
            FaultKind::BadRecord { reason, skipped, resumed } => {
                write!(f, "no record header ({reason})")?;
                passed(f, skipped, resumed)?;
            }
            FaultKind::BadBlock { reason, skipped, resumed } => {
                write!(f, "no block ({reason})")?;
                passed(f, skipped, resumed)?;
            }
            FaultKind::BadTrailer { length, trailer } => {
                write!(f, "block of length {length} ends with length {trailer}; used")?
            }
            FaultKind::BadContents { block } => {
                write!(f, "contents do not fit into the block of type {block:#x}; left out")?
            }
            FaultKind::ShortOriginal { original, captured } => {
                write!(f, "{captured} bytes captured of a packet of {original}")?
            }
            FaultKind::UnknownInterface { id, known } => {
                write!(f, "packet of interface {id}, {known} are described; left out")?
            }
            FaultKind::TooManyInterfaces => write!(f, "too many interfaces; left out")?,
            FaultKind::NoTime => write!(f, "packet without a time; given the one before it")?,
            FaultKind::TimeRange => write!(f, "time outside of 1970 to 2554")?,
            FaultKind::Version { major, minor } => {
                write!(f, "version {major}.{minor} is not known")?
            }
        }
        write!(f, "; {}", self.remedy())
    }
}

/// The faults of a capture: the first [`MAX_FAULTS`], and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    kept: Vec<Fault>,
    total: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, offset: u64, kind: FaultKind) {
        if self.kept.len() < MAX_FAULTS {
            self.kept.push(Fault { offset, kind });
        }
        self.total += 1;
    }

    /// The faults that were kept, in the order of the file.
    pub fn kept(&self) -> &[Fault] {
        &self.kept
    }

    /// All faults, also the ones that were not kept.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}
