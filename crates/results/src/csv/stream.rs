//! The per-packet result of stream scenarios: the columns of links and three more.

use std::io::{self, Write};

use laxity_core::Time;

use super::{HEADER, PacketRow, PacketWriter};

/// Columns after those of links: the kind of `deadline_ns`, the begin of sending, and the
/// stream within its class, counted from 0.
pub const STREAM_COLUMNS: &str = ",deadline_kind,start_ns,stream";

/// One packet of a stream under one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPacketRow<'a> {
    /// As for links, but `flow` is the class and `deadline` the latest *start* of sending.
    pub packet: PacketRow<'a>,
    /// When sending began; absent when dropped.
    pub start: Option<Time>,
    /// The stream within its class.
    pub stream: u32,
}

/// Writes rows; allocates nothing for each of them.
#[derive(Debug)]
pub struct StreamPacketWriter<W: Write> {
    rows: PacketWriter<W>,
}

impl<W: Write> StreamPacketWriter<W> {
    /// A writer that begins with the header.
    pub fn new(to: W) -> StreamPacketWriter<W> {
        StreamPacketWriter { rows: PacketWriter::with_header(to, [HEADER, STREAM_COLUMNS]) }
    }

    /// Adds one row.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn write(&mut self, row: &StreamPacketRow<'_>) -> io::Result<()> {
        self.rows.fields(&row.packet);
        let out = &mut self.rows.buffer;
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(if row.packet.deadline.is_some() { b",start," } else { b",," });
        if let Some(start) = row.start {
            out.extend_from_slice(digits.format(start.0).as_bytes());
        }
        out.push(b',');
        out.extend_from_slice(digits.format(row.stream).as_bytes());
        self.rows.end_line()
    }

    /// Hands over the last rows and returns the destination, flushed.
    ///
    /// # Errors
    /// Errors of the destination.
    pub fn finish(self) -> io::Result<W> {
        self.rows.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::Outcome;
    use laxity_core::Bytes;

    // Fails when a column moves or is renamed, or when a stream without deadlines has a kind of
    // one.
    #[test]
    fn columns_match_the_contract() {
        let packet = PacketRow {
            policy: "dwcs",
            seq: 3,
            flow: "audio",
            bytes: Bytes(200),
            arrival: Time(10),
            departure: Some(Time(40)),
            deadline: Some(Time(20)),
            outcome: Outcome::Late,
            demoted: false,
            reason: "",
        };
        let mut writer = StreamPacketWriter::new(Vec::new());
        writer.write(&StreamPacketRow { packet, start: Some(Time(30)), stream: 7 }).unwrap();
        let packet = PacketRow {
            departure: None,
            deadline: None,
            outcome: Outcome::Dropped,
            reason: "queue full",
            ..packet
        };
        writer.write(&StreamPacketRow { packet, start: None, stream: 0 }).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        assert_eq!(
            text,
            "policy,seq,flow,bytes,arrival_ns,departure_ns,deadline_ns,outcome,demoted,reason,\
             deadline_kind,start_ns,stream\n\
             dwcs,3,audio,200,10,40,20,late,false,,start,30,7\n\
             dwcs,3,audio,200,10,,,dropped,false,queue full,,,0\n"
        );
    }
}
