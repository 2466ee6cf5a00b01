//! Errors of envelopes, links and computations on curves.

use core::fmt;

use laxity_core::{Bytes, Rate};

use crate::Rational;

/// Why a curve, an envelope or a residual could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CurveError {
    /// An exact number left the range of 128 bits.
    Overflow {
        /// The computation that overflowed.
        operation: &'static str,
    },
    /// The long-term rates of the flows add up to more than the link carries.
    Overload {
        /// Sum of the long-term rates, rounded up.
        total: Rate,
        /// Rate of the link.
        capacity: Rate,
    },
    /// The link has rate zero.
    ZeroCapacity,
    /// A periodic envelope with period zero.
    ZeroPeriod,
    /// A packet size of zero bytes.
    ZeroPacket,
    /// No bucket at all: such an envelope bounds nothing.
    NoBuckets,
    /// More buckets than a policer keeps.
    TooManyBuckets {
        /// How many were given.
        count: usize,
    },
    /// A burst beyond [`MAX_BURST`](crate::MAX_BURST).
    BurstTooLarge {
        /// The burst given.
        burst: Bytes,
    },
    /// A packet larger than a bucket could never pass it.
    PacketLargerThanBurst {
        /// The largest packet.
        packet: Bytes,
        /// The smallest burst.
        burst: Bytes,
    },
    /// The peak rate is below the long-term rate.
    PeakBelowRate {
        /// The peak rate given.
        peak: Rate,
        /// The long-term rate given.
        rate: Rate,
    },
    /// The smallest packet is larger than the largest.
    MinimumAboveMaximum {
        /// The minimum policed unit.
        minimum: Bytes,
        /// The largest packet.
        maximum: Bytes,
    },
    /// A trace without packets has no envelope.
    EmptyTrace,
    /// A trace longer than the method accepts.
    TraceTooLong {
        /// Packets in the trace.
        packets: usize,
        /// The most that are accepted.
        limit: usize,
    },
    /// The packets of a trace must be in order of time.
    UnsortedTrace {
        /// Index of the first packet that is earlier than the one before it.
        packet: usize,
    },
    /// A periodic curve that would have to be followed through too many pieces.
    TooManyPieces {
        /// The most that are kept.
        limit: usize,
    },
    /// A curve that does not have the shape an operation needs.
    Shape {
        /// The operation's precondition.
        needs: &'static str,
    },
    /// A service curve that is not 0 at 0: its first packets would be due on arrival.
    ServiceAtZero,
    /// A service curve that decreases.
    Decreasing {
        /// Where, in ns.
        at: Rational,
    },
    /// A service curve with a slope whose fraction of bit/s is too fine.
    ServiceSlope {
        /// Where the line begins, in ns.
        at: Rational,
    },
    /// A service curve that a link cannot keep though it carries nothing else.
    AboveCapacity {
        /// An interval in ns in which it demands more than the link can send.
        at: Rational,
        /// Rate of the link.
        capacity: Rate,
    },
    /// A parameter outside its range.
    OutOfRange {
        /// The parameter and its range.
        what: &'static str,
    },
}

impl fmt::Display for CurveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CurveError::*;
        match self {
            Overflow { operation } => write!(
                f,
                "{operation} does not fit into 128 bits; use shorter times or lower rates"
            ),
            Overload { total, capacity } => write!(
                f,
                "the flows need {total} in the long run and the link carries {capacity}; lower their rates"
            ),
            ZeroCapacity => write!(f, "the link has rate 0; give it a positive rate"),
            ZeroPeriod => write!(f, "the period is 0; give at least 1 ns"),
            ZeroPacket => write!(f, "the packet size is 0; give at least 1 B"),
            NoBuckets => write!(f, "the envelope has no bucket; give at least one"),
            TooManyBuckets { count } => {
                write!(f, "{count} buckets are more than {}; merge some", crate::MAX_BUCKETS)
            }
            BurstTooLarge { burst } => {
                write!(f, "a burst of {burst} is more than {}; lower it", crate::MAX_BURST)
            }
            PacketLargerThanBurst { packet, burst } => write!(
                f,
                "a packet of {packet} never passes a bucket of {burst}; raise the burst or lower the packet size"
            ),
            PeakBelowRate { peak, rate } => {
                write!(f, "the peak rate {peak} is below the rate {rate}; raise the peak")
            }
            MinimumAboveMaximum { minimum, maximum } => write!(
                f,
                "the smallest packet {minimum} is larger than the largest {maximum}; lower it"
            ),
            EmptyTrace => write!(f, "the trace holds no packet; record at least one"),
            TraceTooLong { packets, limit } => {
                write!(f, "{packets} packets are more than {limit}; cut the trace into parts")
            }
            UnsortedTrace { packet } => {
                write!(
                    f,
                    "packet {packet} is earlier than the one before it; sort the trace by time"
                )
            }
            TooManyPieces { limit } => write!(
                f,
                "the curve needs more than {limit} pieces; use periods with a small common multiple"
            ),
            Shape { needs } => write!(f, "the curve must be {needs}"),
            ServiceAtZero => write!(
                f,
                "the service curve is not 0 at 0, so packets would be due on arrival; begin it at (0, 0)"
            ),
            Decreasing { at } => write!(
                f,
                "the service curve decreases at {at} ns; give points in rising order of time and bytes"
            ),
            ServiceSlope { at } => write!(
                f,
                "the slope of the service curve from {at} ns on is too fine or too steep a fraction of bit/s; give times in whole microseconds"
            ),
            AboveCapacity { at, capacity } => write!(
                f,
                "within {at} ns the service curve demands more than a link of {capacity} can send; lower it, or begin it later"
            ),
            OutOfRange { what } => write!(f, "out of range: {what}"),
        }
    }
}

impl core::error::Error for CurveError {}

pub(crate) fn overflow(operation: &'static str) -> CurveError {
    CurveError::Overflow { operation }
}
