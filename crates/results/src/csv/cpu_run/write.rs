//! Writes records of runs of CPUs, row by row.

use std::io::{self, Write};

use laxity_core::Time;

use super::super::cpu::number;
use super::super::{PacketWriter, text};
use super::{LiveRun, RunCharge, RunRow, VERSION_LINE};

/// Writes records; allocates nothing for each row.
#[derive(Debug)]
pub struct CpuRunWriter<W: Write> {
    rows: PacketWriter<W>,
}

impl<W: Write> CpuRunWriter<W> {
    /// A writer that begins with [`VERSION_LINE`].
    pub fn new(to: W) -> CpuRunWriter<W> {
        CpuRunWriter { rows: PacketWriter::with_header(to, [VERSION_LINE, ""]) }
    }

    /// Begins the run of a policy, given the cluster of each CPU, what is known of a live run, and the names of the
    /// tasks.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn begin(
        &mut self,
        policy: &str,
        clusters: &[u32],
        live: Option<LiveRun>,
        tasks: &[String],
    ) -> io::Result<()> {
        let out = &mut self.rows.buffer;
        out.extend_from_slice(b"policy,");
        text(out, policy);
        for cluster in clusters {
            column(out, u64::from(*cluster));
        }
        self.rows.end_line()?;
        if let Some(LiveRun { cpu, lost, wakeup_granularity }) = live {
            let out = &mut self.rows.buffer;
            out.extend_from_slice(b"live");
            [u64::from(cpu), lost, wakeup_granularity.0].iter().for_each(|n| column(out, *n));
            self.rows.end_line()?;
        }
        for (i, task) in tasks.iter().enumerate() {
            let out = &mut self.rows.buffer;
            out.extend_from_slice(b"task");
            column(out, i as u64);
            out.push(b',');
            text(out, task);
            self.rows.end_line()?;
        }
        Ok(())
    }

    /// Adds a row.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn write(&mut self, row: &RunRow) -> io::Result<()> {
        let out = &mut self.rows.buffer;
        match row {
            RunRow::Request(r) => {
                out.extend_from_slice(b"request");
                column(out, r.at.0);
                column(out, r.task.into());
                word(out, if r.hard { "hard" } else { "other" });
                [r.budget, r.period, r.deadline].iter().for_each(|span| column(out, span.0));
                optional(out, r.from);
            }
            RunRow::Reset(r) => {
                out.extend_from_slice(b"reset");
                column(out, r.at.0);
                column(out, r.call);
                column(out, r.cluster.into());
            }
            RunRow::Server(r) => {
                out.extend_from_slice(b"server");
                column(out, r.at.0);
                column(out, r.call);
                word(out, r.event.name());
                column(out, r.cluster.into());
                column(out, r.slot.into());
                word(out, r.state.name());
                word(out, r.kind.name());
                column(out, r.replenished);
                column(out, r.remaining.0);
                column(out, r.deadline.0);
                optional(out, r.release);
                column(out, r.from.0);
                for (until, share) in r.steps {
                    column(out, until.0);
                    column(out, share);
                }
                column(out, r.rest);
            }
            RunRow::Slice(r) => {
                out.extend_from_slice(b"slice");
                column(out, r.from.0);
                column(out, r.to.0);
                column(out, r.cpu.into());
                column(out, r.task.into());
                match r.charge {
                    RunCharge::Server(cluster, slot) => {
                        column(out, cluster.into());
                        out.push(b'.');
                        number(out, slot.into());
                    }
                    RunCharge::Unserved => word(out, "unserved"),
                    RunCharge::Background => word(out, "background"),
                }
            }
            RunRow::Job(r) => {
                out.extend_from_slice(b"job");
                column(out, r.task.into());
                column(out, r.release.0);
                optional(out, r.deadline);
                column(out, r.end.0);
                word(out, if r.ended { "ended" } else { "unfinished" });
            }
            RunRow::HigherClass(r) => {
                out.extend_from_slice(b"higher-class");
                column(out, r.from.0);
                column(out, r.until.0);
            }
        }
        self.rows.end_line()
    }

    /// Ends the run of a policy.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn end(&mut self, at: Time) -> io::Result<()> {
        let out = &mut self.rows.buffer;
        out.extend_from_slice(b"end");
        column(out, at.0);
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

fn column(out: &mut Vec<u8>, n: u64) {
    out.push(b',');
    number(out, n);
}

fn optional(out: &mut Vec<u8>, time: Option<Time>) {
    match time {
        Some(time) => column(out, time.0),
        None => out.push(b','),
    }
}

fn word(out: &mut Vec<u8>, word: &str) {
    out.push(b',');
    out.extend_from_slice(word.as_bytes());
}
