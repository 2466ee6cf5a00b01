//! `laxity cpu up --record`: starts the scheduler and records what the CPUs do, for `laxity validate`.
//!
//! Each CPU decides for itself. So its events, replayed in the policy, give the changes of its servers; each CPU is
//! a run in the record.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use laxity_core::{OptionValue, Span, Time};
use laxity_cpu::TaskId;
use laxity_kernel::cpu::Policy;
use laxity_kernel::cpu::record::{Event, EventKind};
use laxity_kernel::cpu::replay::{FIRST_PLACE, Replay, ReplayError};
use laxity_results::csv::cpu_run::{CpuRunWriter, LiveRun, RunRow};
use laxity_sim::cpu::ChargedRun;

use super::args::UpArgs;
use super::backend::{self, Recorder};
use super::{record, settings};
use crate::failure::{Failure, INTERRUPTED};
use crate::files::Pending;
use crate::{interrupt, warning};

/// Events that are kept until they are replayed, some 130 MB; the file gets about as long.
const MOST_EVENTS: usize = 2_000_000;

/// Starts the scheduler, records, and writes the record.
pub fn run(args: &UpArgs, path: &Path) -> Result<ExitCode, Failure> {
    let duration = record::duration(&args.duration)?;
    let policy = settings::policy(args)?;
    if policy.berate().is_some() {
        return Err(Failure::Input(
            "--record: best effort under berate has no servers with deadlines, so its runs cannot be judged; \
             record bebs or bebs-credit"
                .to_owned(),
        ));
    }
    let named = |error: &io::Error| Failure::write(&path.display().to_string(), error);
    let (file, pending) = Pending::create(path)?;
    let control = interrupt::control();
    backend::up_recorded(&policy, duration)?;
    let recorder = Recorder::open()?;
    warning::say(format!("policy {} schedules the CPUs, and is recorded", args.policy));
    let mut cpus: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    let mut names = Names::default();
    let count = Cell::new(0);
    let lost = recorder.record(
        None,
        || !control.stopped() && count.get() < MOST_EVENTS,
        |event| {
            if count.get() < MOST_EVENTS {
                count.set(count.get() + 1);
                names.see(&event);
                cpus.entry(event.cpu).or_default().push(event);
            }
        },
    )?;
    if count.get() >= MOST_EVENTS {
        warning::say(format!("the record ends sooner: it has {MOST_EVENTS} events"));
    }
    recorder.check_policy()?;
    let mut writer = CpuRunWriter::new(BufWriter::new(file));
    let mut slices = 0;
    for (cpu, events) in &cpus {
        let live = LiveRun { cpu: *cpu, lost, wakeup_granularity: wakeup_granularity(&policy) };
        let run = Run { policy: &policy, live, events, names: &names };
        let written = run.write(&mut writer).map_err(|e| named(&e))?;
        slices += written.slices;
        if let Some(error) = written.failed.filter(|_| lost == 0) {
            return Err(refusal(*cpu, &policy, &names, error));
        }
    }
    let mut to = writer.finish().map_err(|e| named(&e))?;
    to.flush().map_err(|e| named(&e))?;
    drop(to);
    pending.complete()?;
    if lost > 0 {
        warning::say(format!("{lost} events were lost: the record has gaps and cannot be judged"));
    }
    let place = path.display();
    warning::say(format!("{slices} slices in {place}; `laxity validate {place}` judges them"));
    recorder.check()?;
    Ok(if control.stopped() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Why the record ended before its last event.
fn refusal(cpu: u32, policy: &Policy, names: &Names, error: ReplayError) -> Failure {
    match error {
        ReplayError::Weight(event) => Failure::Input(format!(
            "{} has a weight that no nice value has, by the cpu.weight of its group; records hold weights up to 40, \
             twice that of nice 0, so lower it while recording",
            names.of(event.pid)
        )),
        error => Failure::Internal(format!(
            "CPU {cpu}: the recorded decisions are not those of {}: {error}; please report it",
            policy.name
        )),
    }
}

/// How long best effort runs on although other best effort is due earlier.
fn wakeup_granularity(policy: &Policy) -> Span {
    let options = policy.options();
    let of = options.iter().find(|(option, _)| *option == "wakeup-granularity");
    match of {
        Some((_, OptionValue::Time(time))) => *time,
        _ => Span::ZERO,
    }
}

/// The names of tasks, read at their first events.
#[derive(Default)]
struct Names(HashMap<u32, String>);

impl Names {
    fn of(&self, pid: u32) -> String {
        self.0.get(&pid).cloned().unwrap_or_default()
    }

    fn see(&mut self, event: &Event) {
        if event.slot.is_none() {
            return;
        }
        self.0.entry(event.pid).or_insert_with(|| {
            // The events have PIDs of the initial namespace.
            let known = super::in_initial_pid_namespace().then(|| super::task_name(event.pid));
            match known.flatten() {
                Some(name) => format!("{name} ({})", event.pid),
                None => format!("task {}", event.pid),
            }
        });
    }
}

/// What has a number in the record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Numbered {
    Task(u32),
    Reservation(u32),
}

/// What an event is about, and the policy's id of it.
fn numbered(event: &Event) -> Option<(TaskId, Numbered)> {
    match (event.kind, event.slot) {
        (EventKind::Reserved { number, .. }, _) => {
            Some((TaskId(FIRST_PLACE + number), Numbered::Reservation(number)))
        }
        (_, Some(slot)) => Some((TaskId(slot), Numbered::Task(event.pid))),
        (_, None) => None,
    }
}

/// The run of one CPU.
struct Run<'a> {
    policy: &'a Policy,
    live: LiveRun,
    events: &'a [Event],
    names: &'a Names,
}

struct Written {
    slices: u64,
    /// Why the replay ended before the last event.
    failed: Option<ReplayError>,
}

impl Run<'_> {
    fn write<W: Write>(&self, writer: &mut CpuRunWriter<W>) -> io::Result<Written> {
        let mut numbers: HashMap<Numbered, u32> = HashMap::new();
        let mut names = Vec::new();
        for (_, which) in self.events.iter().filter_map(numbered) {
            numbers.entry(which).or_insert_with(|| {
                names.push(match which {
                    Numbered::Task(pid) => self.names.of(pid),
                    Numbered::Reservation(number) => format!("reservation {number}"),
                });
                names.len() as u32 - 1
            });
        }
        writer.begin(self.policy.name, &[0], Some(self.live), &names)?;
        let (mut failed, mut slices) = (Ok(()), 0);
        let mut sink = |row: &RunRow| {
            slices += u64::from(matches!(row, RunRow::Slice(_)));
            if failed.is_ok() {
                failed = writer.write(row);
            }
        };
        let mut run = ChargedRun::new(self.policy.servers(), &mut sink);
        let mut replay = Replay::default();
        let mut end = Time::ZERO;
        let mut differs = None;
        for event in self.events {
            if let Some((task, which)) = numbered(event) {
                run.name(task, numbers.get(&which).copied().unwrap_or_default());
            }
            if let Err(error) = replay.apply(&mut run, event) {
                differs = Some(error);
                break;
            }
            end = end.max(event.at);
        }
        run.finish(end);
        failed?;
        writer.end(end)?;
        Ok(Written { slices, failed: differs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_analysis::cpu::{CpuValidation, validate_live};
    use laxity_results::csv::cpu_run::read_cpu_runs;

    /// The record of some events, and why the replay ended.
    fn record(policy: &str, lines: &str) -> (String, Option<String>) {
        let events: Vec<Event> =
            lines.lines().map(|l| Event::parse(l).expect("an event")).collect();
        let policy = &Policy::named(policy).expect("a policy");
        let mut names = Names::default();
        events.iter().filter(|e| e.slot.is_some()).for_each(|e| {
            names.0.insert(e.pid, format!("task {}", e.pid));
        });
        let live = LiveRun { cpu: 0, lost: 0, wakeup_granularity: wakeup_granularity(policy) };
        let mut writer = CpuRunWriter::new(Vec::new());
        let run = Run { policy, live, events: &events, names: &names };
        let written = run.write(&mut writer).expect("memory");
        let text = String::from_utf8(writer.finish().expect("memory")).expect("UTF-8");
        let failed = written.failed.map(|error| match refusal(0, policy, &names, error) {
            Failure::Input(why) => format!("input: {why}"),
            Failure::Internal(why) => why,
            _ => "another failure".to_owned(),
        });
        (text, failed)
    }

    fn judged(text: &str) -> CpuValidation {
        let runs = read_cpu_runs(text).expect("a record");
        validate_live(&runs[0], Span(1_000)).expect("a live run")
    }

    /// Two jobs of a task with 2 in 10 ms, which runs for 1 ms each time, on a CPU that idles then.
    ///
    /// Fails when a job, its execution or its reservation is not recorded, and when events are replayed although one is
    /// missing before a decision.
    #[test]
    fn events_become_a_record_that_can_be_judged() {
        let begin = "0 5 0 2 12 20 0\n2 10 0 0 0 2000000 10000000\n1 10 0 1 11 0 0\n";
        let job = |at: u64, due: u64| {
            let end = at + 1_000_000;
            format!(
                "5 {at} 0 1 11 0 0\n9 {at} 0 1 11 2000000 {due}\n7 {end} 0 1 11 1000000 0\n6 {end} 0 1 11 0 0\n\
                 9 {end} 0 4294967295 0 0 0\n"
            )
        };
        let [first, second] = [job(20, 10_000_020), job(10_000_020, 20_000_020)];
        let (text, failed) = record("bebs-credit", &format!("{begin}{first}{second}"));
        assert_eq!(failed, None);
        let found = judged(&text);
        assert!(found.holds() && found.late.is_empty(), "{found:?}\n{text}");
        assert_eq!((found.slices, found.jobs), (2, 2), "{text}");
        // It never blocked, so it would go on.
        let cut = first.replace("6 1000020 0 1 11 0 0\n", "");
        let (_, failed) = record("bebs-credit", &format!("{begin}{cut}{second}"));
        assert!(failed.is_some_and(|why| why.contains("the policy picks task 1 for 1 ms")));
    }

    /// Fails when a weight beyond those of nice values is said to be a fault of the program.
    #[test]
    fn weights_that_no_nice_value_has_are_refused_with_the_remedy() {
        let (_, failed) = record("bebs-credit", "0 5 0 2 12 40 0\n");
        assert_eq!(failed, None);
        let (_, failed) = record("bebs-credit", "0 5 0 2 12 41 0\n");
        let failed = failed.expect("a refusal");
        assert!(failed.starts_with("input: task 12 has a weight"), "{failed}");
        assert!(failed.contains("lower it while recording"), "{failed}");
    }

    /// A task with 6 in 10 ms wakes under a later deadline than best effort has that runs, while a higher class waits. It
    /// has had the CPU before, and takes 2 ms from the job.
    ///
    /// Fails when such decisions are replayed by deadline alone (the policy picks task 2), when the time in which the
    /// higher class has the CPU is not recorded or begins with the first decision (the CPU idles), and when the order of
    /// deadlines is asked of what runs beside it (the reserved task runs wrongly).
    #[test]
    fn reservations_may_precede_beside_a_higher_class() {
        let ms = |ms: u64| ms * 1_000_000;
        let joined = "0 5 0 2 12 20 0\n2 10 0 0 0 6000000 10000000\n1 10 0 1 11 0 0\n";
        let runs = "5 20 0 2 12 0 0\n9 20 0 2 12 15000000 37500020\n";
        // The higher class has the CPU from 1 to 3 ms and from 6 to 8.
        let (at, until) = (ms(3), ms(6));
        let stopped = format!("7 {} 0 2 12 999980 0\n12 {} 0 2 12 0 0\n", ms(1), ms(1));
        let woken = format!("5 {at} 0 1 11 0 0\n14 {at} 0 1 11 6000000 13000000\n");
        let job = format!(
            "7 {until} 0 1 11 3000000 0\n14 {} 0 1 11 3000000 13000000\n7 {} 0 1 11 3000000 0\n6 {} 0 1 11 0 0\n\
             9 {} 0 2 12 14000020 37500020\n",
            ms(8),
            ms(11),
            ms(11),
            ms(11)
        );
        let (text, failed) = record("bebs", &format!("{joined}{runs}{stopped}{woken}{job}"));
        assert_eq!(failed, None);
        assert!(text.contains("\nhigher-class,1000000,11000000\n"), "{text}");
        let found = judged(&text);
        assert_eq!(found.illegal, None, "{text}");
        let broken: Vec<String> = found.broken.iter().map(ToString::to_string).collect();
        assert_eq!(
            broken,
            ["a higher scheduling class wanted the CPU from 1 ms on, for 10 ms in all"]
        );
    }

    /// A task with 6 in 10 ms needs 7.5 while a higher class waits and nothing else is ready: it goes on without budget,
    /// so that the kernel's deadline server does not stop. The policy picks nobody then.
    ///
    /// Fails when that execution takes from the next budget (the policy picks the task for less), when it is judged as
    /// execution without a ready server, and when it may be so without a higher class or while best effort is ready.
    #[test]
    fn a_reservation_may_go_on_without_budget_beside_a_higher_class() {
        let us = |us: u64| us * 1000;
        let joined = "2 10 0 0 0 6000000 10000000\n1 10 0 1 11 0 0\n";
        let woken = format!("5 {0} 0 1 11 0 0\n14 {0} 0 1 11 6000000 13000000\n", us(3000));
        let without = format!(
            "7 {0} 0 1 11 6000000 0\n14 {0} 0 4294967295 0 0 0\n7 {1} 0 1 11 500000 0\n14 {1} 0 4294967295 0 0 0\n",
            us(9000),
            us(9500)
        );
        let rest = format!(
            "8 {0} 0 4294967295 0 0 0\n14 {0} 0 1 11 6000000 23000000\n7 {1} 0 1 11 1000000 0\n6 {1} 0 1 11 0 0\n\
             9 {1} 0 4294967295 0 0 0\n",
            us(13_000),
            us(14_000)
        );
        let beside = format!("{joined}{woken}{without}{rest}");
        let alone = beside.replace("\n14 ", "\n9 ");
        let (text, failed) = record("bebs", &beside);
        assert_eq!(failed, None);
        assert_eq!(judged(&text).illegal, None, "{text}");
        // Best effort is ready before, with a deadline after.
        let tenth = 7_205_759_403_792_793_u64;
        let ready = format!(
            "\nserver,8000000,5,wake,0,1,ready,shared,1,1000000,18000000,,8000000,18000000,{tenth},0,{tenth},{tenth}\n\
             server,9000000,"
        );
        let passed_over = text.replacen("\nserver,9000000,", &ready, 1);
        let illegal = judged(&passed_over).illegal.map(|fault| fault.to_string());
        assert!(illegal.is_some_and(|why| why.contains("not ready")), "{passed_over}");
        let (text, failed) = record("bebs", &alone);
        assert_eq!(failed, None);
        let illegal = judged(&text).illegal.map(|fault| fault.to_string()).unwrap_or_default();
        assert!(illegal.contains("not ready"), "{illegal}\n{text}");
    }
}
