//! A schedule as trace events: JSON that Perfetto (ui.perfetto.dev), speedscope and
//! chrome://tracing open.
//!
//! The format is the "Trace Event Format" of Chromium's trace viewer, JSON object form. Times are
//! microseconds; decimals keep the nanoseconds. Each policy is two processes: its CPUs, with a
//! beginning and an end (`B`, `E`) for each slice, and its tasks, with the same while they run or
//! wait and thread-scoped instants (`i`) for releases, deadlines and misses. Metadata events (`M`)
//! name and sort them.
//!
//! Beginnings and ends rather than complete events (`X`): viewers that compute with floating point
//! would find the end of a slice, begin plus duration, a little after the beginning of the next one,
//! and draw the one inside the other.

use std::io::{self, Write};

use laxity_core::Time;
use laxity_sim::cpu::Job;

use super::schedule::Schedule;

/// Writes the events of one policy after the other.
pub struct TraceEvents<W: Write> {
    to: W,
    begun: bool,
    /// Policies so far.
    policies: u32,
}

/// What an event belongs to.
#[derive(Clone, Copy)]
struct Track {
    pid: u32,
    tid: u32,
}

impl<W: Write> TraceEvents<W> {
    /// Begins the file.
    pub fn new(mut to: W) -> io::Result<TraceEvents<W>> {
        to.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        Ok(TraceEvents { to, begun: false, policies: 0 })
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
        self.process(cpu, &format!("{policy}: CPUs"))?;
        for tid in 0..cpus {
            self.thread(Track { pid: cpu, tid }, &format!("CPU {tid}"))?;
        }
        self.process(task, &format!("{policy}: tasks"))?;
        for (tid, name) in (0..).zip(tasks) {
            self.thread(Track { pid: task, tid }, name)?;
        }
        let of = |id: laxity_cpu::TaskId| Track { pid: task, tid: id.0 };
        let mut of_tasks = Vec::with_capacity(schedule.slices().len() + schedule.waits.len());
        for slice in schedule.slices() {
            let name = tasks.get(slice.task.index()).map_or("", String::as_str);
            let on = Track { pid: cpu, tid: slice.cpu.0 };
            self.span(name, on, slice.from, slice.to)?;
            of_tasks.push((slice.task.0, slice.from, slice.to, "running"));
        }
        of_tasks.extend(schedule.waits.iter().map(|w| (w.task.0, w.from, w.to, "waiting")));
        // At one instant a viewer takes events as the file has them: ends before beginnings.
        of_tasks.sort_unstable();
        for (tid, from, to, what) in of_tasks {
            self.span(what, Track { pid: task, tid }, from, to)?;
        }
        for (id, job) in schedule.jobs().iter().chain(&schedule.unfinished) {
            self.job(of(*id), job)?;
        }
        for (id, at, refusal) in &schedule.refusals {
            let why = serde_json::to_string(&refusal.to_string())?;
            self.instant("refused", of(*id), *at, &format!("\"why\":{why}"))?;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(b"\n]}\n")?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn job(&mut self, track: Track, job: &Job) -> io::Result<()> {
        self.instant("release", track, job.release, "")?;
        let Some(deadline) = job.deadline else { return Ok(()) };
        let late = job.end > deadline;
        if !late {
            return self.instant("deadline", track, deadline, "");
        }
        let by = format!("\"late_us\":{}", micros(job.tardiness().0));
        self.instant("deadline missed", track, deadline, &by)
    }

    fn event(&mut self, fields: std::fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.begun, true) { "," } else { "" };
        write!(self.to, "{comma}\n{{{fields}}}")
    }

    fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        let quoted = serde_json::to_string(name)?;
        let meta = |what: &str, key: &str, value: &str| {
            format!("\"ph\":\"M\",\"pid\":{pid},\"name\":\"{what}\",\"args\":{{\"{key}\":{value}}}")
        };
        self.event(format_args!("{}", meta("process_name", "name", &quoted)))?;
        self.event(format_args!("{}", meta("process_sort_index", "sort_index", &pid.to_string())))
    }

    fn thread(&mut self, Track { pid, tid }: Track, name: &str) -> io::Result<()> {
        let quoted = serde_json::to_string(name)?;
        let meta = |what: &str, key: &str, value: &str| {
            format!(
                "\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{what}\",\
                 \"args\":{{\"{key}\":{value}}}"
            )
        };
        self.event(format_args!("{}", meta("thread_name", "name", &quoted)))?;
        self.event(format_args!("{}", meta("thread_sort_index", "sort_index", &tid.to_string())))
    }

    fn span(&mut self, name: &str, track: Track, from: Time, to: Time) -> io::Result<()> {
        let Track { pid, tid } = track;
        let name = serde_json::to_string(name)?;
        [("B", from), ("E", to)].into_iter().try_for_each(|(phase, at)| {
            let ts = micros(at.0);
            self.event(format_args!(
                "\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"name\":{name}"
            ))
        })
    }

    fn instant(&mut self, name: &str, track: Track, at: Time, args: &str) -> io::Result<()> {
        let Track { pid, tid } = track;
        let ts = micros(at.0);
        let args = if args.is_empty() { String::new() } else { format!(",\"args\":{{{args}}}") };
        self.event(format_args!(
            "\"ph\":\"i\",\"s\":\"t\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"name\":\"{name}\"{args}"
        ))
    }
}

/// Nanoseconds as microseconds with as many decimals as they need.
fn micros(ns: u64) -> String {
    let (whole, part) = (ns / 1000, ns % 1000);
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:03}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::micros;

    // Fails when nanoseconds are lost or turn into other decimals.
    #[test]
    fn nanoseconds_are_kept() {
        assert_eq!(["0", "0.001", "1", "1.05", "2.5"], [0, 1, 1000, 1050, 2500].map(micros)[..]);
        assert_eq!(micros(u64::MAX), "18446744073709551.615");
    }
}
