//! `laxity cpu record`: scheduling events of live CPUs as trace events.
//!
//! The trace has two processes: CPUs, with a slice for each run of a task and the state of its server; and
//! tasks, which run or wait, with instants for met and missed deadlines of reservations.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::Duration;

use laxity_core::{Span, Time};
use laxity_kernel::cpu::record::{Event, EventKind};

use super::args::RecordArgs;
use super::backend::Recorder;
use crate::failure::{Failure, INTERRUPTED};
use crate::files::Pending;
use crate::live::link;
use crate::trace_events::{TraceEvents, Track, micros};
use crate::{interrupt, warning};

const CPUS: u32 = 1;
const TASKS: u32 = 2;
/// The longest recording. 40,000 switches a second write 10 MB a second.
const MAX_DURATION: Duration = Duration::from_secs(600);

/// The duration of a recording.
pub fn duration(text: &str) -> Result<Duration, Failure> {
    let duration = link::duration("--duration", text)?;
    match duration > MAX_DURATION {
        true => Err(Failure::Input(format!("--duration {text}: give at most 10 minutes"))),
        false => Ok(duration),
    }
}

/// Runs the command.
pub fn run(args: &RecordArgs) -> Result<ExitCode, Failure> {
    let duration = duration(&args.duration)?;
    let recorder = Recorder::open()?;
    let named = |error: &io::Error| Failure::write(&args.file.display().to_string(), error);
    let (file, pending) = Pending::create(&args.file)?;
    // The events have PIDs of the initial namespace.
    let names = if super::in_initial_pid_namespace() { super::task_name } else { |_| None };
    let mut trace = TraceWriter::new(BufWriter::new(file), names).map_err(|e| named(&e))?;
    let mut failed = None;
    let interrupted = interrupt::control();
    let lost = recorder.record(
        Some(duration),
        || !interrupted.stopped(),
        |event| {
            if failed.is_none() {
                failed = trace.write(&event).err();
            }
        },
    )?;
    if let Some(error) = failed {
        return Err(named(&error));
    }
    let slices = trace.slices;
    trace.finish().map_err(|e| named(&e))?;
    pending.complete()?;
    if lost > 0 {
        warning::say(format!("{lost} events were lost: slices are missing or too long"));
    }
    let place = args.file.display();
    warning::say(format!("{slices} slices in {place}; ui.perfetto.dev shows them"));
    // The file is complete even if the scheduler has ended.
    recorder.check()?;
    Ok(if interrupted.stopped() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// The state of a task.
#[derive(Default)]
struct Task {
    tid: u32,
    name: String,
    /// Deadline of its server at its last dispatch.
    remaining_budget: Span,
    deadline: Time,
    /// Of its reservation: the deadline of its last job, and the end of the job's last run.
    job: Option<(Time, Time)>,
    state: RunState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RunState {
    #[default]
    Sleeping,
    Waiting,
    Running {
        reserved: bool,
    },
}

impl RunState {
    fn label(self) -> Option<&'static str> {
        match self {
            RunState::Sleeping => None,
            RunState::Waiting => Some("waiting"),
            RunState::Running { .. } => Some("running"),
        }
    }
}

/// Writes events of the scheduler as trace events.
struct TraceWriter<W: Write, N: Fn(u32) -> Option<String>> {
    events: TraceEvents<W>,
    name: N,
    tasks: HashMap<u32, Task>,
    /// The running task of each CPU.
    running: BTreeMap<u32, Option<u32>>,
    /// CPUs whose last decision was for no task.
    chose_none: BTreeSet<u32>,
    last: Time,
    slices: u64,
}

impl<W: Write, N: Fn(u32) -> Option<String>> TraceWriter<W, N> {
    fn new(to: W, name: N) -> io::Result<TraceWriter<W, N>> {
        let mut events = TraceEvents::new(to)?;
        events.process(CPUS, "CPUs")?;
        events.process(TASKS, "tasks")?;
        Ok(TraceWriter {
            events,
            name,
            tasks: HashMap::new(),
            running: BTreeMap::new(),
            chose_none: BTreeSet::new(),
            last: Time::ZERO,
            slices: 0,
        })
    }

    /// A task; its name is read at its first event.
    fn task(&mut self, pid: u32) -> &mut Task {
        let tid = self.tasks.len() as u32;
        let name = &self.name;
        self.tasks.entry(pid).or_insert_with(|| {
            let name = name(pid).unwrap_or_else(|| format!("task {pid}"));
            Task { tid, name, ..Task::default() }
        })
    }

    /// Changes the state of a task.
    fn set_state(&mut self, at: Time, pid: u32, state: RunState) -> io::Result<()> {
        let task = self.task(pid);
        let track = Track { pid: TASKS, tid: task.tid };
        let before = std::mem::replace(&mut task.state, state);
        if before == state {
            return Ok(());
        }
        if let Some(label) = before.label() {
            self.events.end(label, track, at)?;
        }
        state.label().map_or(Ok(()), |label| self.events.begin(label, track, at, ""))
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.last = self.last.max(event.at);
        let (at, cpu, pid) = (event.at, event.cpu, event.pid);
        if matches!(event.kind, EventKind::Chosen { .. }) {
            match event.slot {
                None => self.chose_none.insert(cpu),
                Some(_) => self.chose_none.remove(&cpu),
            };
        }
        if event.slot.is_none() {
            return Ok(());
        }
        match event.kind {
            EventKind::Woke { .. } if self.task(pid).state == RunState::Sleeping => {
                self.set_state(at, pid, RunState::Waiting)
            }
            EventKind::Chosen { left, deadline, .. } => {
                let task = self.task(pid);
                (task.remaining_budget, task.deadline) = (left, deadline);
                Ok(())
            }
            EventKind::Started { reserved, budget, period } => {
                self.stop(at, cpu, RunState::Waiting)?;
                self.start(at, cpu, pid, reserved, (budget, period))
            }
            // The kernel reports that a task sleeps before it reports that it stops.
            EventKind::Blocked if self.running.get(&cpu) == Some(&Some(pid)) => {
                self.stop(at, cpu, RunState::Sleeping)
            }
            EventKind::Blocked | EventKind::Left => self.set_state(at, pid, RunState::Sleeping),
            EventKind::Stopped => self.stop(at, cpu, RunState::Waiting),
            _ => Ok(()),
        }
    }

    fn start(
        &mut self,
        at: Time,
        cpu: u32,
        pid: u32,
        reserved: bool,
        (budget, period): (Span, Span),
    ) -> io::Result<()> {
        self.set_state(at, pid, RunState::Running { reserved })?;
        let chose_none = self.chose_none.contains(&cpu);
        let task = self.task(pid);
        // Beside a higher scheduling class a reservation goes on without budget.
        if reserved && chose_none {
            task.remaining_budget = Span::ZERO;
        }
        let name = task.name.clone();
        let args = format!(
            "\"pid\":{pid},\"reserved\":{reserved},\"budget_us\":{},\"period_us\":{},\
             \"remaining_budget_us\":{},\"deadline_us\":{}",
            micros(budget.0),
            micros(period.0),
            micros(task.remaining_budget.0),
            micros(task.deadline.0)
        );
        self.running.insert(cpu, Some(pid));
        self.slices += 1;
        self.events.begin(&name, Track { pid: CPUS, tid: cpu }, at, &args)
    }

    /// Ends the slice of the running task of a CPU.
    fn stop(&mut self, at: Time, cpu: u32, state: RunState) -> io::Result<()> {
        let Some(pid) = self.running.get_mut(&cpu).and_then(Option::take) else {
            return Ok(());
        };
        let task = self.task(pid);
        let (name, track) = (task.name.clone(), Track { pid: TASKS, tid: task.tid });
        let mut before = None;
        if task.state == (RunState::Running { reserved: true }) {
            before = task.job.replace((task.deadline, at)).filter(|job| job.0 != task.deadline);
        }
        self.events.end(&name, Track { pid: CPUS, tid: cpu }, at)?;
        self.set_state(at, pid, state)?;
        self.write_deadline(track, before)
    }

    /// Writes the deadline of an ended job. A task may execute a job in several runs; the end of the last
    /// one counts.
    fn write_deadline(&mut self, track: Track, job: Option<(Time, Time)>) -> io::Result<()> {
        match job {
            Some((deadline, end)) if end > deadline => {
                let lateness = format!("\"lateness_us\":{}", micros(end.since(deadline).0));
                self.events.instant("deadline missed", track, deadline, &lateness)
            }
            Some((deadline, _)) => self.events.instant("deadline", track, deadline, ""),
            None => Ok(()),
        }
    }

    /// Ends open slices and names the tracks.
    fn finish(mut self) -> io::Result<W> {
        let last = self.last;
        let cpus: Vec<u32> = self.running.keys().copied().collect();
        for cpu in cpus {
            self.stop(last, cpu, RunState::Sleeping)?;
            self.events.thread(Track { pid: CPUS, tid: cpu }, &format!("CPU {cpu}"))?;
        }
        let mut tasks: Vec<u32> = self.tasks.keys().copied().collect();
        tasks.sort_unstable();
        for pid in tasks {
            self.set_state(last, pid, RunState::Sleeping)?;
            let task = self.task(pid);
            let (track, name) = (Track { pid: TASKS, tid: task.tid }, task.name.clone());
            let last_job = task.job;
            self.write_deadline(track, last_job)?;
            self.events.thread(track, &format!("{name} ({pid})"))?;
        }
        self.events.finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A CPU-bound task is preempted by a reserved one, whose second job has two runs and ends late.
    const EVENTS: &str = "\
        0 0 0 1 10 20 0\n5 0 0 1 10 0 0\n9 0 0 1 10 5000000 50000000\n10 0 0 1 10 5000000 50000000\n\
        5 1000000 0 2 20 0 0\n9 1000000 0 2 20 2000000 5000000\n7 1000000 0 1 10 1000000 0\n\
        12 1000000 0 1 10 0 0\n11 1000000 0 2 20 2000000 4000000\n6 3000000 0 2 20 0 0\n\
        12 3000000 0 2 20 0 0\n10 3000500 0 1 10 5000000 50000000\n5 5000000 0 2 20 0 0\n\
        9 5000000 0 2 20 2000000 9000000\n12 8000000 0 1 10 0 0\n\
        11 8000000 0 2 20 2000000 4000000\n12 8500000 0 2 20 0 0\n\
        11 9000000 0 2 20 1500000 4000000\n6 9500000 0 2 20 0 0\n3 9500000 0 2 20 0 0\n\
        9 9500000 0 4294967295 0 0 0\n";

    fn trace(lines: &str) -> Vec<Value> {
        let named = |pid| (pid == 20).then(|| "player \"one\"".to_owned());
        let mut trace = TraceWriter::new(Vec::new(), named).expect("memory");
        for line in lines.lines() {
            trace.write(&Event::parse(line).expect("an event")).expect("memory");
        }
        let json = trace.finish().expect("memory");
        let all: Value = serde_json::from_slice(&json).expect("JSON");
        all["traceEvents"].as_array().expect("events").clone()
    }

    /// Fails when a slice does not end, a running or sleeping task is shown as waiting, or a deadline is
    /// compared with the end of another job, or of the first run of its job (as it was).
    #[test]
    fn slices_waits_and_deadlines_are_written() {
        let events = trace(EVENTS);
        let of = |pid: u32, tid: u32| {
            let mut lines = Vec::new();
            for e in &events {
                if e["pid"] == pid && e["tid"] == tid && e["ph"] != "M" {
                    let (phase, name) = (e["ph"].as_str(), e["name"].as_str());
                    let phase = phase.expect("a phase");
                    lines.push(format!("{phase} {} {}", e["ts"], name.expect("a name")));
                }
            }
            lines
        };
        assert_eq!(
            of(CPUS, 0),
            [
                "B 0 task 10",
                "E 1000 task 10",
                "B 1000 player \"one\"",
                "E 3000 player \"one\"",
                "B 3000.5 task 10",
                "E 8000 task 10",
                "B 8000 player \"one\"",
                "E 8500 player \"one\"",
                "B 9000 player \"one\"",
                "E 9500 player \"one\"",
            ]
        );
        assert_eq!(
            of(TASKS, 0),
            [
                "B 0 waiting",
                "E 0 waiting",
                "B 0 running",
                "E 1000 running",
                "B 1000 waiting",
                "E 3000.5 waiting",
                "B 3000.5 running",
                "E 8000 running",
                "B 8000 waiting",
                "E 9500 waiting",
            ]
        );
        assert_eq!(
            of(TASKS, 1),
            [
                "B 1000 waiting",
                "E 1000 waiting",
                "B 1000 running",
                "E 3000 running",
                "B 5000 waiting",
                "E 8000 waiting",
                "B 8000 running",
                "E 8500 running",
                "B 8500 waiting",
                "i 5000 deadline",
                "E 9000 waiting",
                "B 9000 running",
                "E 9500 running",
                "i 9000 deadline missed",
            ]
        );
        let late = events.iter().find(|e| e["name"] == "deadline missed").expect("one");
        assert_eq!(late["args"]["lateness_us"], 500);
        let named = events.iter().filter(|e| e["name"] == "thread_name");
        let names: Vec<_> = named.map(|e| e["args"]["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["CPU 0", "task 10 (10)", "player \"one\" (20)"]);
    }
    /// A reserved task is preempted by a higher scheduling class, which wakes when the task's budget has ended, and
    /// goes on without budget.
    ///
    /// Fails when such a slice has the budget of the decision before.
    #[test]
    fn slices_without_budget_have_none() {
        let events = trace(
            "0 0 0 2 20 20 0\n5 0 0 2 20 0 0\n14 0 0 2 20 2000000 5000000\n\
             11 0 0 2 20 2000000 4000000\n14 2000000 0 4294967295 0 0 0\n12 2000000 0 2 20 0 0\n\
             11 2500000 0 2 20 2000000 4000000\n12 3000000 0 2 20 0 0\n",
        );
        let begins = events.iter().filter(|e| e["pid"] == CPUS && e["ph"] == "B");
        let left: Vec<_> = begins.map(|e| e["args"]["remaining_budget_us"].as_f64()).collect();
        assert_eq!(left, [Some(2000.0), Some(0.0)]);
    }
}
