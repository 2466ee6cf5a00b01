//! The files that a simulation of CPUs writes beside its result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use laxity_analysis::cpu::cluster_of_each_cpu;
use laxity_core::Time;
use laxity_results::csv::cpu_run::{CpuRunWriter, RunRow};
use laxity_results::csv::{JobOutcome, JobRow, JobWriter, SliceRow, SliceWriter};
use laxity_scenario::cpu::CpuScenario;

use super::schedule::Schedule;
use super::trace_events::ScheduleEvents;
use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::files::Pending;

/// Slices, jobs and trace events, as far as they are wanted.
#[derive(Default)]
pub struct Files {
    slices: Option<SliceWriter<File>>,
    jobs: Option<JobWriter<File>>,
    record: Option<CpuRunWriter<File>>,
    events: Option<ScheduleEvents<BufWriter<File>>>,
    pending: Vec<Pending>,
}

impl Files {
    /// Creates the requested ones.
    pub fn create(args: &SimulateArgs) -> Result<Files, Failure> {
        let mut pending = Vec::new();
        let mut create = |path: &Path| {
            let (file, complete) = Pending::create(path)?;
            pending.push(complete);
            Ok::<_, Failure>(file)
        };
        let events = args.trace_out.as_deref().map(|path| {
            let file = BufWriter::new(create(path)?);
            ScheduleEvents::new(file).map_err(|e| Failure::write("--trace-out", &e))
        });
        let events = events.transpose()?;
        let slices = args.slices.as_deref().map(&mut create).transpose()?.map(SliceWriter::new);
        let jobs = args.jobs.as_deref().map(&mut create).transpose()?.map(JobWriter::new);
        let record = args.record.as_deref().map(create).transpose()?.map(CpuRunWriter::new);
        Ok(Files { slices, jobs, record, events, pending })
    }

    /// Begins the record of a policy's run, if one is wanted.
    pub fn record(
        &mut self,
        scenario: &CpuScenario,
        policy: &str,
        tasks: &[String],
    ) -> Result<Option<Record<'_>>, Failure> {
        let Some(writer) = &mut self.record else { return Ok(None) };
        let clusters = cluster_of_each_cpu(scenario);
        writer.begin(policy, &clusters, None, tasks).map_err(|e| Failure::write("--record", &e))?;
        Ok(Some(Record { writer, error: None }))
    }

    /// Adds the run of one policy.
    pub fn add(
        &mut self,
        policy: &str,
        cpus: u32,
        tasks: &[String],
        schedule: &Schedule,
    ) -> Result<(), Failure> {
        if let Some(events) = &mut self.events {
            let done = events.add(policy, cpus, tasks, schedule);
            done.map_err(|e| Failure::write("--trace-out", &e))?;
        }
        if let Some(rows) = &mut self.slices {
            slices(rows, policy, tasks, schedule).map_err(|e| Failure::write("--slices", &e))?;
        }
        if let Some(rows) = &mut self.jobs {
            jobs(rows, policy, tasks, schedule).map_err(|e| Failure::write("--jobs", &e))?;
        }
        Ok(())
    }

    /// Completes them.
    pub fn finish(self) -> Result<(), Failure> {
        if let Some(events) = self.events {
            events.finish().map_err(|e| Failure::write("--trace-out", &e))?;
        }
        if let Some(rows) = self.slices {
            rows.finish().map_err(|e| Failure::write("--slices", &e))?;
        }
        if let Some(rows) = self.jobs {
            rows.finish().map_err(|e| Failure::write("--jobs", &e))?;
        }
        if let Some(rows) = self.record {
            rows.finish().map_err(|e| Failure::write("--record", &e))?;
        }
        self.pending.into_iter().try_for_each(Pending::complete)
    }
}

/// The record of one run.
pub struct Record<'a> {
    writer: &'a mut CpuRunWriter<File>,
    /// The first error, after which nothing is written.
    error: Option<std::io::Error>,
}

impl Record<'_> {
    /// Adds a row.
    pub fn write(&mut self, row: &RunRow) {
        if self.error.is_none() {
            self.error = self.writer.write(row).err();
        }
    }

    /// Ends it.
    pub fn end(self, at: Time) -> Result<(), Failure> {
        let done = self.error.map_or(Ok(()), Err).and_then(|()| self.writer.end(at));
        done.map_err(|e| Failure::write("--record", &e))
    }
}

fn slices<W: Write>(
    rows: &mut SliceWriter<W>,
    policy: &str,
    tasks: &[String],
    schedule: &Schedule,
) -> std::io::Result<()> {
    for slice in schedule.slices() {
        let task = tasks.get(slice.task.index()).map_or("", String::as_str);
        rows.write(&SliceRow { policy, cpu: slice.cpu.0, task, from: slice.from, to: slice.to })?;
    }
    Ok(())
}

fn jobs<W: Write>(
    rows: &mut JobWriter<W>,
    policy: &str,
    tasks: &[String],
    schedule: &Schedule,
) -> std::io::Result<()> {
    let ended = schedule.jobs().iter().map(|job| (job, false));
    let unfinished = schedule.unfinished.iter().map(|job| (job, true));
    for ((id, job), unfinished) in ended.chain(unfinished) {
        let task = tasks.get(id.index()).map_or("", String::as_str);
        let late = job.deadline.is_some_and(|deadline| job.end > deadline);
        let outcome = match (unfinished, late) {
            (true, _) => JobOutcome::Unfinished,
            (false, true) => JobOutcome::Late,
            (false, false) => JobOutcome::Ended,
        };
        let (release, deadline, end) = (job.release, job.deadline, job.end);
        rows.write(&JobRow { policy, task, release, deadline, end, outcome })?;
    }
    Ok(())
}
