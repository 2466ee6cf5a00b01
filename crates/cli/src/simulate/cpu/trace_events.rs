//! The schedule of a simulation as trace events.
//!
//! Each policy is two processes: its CPUs, with a beginning and an end (`B`, `E`) for each slice, and
//! its tasks, with the same while they run or wait and thread-scoped instants (`i`) for releases,
//! deadlines and misses.

use std::io::{self, Write};

use laxity_sim::cpu::Job;

use super::schedule::Schedule;
use crate::trace_events::{TraceEvents, Track, micros};

/// Writes the schedule of one policy after the other.
pub struct ScheduleEvents<W: Write> {
    events: TraceEvents<W>,
    /// Policies so far.
    policies: u32,
}

impl<W: Write> ScheduleEvents<W> {
    /// Begins the file.
    pub fn new(to: W) -> io::Result<ScheduleEvents<W>> {
        Ok(ScheduleEvents { events: TraceEvents::new(to)?, policies: 0 })
    }

    /// Ends the file.
    pub fn finish(self) -> io::Result<W> {
        self.events.finish()
    }

    /// Adds the run of one policy.
    pub fn add(
        &mut self,
        policy: &str,
        cpus: u32,
        tasks: &[String],
        schedule: &Schedule,
    ) -> io::Result<()> {
        let (cpu, task) = (2 * self.policies + 1, 2 * self.policies + 2);
        self.policies += 1;
        let events = &mut self.events;
        events.process(cpu, &format!("{policy}: CPUs"))?;
        for tid in 0..cpus {
            events.thread(Track { pid: cpu, tid }, &format!("CPU {tid}"))?;
        }
        events.process(task, &format!("{policy}: tasks"))?;
        for (tid, name) in (0..).zip(tasks) {
            events.thread(Track { pid: task, tid }, name)?;
        }
        let of = |id: laxity_cpu::TaskId| Track { pid: task, tid: id.0 };
        let mut of_tasks = Vec::with_capacity(schedule.slices().len() + schedule.waits.len());
        for slice in schedule.slices() {
            let name = tasks.get(slice.task.index()).map_or("", String::as_str);
            let on = Track { pid: cpu, tid: slice.cpu.0 };
            events.span(name, on, slice.from, slice.to)?;
            of_tasks.push((slice.task.0, slice.from, slice.to, "running"));
        }
        of_tasks.extend(schedule.waits.iter().map(|w| (w.task.0, w.from, w.to, "waiting")));
        // Viewers keep the file's order of events at one instant: ends before beginnings.
        of_tasks.sort_unstable();
        for (tid, from, to, what) in of_tasks {
            events.span(what, Track { pid: task, tid }, from, to)?;
        }
        for (id, job) in schedule.jobs().iter().chain(&schedule.unfinished) {
            write_job(events, of(*id), job)?;
        }
        for (id, at, refusal) in &schedule.refusals {
            let why = serde_json::to_string(&refusal.to_string())?;
            events.instant("refused", of(*id), *at, &format!("\"why\":{why}"))?;
        }
        Ok(())
    }
}

fn write_job<W: Write>(events: &mut TraceEvents<W>, track: Track, job: &Job) -> io::Result<()> {
    events.instant("release", track, job.release, "")?;
    let Some(deadline) = job.deadline else { return Ok(()) };
    let late = job.end > deadline;
    if !late {
        return events.instant("deadline", track, deadline, "");
    }
    let by = format!("\"lateness_us\":{}", micros(job.tardiness().0));
    events.instant("deadline missed", track, deadline, &by)
}
