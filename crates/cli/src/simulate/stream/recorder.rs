//! A file with a line for each packet of a stream.

use std::fs::File;
use std::path::Path;

use laxity_core::{Bytes, Time};
use laxity_results::csv::{Outcome, PacketRow, StreamPacketRow, StreamPacketWriter};
use laxity_scenario::stream::StreamScenario;
use laxity_sim::stream::engine::{Loss, Sent};
use laxity_sim::stream::{StreamObserver, StreamPacket};

use crate::failure::Failure;
use crate::files::Pending;

/// Writes what happens to each packet, policy after policy.
pub struct Recorder<'a> {
    rows: Option<StreamPacketWriter<File>>,
    file: Pending,
    /// Name and first stream of each class.
    classes: Vec<(&'a str, u32)>,
    policy: String,
    failed: Option<Failure>,
}

impl<'a> Recorder<'a> {
    /// Creates the file.
    pub fn create(path: &Path, scenario: &'a StreamScenario) -> Result<Recorder<'a>, Failure> {
        let (to, file) = Pending::create(path)?;
        let mut first = 0;
        let classes = scenario.streams.iter().map(|class| {
            let begin = first;
            first += class.count;
            (class.name.as_str(), begin)
        });
        let classes = classes.collect();
        let rows = Some(StreamPacketWriter::new(to));
        Ok(Recorder { rows, file, classes, policy: String::new(), failed: None })
    }

    /// Starts the rows of a policy.
    pub fn begin(&mut self, policy: &str) {
        policy.clone_into(&mut self.policy);
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        if let Some(rows) = self.rows {
            rows.finish().map_err(|e| Failure::write("--packets", &e))?;
        }
        self.file.complete()
    }

    fn row(&mut self, packet: &StreamPacket, start: Option<Time>, result: Of) {
        let Some(rows) = &mut self.rows else { return };
        let (flow, first) = self.classes[packet.class as usize];
        let row = StreamPacketRow {
            packet: PacketRow {
                policy: &self.policy,
                seq: packet.seq,
                flow,
                bytes: Bytes(u64::from(packet.bytes)),
                arrival: packet.arrival,
                departure: result.departure,
                deadline: result.deadline,
                outcome: result.outcome,
                demoted: false,
                reason: result.reason,
            },
            start,
            stream: packet.stream - first,
        };
        if let Err(e) = rows.write(&row) {
            self.failed.get_or_insert(Failure::write("--packets", &e));
            self.rows = None;
        }
    }
}

struct Of {
    departure: Option<Time>,
    deadline: Option<Time>,
    outcome: Outcome,
    reason: &'static str,
}

impl StreamObserver for Recorder<'_> {
    fn sent(&mut self, packet: &StreamPacket, how: &Sent) {
        let outcome = if how.late { Outcome::Late } else { Outcome::Sent };
        let (departure, deadline) = (Some(how.end), how.deadline);
        self.row(packet, Some(how.start), Of { departure, deadline, outcome, reason: "" });
    }

    fn lost(&mut self, packet: &StreamPacket, deadline: Option<Time>, why: Loss) {
        let (outcome, reason) = (Outcome::Dropped, why.name());
        self.row(packet, None, Of { departure: None, deadline, outcome, reason });
    }
}
