//! Requests and answers.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::Span;
use laxity_dwcs::{Attributes, Late, Tolerance};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::media::{FrameRate, Media};
use crate::server::{Handle, Load, Snapshot, Source, StreamConfig, StreamSnapshot};

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Adds a stream.
    Add(Box<Add>),
    /// Gives a stream other attributes.
    Change(Change),
    /// Ends a stream and answers what it did.
    #[serde(alias = "drop")]
    Remove(Named),
    /// Names and attributes of all streams.
    List(None),
    /// All counts.
    Stats(None),
    /// A session description of streams played together.
    Describe(Names),
    /// The ring of a stream, for the process that fills it.
    Attach(Named),
}

/// Nothing further.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct None {}

/// A stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
}

/// Some streams.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Their names.
    pub names: Vec<String>,
}

/// Other attributes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The stream.
    pub name: String,
    /// `x/y`.
    pub tolerance: String,
    /// Time between deadlines.
    pub gap_ns: Option<u64>,
    /// Send late packets instead of dropping them.
    #[serde(default)]
    pub send_late: bool,
}

/// A stream to add; see [`StreamConfig`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Unique.
    pub name: String,
    /// Where it is sent.
    pub destination: SocketAddr,
    /// RTP synchronisation source.
    pub ssrc: u32,
    /// RTP payload type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_type: Option<u8>,
    /// `x/y`.
    pub tolerance: String,
    /// Time between deadlines.
    pub gap_ns: Option<u64>,
    /// Send late packets instead of dropping them.
    #[serde(default)]
    pub send_late: bool,
    /// Where its packets come from.
    pub source: SourceRequest,
    /// The largest UDP payload, bytes.
    #[serde(default, alias = "largest", skip_serializing_if = "Option::is_none")]
    pub max_payload: Option<usize>,
    /// Packets in its ring.
    #[serde(default, alias = "ring", skip_serializing_if = "Option::is_none")]
    pub ring_packets: Option<usize>,
    /// Drop the rest of a frame after a dropped packet.
    #[serde(default)]
    pub whole_frames: bool,
    /// Where its sender reports go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtcp: Option<SocketAddr>,
}

/// Where packets come from; see [`Source`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SourceRequest {
    /// A file.
    Media(MediaSource),
    /// Packets of one size.
    Constant(ConstantSource),
    /// Frames of given sizes.
    Frames(FramesSource),
    /// Another process, through [`Request::Attach`].
    Shared,
}

/// A media file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaSource {
    /// Seen from the server.
    pub path: PathBuf,
    /// Start again at the end.
    #[serde(default)]
    pub repeat: bool,
    /// Pictures, seconds; for H.264 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_rate: Option<(u32, u32)>,
}

/// Packets of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstantSource {
    /// UDP payload of each.
    pub bytes: usize,
}

/// Frames of given sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FramesSource {
    /// Bytes of each, over and over.
    pub sizes: Vec<usize>,
    /// Pictures, seconds.
    pub frame_rate: (u32, u32),
}

fn rate(pair: (u32, u32)) -> FrameRate {
    FrameRate { pictures: pair.0, seconds: pair.1 }
}

fn attributes(tolerance: &str, gap: Option<u64>, late: bool) -> Result<Attributes, String> {
    let tolerance: Tolerance = tolerance.parse().map_err(|e| format!("tolerance: {e}"))?;
    let late = if late { Late::Send } else { Late::Drop };
    Ok(Attributes { tolerance, gap: gap.map(Span), late })
}

impl Add {
    /// The stream's configuration. Opens its file.
    ///
    /// # Errors
    /// A message on the tolerance or the file.
    pub fn config(self) -> Result<StreamConfig, String> {
        let attributes = attributes(&self.tolerance, self.gap_ns, self.send_late)?;
        let source = match self.source {
            SourceRequest::Media(MediaSource { path, repeat, frame_rate }) => {
                let rate = frame_rate.map(rate).unwrap_or_default();
                let media = Media::open(&path, rate).map_err(|e| e.to_string())?;
                Source::Media { media: Arc::new(media), repeat }
            }
            SourceRequest::Constant(ConstantSource { bytes }) => Source::Constant { bytes },
            SourceRequest::Frames(FramesSource { sizes, frame_rate }) => {
                Source::Frames { sizes: sizes.into(), rate: rate(frame_rate) }
            }
            SourceRequest::Shared => Source::Shared,
        };
        let mut config =
            StreamConfig::new(self.name, attributes, self.destination, self.ssrc, source);
        config.payload_type = self.payload_type.unwrap_or(config.payload_type);
        config.largest = self.max_payload.unwrap_or(config.largest);
        config.ring = self.ring_packets.unwrap_or(config.ring);
        config.whole_frames = self.whole_frames;
        config.rtcp = self.rtcp;
        Ok(config)
    }
}

/// The load of the server after the request, where it has a rate. A stream that does not fit even alone is
/// refused: no other stream's losses would make room for it. Like a scenario of too much load, a
/// set of streams is served as far as the link goes, with a warning.
fn admitted(handle: &Handle, config: &StreamConfig) -> Result<Option<Load>, String> {
    let load = handle.load_with(config);
    match load.filter(|load| !load.fits_alone()) {
        Some(load) => Err(format!("stream {:?}: {load}", config.name)),
        None => Ok(load),
    }
}

fn with_warning(mut answer: Value, load: Option<Load>) -> Value {
    if let Some(load) = load.filter(|load| !load.fits()) {
        answer["warning"] = load.to_string().into();
    }
    answer
}

/// An answer, with a descriptor where requested.
pub(super) type Answer = Result<(Value, Option<OwnedFd>), String>;

impl Request {
    /// Executes the request.
    pub(super) fn perform(self, handle: &Handle) -> Answer {
        let plain = |value: Value| Ok((value, Option::None));
        match self {
            Request::Add(add) => {
                let config = add.config()?;
                let faults = match &config.source {
                    Source::Media { media, .. } => media.faults_in_all(),
                    _ => 0,
                };
                let load = admitted(handle, &config)?;
                handle.add(config).map_err(|e| e.to_string())?;
                plain(with_warning(json!({ "file_faults": faults }), load))
            }
            Request::Change(Change { name, tolerance, gap_ns, send_late }) => {
                let attributes = attributes(&tolerance, gap_ns, send_late)?;
                let now = handle.stream(&name).map_err(|e| e.to_string())?;
                let load = admitted(handle, &StreamConfig { attributes, ..now })?;
                handle.change(&name, attributes).map_err(|e| e.to_string())?;
                plain(with_warning(json!({}), load))
            }
            Request::Remove(Named { name }) => {
                plain(stream(&handle.remove(&name).map_err(|e| e.to_string())?))
            }
            Request::List(None {}) => plain(handle.list().iter().map(config).collect()),
            Request::Stats(None {}) => {
                plain(statistics(&handle.snapshot().map_err(|e| e.to_string())?))
            }
            Request::Describe(Names { names }) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let title = names.first().copied().unwrap_or_default();
                let sdp = handle.describe(title, &names).map_err(|e| e.to_string())?;
                plain(json!({ "sdp": sdp }))
            }
            Request::Attach(Named { name }) => {
                let memory = handle.attach(&name).map_err(|e| e.to_string())?;
                Ok((json!({ "ring": "attached" }), Some(memory)))
            }
        }
    }
}

fn config(config: &StreamConfig) -> Value {
    let Attributes { tolerance, gap, late } = config.attributes;
    json!({
        "name": config.name,
        "destination": config.destination,
        "ssrc": config.ssrc,
        "payload_type": config.payload_type,
        "tolerance": tolerance.to_string(),
        "gap_ns": gap.map(|g| g.0),
        "send_late": late == Late::Send,
    })
}

fn stream(snapshot: &StreamSnapshot) -> Value {
    let StreamSnapshot { row, receiver_report, .. } = snapshot;
    let measures = &row.measures;
    json!({
        "name": snapshot.config.name,
        "produced": snapshot.produced,
        "overflows": snapshot.overflows,
        "oversize": snapshot.oversize,
        "backlog": row.waiting,
        "ended": row.ended,
        "ring_corrupted": row.broken,
        "packets": row.counts,
        "deadlines_met": measures.met,
        "deadline_misses": measures.missed,
        "dropped": measures.dropped,
        "tumbling_violations": measures.tumbling,
        "max_consecutive_misses": measures.longest_run,
        "icmp_errors": snapshot.icmp_errors,
        "receiver_report": receiver_report,
    })
}

/// The version of [`statistics`].
const STATISTICS_VERSION: u32 = 1;

/// All counts as JSON: what `stats` answers.
pub fn statistics(snapshot: &Snapshot) -> Value {
    let timing = &snapshot.timing;
    let threads: serde_json::Map<String, Value> =
        snapshot.threads.iter().map(|(name, cpu)| (name.clone(), json!(cpu))).collect();
    json!({
        "version": STATISTICS_VERSION,
        "streams": snapshot.streams.iter().map(stream).collect::<Vec<_>>(),
        "total": snapshot.total(),
        "send_lateness_ns": {
            "p50": timing.send_lateness.quantile(500),
            "p99": timing.send_lateness.quantile(990),
            "p999": timing.send_lateness.quantile(999),
            "max": timing.send_lateness.max(),
        },
        "send_calls": timing.calls,
        "socket_full": timing.full,
        "device_full": timing.busy,
        "thread_cpu_ns": threads,
        "network": snapshot.network,
    })
}
