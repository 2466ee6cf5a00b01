//! The files that a simulation of CPUs writes beside its result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use laxity_results::csv::{JobOutcome, JobRow, JobWriter, SliceRow, SliceWriter};

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
        let jobs = args.jobs.as_deref().map(create).transpose()?.map(JobWriter::new);
        Ok(Files { slices, jobs, events, pending })
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
        self.pending.into_iter().try_for_each(Pending::complete)
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
