//! Why there is no certificate, and why one is refused.

use std::error::Error;
use std::fmt;

/// What no scenario has.
const IMPOSSIBLE: &str = "a rate, budget or period of zero, a deadline above its period, a share above the whole, or \
                          buckets out of order, which no scenario has";

/// Why a set of flows or reservations has no certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCertificate {
    /// It has no deadline to certify.
    Nothing,
    /// Facts that no scenario has: a rate or period of zero, buckets out of order.
    Facts {
        /// Name of the flow or reservation.
        of: String,
    },
    /// It is not admitted.
    NotAdmitted,
    /// All of the link or CPU is taken, and steps of periods repeat for ever: no finite list of corner points
    /// shows that they fit.
    Repeats,
    /// Admitted, but the theorems do not say so: only beside its own packets, which block nothing but itself,
    /// a flow with a service curve would be late.
    ServedAhead {
        /// The flow.
        flow: String,
    },
    /// More steps would have to be followed than the limit.
    TooManySteps {
        /// The limit.
        limit: i128,
    },
    /// Numbers beyond 128 bits.
    Overflow,
}

impl fmt::Display for NoCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCertificate::Nothing => f.write_str("no deadline is guaranteed, so there is nothing to certify"),
            NoCertificate::Facts { of } => write!(f, "`{of}` has {IMPOSSIBLE}"),
            NoCertificate::NotAdmitted => f.write_str("not admitted, so there is no certificate"),
            NoCertificate::Repeats => f.write_str(
                "everything is taken, and the steps of periods repeat for ever: no finite certificate; leave \
                 a little free",
            ),
            NoCertificate::ServedAhead { flow } => write!(
                f,
                "the proofs count the largest packet of `{flow}` beside its own smallest ones, which its curve makes \
                 due sooner than that is sent; begin the curve later"
            ),
            NoCertificate::TooManySteps { limit } => {
                write!(f, "a certificate would follow more than {limit} steps of periods; leave more free")
            }
            NoCertificate::Overflow => f.write_str("the numbers exceed 128 bits"),
        }
    }
}

impl Error for NoCertificate {}

/// Why a certificate is refused, with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A line cannot be read.
    Syntax {
        /// Its number, from 1 on.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// Another version of the format.
    Version {
        /// What stands there.
        found: String,
    },
    /// The certificate is about something else than the scenario.
    Facts {
        /// Number of the line, from 1 on.
        line: usize,
        /// The line in the certificate.
        certificate: String,
        /// The line that the scenario gives.
        scenario: String,
    },
    /// A fact that admission cannot have: a rate, burst or period of zero, a deadline above the period.
    Fact {
        /// The flow or reservation.
        of: String,
    },
    /// The number of corner points or steps of a flow, or where one is.
    Corner {
        /// The flow or reservation; empty for those of none.
        of: String,
        /// The place in the list, from 1 on.
        number: usize,
    },
    /// The horizon follows no step.
    Horizon,
    /// A blocking packet is not the largest that can block so long.
    Blocking {
        /// The place in the list, from 1 on.
        number: usize,
    },
    /// A flow has larger packets than those that count as blocking.
    Uncovered {
        /// The flow.
        of: String,
    },
    /// A line of the residual curve is not the largest.
    Curve {
        /// The place in the list, from 1 on.
        number: usize,
    },
    /// The least residual is elsewhere, or another.
    Binding {
        /// Its tick.
        at: i128,
        /// Its value.
        value: i128,
    },
    /// The demand exceeds the capacity.
    Demand {
        /// The length of the interval.
        at: i128,
        /// In what: `ticks` of a link, `ns` of a CPU.
        unit: &'static str,
    },
    /// The share of short deadlines is not the least that bounds them, or more than is left.
    Share,
    /// The sum of densities in a cluster, or the greatest, is another.
    Density,
    /// The densities in a cluster exceed what its CPUs have.
    Cluster,
    /// The parts of a CPU are no multiple of the unit, or not the least.
    Parts,
    /// Numbers beyond 128 bits.
    Overflow,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Syntax { line, expected } => write!(f, "line {line}: expected {expected}"),
            Refusal::Version { found } => {
                write!(f, "line 1: `{found}` is not `laxity-certificate {}`", crate::text::VERSION)
            }
            Refusal::Facts { line, certificate, scenario } => write!(
                f,
                "line {line}: the certificate is about `{certificate}`, the scenario has `{scenario}`"
            ),
            Refusal::Fact { of } => write!(f, "`{of}` has {IMPOSSIBLE}"),
            Refusal::Corner { of, .. } if of.is_empty() => f.write_str(
                "the proof has corner points or steps for another number of flows or reservations",
            ),
            Refusal::Corner { of, number } => {
                write!(f, "`{of}`: corner point or step {number} is wrong")
            }
            Refusal::Horizon => f.write_str("the horizon is not just after the last step"),
            Refusal::Blocking { number } => {
                write!(f, "blocking packet {number} is not the largest that can block so long")
            }
            Refusal::Uncovered { of } => {
                write!(
                    f,
                    "packets of `{of}` may block, and are larger than those that count as blocking"
                )
            }
            Refusal::Curve { number } => {
                write!(
                    f,
                    "line {number} of the residual curve is not the largest below the capacity that is left"
                )
            }
            Refusal::Binding { at, value } => {
                write!(f, "the residual is least at tick {at}, and {value} there")
            }
            Refusal::Demand { at, unit } => {
                write!(f, "more can be due in an interval of {at} {unit} than fits into it")
            }
            Refusal::Share => f.write_str(
                "the share of short deadlines is not the least that bounds their jobs, or more than is left",
            ),
            Refusal::Density => f.write_str(
                "the sum of densities, or the greatest, is not that of the reservations",
            ),
            Refusal::Cluster => f.write_str(
                "the sum of densities, the greatest once more for each CPU but one, and what best effort keeps \
                 exceed the CPUs",
            ),
            Refusal::Parts => {
                f.write_str("the CPU is not divided into the fewest parts that make shares whole")
            }
            Refusal::Overflow => f.write_str("the numbers exceed 128 bits"),
        }
    }
}

impl Error for Refusal {}
