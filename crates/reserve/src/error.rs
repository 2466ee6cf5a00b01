//! Errors of the client.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{Code, Refusal};

/// An error of a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server refused the request, or speaks another version of the protocol.
    Refused(Refusal),
    /// No server listens, or the caller may not connect.
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The request was sent and no answer arrived. The server may have executed it; a query tells.
    Interrupted {
        /// The socket.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The answer is malformed or belongs to another request.
    Answer(String),
}

impl Error {
    /// The code of a refusal.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Refused(refusal) => Some(refusal.code),
            _ => None,
        }
    }

    /// The largest runtime that would be granted with the same period, for refusals that depend on it.
    pub fn max_runtime(&self) -> Option<Duration> {
        match self {
            Error::Refused(refusal) => refusal.max_runtime_ns.map(Duration::from_nanos),
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
                        "members of the socket's group may connect, see `laxity cpu serve --group`"
                    }
                    _ => "is `laxity cpu serve` running?",
                })
            }
            Error::Interrupted { path, error } => {
                write!(
                    f,
                    "{}: no answer arrived ({error}); a query tells the state",
                    path.display()
                )
            }
            Error::Answer(text) => write!(f, "invalid answer: {text}"),
        }
    }
}

impl std::error::Error for Error {}
