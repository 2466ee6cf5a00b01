//! The per-packet result: one line of CSV for each packet and policy.
//!
//! ```
//! use laxity_core::{Bytes, Time};
//! use laxity_results::csv::{Outcome, PacketRow, PacketWriter};
//!
//! let mut writer = PacketWriter::new(Vec::new())?;
//! writer.write(&PacketRow {
//!     policy: "exact",
//!     seq: 0,
//!     flow: "voice",
//!     bytes: Bytes(100),
//!     arrival: Time(1_000),
//!     departure: Some(Time(81_000)),
//!     deadline: Some(Time(5_001_000)),
//!     outcome: Outcome::Sent,
//!     demoted: false,
//!     reason: "",
//! })?;
//! let text = String::from_utf8(writer.finish()?).unwrap();
//! assert_eq!(text.lines().nth(1), Some("exact,0,voice,100,1000,81000,5001000,sent,false,"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod cpu;
pub mod cpu_run;
mod read;
mod stream;

use std::io::{self, Write};

use laxity_core::{Bytes, Time};

pub use cpu::{JOB_HEADER, JobOutcome, JobRow, JobWriter, SLICE_HEADER, SliceRow, SliceWriter};
pub use read::{PacketRecord, RecordError, read_packets};
pub use stream::{STREAM_COLUMNS, StreamPacketRow, StreamPacketWriter};

/// The first line.
pub const HEADER: &str =
    "policy,seq,flow,bytes,arrival_ns,departure_ns,deadline_ns,outcome,demoted,reason";

/// When the writer hands over what it has gathered.
const FLUSH: usize = 64 * 1024;

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Sent, in time if it had a deadline.
    Sent,
    /// Sent after its deadline.
    Late,
    /// Not sent.
    Dropped,
}

impl Outcome {
    /// As it stands in the column `outcome`.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Sent => "sent",
            Outcome::Late => "late",
            Outcome::Dropped => "dropped",
        }
    }
}

/// One packet under one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRow<'a> {
    /// The policy.
    pub policy: &'a str,
    /// Index of the arrival over all flows.
    pub seq: u64,
    /// The flow's name.
    pub flow: &'a str,
    /// Its length, wire overhead not counted.
    pub bytes: Bytes,
    /// When it arrived.
    pub arrival: Time,
    /// When its transmission ended; absent when dropped.
    pub departure: Option<Time>,
    /// By when it was to end; absent where there is no deadline.
    pub deadline: Option<Time>,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether it was sent as best effort because it exceeded its envelope.
    pub demoted: bool,
    /// Why it was dropped or demoted, or that an AQM marked it; empty otherwise.
    pub reason: &'a str,
}

/// Writes rows; allocates nothing for each of them.
#[derive(Debug)]
pub struct PacketWriter<W: Write> {
    to: W,
    buffer: Vec<u8>,
}

impl<W: Write> PacketWriter<W> {
    /// A writer that begins with the header.
    ///
    /// # Errors
    /// None yet; the header waits with the first rows.
    pub fn new(to: W) -> io::Result<PacketWriter<W>> {
        Ok(PacketWriter::with_header(to, [HEADER, ""]))
    }

    /// A writer of other rows, or of rows that go on.
    fn with_header(to: W, header: [&str; 2]) -> PacketWriter<W> {
        let mut buffer = Vec::with_capacity(FLUSH + 4096);
        for part in [header[0], header[1], "\n"] {
            buffer.extend_from_slice(part.as_bytes());
        }
        PacketWriter { to, buffer }
    }

    /// Adds one row.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn write(&mut self, row: &PacketRow<'_>) -> io::Result<()> {
        self.fields(row);
        self.end_line()
    }

    fn fields(&mut self, row: &PacketRow<'_>) {
        let out = &mut self.buffer;
        let mut digits = itoa::Buffer::new();
        let mut number = |out: &mut Vec<u8>, n: u64| {
            out.extend_from_slice(digits.format(n).as_bytes());
            out.push(b',');
        };
        text(out, row.policy);
        out.push(b',');
        number(out, row.seq);
        text(out, row.flow);
        out.push(b',');
        number(out, row.bytes.0);
        number(out, row.arrival.0);
        for time in [row.departure, row.deadline] {
            match time {
                Some(time) => number(out, time.0),
                None => out.push(b','),
            }
        }
        out.extend_from_slice(row.outcome.name().as_bytes());
        out.extend_from_slice(if row.demoted { b",true," } else { b",false," });
        text(out, row.reason);
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        if self.buffer.len() >= FLUSH {
            self.to.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Hands over the last rows and returns the destination, flushed.
    ///
    /// # Errors
    /// Errors of the destination.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&self.buffer)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// A field of text, quoted where it has to be (RFC 4180).
fn text(out: &mut Vec<u8>, field: &str) {
    let special = |b: &u8| matches!(b, b',' | b'"' | b'\n' | b'\r');
    if !field.as_bytes().iter().any(special) {
        out.extend_from_slice(field.as_bytes());
        return;
    }
    out.push(b'"');
    for b in field.bytes() {
        if b == b'"' {
            out.push(b'"');
        }
        out.push(b);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(flow: &'a str, reason: &'a str) -> PacketRow<'a> {
        PacketRow {
            policy: "exact",
            seq: 7,
            flow,
            bytes: Bytes(1536),
            arrival: Time(u64::MAX),
            departure: None,
            deadline: None,
            outcome: Outcome::Dropped,
            demoted: true,
            reason,
        }
    }

    fn lines(rows: &[PacketRow<'_>]) -> String {
        let mut writer = PacketWriter::new(Vec::new()).unwrap();
        for row in rows {
            writer.write(row).unwrap();
        }
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    // Fails when a column moves or is renamed, or when an absent time becomes 0.
    #[test]
    fn columns_match_the_contract() {
        let late = PacketRow {
            departure: Some(Time(3)),
            deadline: Some(Time(2)),
            outcome: Outcome::Late,
            demoted: false,
            ..row("v", "")
        };
        assert_eq!(
            lines(&[row("ftp", "buffer full"), late]),
            "policy,seq,flow,bytes,arrival_ns,departure_ns,deadline_ns,outcome,demoted,reason\n\
             exact,7,ftp,1536,18446744073709551615,,,dropped,true,buffer full\n\
             exact,7,v,1536,18446744073709551615,3,2,late,false,\n"
        );
    }

    // Fails when quotes are not doubled or commas not quoted.
    #[test]
    fn names_are_quoted_where_needed() {
        let text = lines(&[row("a,\"b\"", "x\ny")]);
        let line = text.split_once('\n').unwrap().1;
        assert_eq!(
            line,
            "exact,7,\"a,\"\"b\"\"\",1536,18446744073709551615,,,dropped,true,\"x\ny\"\n"
        );
    }

    // Fails when rows beyond the first buffer are lost.
    #[test]
    fn long_results_are_written_completely() {
        let rows = vec![row("ftp", ""); 5_000];
        let text = lines(&rows);
        assert_eq!(text.lines().count(), 5_001);
        assert!(text.len() > 2 * FLUSH);
    }
}
