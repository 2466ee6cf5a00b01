//! From a stream scenario to a server.
//!
//! A scenario describes arrivals at a simulated server; a live one generates them. Files are
//! played, queues of other processes are offered, and periods and bursts become packets and frames
//! of the same mean. Unsupported sources are refused, approximations are listed in
//! [`Plan::notes`].

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::{Bytes, Live, Span};
use laxity_scenario::stream::StreamScenario;
use laxity_scenario::stream::model::{
    Destination, Frequency, Length, Pace, StreamClass, StreamPolicyChoice, StreamSource,
};
use laxity_scenario::stream::policies::{POLICIES, STRUCTURES, find};

use crate::media::{FrameRate, Media, MediaError};
use crate::rtp;
use crate::server::{Config, Policy, Source, StreamConfig};

/// A server as a scenario describes it.
#[derive(Debug)]
pub struct Plan {
    /// The configuration of the server to start.
    pub config: Config,
    /// Approximations of the scenario.
    pub notes: Vec<String>,
}

/// Why a scenario cannot be served.
#[derive(Debug)]
pub enum PlanError {
    /// No policy has this name.
    Policy(String),
    /// Packets take a fixed time; a live link has a rate.
    Service,
    /// A class of streams.
    Stream {
        /// Its name.
        name: String,
        /// The fault and its remedy.
        what: String,
    },
    /// A media file.
    Media {
        /// The class that plays it.
        name: String,
        /// The fault.
        error: MediaError,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Policy(name) => write!(
                f,
                "there is no policy {name:?} for streams; there are {}",
                live_policies().collect::<Vec<_>>().join(", ")
            ),
            PlanError::Service => write!(
                f,
                "server.service: packets of a live server take as long as their bytes do; give \
                 server.rate instead"
            ),
            PlanError::Stream { name, what } => write!(f, "stream.{name}: {what}"),
            PlanError::Media { name, error } => write!(f, "stream.{name}.source: {error}"),
        }
    }
}

impl std::error::Error for PlanError {}

/// The server that sends a scenario's streams under one of its policies.
///
/// # Errors
/// The scenario has a source that is not supported live.
pub fn plan(scenario: &StreamScenario, policy: &str) -> Result<Plan, PlanError> {
    let mut notes = Vec::new();
    let policy = of_name(&scenario.policy, policy, &mut notes)?;
    let Pace::Rate(rate) = scenario.server.pace else { return Err(PlanError::Service) };
    let mut plan = Plan {
        config: Config {
            policy,
            rate: Some(rate),
            // The scenario counts from the RTP payload, the server from that of UDP.
            overhead: scenario.server.overhead.0.saturating_sub(rtp::HEADER as u64),
            cname: scenario.name.clone(),
            ..Config::default()
        },
        notes,
    };
    let mut files = HashMap::new();
    let ssrc = base_ssrc(&scenario.name);
    for class in &scenario.streams {
        let streams = Class { scenario, class, ssrc }.streams(&mut plan, &mut files)?;
        plan.config.streams.extend(streams);
    }
    let v6 = |streams: &[StreamConfig]| streams.iter().any(|s| s.destination.is_ipv6());
    let v4 = plan.config.streams.iter().any(|s| s.destination.is_ipv4());
    let mut any = Vec::new();
    if v4 || plan.config.streams.is_empty() {
        any.push(IpAddr::from([0, 0, 0, 0]));
    }
    if v6(&plan.config.streams) {
        any.push(IpAddr::from(Ipv6Addr::UNSPECIFIED));
    }
    let sockets = usize::from(scenario.server.sockets.max(1));
    let bind = any.iter().flat_map(|ip| std::iter::repeat_n(SocketAddr::new(*ip, 0), sockets));
    plan.config.bind = bind.collect();
    Ok(plan)
}

fn live_policies() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|p| p.runs_in(Live::MediaServer)).map(|p| p.name)
}

fn of_name(
    choice: &StreamPolicyChoice,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<Policy, PlanError> {
    let unknown = || PlanError::Policy(name.to_owned());
    find(name).filter(|p| p.runs_in(Live::MediaServer)).ok_or_else(unknown)?;
    let Some(tuning) = choice.tuning(name) else {
        return Policy::baseline(name).ok_or_else(unknown);
    };
    let mut options = tuning.options;
    if options.ahead.is_none() {
        // Media would leave as fast as the link sends, long before they can be played.
        options.ahead = Some(NonZeroU32::MIN);
        notes.push(format!(
            "policy.{name}: a live server does not work ahead without bound; it sends each stream \
             a packet a gap at most, as with max-ahead = 1"
        ));
    }
    if tuning.structure != STRUCTURES[0] {
        notes.push(format!(
            "policy.{name}: streams are kept in the structure {}, which decides like {}",
            STRUCTURES[0], tuning.structure
        ));
    }
    Ok(Policy::Dwcs(options))
}

/// The same name gives the same synchronisation sources, and another name others (FNV-1a).
fn base_ssrc(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

type Files = HashMap<(PathBuf, FrameRate), Arc<Media>>;

struct Class<'a> {
    scenario: &'a StreamScenario,
    class: &'a StreamClass,
    /// The first of the synchronisation sources that the scenario does not give.
    ssrc: u32,
}

impl Class<'_> {
    fn wrong(&self, what: impl Into<String>) -> PlanError {
        PlanError::Stream { name: self.class.name.clone(), what: what.into() }
    }

    fn streams(&self, plan: &mut Plan, files: &mut Files) -> Result<Vec<StreamConfig>, PlanError> {
        let class = self.class;
        let to = class.destination.as_ref();
        let to = to.ok_or_else(|| {
            self.wrong("it has no destination; give destination = \"127.0.0.1:5004\"")
        })?;
        let host = self.resolve(to)?;
        let source = self.source(plan, files)?;
        let limit = class.buffer.as_ref().unwrap_or(&self.scenario.server.buffer);
        if limit.bytes.is_some() {
            plan.notes
                .push(format!("stream.{}: its queue is bounded by packets alone", class.name));
        }
        let sent = plan.config.streams.len() as u32;
        let stream = |i: u32| {
            let port = u32::from(to.port) + i * u32::from(to.port_step);
            let port = u16::try_from(port).map_err(|_| {
                self.wrong(format!(
                    "stream {i} would go to port {port}; a smaller count, a lower port or \
                     port_step = 0 keeps all below 65536"
                ))
            })?;
            let name = match class.count {
                1 => class.name.clone(),
                _ => format!("{}-{i}", class.name),
            };
            let ssrc = match to.ssrc {
                Some(first) => first.wrapping_add(i),
                None => self.ssrc.wrapping_add(sent + i),
            };
            let destination = SocketAddr::new(host, port);
            Ok(StreamConfig {
                payload_type: to.payload_type,
                largest: self.datagram(class.largest()).max(match source {
                    Source::Media { .. } => rtp::DEFAULT_LARGEST,
                    _ => 0,
                }),
                ring: limit.packets as usize,
                ..StreamConfig::new(name, class.attributes, destination, ssrc, source.clone())
            })
        };
        (0..class.count).map(stream).collect()
    }

    fn resolve(&self, to: &Destination) -> Result<IpAddr, PlanError> {
        let host = to.host.trim_start_matches('[').trim_end_matches(']');
        let found = (host, to.port).to_socket_addrs();
        let found = found.map_err(|e| self.wrong(format!("destination {host}: {e}")))?;
        let mut found: Vec<_> = found.map(|a| a.ip()).collect();
        // A name may have both; more receivers listen to IPv4.
        found.sort_by_key(IpAddr::is_ipv6);
        found.first().copied().ok_or_else(|| self.wrong(format!("destination {host}: no address")))
    }

    fn source(&self, plan: &mut Plan, files: &mut Files) -> Result<Source, PlanError> {
        let class = self.class;
        let mut note = |what: &str| plan.notes.push(format!("stream.{}: {what}", class.name));
        let mean = mean(&class.packet);
        if !matches!(class.packet, Length::Fixed(_)) && !self.plays() {
            note(&format!("all its packets have the mean length, {mean}"));
        }
        match &class.source {
            StreamSource::File { path, repeat } => {
                let rate = class.application.map_or(FrameRate::default(), |a| of_second(a.frames));
                let media = match files.get(&(path.clone(), rate)) {
                    Some(media) => Arc::clone(media),
                    None => {
                        let failed = |error| PlanError::Media { name: class.name.clone(), error };
                        let media = Arc::new(Media::open(path, rate).map_err(failed)?);
                        if let Some(first) = media.faults().first() {
                            let count = media.faults_in_all();
                            let path = path.display();
                            note(&format!("{path}: {count} faults, the rest is played; {first}"));
                        }
                        files.insert((path.clone(), rate), Arc::clone(&media));
                        media
                    }
                };
                Ok(Source::Media { media, repeat: *repeat })
            }
            StreamSource::External => Ok(Source::Shared),
            StreamSource::Bursts { burst, every, .. } => {
                let bytes = mean.0 as usize * *burst as usize;
                Ok(Source::Frames { sizes: [bytes].into(), rate: of_period(*every) })
            }
            StreamSource::OnOff { .. } => Err(self.wrong(
                "a live server makes no source that pauses; take a period, bursts, a file, or \
                 source = \"external\" and fill the queue yourself",
            )),
            StreamSource::Periodic { period, jitter, .. } => {
                if class.attributes.gap != Some(*period) || *jitter > Span::ZERO {
                    note("it sends a packet each gap");
                }
                Ok(Source::Constant { bytes: self.datagram(mean) })
            }
            StreamSource::Backlogged => Ok(Source::Constant { bytes: self.datagram(mean) }),
        }
    }

    fn plays(&self) -> bool {
        matches!(self.class.source, StreamSource::File { .. } | StreamSource::External)
    }

    /// UDP payload of a packet.
    fn datagram(&self, payload: Bytes) -> usize {
        payload.0 as usize + rtp::HEADER
    }
}

fn mean(length: &Length) -> Bytes {
    match *length {
        Length::Fixed(bytes) => bytes,
        Length::Normal { mean, .. } => mean,
        Length::Uniform { least, most } => Bytes((least.0 + most.0).div_ceil(2)),
    }
}

fn of_second(frames: Frequency) -> FrameRate {
    let common = gcd(frames.0, 1_000_000).max(1);
    let pictures = u32::try_from(frames.0 / common).unwrap_or(u32::MAX);
    FrameRate { pictures, seconds: (1_000_000 / common) as u32 }
}

/// One each `every`: exact unless that is longer than four seconds and not whole microseconds.
fn of_period(every: Span) -> FrameRate {
    let exact = |units: u64, of: u64| {
        let common = gcd(units, of);
        let seconds = u32::try_from(units / common).ok()?;
        Some(FrameRate { pictures: (of / common) as u32, seconds })
    };
    exact(every.0, 1_000_000_000)
        .or_else(|| exact(every.0 / 1_000, 1_000_000))
        .unwrap_or(FrameRate { pictures: 1, seconds: (every.0 / 1_000_000_000) as u32 })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
