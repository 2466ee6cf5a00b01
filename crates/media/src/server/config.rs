//! Configuration of a server.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use laxity_core::{Rate, Span};
use laxity_dwcs::{Attributes, JoinError, Options, baselines};

use crate::media::{Codec, FrameRate, Media};
use crate::rtp;

/// A server. [`Default`] has no streams and sends from any IPv4 address without a limit.
#[derive(Clone, Debug)]
pub struct Config {
    /// The streams that it starts with; more may come while it runs.
    pub streams: Vec<StreamConfig>,
    /// The order of streams.
    pub policy: Policy,
    /// The rate of the whole server; packets then wait for the link as for a service. Without it a
    /// packet waits for its time only, and for the socket when its buffer is full.
    pub rate: Option<Rate>,
    /// Bytes that each packet costs beyond its UDP payload when counted against the rate: 28 for
    /// IPv4 and UDP, 42 with Ethernet.
    pub overhead: u64,
    /// The idle time for which the link may catch up afterwards, so that late wake-ups cost no rate.
    pub credit: Span,
    /// Local addresses to send from, one socket each; a stream uses the next of its family.
    pub bind: Vec<SocketAddr>,
    /// Send buffer of each socket in bytes, as the system counts.
    pub send_buffer: Option<usize>,
    /// Let the kernel cut runs of equal packets for one destination (UDP_SEGMENT).
    pub segment: bool,
    /// The least time between two looks at the streams. More gathers more packets in a system
    /// call and adds as much to their start-time error.
    pub quantum: Span,
    /// The last part of each sleep that is spent looking at the clock.
    pub spin: Span,
    /// Threads that make packets.
    pub producers: usize,
    /// Where receiver reports come in and sender reports go out; `None` for no RTCP.
    pub rtcp: Option<SocketAddr>,
    /// Canonical name in RTCP and SDP.
    pub cname: String,
}

/// The order of the streams with an eligible head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A reading of DWCS.
    Dwcs(Options),
    /// Another order, by its name in [`baselines::POLICIES`], for comparison. Deadlines, drops,
    /// counters and the pace of a packet each gap at most stay as they are. `static-priority` takes
    /// tolerances for priorities: the stream that tolerates least goes first, always.
    Baseline(&'static str),
}

impl Policy {
    /// The baseline of that name.
    pub fn baseline(name: &str) -> Option<Policy> {
        let found = baselines::POLICIES.iter().find(|p| p.name == name)?;
        Some(Policy::Baseline(found.name))
    }

    pub(super) fn options(&self) -> Options {
        match self {
            Policy::Dwcs(options) => *options,
            // Media have no pace but the server's, so under baselines too a stream goes no faster than
            // its gaps. Order and ties are the baseline's own.
            Policy::Baseline(_) => Options::default(),
        }
    }
}

/// One stream.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    /// Unique; used in messages, metrics and control.
    pub name: String,
    /// Tolerance, gap, and what becomes of late packets. Counted in packets: a packet that comes
    /// at `t` is due at `t + gap`, those behind it a gap later each. For video a frame's time over
    /// the packets of a usual frame keeps up; much less makes a packet late as soon as the machine
    /// is busy for a moment.
    pub attributes: Attributes,
    /// Where it is sent.
    pub destination: SocketAddr,
    /// RTP synchronisation source; unique.
    pub ssrc: u32,
    /// RTP payload type.
    pub payload_type: u8,
    /// Where its packets come from.
    pub source: Source,
    /// The largest UDP payload made of it, bytes.
    pub largest: usize,
    /// Packets that its ring holds.
    pub ring: usize,
    /// When a packet of a frame was dropped, drop the rest of that frame too: no decoder can use
    /// it. Those count as `incomplete_frame`, not as misses.
    pub whole_frames: bool,
    /// Where its sender reports go; the receiver's RTP port + 1 by default.
    pub rtcp: Option<SocketAddr>,
}

/// Where packets come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A media file.
    Media {
        /// The file; streams may share it.
        media: Arc<Media>,
        /// Start again at the end.
        repeat: bool,
    },
    /// One packet of so many bytes (UDP payload) each gap; it carries its time of sending, see
    /// [`Stamp`](crate::receiver::Stamp).
    Constant {
        /// RTP header included.
        bytes: usize,
    },
    /// Frames of these sizes, over and over, cut into packets.
    Frames {
        /// Bytes of each.
        sizes: Arc<[usize]>,
        /// How often one comes.
        rate: FrameRate,
    },
    /// The caller pushes datagrams through an [`Inlet`](super::Inlet).
    Inlet,
    /// Another process pushes datagrams through shared memory.
    Shared,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            streams: Vec::new(),
            // Streams start when they like; deadlines first would keep no window then.
            policy: Policy::Dwcs(Options::tolerance_first()),
            rate: None,
            overhead: 28,
            credit: Span(1_000_000),
            bind: vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))],
            send_buffer: None,
            segment: true,
            quantum: Span(100_000),
            spin: Span::ZERO,
            producers: 1,
            rtcp: None,
            cname: "laxity".into(),
        }
    }
}

impl StreamConfig {
    /// A stream with dynamic payload type 96, packets of at most
    /// [`DEFAULT_LARGEST`](rtp::DEFAULT_LARGEST) bytes and a ring of 64.
    pub fn new(
        name: impl Into<String>,
        attributes: Attributes,
        destination: SocketAddr,
        ssrc: u32,
        source: Source,
    ) -> StreamConfig {
        StreamConfig {
            name: name.into(),
            attributes,
            destination,
            ssrc,
            payload_type: 96,
            source,
            largest: rtp::DEFAULT_LARGEST,
            ring: 64,
            whole_frames: false,
            rtcp: None,
        }
    }

    /// The codec of its payload, as far as it is known.
    pub fn codec(&self) -> &Codec {
        match &self.source {
            Source::Media { media, .. } => media.codec(),
            _ => &Codec::Synthetic,
        }
    }

    /// Where its sender reports go.
    pub fn rtcp_destination(&self) -> Option<SocketAddr> {
        let port = self.destination.port().checked_add(1)?;
        Some(self.rtcp.unwrap_or(SocketAddr::new(self.destination.ip(), port)))
    }

    pub(super) fn check(&self) -> Result<(), ServerError> {
        let wrong = |what: String| Err(ServerError::Stream { name: self.name.clone(), what });
        if self.name.is_empty() || self.name.len() > 200 {
            return wrong("a name of 1 to 200 bytes is needed".into());
        }
        if self.destination.port() == 0 || self.destination.ip().is_unspecified() {
            let to = self.destination;
            return wrong(format!("{to} is no destination; give an address and a port"));
        }
        if !(rtp::HEADER + 20..=rtp::LARGEST_DATAGRAM).contains(&self.largest) {
            return wrong(format!(
                "largest packet of {} B; give {} to {}",
                self.largest,
                rtp::HEADER + 20,
                rtp::LARGEST_DATAGRAM
            ));
        }
        if !(1..=1 << 20).contains(&self.ring) {
            return wrong(format!("a ring of {} packets; give 1 to 1048576", self.ring));
        }
        if self.payload_type > 127 {
            return wrong(rtp::PayloadTypeError(self.payload_type).to_string());
        }
        let made_by_server = !matches!(self.source, Source::Inlet | Source::Shared);
        if made_by_server && self.attributes.gap.is_none() {
            return wrong("a gap is needed: it paces the stream".into());
        }
        match &self.source {
            Source::Constant { bytes } if !(rtp::HEADER..=self.largest).contains(bytes) => {
                wrong(format!(
                    "packets of {bytes} B; give {} to {}, its largest packet",
                    rtp::HEADER,
                    self.largest
                ))
            }
            Source::Frames { sizes, .. } if sizes.is_empty() || sizes.contains(&0) => {
                wrong("frames need sizes above 0 B".into())
            }
            Source::Frames { sizes, .. } if sizes.iter().any(|s| *s > 1 << 24) => {
                wrong("frames of more than 16 MiB; give less".into())
            }
            Source::Frames { rate, .. } if rate.pictures == 0 || rate.seconds == 0 => {
                wrong("a frame rate needs positive numbers".into())
            }
            _ => Ok(()),
        }
    }
}

/// Errors of a server and of its streams.
#[derive(Debug)]
pub enum ServerError {
    /// A stream makes no sense.
    Stream {
        /// Which.
        name: String,
        /// The fault and its remedy.
        what: String,
    },
    /// Attributes that DWCS refuses.
    Attributes {
        /// Which stream.
        name: String,
        /// The fault.
        source: JoinError,
    },
    /// The name or SSRC is in use.
    SsrcInUse {
        /// The stream that was to be added.
        name: String,
        /// The stream that has it.
        by: String,
    },
    /// There is no such stream.
    NoStream {
        /// The given name.
        name: String,
    },
    /// No socket of the destination's family.
    NoSocket {
        /// Which stream.
        name: String,
        /// Its destination.
        destination: IpAddr,
    },
    /// The server stops or has stopped.
    Stopped,
    /// There is no baseline of this name.
    NoPolicy(&'static str),
    /// The structure of the scheduler does not support the order.
    Options(laxity_dwcs::structure::Unsupported),
    /// The system refuses.
    System {
        /// The operation.
        what: String,
        /// Its answer.
        source: std::io::Error,
    },
}

impl ServerError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> ServerError {
        let what = what.into();
        move |source| ServerError::System { what, source }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Stream { name, what } => write!(f, "stream {name:?}: {what}"),
            ServerError::Attributes { name, source } => write!(f, "stream {name:?}: {source}"),
            ServerError::SsrcInUse { name, by } => write!(
                f,
                "stream {name:?}: stream {by:?} has this name or SSRC already; take another"
            ),
            ServerError::NoStream { name } => write!(f, "there is no stream {name:?}"),
            ServerError::NoSocket { name, destination } => write!(
                f,
                "stream {name:?}: no socket for {destination}; bind an address of its family"
            ),
            ServerError::Stopped => write!(f, "the server has stopped"),
            ServerError::NoPolicy(name) => {
                let names: Vec<&str> = baselines::POLICIES.iter().map(|p| p.name).collect();
                write!(f, "no policy {name:?} besides DWCS; there are {}", names.join(", "))
            }
            ServerError::Options(unsupported) => unsupported.fmt(f),
            ServerError::System { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServerError::Attributes { source, .. } => Some(source),
            ServerError::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
