//! Reasons for which `laxity init` writes nothing.

use std::fmt;
use std::path::PathBuf;

use laxity_core::{Rate, Span};
use laxity_scenario::quantity::{print_bit_rate, print_span};

use super::presets::Direction;
use crate::failure::Failure;

/// A reason for which nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitError {
    /// Options without a value, and no terminal to ask on.
    Missing(Vec<&'static str>),
    /// A value that cannot be used.
    Value {
        /// Its option.
        option: &'static str,
        /// The value, shortened.
        text: String,
        /// The fault, and the remedy.
        reason: String,
    },
    /// The input ended before an answer.
    Ended {
        /// The option that was asked for.
        option: &'static str,
    },
    /// A file of that name exists.
    Exists(PathBuf),
    /// A preset does not fit onto the line beside those before it.
    DoesNotFit(Box<Misfit>),
    /// The terminal or a file failed.
    Io(String),
}

/// A preset that does not fit, and changes of which each alone makes it, or the others, fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Where it does not fit.
    pub direction: Direction,
    /// The preset.
    pub preset: &'static str,
    /// Those before it, which fit.
    pub beside: Vec<&'static str>,
    /// All presets asked for that fit together in this direction.
    pub with: Vec<&'static str>,
    /// Least rate of the line at which the preset fits beside those before it.
    pub rate: Option<Rate>,
    /// Least deadline of the preset in whole milliseconds with which it does.
    pub deadline: Option<Span>,
    /// Largest jitter in whole milliseconds with which it does; `None` where it is not the jitter.
    pub jitter: Option<Span>,
}

impl InitError {
    /// A value that cannot be used.
    pub fn value(option: &'static str, text: &str, reason: impl fmt::Display) -> InitError {
        let text = text.chars().filter(|c| !c.is_control()).take(40).collect();
        InitError::Value { option, text, reason: reason.to_string() }
    }
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InitError::Missing(options) => write!(
                f,
                "give {}, or run `laxity init` on a terminal, where it asks",
                options.join(", ")
            ),
            InitError::Value { option, text, reason } => write!(f, "{option} `{text}`: {reason}"),
            InitError::Ended { option } => {
                write!(f, "the input ended before an answer; give {option} as an option")
            }
            InitError::Exists(path) => {
                write!(f, "{} exists; --force overwrites it", path.display())
            }
            InitError::DoesNotFit(misfit) => misfit.fmt(f),
            InitError::Io(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = self.direction.name();
        write!(f, "`{}` does not fit onto the line {direction}", self.preset)?;
        if !self.beside.is_empty() {
            write!(f, " beside {}", self.beside.join(", "))?;
        }
        let with = if self.with.is_empty() { "none".to_owned() } else { self.with.join(",") };
        write!(f, ": some of its packets could miss their deadline. Possible: --with {with}")?;
        if let Some(deadline) = self.deadline {
            write!(f, "; --deadline {}={}", self.preset, compact(&print_span(deadline)))?;
        }
        if let Some(jitter) = self.jitter {
            write!(f, "; --jitter {}", compact(&print_span(jitter)))?;
        }
        if let Some(rate) = self.rate {
            let rate = print_bit_rate(rate);
            write!(f, "; a line with --{direction} '{rate}'")?;
        }
        Ok(())
    }
}

/// Without the space, for a command line.
fn compact(quantity: &str) -> String {
    quantity.replace(' ', "")
}

impl From<InitError> for Failure {
    fn from(error: InitError) -> Failure {
        let text = error.to_string();
        match error {
            InitError::DoesNotFit(_) => Failure::Refused(text),
            InitError::Io(_) => Failure::Internal(text),
            _ => Failure::Input(text),
        }
    }
}
