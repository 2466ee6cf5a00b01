//! A scenario from recorded traffic: senders, the smallest envelopes that contain it, and guesses
//! for what a recording cannot say.
//!
//! A recording is one sample: the envelopes hold what was seen, not what could be sent.

mod class;
mod group;
mod sample;
mod scenario;

pub use class::{Class, class_of};
pub use group::Grouping;
pub use sample::Sample;

use std::fmt;
use std::path::PathBuf;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span, Time};
use laxity_curve::{CurveError, Envelope, Rational, TSpec, fit_tspec};
use laxity_scenario::link::model::Scenario;
use laxity_scenario::{MAX_PACKET, MAX_RATE};

/// Window over which the peak rate of a flow is measured.
pub const PEAK_WINDOW: Span = Span::from_millis(10);

/// How to fit.
#[derive(Clone, Debug)]
pub struct Options {
    /// Criteria that distinguish flows.
    pub by: Grouping,
    /// The largest packet, M, of real-time flows; the largest seen where absent.
    pub packet: Option<Bytes>,
    /// From 0, the peak rate and the least burst, to 1, the mean rate and a burst for it.
    pub tightness: Rational,
    /// The link's rate, guessed where absent.
    pub rate: Option<Rate>,
    /// Deadlines of flows by name; these flows become real-time.
    pub deadlines: Vec<(String, Span)>,
    /// Flows of a CSV trace are replayed from this file.
    pub trace: PathBuf,
    /// Path of the scenario to be written.
    pub output: PathBuf,
}

/// Why nothing can be fitted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FitError {
    /// The chosen packet size is smaller than a recorded packet.
    PacketTooSmall {
        /// The flow.
        flow: String,
        /// Its largest packet.
        largest: Bytes,
        /// The chosen value.
        chosen: Bytes,
    },
    /// A packet is larger than a scenario may say.
    PacketTooLarge {
        /// The flow.
        flow: String,
        /// Its largest packet.
        largest: Bytes,
    },
    /// A deadline names an unknown flow.
    UnknownFlow {
        /// The name.
        flow: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A flow has no envelope that can be written down.
    Envelope {
        /// The flow.
        flow: String,
        /// Why.
        error: CurveError,
    },
    /// The rate of the link is zero.
    NoRate,
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitError::PacketTooSmall { flow, largest, chosen } => write!(
                f,
                "flow `{flow}` has packets of {largest}, larger than the packet size {chosen}; \
                 choose at least {largest}"
            ),
            FitError::PacketTooLarge { flow, largest } => write!(
                f,
                "flow `{flow}` has packets of {largest}; a scenario holds up to {MAX_PACKET}"
            ),
            FitError::UnknownFlow { flow, known } => {
                write!(f, "there is no flow `{flow}` to give a deadline; there is ")?;
                write!(f, "{}", known.join(", "))
            }
            FitError::Envelope { flow, error } => write!(f, "flow `{flow}`: {error}"),
            FitError::NoRate => write!(f, "a link of rate 0 sends nothing"),
        }
    }
}

impl std::error::Error for FitError {}

/// The observations of one flow, and the envelope that fits it.
#[derive(Clone, Debug)]
pub struct FlowFit {
    /// Its name in the scenario.
    pub name: String,
    /// Present for real-time flows.
    pub deadline: Option<Span>,
    /// The usual traffic of its code point, where the deadline was guessed by it.
    pub guess: Option<&'static str>,
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes over the duration of the whole recording.
    pub mean: Rate,
    /// The most bytes within [`PEAK_WINDOW`], as a rate.
    pub peak: Rate,
    /// The largest packet.
    pub largest: Bytes,
    /// The smallest packet.
    pub smallest: Bytes,
    /// The smallest TSpec to which every packet conforms.
    pub tspec: TSpec,
    /// The same as an envelope.
    pub envelope: Envelope,
    /// Whether the rate is a guess, because all packets came at once.
    pub rate_guessed: bool,
}

/// A fitted scenario.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The scenario.
    pub scenario: Scenario,
    /// Its flows in its order; `other` is the last where it holds packets.
    pub flows: Vec<FlowFit>,
    /// Whether the link's rate was guessed.
    pub rate_guessed: bool,
    /// Whether the real-time flows are admitted at the link's rate.
    pub admitted: bool,
    /// All bytes over the duration.
    pub mean: Rate,
}

/// Fits a scenario to a sample.
///
/// # Errors
/// See [`FitError`].
pub fn fit(sample: &Sample, options: &Options) -> Result<Fit, FitError> {
    let given = |name: &str| options.deadlines.iter().rfind(|(n, _)| n == name).map(|(_, d)| *d);
    let usual = |dscp: Option<u8>| match dscp.map(class_of) {
        Some(Class::Realtime { deadline, usual }) => Some((deadline, usual)),
        _ => None,
    };
    let realtime = |dscp, name: &str| given(name).is_some() || usual(dscp).is_some();
    let (groups, left) = group::groups(sample, options.by, &realtime);
    if let Some((flow, _)) =
        options.deadlines.iter().find(|(n, _)| groups.iter().all(|g| g.name != *n))
    {
        let known = groups.iter().map(|g| g.name.clone()).collect();
        return Err(FitError::UnknownFlow { flow: flow.clone(), known });
    }
    let mut flows = Vec::with_capacity(groups.len() + 1);
    for g in &groups {
        let packets = sample.merge(&g.units);
        let guessed = usual(g.dscp).filter(|_| given(&g.name).is_none());
        let deadline = given(&g.name).or(guessed.map(|(d, _)| d));
        let guess = guessed.map(|(_, usual)| usual);
        flows.push(FlowFit { guess, ..flow(&g.name, deadline, &packets, sample, options)? });
    }
    if !left.is_empty() {
        flows.push(flow("other", None, &sample.merge(&left), sample, options)?);
    }
    scenario::build(sample, &groups, flows, options)
}

fn flow(
    name: &str,
    deadline: Option<Span>,
    packets: &[(Time, Bytes)],
    sample: &Sample,
    options: &Options,
) -> Result<FlowFit, FitError> {
    let named = || name.to_owned();
    let sizes = || packets.iter().map(|(_, b)| *b);
    let largest = sizes().fold(Bytes(0), Bytes::max);
    let smallest = sizes().fold(largest, Bytes::min);
    if largest > MAX_PACKET {
        return Err(FitError::PacketTooLarge { flow: named(), largest });
    }
    let packet = match options.packet {
        Some(chosen) if deadline.is_some() && chosen < largest => {
            return Err(FitError::PacketTooSmall { flow: named(), largest, chosen });
        }
        Some(chosen) if deadline.is_some() => chosen,
        _ => largest,
    };
    let failed = |error| FitError::Envelope { flow: named(), error };
    let mut tspec = fit_tspec(packets, packet, options.tightness).map_err(failed)?;
    // Beyond what a scenario may say: as good as no limit.
    tspec.peak = tspec.peak.filter(|p| *p <= MAX_RATE);
    let rate_guessed = tspec.rate == Rate(0);
    if rate_guessed {
        tspec.rate = rate_over(tspec.burst.0, sample.duration).max(Rate::bytes_per_second(1));
        tspec.peak = tspec.peak.map(|p| p.max(tspec.rate));
    }
    let envelope = tspec.envelope().and_then(|e| e.with_min_packet(smallest)).map_err(failed)?;
    let bytes = sizes().map(|b| b.0).sum();
    Ok(FlowFit {
        name: named(),
        deadline,
        guess: None,
        packets: packets.len() as u64,
        bytes,
        mean: rate_over(bytes, sample.duration),
        peak: rate_over(most_within(packets, PEAK_WINDOW), PEAK_WINDOW),
        largest,
        smallest,
        tspec,
        envelope,
        rate_guessed,
    })
}

/// Rounded up; over no time at all, over a second.
fn rate_over(bytes: u64, time: Span) -> Rate {
    let time = if time == Span::ZERO { Span::from_millis(1000) } else { time };
    let work = u128::from(bytes) * NANOBITS_PER_BYTE as u128;
    Rate(u64::try_from(work.div_ceil(u128::from(time.0))).unwrap_or(u64::MAX))
}

/// The most bytes in any half-open window.
fn most_within(packets: &[(Time, Bytes)], window: Span) -> u64 {
    let (mut first, mut sum, mut most) = (0, 0u64, 0);
    for (at, bytes) in packets {
        sum += bytes.0;
        while at.since(packets[first].0) >= window {
            sum -= packets[first].1.0;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}
