//! Quantities with units: `"10 Mbit/s"`, `"1536 B"`, `"463 ms"`.
//!
//! A quantity is a decimal number and a unit. It is exact in its base unit (bit/s, bytes,
//! nanoseconds) or it is an error: nothing is rounded between the file and the policies.
//!
//! ```
//! use laxity_core::{Rate, Span};
//! use laxity_scenario::quantity;
//!
//! assert_eq!(quantity::rate("370530 B/s"), Ok(Rate(2_964_240)));
//! assert_eq!(quantity::span("0.5 ms"), Ok(Span(500_000)));
//! assert_eq!(quantity::print_span(Span(15_000_000)), "15 ms");
//! assert!(quantity::span("0.5 ns").is_err()); // half a nanosecond is not exact
//! ```

use std::fmt;

use laxity_core::{Bytes, Rate, Span};

/// The dimension of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A rate; base unit bit/s.
    Rate,
    /// A size; base unit byte.
    Size,
    /// A time; base unit nanosecond.
    Time,
}

/// A unit and how many base units it holds.
struct Unit {
    name: &'static str,
    factor: u64,
}

const fn unit(name: &'static str, factor: u64) -> Unit {
    Unit { name, factor }
}

/// In order of preference when two printed forms are equally short.
const RATES: &[Unit] = &[
    unit("bit/s", 1),
    unit("kbit/s", 1_000),
    unit("Mbit/s", 1_000_000),
    unit("Gbit/s", 1_000_000_000),
    unit("B/s", 8),
    unit("kB/s", 8_000),
    unit("MB/s", 8_000_000),
    unit("GB/s", 8_000_000_000),
    unit("Kibit/s", 1 << 10),
    unit("Mibit/s", 1 << 20),
    unit("Gibit/s", 1 << 30),
    unit("KiB/s", 8 << 10),
    unit("MiB/s", 8 << 20),
    unit("GiB/s", 8 << 30),
];

/// How many of [`RATES`], from the first on, are in bits with a decimal prefix.
const BIT_RATES: usize = 4;

const SIZES: &[Unit] = &[
    unit("B", 1),
    unit("kB", 1_000),
    unit("MB", 1_000_000),
    unit("GB", 1_000_000_000),
    unit("KiB", 1 << 10),
    unit("MiB", 1 << 20),
    unit("GiB", 1 << 30),
];

const TIMES: &[Unit] = &[
    unit("s", 1_000_000_000),
    unit("ms", 1_000_000),
    unit("us", 1_000),
    unit("ns", 1),
    unit("min", 60_000_000_000),
    unit("h", 3_600_000_000_000),
    unit("µs", 1_000),
    unit("μs", 1_000),
];

/// How many of [`TIMES`], from the first on, are printed; the rest are other spellings.
const PRINTED_TIMES: usize = 6;

/// Other common spellings of units.
const SPELLINGS: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("b/s", "bit/s"),
    ("kb/s", "kbit/s"),
    ("mb/s", "Mbit/s"),
    ("gb/s", "Gbit/s"),
    ("bits/s", "bit/s"),
    ("bytes/s", "B/s"),
    ("byte/s", "B/s"),
    ("byte", "B"),
    ("bytes", "B"),
    ("b", "B"),
    ("k", "kB"),
    ("m", "MB"),
    ("g", "GB"),
    ("kb", "kB"),
    ("mb", "MB"),
    ("gb", "GB"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("usec", "us"),
    ("nsec", "ns"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("hr", "h"),
];

impl Dimension {
    fn units(self) -> &'static [Unit] {
        match self {
            Dimension::Rate => RATES,
            Dimension::Size => SIZES,
            Dimension::Time => TIMES,
        }
    }

    /// The dimension with its article, for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Dimension::Rate => "a rate",
            Dimension::Size => "a size",
            Dimension::Time => "a time",
        }
    }

    /// The smallest step, for messages.
    fn base(self) -> &'static str {
        match self {
            Dimension::Rate => "bit/s",
            Dimension::Size => "bytes",
            Dimension::Time => "nanoseconds",
        }
    }

    /// The syntax of such a quantity, in one sentence with an example.
    pub fn usage(self) -> &'static str {
        match self {
            Dimension::Rate => {
                "rates are written in bit/s or B/s with an optional prefix k, M, G, Ki, Mi or \
                 Gi: \"10 Mbit/s\" or \"600 kB/s\""
            }
            Dimension::Size => {
                "sizes are written in B with an optional prefix k, M, G, Ki, Mi or Gi: \
                 \"1536 B\" or \"64 KiB\""
            }
            Dimension::Time => {
                "times are written in ns, us, ms, s, min or h: \"30 ms\" or \"0.5 s\""
            }
        }
    }

    /// A regular expression (as JSON schema has them) for the well-formed texts.
    pub fn pattern(self) -> &'static str {
        match self {
            Dimension::Rate => r"^\s*[0-9]+(\.[0-9]+)?\s*([kMG]|[KMG]i)?(bit|B)/s\s*$",
            Dimension::Size => r"^\s*[0-9]+(\.[0-9]+)?\s*([kMG]|[KMG]i)?B\s*$",
            Dimension::Time => r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|µs|μs|ms|s|min|h)\s*$",
        }
    }
}

/// An error in a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// The text as it was given.
    pub text: String,
    /// The expected dimension.
    pub dimension: Dimension,
    /// The kind of error.
    pub kind: QuantityErrorKind,
}

/// Errors of quantities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityErrorKind {
    /// Nothing but space.
    Empty,
    /// A minus sign.
    Negative,
    /// It does not begin with a decimal number.
    NoNumber,
    /// A number without a unit.
    NoUnit,
    /// A unit of another dimension.
    OtherDimension {
        /// The unit's dimension.
        found: Dimension,
    },
    /// No unit at all.
    UnknownUnit {
        /// The text in its place.
        unit: String,
        /// The unit that was probably meant.
        nearest: Option<&'static str>,
    },
    /// Not a whole number of base units.
    NotExact,
    /// More base units than fit 64 bits.
    TooLarge,
}

impl QuantityError {
    /// The problem, without the text itself.
    pub fn reason(&self) -> String {
        match &self.kind {
            QuantityErrorKind::Empty => "it is empty".into(),
            QuantityErrorKind::Negative => format!("{} cannot be negative", self.dimension.noun()),
            QuantityErrorKind::NoNumber => "it does not begin with a decimal number".into(),
            QuantityErrorKind::NoUnit => "it has no unit".into(),
            QuantityErrorKind::OtherDimension { found } => format!("it is {}", found.noun()),
            QuantityErrorKind::UnknownUnit { unit, .. } => {
                format!("`{}` is not a unit of {}", unit.escape_debug(), self.dimension.noun())
            }
            QuantityErrorKind::NotExact => {
                format!("it is not a whole number of {}", self.dimension.base())
            }
            QuantityErrorKind::TooLarge => {
                format!("it is more than 2^64 - 1 {}", self.dimension.base())
            }
        }
    }

    /// The remedy.
    pub fn remedy(&self) -> String {
        let usage = self.dimension.usage();
        match &self.kind {
            QuantityErrorKind::UnknownUnit { nearest: Some(unit), .. } => {
                format!("did you mean `{unit}`? {usage}")
            }
            QuantityErrorKind::NotExact => {
                "give fewer decimals: quantities are exact and never rounded".into()
            }
            QuantityErrorKind::TooLarge => "check the prefix of the unit".into(),
            _ => usage.into(),
        }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = self.dimension.noun();
        let text = self.text.escape_debug();
        write!(f, "\"{text}\" is not {noun}: {}; {}", self.reason(), self.remedy())
    }
}

impl std::error::Error for QuantityError {}

/// Reads a rate, such as `10 Mbit/s`.
///
/// # Errors
/// When the text is no number with a unit of that kind, or no whole number of the smallest unit.
pub fn rate(text: &str) -> Result<Rate, QuantityError> {
    parse(text, Dimension::Rate).map(Rate)
}

/// Reads a size, such as `1536 B`.
///
/// # Errors
/// When the text is no number with a unit of that kind, or no whole number of the smallest unit.
pub fn bytes(text: &str) -> Result<Bytes, QuantityError> {
    parse(text, Dimension::Size).map(Bytes)
}

/// Reads a time, such as `5 ms`.
///
/// # Errors
/// When the text is no number with a unit of that kind, or no whole number of the smallest unit.
pub fn span(text: &str) -> Result<Span, QuantityError> {
    parse(text, Dimension::Time).map(Span)
}

fn parse(text: &str, dimension: Dimension) -> Result<u64, QuantityError> {
    let fail = |kind| Err(QuantityError { text: text.to_owned(), dimension, kind });
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return fail(QuantityErrorKind::Empty);
    }
    if let Some(rest) = trimmed.strip_prefix('-') {
        if rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return fail(QuantityErrorKind::Negative);
        }
    }
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, name) = (&trimmed[..end], trimmed[end..].trim_start());
    let Some((whole, fraction)) = split_decimal(number) else {
        return fail(QuantityErrorKind::NoNumber);
    };
    if name.is_empty() {
        return fail(QuantityErrorKind::NoUnit);
    }
    let Some(unit) = dimension.units().iter().find(|u| u.name == name) else {
        return fail(unknown_unit(name, dimension));
    };
    match exact(whole, fraction, u128::from(unit.factor)) {
        Ok(value) => Ok(value),
        Err(Inexact::Fraction) => fail(QuantityErrorKind::NotExact),
        Err(Inexact::Overflow) => fail(QuantityErrorKind::TooLarge),
    }
}

fn unknown_unit(name: &str, wanted: Dimension) -> QuantityErrorKind {
    for found in [Dimension::Rate, Dimension::Size, Dimension::Time] {
        if found != wanted && found.units().iter().any(|u| u.name == name) {
            return QuantityErrorKind::OtherDimension { found };
        }
    }
    let units = wanted.units();
    let lower = name.to_lowercase();
    let alias = SPELLINGS
        .iter()
        .filter(|(from, _)| *from == lower)
        .find_map(|(_, to)| units.iter().find(|u| u.name == *to));
    let by_case = || units.iter().find(|u| u.name.to_lowercase() == lower);
    let nearest = alias.or_else(by_case).map(|u| u.name);
    QuantityErrorKind::UnknownUnit { unit: name.chars().take(32).collect(), nearest }
}

/// The digits before and after the point; `None` when this is no decimal number.
pub(crate) fn split_decimal(number: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    (!whole.is_empty() && digits(whole) && digits(fraction)).then_some((whole, fraction))
}

/// An error in a decimal number of base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inexact {
    /// A remainder of less than one base unit.
    Fraction,
    /// It does not fit.
    Overflow,
}

/// `whole.fraction * factor`, exactly. Both texts must consist of digits.
pub(crate) fn exact(whole: &str, fraction: &str, factor: u128) -> Result<u64, Inexact> {
    let fraction = fraction.trim_end_matches('0');
    // Every factor is 2^a * 5^b * 3^c below 2^43, so more decimals never come out whole.
    if fraction.len() > 43 {
        return Err(Inexact::Fraction);
    }
    let mut value: u128 = 0;
    for digit in whole.bytes() {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u128::from(digit - b'0')))
            .filter(|v| *v <= u128::from(u64::MAX))
            .ok_or(Inexact::Overflow)?;
    }
    value *= factor; // below 2^64 * 2^43
    // Horner from the last decimal on: the remainder must be divisible at every step.
    let mut part: u128 = 0;
    for digit in fraction.bytes().rev() {
        let sum = part + u128::from(digit - b'0') * factor;
        if sum % 10 != 0 {
            return Err(Inexact::Fraction);
        }
        part = sum / 10;
    }
    u64::try_from(value + part).map_err(|_| Inexact::Overflow)
}

/// Prints a rate in the shortest form that is a whole number: `370530 B/s`, `10 Mbit/s`.
pub fn print_rate(rate: Rate) -> String {
    print(rate.0, RATES, "0 bit/s")
}

/// Prints a rate in bits, as the rates of links are quoted: `8 Mbit/s`, not `1 MB/s`.
pub fn print_bit_rate(rate: Rate) -> String {
    print(rate.0, &RATES[..BIT_RATES], "0 bit/s")
}

/// Prints a size in the shortest form that is a whole number: `1536 B`, `64 KiB`.
pub fn print_bytes(bytes: Bytes) -> String {
    print(bytes.0, SIZES, "0 B")
}

/// Prints a time in the shortest form that is a whole number: `463 ms`, `90 s`.
pub fn print_span(span: Span) -> String {
    print(span.0, &TIMES[..PRINTED_TIMES], "0 s")
}

/// The base unit is always among `units`, so a whole number always exists.
fn print(value: u64, units: &[Unit], zero: &str) -> String {
    if value == 0 {
        return zero.to_owned();
    }
    let length = |u: &Unit| {
        let digits = (value / u.factor).ilog10() as usize + 1;
        (digits + u.name.len(), digits)
    };
    let best = units.iter().filter(|u| value % u.factor == 0).min_by_key(|u| length(u));
    match best {
        Some(u) => format!("{} {}", value / u.factor, u.name),
        None => format!("{value}"),
    }
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
