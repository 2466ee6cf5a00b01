//! Attributes of a stream: tolerance x of y, gap, treatment of late packets.

use core::fmt;
use core::str::FromStr;

use laxity_core::Span;

/// At most `x` packets lost or late in every `y` of a stream (section 1 of the paper).
///
/// `x/x` means that nothing matters, `0/y` that everything does. `0/0` has no window at all: such
/// a stream is served by deadline after all others with zero tolerance and never becomes urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tolerance {
    x: u16,
    y: u16,
}

/// Why a pair of numbers is not a tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToleranceError {
    /// More losses than packets.
    MoreLossesThanPackets {
        /// Losses tolerated.
        x: u64,
        /// Packets in which they may occur.
        y: u64,
    },
    /// A window beyond what the counters hold.
    WindowTooLong {
        /// Packets in the window.
        y: u64,
    },
    /// Not two whole numbers with a slash between them.
    NotAFraction,
}

/// Treatment of a packet whose deadline has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Late {
    /// It is dropped, the next one is due a gap later: no transmission is spent on data that no receiver
    /// can use any more.
    #[default]
    Drop,
    /// It stays at the head, due a gap later, and is sent in the end. Each deadline that it
    /// misses counts as a miss of the stream.
    Send,
}

/// The service attributes of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Losses tolerated in each window.
    pub tolerance: Tolerance,
    /// Time between the deadlines of consecutive packets; a deadline is the latest start of
    /// service. `None` for a stream without deadlines: a static priority by `x/y`.
    pub gap: Option<Span>,
    /// Whether late packets are dropped.
    pub late: Late,
}

impl Tolerance {
    /// At most `x` of every `y`.
    ///
    /// # Errors
    /// When `x > y`, or `y` exceeds 65,535.
    pub const fn new(x: u64, y: u64) -> Result<Tolerance, ToleranceError> {
        if x > y {
            return Err(ToleranceError::MoreLossesThanPackets { x, y });
        }
        if y > u16::MAX as u64 {
            return Err(ToleranceError::WindowTooLong { y });
        }
        Ok(Tolerance { x: x as u16, y: y as u16 })
    }

    /// Losses tolerated in a window.
    #[inline]
    pub const fn x(self) -> u16 {
        self.x
    }

    /// Packets in a window.
    #[inline]
    pub const fn y(self) -> u16 {
        self.y
    }
}

impl Attributes {
    /// A stream that tolerates `tolerance`, with a packet due every `gap`, late ones dropped.
    pub const fn new(tolerance: Tolerance, gap: Span) -> Attributes {
        Attributes { tolerance, gap: Some(gap), late: Late::Drop }
    }
}

/// Reads `x/y`.
impl FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Tolerance, ToleranceError> {
        let (x, y) = text.split_once('/').ok_or(ToleranceError::NotAFraction)?;
        let number = |s: &str| s.trim().parse().map_err(|_| ToleranceError::NotAFraction);
        Tolerance::new(number(x)?, number(y)?)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.x, self.y)
    }
}

impl fmt::Display for ToleranceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToleranceError::MoreLossesThanPackets { x, y } => {
                write!(f, "{x} losses in {y} packets: give at most {y}")
            }
            ToleranceError::WindowTooLong { y } => {
                write!(f, "a window of {y} packets: give at most {}", u16::MAX)
            }
            ToleranceError::NotAFraction => {
                write!(f, "give losses and packets as x/y, such as 1/80")
            }
        }
    }
}

impl core::error::Error for ToleranceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_parsed_and_errors_reported() {
        assert_eq!("1/80".parse(), Tolerance::new(1, 80));
        assert_eq!(" 0 / 0 ".parse(), Tolerance::new(0, 0));
        assert_eq!(
            "3/2".parse::<Tolerance>(),
            Err(ToleranceError::MoreLossesThanPackets { x: 3, y: 2 })
        );
        let long = "1/65536".parse::<Tolerance>();
        assert_eq!(long, Err(ToleranceError::WindowTooLong { y: 65536 }));
        for bad in ["", "1", "a/b", "-1/2", "1/2/3", "0.5/1"] {
            assert_eq!(bad.parse::<Tolerance>(), Err(ToleranceError::NotAFraction), "{bad}");
        }
    }
}
