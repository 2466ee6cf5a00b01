//! Faults of media files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A piece of a file that is not played, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// The fault.
    pub damage: Damage,
}

/// The fault of a piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file ends inside this piece.
    CutOff,
    /// Bytes that belong to nothing, passed over.
    Stray {
        /// How many.
        bytes: u64,
    },
    /// The checksum of an Ogg page differs from its contents.
    Checksum,
    /// Pages of Ogg are missing before this one, or their order is broken.
    Gap,
    /// A page of another logical stream; one stream is played.
    OtherStream,
    /// A packet with a first byte or length that is invalid in Opus.
    NotOpus,
    /// A NAL unit with an invalid header, or of a type that only RTP uses.
    NalHeader,
    /// A frame or NAL unit without contents.
    Empty,
    /// A frame that does not begin as a VP8 frame does.
    NotVp8,
    /// A time not after the one before; the frame is played one tick later.
    TimeBack,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.damage)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::CutOff => write!(f, "the file ends inside this piece"),
            Damage::Stray { bytes } => write!(f, "{bytes} bytes that belong to nothing"),
            Damage::Checksum => write!(f, "the checksum of this Ogg page is wrong"),
            Damage::Gap => write!(f, "Ogg pages are missing before this one"),
            Damage::OtherStream => write!(f, "a page of another stream than the first"),
            Damage::NotOpus => write!(f, "this packet is not Opus"),
            Damage::NalHeader => write!(f, "this NAL unit has an invalid header"),
            Damage::Empty => write!(f, "nothing between two boundaries"),
            Damage::NotVp8 => write!(f, "this frame is not VP8"),
            Damage::TimeBack => write!(f, "this frame's time is not after the one before"),
        }
    }
}

/// Why a file cannot be played at all.
#[derive(Debug)]
pub enum MediaError {
    /// The operating system does not give it.
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Larger than [`LARGEST_FILE`](super::LARGEST_FILE).
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// Neither Ogg nor IVF nor Annex B.
    UnknownKind {
        /// Which file.
        path: PathBuf,
    },
    /// The container is known, its contents are not supported.
    Unsupported {
        /// Which file.
        path: PathBuf,
        /// Bytes from the start of the file.
        offset: u64,
        /// The found and the supported value.
        found: String,
    },
    /// No access unit could be used.
    NothingToPlay {
        /// Which file.
        path: PathBuf,
        /// The first fault, when there was one.
        first: Option<Fault>,
    },
    /// A frame rate with a zero in it.
    FrameRate,
}

impl MediaError {
    pub(super) fn in_file(mut self, file: &Path) -> MediaError {
        match &mut self {
            MediaError::Unreadable { path, .. }
            | MediaError::TooLarge { path }
            | MediaError::UnknownKind { path }
            | MediaError::Unsupported { path, .. }
            | MediaError::NothingToPlay { path, .. } => *path = file.to_owned(),
            MediaError::FrameRate => {}
        }
        self
    }
}

impl fmt::Display for MediaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediaError::Unreadable { path, source } => {
                write!(f, "{}: cannot be read: {source}", path.display())
            }
            MediaError::TooLarge { path } => write!(
                f,
                "{}: larger than {} bytes, and media are held in memory; cut it into pieces",
                path.display(),
                super::LARGEST_FILE
            ),
            MediaError::UnknownKind { path } => write!(
                f,
                "{}: neither Ogg (OggS), IVF (DKIF) nor H.264 Annex B (a start code); \
                 convert it, for instance with ffmpeg to .ogg, .ivf or .h264",
                path.display()
            ),
            MediaError::Unsupported { path, offset, found } => {
                write!(f, "{}: at byte {offset}: {found}", path.display())
            }
            MediaError::NothingToPlay { path, first } => {
                write!(f, "{}: nothing in it can be played", path.display())?;
                first.map_or(Ok(()), |fault| write!(f, "; {fault}"))
            }
            MediaError::FrameRate => {
                write!(f, "a frame rate needs a positive number of pictures and of seconds")
            }
        }
    }
}

impl std::error::Error for MediaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MediaError::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}
