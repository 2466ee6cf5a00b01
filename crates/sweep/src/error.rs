//! Errors of sweeps.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a sweep cannot be read or run.
#[derive(Debug)]
#[non_exhaustive]
pub enum SweepError {
    /// The description has a problem.
    Grid {
        /// Its file; empty for a text in memory.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The problem and its remedy.
        text: String,
    },
    /// The scenario, with the values of a part.
    Scenario(String),
    /// A simulation failed.
    Simulation(String),
    /// A file cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The folder holds the dataset of another sweep.
    Other {
        /// The folder.
        path: PathBuf,
    },
    /// A part could not be encoded.
    Encoding(String),
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Grid { path, line, text } if path.as_os_str().is_empty() => {
                write!(f, "{line}: {text}")
            }
            SweepError::Grid { path, line, text } => write!(f, "{}:{line}: {text}", path.display()),
            SweepError::Scenario(text) | SweepError::Simulation(text) => f.write_str(text),
            SweepError::File { path, error } => write!(f, "{}: {error}", path.display()),
            SweepError::Other { path } => write!(
                f,
                "{} holds the results of another sweep, or of this one before it was changed; name a new folder",
                path.display()
            ),
            SweepError::Encoding(text) => write!(f, "Parquet: {text}"),
        }
    }
}

impl std::error::Error for SweepError {}
