//! The schedule of a CPU scenario: a line for each slice, a line for each job.

use std::io::{self, Write};

use laxity_core::{Span, Time};

use super::{PacketWriter, text};

/// The first line of slices.
pub const SLICE_HEADER: &str = "policy,cpu,task,from_ns,to_ns";
/// The first line of jobs.
pub const JOB_HEADER: &str =
    "policy,task,release_ns,deadline_ns,end_ns,response_ns,tardiness_ns,outcome";

/// A task on a CPU without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceRow<'a> {
    /// The policy.
    pub policy: &'a str,
    /// The CPU, from 0.
    pub cpu: u32,
    /// The task's name.
    pub task: &'a str,
    /// When it got the CPU.
    pub from: Time,
    /// When it lost it.
    pub to: Time,
}

/// The outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// Ended, in time if it had a deadline.
    Ended,
    /// Ended after its deadline.
    Late,
    /// Had not ended when the run ended or its task left.
    Unfinished,
}

impl JobOutcome {
    /// As it stands in the column `outcome`.
    pub const fn name(self) -> &'static str {
        match self {
            JobOutcome::Ended => "ended",
            JobOutcome::Late => "late",
            JobOutcome::Unfinished => "unfinished",
        }
    }
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRow<'a> {
    /// The policy.
    pub policy: &'a str,
    /// The task's name.
    pub task: &'a str,
    /// When it could start.
    pub release: Time,
    /// When it was due; absent where there is no deadline.
    pub deadline: Option<Time>,
    /// When it ended; of one that had not, the end of the run or of its task.
    pub end: Time,
    /// Its outcome.
    pub outcome: JobOutcome,
}

/// Writes slices; allocates nothing for each of them.
#[derive(Debug)]
pub struct SliceWriter<W: Write> {
    rows: PacketWriter<W>,
}

/// Writes jobs; allocates nothing for each of them.
#[derive(Debug)]
pub struct JobWriter<W: Write> {
    rows: PacketWriter<W>,
}

pub(super) fn number(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

fn field(out: &mut Vec<u8>, name: &str) {
    text(out, name);
    out.push(b',');
}

impl<W: Write> SliceWriter<W> {
    /// A writer that begins with the header.
    pub fn new(to: W) -> SliceWriter<W> {
        SliceWriter { rows: PacketWriter::with_header(to, [SLICE_HEADER, ""]) }
    }

    /// Adds one row.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn write(&mut self, row: &SliceRow<'_>) -> io::Result<()> {
        let out = &mut self.rows.buffer;
        field(out, row.policy);
        number(out, row.cpu.into());
        out.push(b',');
        field(out, row.task);
        number(out, row.from.0);
        out.push(b',');
        number(out, row.to.0);
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

impl<W: Write> JobWriter<W> {
    /// A writer that begins with the header.
    pub fn new(to: W) -> JobWriter<W> {
        JobWriter { rows: PacketWriter::with_header(to, [JOB_HEADER, ""]) }
    }

    /// Adds one row. Without an end there is no response time, and tardiness is what it was by
    /// then.
    ///
    /// # Errors
    /// An error of the destination, when buffered rows are written to it.
    pub fn write(&mut self, row: &JobRow<'_>) -> io::Result<()> {
        let unfinished = row.outcome == JobOutcome::Unfinished;
        let tardiness = row.deadline.map(|deadline| row.end.since(deadline));
        let response = (!unfinished).then(|| row.end.since(row.release));
        let end = (!unfinished).then_some(Span(row.end.0));
        let deadline = row.deadline.map(|deadline| Span(deadline.0));
        let out = &mut self.rows.buffer;
        field(out, row.policy);
        field(out, row.task);
        for time in [Some(Span(row.release.0)), deadline, end, response, tardiness] {
            if let Some(time) = time {
                number(out, time.0);
            }
            out.push(b',');
        }
        out.extend_from_slice(row.outcome.name().as_bytes());
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

    // Fails when a column moves or is renamed, or when a job that never ended has a response time.
    #[test]
    fn columns_match_the_contract() {
        let mut slices = SliceWriter::new(Vec::new());
        let slice =
            SliceRow { policy: "bebs", cpu: 1, task: "a,b", from: Time(5), to: Time(u64::MAX) };
        slices.write(&slice).unwrap();
        let text = String::from_utf8(slices.finish().unwrap()).unwrap();
        assert_eq!(text, "policy,cpu,task,from_ns,to_ns\nbebs,1,\"a,b\",5,18446744073709551615\n");

        let mut jobs = JobWriter::new(Vec::new());
        let job = JobRow {
            policy: "bebs",
            task: "video",
            release: Time(10),
            deadline: Some(Time(50)),
            end: Time(70),
            outcome: JobOutcome::Late,
        };
        jobs.write(&job).unwrap();
        jobs.write(&JobRow { deadline: None, outcome: JobOutcome::Ended, ..job }).unwrap();
        jobs.write(&JobRow { outcome: JobOutcome::Unfinished, ..job }).unwrap();
        let text = String::from_utf8(jobs.finish().unwrap()).unwrap();
        assert_eq!(
            text,
            "policy,task,release_ns,deadline_ns,end_ns,response_ns,tardiness_ns,outcome\n\
             bebs,video,10,50,70,60,20,late\n\
             bebs,video,10,,70,60,,ended\n\
             bebs,video,10,50,,,20,unfinished\n"
        );
    }
}
