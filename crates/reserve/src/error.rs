//! Why a request was not granted.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{Code, Refusal};

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server refused.
    Refused(Refusal),
    /// There is no server, or it may not be asked.
    Unreachable {
        /// Its socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The server was asked and no answer came: whether the request was performed is not known, a
    /// query tells.
    Interrupted {
        /// Its socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What came is no answer to this.
    Answer(String),
}

impl Error {
    /// Why, for programs, where the server refused.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Refused(refusal) => Some(refusal.code),
            _ => None,
        }
    }

    /// The largest runtime that would be granted with the same period, where that is the question.
    pub fn fits(&self) -> Option<Duration> {
        match self {
            Error::Refused(refusal) => refusal.fits_ns.map(Duration::from_nanos),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => f.write_str(&refusal.text),
            Error::Unreachable { path, error } => {
                write!(f, "{}: {error}; ", path.display())?;
                f.write_str(match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "the socket's group may use it, see `laxity cpu serve --group`"
                    }
                    _ => "is `laxity cpu serve` running?",
                })
            }
            Error::Interrupted { path, error } => {
                write!(f, "{}: no answer came ({error}); a query tells what is", path.display())
            }
            Error::Answer(text) => write!(f, "this is no answer: {text}"),
        }
    }
}

impl std::error::Error for Error {}
