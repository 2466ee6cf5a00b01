//! Recorded traffic: captures classified by `match`, and CSV traces by flow name.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use laxity_core::{FlowId, Time};
use laxity_link::ecn::Ecn;
use laxity_scenario::link::model::Scenario;
use laxity_trace::{Capture, CaptureError, CsvError, CsvTrace, Frame, Headers, Report, decode};
use laxity_traffic::classify::{classifier, key};
use laxity_traffic::{Arrival, FlowHasher, FlowKeys};

/// The contents of a file.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Packets in order of time; the first one arrives at time zero.
    pub packets: Vec<Arrival>,
    /// The faults of a capture, and how much of it was used.
    pub capture: Option<Report>,
}

/// Why a recording cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file could not be opened.
    Open {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The capture cannot be read at all.
    Capture {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: CaptureError,
    },
    /// The CSV trace has a faulty line.
    Csv {
        /// The file.
        path: PathBuf,
        /// Which line, and what is wrong.
        source: CsvError,
    },
    /// A CSV trace names a flow that the scenario does not have.
    UnknownFlow {
        /// The file.
        path: PathBuf,
        /// Its line.
        line: u64,
        /// The name there.
        flow: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// There is no packet in it.
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Open { path, source } => write!(f, "{}: {source}", path.display()),
            ReplayError::Capture { path, source } => write!(f, "{}: {source}", path.display()),
            ReplayError::Csv { path, source } => write!(f, "{}: {source}", path.display()),
            ReplayError::UnknownFlow { path, line, flow, known } => write!(
                f,
                "{}:{line}: column flow: the scenario has no flow `{flow}`; it has {}",
                path.display(),
                known.join(", ")
            ),
            ReplayError::Empty { path } => {
                write!(f, "{}: there is no packet in it to replay", path.display())
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// Reads a capture (`.pcap`, `.pcapng`, or by its first bytes) or a CSV trace.
///
/// # Errors
/// See [`ReplayError`]. Faults inside a capture are not errors; the rest of it is used.
pub fn read(path: &Path, scenario: &Scenario) -> Result<Recording, ReplayError> {
    let recording = if is_csv(path) {
        Recording { packets: read_csv(path, open(path)?, scenario, None)?, capture: None }
    } else {
        read_capture(path, open(path)?, scenario)?
    };
    if recording.packets.is_empty() {
        return Err(ReplayError::Empty { path: path.into() });
    }
    Ok(recording)
}

pub(crate) fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"))
}

pub(crate) fn open(path: &Path) -> Result<File, ReplayError> {
    let failed = |source| ReplayError::Open { path: path.into(), source };
    let file = File::open(path).map_err(failed)?;
    match file.metadata().is_ok_and(|m| m.is_dir()) {
        true => Err(failed(io::Error::other("it is a directory; name a capture or trace in it"))),
        false => Ok(file),
    }
}

/// The packets of one flow of a CSV trace; times are unchanged.
///
/// # Errors
/// See [`ReplayError`].
pub fn read_flow(
    path: &Path,
    scenario: &Scenario,
    flow: FlowId,
) -> Result<Vec<Arrival>, ReplayError> {
    read_csv(path, open(path)?, scenario, Some(flow))
}

fn read_csv(
    path: &Path,
    reader: impl Read,
    scenario: &Scenario,
    only: Option<FlowId>,
) -> Result<Vec<Arrival>, ReplayError> {
    let failed = |source| ReplayError::Csv { path: path.into(), source };
    let ids: HashMap<&str, FlowId> = scenario.flow_names().zip((0..).map(FlowId)).collect();
    let keys = FlowKeys::new(scenario, FlowHasher::fixed());
    let mut rows = CsvTrace::open(reader).map_err(failed)?;
    let mut packets = Vec::new();
    while let Some(row) = rows.next_row().map_err(failed)? {
        let Some(&flow) = ids.get(row.flow) else {
            if only.is_some() {
                continue;
            }
            return Err(ReplayError::UnknownFlow {
                path: path.into(),
                line: row.line,
                flow: row.flow.to_owned(),
                known: scenario.flow_names().map(str::to_owned).collect(),
            });
        };
        if only.is_none_or(|only| only == flow) {
            let packet = Arrival::new(Time(row.time_ns), flow, row.bytes);
            packets.push(Arrival { key: keys.of_flow(flow), ..packet });
        }
    }
    Ok(packets)
}

fn read_capture(
    path: &Path,
    reader: impl Read,
    scenario: &Scenario,
) -> Result<Recording, ReplayError> {
    let classifier = classifier(scenario);
    let keys = FlowKeys::new(scenario, FlowHasher::fixed());
    let mut packets = Vec::new();
    let report = each_frame(path, reader, |frame, headers| {
        let (time, bytes) = (Time(frame.time_ns), frame.original_len);
        let flow = classifier.classify(&key(headers));
        let ecn = Ecn::of_traffic_class(headers.ecn.unwrap_or(0));
        let key = keys.of_frame(flow, frame.link_type, frame.data);
        packets.push(Arrival { ecn, key, ..Arrival::new(time, flow, bytes) });
    })?;
    // Captures of several queues are only nearly in order of time.
    packets.sort_by_key(|p| p.time);
    let first = packets.first().map_or(0, |p| p.time.0);
    for p in &mut packets {
        p.time = Time(p.time.0 - first);
    }
    Ok(Recording { packets, capture: Some(report) })
}

/// Shows every packet of a capture that has a time and a length, in the order of the file.
pub(crate) fn each_frame(
    path: &Path,
    reader: impl Read,
    mut show: impl FnMut(&Frame<'_>, &Headers),
) -> Result<Report, ReplayError> {
    let failed = |source| ReplayError::Capture { path: path.into(), source };
    let mut capture = Capture::open(reader).map_err(failed)?;
    // Frames read before a disk failed help only a caller that learns of the failure, so an
    // unreadable file stays an error; corrupt content does not.
    while let Some(frame) = capture.next_frame().map_err(failed)? {
        if frame.timed && frame.original_len > 0 {
            show(&frame, &decode(frame.link_type, frame.data));
        }
    }
    Ok(capture.report().clone())
}
