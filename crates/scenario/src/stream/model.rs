//! The model of a stream scenario.

use std::num::NonZeroU32;
use std::path::PathBuf;

use laxity_core::{
    Bytes, Choice, OptionConflict, OptionFault, OptionValue, PolicyInfo, PolicyOptions, Rate, Span,
};
use laxity_dwcs::registry::{self, ADAPTIVE, UNLIMITED};
use laxity_dwcs::{Attributes, Check, Loss, Options};

use super::policies;
pub use crate::value::{Frequency, Length, Share};

/// The largest payload of a UDP datagram over IPv4.
pub const MAX_PAYLOAD: Bytes = Bytes(65_507);
/// The most streams of a scenario.
pub const MAX_STREAMS: u32 = 10_000_000;

/// A whole scenario file for a media server.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamScenario {
    /// The file's stem, used in results and titles.
    pub name: String,
    /// Where it was read from, for messages; empty for a scenario made in memory.
    pub path: PathBuf,
    /// The server.
    pub server: Server,
    /// The policy and its options.
    pub policy: StreamPolicyChoice,
    /// Classes of like streams in file order; stream numbers follow this order.
    pub streams: Vec<StreamClass>,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Service time of a packet.
    pub pace: Pace,
    /// Bytes on the wire for each packet beyond its payload.
    pub overhead: Bytes,
    /// How many sockets a live server sends from.
    pub sockets: u16,
    /// Limits on the queue of each stream.
    pub buffer: QueueLimit,
}

/// Service time of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Its bytes on the wire, at this rate.
    Rate(Rate),
    /// The same for each packet, whatever its length: the unit service time of the papers.
    Service(Span),
}

/// Limits on the queue of one stream; packets beyond are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit {
    /// Packets.
    pub packets: u32,
    /// Bytes of payload, beside the limit on packets.
    pub bytes: Option<Bytes>,
}

impl Default for QueueLimit {
    fn default() -> QueueLimit {
        QueueLimit { packets: 64, bytes: None }
    }
}

/// `[policy]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPolicyChoice {
    /// The policy of the server, by its one name.
    pub use_: String,
    /// Further policies that a simulation runs beside it.
    pub compare: Vec<String>,
    /// The readings of DWCS, in the order of [`policies::DWCS`].
    pub tuning: [Tuning; policies::DWCS.len()],
}

/// Options and structure of one reading of DWCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Its options.
    pub options: Options,
    /// Its data structure: one of [`policies::STRUCTURES`].
    pub structure: &'static str,
}

impl From<Options> for Tuning {
    fn from(options: Options) -> Tuning {
        Tuning { options, structure: policies::STRUCTURES[0] }
    }
}

/// The defaults without the section.
impl Default for StreamPolicyChoice {
    fn default() -> StreamPolicyChoice {
        StreamPolicyChoice {
            use_: policies::DEFAULT_POLICY.into(),
            compare: Vec::new(),
            tuning: policies::DWCS.map(|variant| (variant.options)().into()),
        }
    }
}

impl StreamPolicyChoice {
    /// Options and structure of a reading of DWCS; `None` for other policies.
    pub fn tuning(&self, policy: &str) -> Option<&Tuning> {
        let place = policies::DWCS.iter().position(|v| v.info.name == policy)?;
        self.tuning.get(place)
    }

    /// The options of a policy that is a reading of DWCS; `None` for the others.
    pub fn options(&self, policy: &str) -> Option<&Options> {
        self.tuning(policy).map(|tuning| &tuning.options)
    }
}

impl PolicyOptions for StreamPolicyChoice {
    fn policy(name: &str) -> Option<&'static PolicyInfo> {
        policies::find(name)
    }

    fn get(&self, policy: &str, option: &str) -> Option<OptionValue> {
        let Tuning { options, structure } = self.tuning(policy)?;
        Some(match option {
            "order" => OptionValue::Choice(options.order.name()),
            "rule-a" => OptionValue::Choice(options.rule_a.name()),
            "rule-c" => OptionValue::Choice(options.rule_c.name()),
            "check-interval" => match options.check {
                Check::Every(packets) => OptionValue::Integer(packets.get()),
                Check::Adaptive { .. } => OptionValue::Choice(ADAPTIVE),
            },
            "decision-budget" => match options.check {
                Check::Adaptive { budget, .. } => OptionValue::Time(budget),
                Check::Every(_) => return None,
            },
            "max-check-interval" => match options.check {
                Check::Adaptive { most, .. } => OptionValue::Integer(most.get()),
                Check::Every(_) => return None,
            },
            "check-before-service" => OptionValue::Bool(options.settle),
            "max-ahead" => match options.ahead {
                Some(gaps) => OptionValue::Integer(gaps.get()),
                None => OptionValue::Choice(UNLIMITED),
            },
            "align-deadlines" => OptionValue::Bool(options.align),
            "structure" => OptionValue::Choice(structure),
            "zero-tie" => OptionValue::Choice(options.zero_tie.name()),
            _ => return None,
        })
    }

    fn store(&mut self, policy: &str, option: &str, value: OptionValue) -> Result<(), OptionFault> {
        let place = policies::DWCS.iter().position(|v| v.info.name == policy);
        let tuning = place.and_then(|i| self.tuning.get_mut(i)).ok_or(OptionFault::Unknown)?;
        let (options, structure) = (&mut tuning.options, &mut tuning.structure);
        let adaptive = OptionValue::Choice(ADAPTIVE);
        let needs = Err(OptionFault::Needs { option: "check-interval", value: adaptive });
        match (option, value) {
            ("order", OptionValue::Choice(name)) => choose(&mut options.order, name),
            ("rule-a", OptionValue::Choice(name)) => choose(&mut options.rule_a, name),
            ("rule-c", OptionValue::Choice(name)) => choose(&mut options.rule_c, name),
            ("check-interval", OptionValue::Choice(_)) => {
                options.check =
                    Check::Adaptive { budget: DEFAULT_BUDGET, most: DEFAULT_CHECK_MOST };
                Ok(())
            }
            ("check-interval", OptionValue::Integer(packets)) => {
                options.check = NonZeroU32::new(packets).map_or(options.check, Check::Every);
                Ok(())
            }
            ("decision-budget", OptionValue::Time(time)) => match &mut options.check {
                Check::Adaptive { budget, .. } => assign(budget, time),
                Check::Every(_) => needs,
            },
            ("max-check-interval", OptionValue::Integer(packets)) => match &mut options.check {
                Check::Adaptive { most, .. } => {
                    assign(most, NonZeroU32::new(packets).unwrap_or(*most))
                }
                Check::Every(_) => needs,
            },
            ("check-before-service", OptionValue::Bool(settle)) => {
                assign(&mut options.settle, settle)
            }
            ("max-ahead", OptionValue::Choice(_)) => assign(&mut options.ahead, None),
            ("max-ahead", OptionValue::Integer(n)) => {
                assign(&mut options.ahead, NonZeroU32::new(n))
            }
            ("align-deadlines", OptionValue::Bool(align)) => assign(&mut options.align, align),
            ("structure", OptionValue::Choice(name)) => assign(structure, name),
            ("zero-tie", OptionValue::Choice(name)) => choose(&mut options.zero_tie, name),
            _ => Err(OptionFault::Unknown),
        }
    }

    fn check(&self, policy: &str) -> Result<(), OptionConflict> {
        let Some(Tuning { options, structure }) = self.tuning(policy) else { return Ok(()) };
        registry::keeps(structure, options).map_err(|error| OptionConflict {
            options: &["structure"],
            what: &["`", "` cannot keep this order"],
            values: [OptionValue::Choice(error.structure); 2],
            remedy: error.remedy,
        })
    }
}

fn assign<T>(option: &mut T, value: T) -> Result<(), OptionFault> {
    *option = value;
    Ok(())
}

fn choose<T: Choice>(option: &mut T, name: &str) -> Result<(), OptionFault> {
    assign(option, T::by_name(name).ok_or(OptionFault::Unknown)?)
}

/// Time limit of a governed decision: about that of one with a million streams.
pub(crate) const DEFAULT_BUDGET: Span = Span(1_000);
/// A governed scheduler checks deadlines at least this often.
pub(crate) const DEFAULT_CHECK_MOST: NonZeroU32 = NonZeroU32::new(256).unwrap();

/// `[[stream]]`: a class of streams that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamClass {
    /// Unique over all classes.
    pub name: String,
    /// How many streams.
    pub count: u32,
    /// Tolerance and gap of each.
    pub attributes: Attributes,
    /// The needs of the application that the attributes were derived from, where they were.
    pub application: Option<Application>,
    /// Lengths of packets, payload only.
    pub packet: Length,
    /// The traffic of each.
    pub source: StreamSource,
    /// Limits on the queue of each, where they differ from the server's.
    pub buffer: Option<QueueLimit>,
    /// Destination of a live server.
    pub destination: Option<Destination>,
}

/// `application`: the needs of a player, in its own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    /// Frames a second.
    pub frames: Frequency,
    /// Packets of a frame.
    pub packets: u32,
    /// Share of frames that may be lost.
    pub loss: Share,
    /// Frames in a row that may be lost; as many as `loss` has it when absent.
    pub burst: Option<u32>,
}

impl Application {
    /// The same in the terms of the scheduler; `None` when a number has too many digits.
    pub(crate) fn terms(&self) -> Option<laxity_dwcs::Application> {
        let (frames, seconds) = lowest(self.frames.0, 1_000_000);
        let (lost, of) = lowest(self.loss.0.into(), Share::WHOLE.0.into());
        Some(laxity_dwcs::Application {
            frames: u32::try_from(frames).ok()?,
            seconds: u32::try_from(seconds).ok()?,
            packets_per_frame: self.packets,
            loss: Loss::Frames { lost: u32::try_from(lost).ok()?, of: u32::try_from(of).ok()? },
            burst: self.burst,
        })
    }
}

/// A fraction in its lowest terms.
fn lowest(numerator: u64, denominator: u64) -> (u64, u64) {
    let (mut a, mut b) = (numerator, denominator);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (numerator / a.max(1), denominator / a.max(1))
}

/// `source` of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamSource {
    /// A packet always waits.
    Backlogged,
    /// One packet each period, moved by a uniform jitter in `[0, jitter]`.
    Periodic {
        /// From packet to packet; the gap by default.
        period: Span,
        /// Largest jitter of a packet.
        jitter: Span,
        /// When it begins; drawn within a period when absent.
        phase: Option<Span>,
    },
    /// Several packets at once.
    Bursts {
        /// Packets of a burst on average.
        burst: u32,
        /// Up to so many more or fewer, drawn uniformly.
        spread: u32,
        /// From burst to burst.
        every: Span,
        /// When it begins; drawn within `every` when absent.
        phase: Option<Span>,
    },
    /// One packet each period while on; on and off for uniformly drawn times.
    OnOff {
        /// From packet to packet while on.
        period: Span,
        /// Least and most time on.
        on: (Span, Span),
        /// Least and most time off.
        off: (Span, Span),
    },
    /// A media file, sent by a live server.
    File {
        /// The file; absolute or relative to the working directory.
        path: PathBuf,
        /// Whether it begins again at its end.
        repeat: bool,
    },
    /// Another process fills the queue of a live server.
    External,
}

/// Where the streams of a class go: each to the next port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The first stream's port.
    pub port: u16,
    /// From the port of one stream to that of the next.
    pub port_step: u16,
    /// RTP payload type.
    pub payload_type: u8,
    /// The first stream's synchronisation source, counting up; drawn when absent.
    pub ssrc: Option<u32>,
}

impl StreamScenario {
    /// How many streams there are in all classes.
    pub fn stream_count(&self) -> u64 {
        self.streams.iter().map(|c| u64::from(c.count)).sum()
    }
}

impl Server {
    /// Bytes on the wire of a packet.
    pub fn wire(&self, payload: Bytes) -> Bytes {
        payload + self.overhead
    }

    /// Time to send a packet, rounded up.
    pub fn service(&self, payload: Bytes) -> Span {
        match self.pace {
            Pace::Rate(rate) => rate.time_for(self.wire(payload)).unwrap_or(Span(u64::MAX)),
            Pace::Service(span) => span,
        }
    }
}

impl StreamClass {
    /// The largest packet. Normally distributed ones are kept within four deviations of the mean.
    pub fn largest(&self) -> Bytes {
        let largest = match self.packet {
            Length::Fixed(bytes) => bytes,
            Length::Normal { mean, deviation } => Bytes(mean.0 + 4 * deviation.0),
            Length::Uniform { most, .. } => most,
        };
        largest.min(MAX_PAYLOAD)
    }
}
