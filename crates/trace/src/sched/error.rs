//! Errors in a recording.

use std::fmt;
use std::io;

/// An error that ends the reading of a recording.
#[derive(Debug)]
pub struct SchedError {
    /// The line, counted from one; the one after the last where the file ends too soon.
    pub line: u64,
    /// The kind of error.
    pub kind: SchedErrorKind,
}

/// The kind of error.
#[derive(Debug)]
#[non_exhaustive]
pub enum SchedErrorKind {
    /// The reader failed.
    Io(io::Error),
    /// The line is no event.
    NotAnEvent {
        /// The start of it.
        found: String,
    },
    /// The line has no `[cpu]`.
    NoCpu,
    /// A field of the event is missing.
    Missing {
        /// The event.
        event: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field of the event is not a number that fits.
    Number {
        /// The field.
        field: &'static str,
        /// The start of what is there.
        found: String,
    },
    /// The time is before that of the line before.
    Unsorted {
        /// Time of the event before in ns.
        before: u64,
        /// Time of this one in ns.
        time_ns: u64,
    },
    /// The line is longer than [`crate::MAX_LINE_BYTES`].
    TooLong,
    /// No event of the scheduler in the whole file.
    Empty,
}

impl fmt::Display for SchedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.kind {
            SchedErrorKind::Io(source) => write!(f, "reading failed ({source})"),
            SchedErrorKind::NotAnEvent { found } => write!(
                f,
                "{found:?} is no event; give the output of `perf sched script`, recorded without \
                 call chains, or of `trace-cmd report`"
            ),
            SchedErrorKind::NoCpu => {
                write!(
                    f,
                    "no CPU such as [002] before the time; print it with `perf script -F +cpu`"
                )
            }
            SchedErrorKind::Missing { event, field } => {
                write!(f, "{event} without {field}; print the whole event, with `-F +trace`")
            }
            SchedErrorKind::Number { field, found } => {
                write!(f, "{field} is {found:?}, not a number that fits")
            }
            SchedErrorKind::Unsorted { before, time_ns } => write!(
                f,
                "time {time_ns} ns after {before} ns; sort the lines by time, or print the \
                 recordings of one machine only"
            ),
            SchedErrorKind::TooLong => {
                write!(f, "longer than {} bytes", crate::MAX_LINE_BYTES)
            }
            SchedErrorKind::Empty => write!(
                f,
                "no event of the scheduler so far; record with `perf sched record` or \
                 `trace-cmd record -e sched`"
            ),
        }
    }
}

impl std::error::Error for SchedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            SchedErrorKind::Io(source) => Some(source),
            _ => None,
        }
    }
}
