//! Errors in the output of `tc`, with place and remedy.

use std::fmt;

/// A line of an input, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the input.
    pub input: String,
    /// The line.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.input, self.line)
    }
}

/// The fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// More input than is read.
    TooLarge,
    /// Neither a JSON array nor a line of `tc`.
    NotTc(String),
    /// JSON that does not parse. That of HFSC and QFQ is broken before iproute2 7.1.
    BrokenJson(String),
    /// Another JSON value than expected.
    JsonShape {
        /// The key.
        key: String,
        /// The expected value.
        expected: &'static str,
    },
    /// An option that this reader does not know.
    UnknownKey {
        /// `qdisc` or `class`, and its kind.
        of: String,
        /// The option.
        key: String,
    },
    /// A value that cannot be read.
    Value {
        /// The option.
        key: String,
        /// The value.
        value: String,
        /// The expected value.
        expected: &'static str,
    },
    /// An option that is given twice with different values.
    Repeated(String),
    /// An option that the guarantee needs and this form of `tc` does not print.
    Missing {
        /// The discipline or class.
        of: String,
        /// The option.
        key: &'static str,
        /// The command that prints it.
        command: &'static str,
    },
    /// An attribute of rtnetlink that this reader does not know.
    UnknownAttribute {
        /// The discipline or class.
        of: String,
        /// Its number among the options of the kind.
        id: u16,
    },
    /// An attribute or structure of rtnetlink that is missing or too short.
    MissingAttribute {
        /// The discipline or class.
        of: String,
        /// Its name in the headers of Linux.
        attribute: &'static str,
    },
    /// A header without what every header has.
    Header(&'static str),
    /// A value that no kernel accepts.
    Impossible(&'static str),
}

/// An error of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl fmt::Display for TcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match &self.problem {
            Problem::TooLarge => write!(
                f,
                "more than {} MB; give the dumps of one device",
                crate::MAX_INPUT / 1_000_000
            ),
            Problem::NotTc(line) => write!(
                f,
                "`{line}` is not output of tc; give that of `tc -s -d qdisc show dev DEV`, `class` and `filter`"
            ),
            Problem::BrokenJson(why) => write!(
                f,
                "broken JSON ({why}); tc before iproute2 7.1 prints such JSON for hfsc and qfq: give the text of `tc -s -d qdisc show dev DEV` and `tc -s -d class show dev DEV`"
            ),
            Problem::JsonShape { key, expected } => {
                write!(f, "`{key}` is not {expected}; give unchanged output of tc")
            }
            Problem::UnknownKey { of, key } => write!(
                f,
                "{of} has the unknown option `{key}`; iproute2 6.1 to 7.1 is known: use one of them, or remove the option if it has no effect on rates"
            ),
            Problem::Value { key, value, expected } => {
                write!(f, "`{key} {value}` is not {expected}; give unchanged output of tc")
            }
            Problem::Repeated(key) => {
                write!(f, "`{key}` has two values; give the dumps of one device, taken at once")
            }
            Problem::Missing { of, key, command } => {
                write!(f, "{of} lacks `{key}`; add the output of `{command}`")
            }
            Problem::UnknownAttribute { of, id } => write!(
                f,
                "{of} has the unknown attribute {id}, which may change a rate; give a file with the output of `tc -s -d qdisc show dev DEV` and `class`"
            ),
            Problem::MissingAttribute { of, attribute } => write!(
                f,
                "{of} lacks {attribute} as Linux 6.1 to 7.1 sends it; give a file with the output of `tc -s -d qdisc show dev DEV` and `class`"
            ),
            Problem::Header(what) => write!(f, "{what}; give unchanged output of tc"),
            Problem::Impossible(what) => write!(f, "{what}; give unchanged output of tc"),
        }
    }
}

impl std::error::Error for TcError {}
