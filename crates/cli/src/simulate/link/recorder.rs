//! A file with a line for each packet, and a capture of departures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use laxity_core::{Bytes, Time};
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, Packet};
use laxity_results::csv::{Outcome, PacketRow, PacketWriter};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::Observer;
use laxity_sim::link::measure::{MARKED, UNSERVED};
use laxity_trace::{LinkType, PcapngWriter, SimPacket};

use crate::failure::Failure;
use crate::files::Pending;

/// Writes what happens to each packet, policy after policy.
pub struct Recorder<'a> {
    rows: Option<PacketWriter<File>>,
    capture: Option<(PcapngWriter<BufWriter<File>>, u32)>,
    /// The files of both.
    files: Vec<Pending>,
    /// The capture holds one policy's departures.
    captured: Option<String>,
    names: Vec<&'a str>,
    dscp: Vec<u8>,
    policy: String,
    /// Packets that wait, by number.
    waiting: BTreeMap<u64, Packet>,
    /// Those of them that the AQM marked.
    marked: BTreeSet<u64>,
    failed: Option<Failure>,
}

impl<'a> Recorder<'a> {
    /// Creates the files that are wanted.
    pub fn create(
        packets: Option<&Path>,
        capture: Option<&Path>,
        scenario: &'a Scenario,
    ) -> Result<Recorder<'a>, Failure> {
        let mut files = Vec::new();
        let mut create = |path: &Path| {
            let (file, pending) = Pending::create(path)?;
            files.push(pending);
            Ok::<_, Failure>(file)
        };
        let rows = match packets {
            Some(path) => {
                let rows = PacketWriter::new(create(path)?);
                Some(rows.map_err(|e| Failure::write(&path.display().to_string(), &e))?)
            }
            None => None,
        };
        let capture = match capture {
            Some(path) => {
                let broken = |e| Failure::Internal(format!("{}: {e}", path.display()));
                let mut writer =
                    PcapngWriter::new(BufWriter::new(create(path)?)).map_err(broken)?;
                let port = writer.add_interface(LinkType::ETHERNET, 0, "link").map_err(broken)?;
                Some((writer, port))
            }
            None => None,
        };
        let realtime = scenario.realtime.iter().map(|f| f.matches.as_ref());
        let best_effort = scenario.best_effort.iter().map(|c| c.matches.as_ref());
        let dscp = realtime.chain(best_effort).map(|m| m.and_then(|m| m.dscp).unwrap_or(0));
        Ok(Recorder {
            rows,
            capture,
            files,
            captured: None,
            names: scenario.flow_names().collect(),
            dscp: dscp.collect(),
            policy: String::new(),
            waiting: BTreeMap::new(),
            marked: BTreeSet::new(),
            failed: None,
        })
    }

    /// Starts the rows of a policy.
    pub fn begin(&mut self, policy: &str) {
        self.waiting.clear();
        self.marked.clear();
        policy.clone_into(&mut self.policy);
        if self.captured.is_none() {
            self.captured = Some(policy.to_owned());
        }
    }

    /// Ends the rows of a policy: waiting packets are rows too, unless the run was broken
    /// off and it might have been sent.
    pub fn end(&mut self, complete: bool) {
        let waiting = std::mem::take(&mut self.waiting);
        let rows = if complete { waiting } else { BTreeMap::new() };
        for packet in rows.values() {
            let row = Row {
                departure: None,
                deadline: None,
                outcome: Outcome::Dropped,
                reason: UNSERVED,
            };
            self.row(packet, &row);
        }
    }

    /// Completes the files.
    pub fn finish(self) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        if let Some(rows) = self.rows {
            rows.finish().map_err(|e| Failure::write("--packets", &e))?;
        }
        if let Some((capture, _)) = self.capture {
            capture.finish().map_err(|e| Failure::Internal(format!("--pcap-out: {e}")))?;
        }
        self.files.into_iter().try_for_each(Pending::complete)
    }

    fn row(&mut self, packet: &Packet, row: &Row) {
        let Some(rows) = &mut self.rows else { return };
        let row = PacketRow {
            policy: &self.policy,
            seq: packet.seq,
            flow: self.names[packet.flow.index()],
            bytes: Bytes(u64::from(packet.bytes)),
            arrival: packet.arrival,
            departure: row.departure,
            deadline: row.deadline,
            outcome: row.outcome,
            demoted: packet.demoted,
            reason: row.reason,
        };
        if let Err(e) = rows.write(&row) {
            self.failed.get_or_insert(Failure::write("--packets", &e));
            self.rows = None;
        }
    }

    fn frame(&mut self, departure: &Departure, end: Time) {
        let Some((writer, port)) = &mut self.capture else { return };
        if self.captured.as_deref() != Some(&self.policy) {
            return;
        }
        let packet = &departure.packet;
        let flow = packet.flow.index();
        let simulated = SimPacket {
            flow: packet.flow.0,
            bytes: packet.bytes,
            dscp: self.dscp[flow],
            sequence: packet.seq,
        };
        let written = simulated.frame().and_then(|frame| {
            let name = Some(self.names[flow]);
            writer.packet(*port, end.0, frame.original_len, frame.bytes(), name)
        });
        if let Err(e) = written {
            self.failed.get_or_insert(Failure::Internal(format!("--pcap-out: {e}")));
            self.capture = None;
        }
    }
}

struct Row {
    departure: Option<Time>,
    deadline: Option<Time>,
    outcome: Outcome,
    reason: &'static str,
}

impl Observer for Recorder<'_> {
    fn arrived(&mut self, packet: &Packet) {
        if self.rows.is_some() {
            self.waiting.insert(packet.seq, *packet);
        }
    }

    fn sent(&mut self, departure: &Departure, end: Time) {
        self.waiting.remove(&departure.packet.seq);
        let marked = self.marked.remove(&departure.packet.seq);
        let late = departure.realtime && end > departure.deadline;
        let row = Row {
            departure: Some(end),
            deadline: Some(departure.deadline).filter(|d| *d != Time::MAX),
            outcome: if late { Outcome::Late } else { Outcome::Sent },
            reason: match (departure.packet.demoted, marked) {
                (true, _) => DropReason::Excess.name(),
                (false, true) => MARKED,
                (false, false) => "",
            },
        };
        self.row(&departure.packet, &row);
        self.frame(departure, end);
    }

    fn marked(&mut self, _now: Time, packet: &Packet) {
        if self.rows.is_some() {
            self.marked.insert(packet.seq);
        }
    }

    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        self.waiting.remove(&packet.seq);
        self.marked.remove(&packet.seq);
        let row = Row {
            departure: None,
            deadline: None,
            outcome: Outcome::Dropped,
            reason: reason.name(),
        };
        self.row(packet, &row);
    }
}
