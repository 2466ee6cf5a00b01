//! `laxity cpu record`: what happens on live CPUs, as trace events.
//!
//! Two processes: CPUs, with a slice for each time that a task ran and in it what its server had
//! then; and tasks, which run or wait, with instants for deadlines of reservations and those that
//! passed before the budget was used.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::Duration;

use laxity_core::{Span, Time};
use laxity_kernel::cpu::record::{Event, What};

use super::args::RecordArgs;
use super::backend::Recorder;
use crate::failure::{Failure, INTERRUPTED};
use crate::files::Pending;
use crate::trace_events::{TraceEvents, Track, micros};
use crate::{interrupt, link, warning};

const CPUS: u32 = 1;
const TASKS: u32 = 2;
/// Some 40,000 switches a second fill a file with 10 MB a second.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs the command.
pub fn run(args: &RecordArgs) -> Result<ExitCode, Failure> {
    let length = link::duration("--for", &args.length)?;
    if length > LONGEST {
        return Err(Failure::Input(format!("--for {}: give at most 10 minutes", args.length)));
    }
    let recorder = Recorder::open()?;
    let named = |error: &io::Error| Failure::write(&args.file.display().to_string(), error);
    let (file, pending) = Pending::create(&args.file)?;
    // What is recorded has the kernel's numbers of tasks.
    let names = if super::numbers_are_the_kernels() { super::name_of } else { |_| None };
    let mut live = Live::new(BufWriter::new(file), names).map_err(|e| named(&e))?;
    let mut failed = None;
    let interrupted = interrupt::control();
    let lost = recorder.record(
        length,
        || !interrupted.stopped(),
        |event| {
            if failed.is_none() {
                failed = live.tell(&event).err();
            }
        },
    )?;
    if let Some(error) = failed {
        return Err(named(&error));
    }
    let slices = live.slices;
    live.finish().map_err(|e| named(&e))?;
    pending.complete()?;
    if lost > 0 {
        warning::say(format!("{lost} events were lost: slices are missing or too long"));
    }
    let place = args.file.display();
    warning::say(format!("{slices} slices in {place}; ui.perfetto.dev shows them"));
    // What there was until then is in the file.
    recorder.check()?;
    Ok(if interrupted.stopped() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// What is known of a task.
#[derive(Default)]
struct Task {
    tid: u32,
    name: String,
    /// Of its server, when it was chosen last.
    left: Span,
    deadline: Time,
    /// Of its reservation, the deadline of the job that it executed last, and until when.
    job: Option<(Time, Time)>,
    doing: Doing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doing {
    #[default]
    Sleeping,
    Waiting,
    Running {
        reserved: bool,
    },
}

impl Doing {
    fn shown(self) -> Option<&'static str> {
        match self {
            Doing::Sleeping => None,
            Doing::Waiting => Some("waiting"),
            Doing::Running { .. } => Some("running"),
        }
    }
}

/// Turns events of the scheduler into events of a trace.
struct Live<W: Write, N: Fn(u32) -> Option<String>> {
    events: TraceEvents<W>,
    name: N,
    tasks: HashMap<u32, Task>,
    /// Whom each CPU runs.
    running: BTreeMap<u32, Option<u32>>,
    last: Time,
    slices: u64,
}

impl<W: Write, N: Fn(u32) -> Option<String>> Live<W, N> {
    fn new(to: W, name: N) -> io::Result<Live<W, N>> {
        let mut events = TraceEvents::new(to)?;
        events.process(CPUS, "CPUs")?;
        events.process(TASKS, "tasks")?;
        Ok(Live {
            events,
            name,
            tasks: HashMap::new(),
            running: BTreeMap::new(),
            last: Time::ZERO,
            slices: 0,
        })
    }

    /// The task, which has a name from when it is first heard of.
    fn task(&mut self, pid: u32) -> &mut Task {
        let tid = self.tasks.len() as u32;
        let name = &self.name;
        self.tasks.entry(pid).or_insert_with(|| {
            let name = name(pid).unwrap_or_else(|| format!("task {pid}"));
            Task { tid, name, ..Task::default() }
        })
    }

    /// A task does something else from now on.
    fn turn(&mut self, at: Time, pid: u32, doing: Doing) -> io::Result<()> {
        let task = self.task(pid);
        let track = Track { pid: TASKS, tid: task.tid };
        let before = std::mem::replace(&mut task.doing, doing);
        if before == doing {
            return Ok(());
        }
        if let Some(what) = before.shown() {
            self.events.end(what, track, at)?;
        }
        doing.shown().map_or(Ok(()), |what| self.events.begin(what, track, at, ""))
    }

    fn tell(&mut self, event: &Event) -> io::Result<()> {
        self.last = self.last.max(event.at);
        let (at, cpu, pid) = (event.at, event.cpu, event.pid);
        if event.slot.is_none() {
            return Ok(());
        }
        match event.what {
            What::Woke if self.task(pid).doing == Doing::Sleeping => {
                self.turn(at, pid, Doing::Waiting)
            }
            What::Chosen { left, deadline } => {
                let task = self.task(pid);
                (task.left, task.deadline) = (left, deadline);
                Ok(())
            }
            What::Started { reserved, budget, period } => {
                self.stop(at, cpu, Doing::Waiting)?;
                self.start(at, cpu, pid, reserved, (budget, period))
            }
            // The kernel reports that a task sleeps before it reports that it stops.
            What::Blocked if self.running.get(&cpu) == Some(&Some(pid)) => {
                self.stop(at, cpu, Doing::Sleeping)
            }
            What::Blocked | What::Left => self.turn(at, pid, Doing::Sleeping),
            What::Stopped => self.stop(at, cpu, Doing::Waiting),
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
        self.turn(at, pid, Doing::Running { reserved })?;
        let task = self.task(pid);
        let name = task.name.clone();
        let args = format!(
            "\"pid\":{pid},\"reserved\":{reserved},\"budget_us\":{},\"period_us\":{},\"left_us\":{},\
             \"deadline_us\":{}",
            micros(budget.0),
            micros(period.0),
            micros(task.left.0),
            micros(task.deadline.0)
        );
        self.running.insert(cpu, Some(pid));
        self.slices += 1;
        self.events.begin(&name, Track { pid: CPUS, tid: cpu }, at, &args)
    }

    /// The running task of a CPU has stopped.
    fn stop(&mut self, at: Time, cpu: u32, doing: Doing) -> io::Result<()> {
        let Some(pid) = self.running.get_mut(&cpu).and_then(Option::take) else {
            return Ok(());
        };
        let task = self.task(pid);
        let (name, track) = (task.name.clone(), Track { pid: TASKS, tid: task.tid });
        let mut before = None;
        if task.doing == (Doing::Running { reserved: true }) {
            before = task.job.replace((task.deadline, at)).filter(|job| job.0 != task.deadline);
        }
        self.events.end(&name, Track { pid: CPUS, tid: cpu }, at)?;
        self.turn(at, pid, doing)?;
        self.judge(track, before)
    }

    /// A job that is over: a task may execute it in parts, and the last one tells.
    fn judge(&mut self, track: Track, job: Option<(Time, Time)>) -> io::Result<()> {
        match job {
            Some((deadline, end)) if end > deadline => {
                let by = format!("\"late_us\":{}", micros(end.since(deadline).0));
                self.events.instant("deadline missed", track, deadline, &by)
            }
            Some((deadline, _)) => self.events.instant("deadline", track, deadline, ""),
            None => Ok(()),
        }
    }

    /// Ends what is open, names what there is.
    fn finish(mut self) -> io::Result<W> {
        let last = self.last;
        let cpus: Vec<u32> = self.running.keys().copied().collect();
        for cpu in cpus {
            self.stop(last, cpu, Doing::Sleeping)?;
            self.events.thread(Track { pid: CPUS, tid: cpu }, &format!("CPU {cpu}"))?;
        }
        let mut tasks: Vec<u32> = self.tasks.keys().copied().collect();
        tasks.sort_unstable();
        for pid in tasks {
            self.turn(last, pid, Doing::Sleeping)?;
            let task = self.task(pid);
            let (track, name) = (Track { pid: TASKS, tid: task.tid }, task.name.clone());
            let last_job = task.job;
            self.judge(track, last_job)?;
            self.events.thread(track, &format!("{name} ({pid})"))?;
        }
        self.events.finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A task that computes is interrupted by a reserved one, whose second job has two parts and ends
    /// late.
    const TOLD: &str = "\
        0 0 0 1 10 20 0\n5 0 0 1 10 0 0\n9 0 0 1 10 5000000 50000000\n10 0 0 1 10 5000000 50000000\n\
        5 1000000 0 2 20 0 0\n9 1000000 0 2 20 2000000 5000000\n7 1000000 0 1 10 1000000 0\n\
        12 1000000 0 1 10 0 0\n11 1000000 0 2 20 2000000 4000000\n6 3000000 0 2 20 0 0\n\
        12 3000000 0 2 20 0 0\n10 3000500 0 1 10 5000000 50000000\n5 5000000 0 2 20 0 0\n\
        9 5000000 0 2 20 2000000 9000000\n12 8000000 0 1 10 0 0\n\
        11 8000000 0 2 20 2000000 4000000\n12 8500000 0 2 20 0 0\n\
        11 9000000 0 2 20 1500000 4000000\n6 9500000 0 2 20 0 0\n3 9500000 0 2 20 0 0\n\
        9 9500000 0 4294967295 0 0 0\n";

    fn trace() -> Vec<Value> {
        let named = |pid| (pid == 20).then(|| "player \"one\"".to_owned());
        let mut live = Live::new(Vec::new(), named).expect("memory");
        for line in TOLD.lines() {
            live.tell(&Event::parse(line).expect("an event")).expect("memory");
        }
        let json = live.finish().expect("memory");
        let all: Value = serde_json::from_slice(&json).expect("JSON");
        all["traceEvents"].as_array().expect("events").clone()
    }

    /// Fails when a slice does not end, a task waits while it runs, a sleeping one is said to wait, or a
    /// deadline is judged by another one's, or by the first part of its job (which it was).
    #[test]
    fn slices_waits_and_deadlines_are_shown() {
        let events = trace();
        let of = |pid: u32, tid: u32| {
            let mut shown = Vec::new();
            for e in &events {
                if e["pid"] == pid && e["tid"] == tid && e["ph"] != "M" {
                    let (phase, name) = (e["ph"].as_str(), e["name"].as_str());
                    let phase = phase.expect("a phase");
                    shown.push(format!("{phase} {} {}", e["ts"], name.expect("a name")));
                }
            }
            shown
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
        assert_eq!(late["args"]["late_us"], 500);
        let named = events.iter().filter(|e| e["name"] == "thread_name");
        let names: Vec<_> = named.map(|e| e["args"]["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["CPU 0", "task 10 (10)", "player \"one\" (20)"]);
    }
}
