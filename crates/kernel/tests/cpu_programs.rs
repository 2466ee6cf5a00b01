//! The programs of the CPU scheduler themselves, in user space beside a model of the kernel
//! (`headers/cpu_programs.c`), keep their promises whatever happens when.

#[path = "support/headers.rs"]
mod headers;

use laxity_core::Span;
use laxity_cpu::{bebs, bebs_credit, berate};
use laxity_kernel::cpu::CpuRules;

/// A machine, and the sequences of events to run on it.
#[derive(Clone, Copy)]
struct Search {
    cpus: u32,
    run_hooks: bool,
    deadline_server: bool,
    /// Sequences, and the events of each; all sequences of `sequences` events if that is zero.
    sequences: u32,
    events: u32,
}

const MACHINE: Search =
    Search { cpus: 2, run_hooks: false, deadline_server: false, sequences: 8000, events: 80 };

/// The policies of the command, with budgets that make many events in a short time.
fn policies() -> [CpuRules; 3] {
    let ms = Span::from_millis;
    let credit = bebs_credit::new(&bebs_credit::Options {
        slice: ms(3),
        wakeup_granularity: ms(1),
        ..bebs_credit::Options::default()
    });
    let rules = |rules| CpuRules::new(rules).expect("rules that the kernel runs");
    [
        rules(credit.rules()),
        rules(bebs::new(&bebs::Options::default()).rules()),
        CpuRules::berate(&berate::Options::default()).expect("options that the kernel has"),
    ]
}

/// Runs the sequences. Returns how often each kind of event happened, in the order of the driver, and last
/// how many happened within a program; `None` where there is no C compiler.
fn search(rules: &CpuRules, search: &Search) -> Option<Vec<u64>> {
    let Search { cpus, run_hooks, deadline_server, sequences, events } = *search;
    let numbers = [cpus, run_hooks.into(), deadline_server.into(), 1, sequences, events, 0];
    let mut input = rules.image();
    input.extend(numbers.iter().flat_map(|n| n.to_ne_bytes()));
    let lines = headers::ask("cpu_programs.c", input)?;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(!line.starts_with('E'), "{line}");
    eprintln!("{line}");
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(words.iter().skip(1).step_by(2).map(|n| n.parse().expect("a number")).collect())
}

/// Sequences of 80 random events: wake-ups, blocks, a higher class, requests, changes of rules and of
/// attributes, exits, kicks that arrive late, tasks that may not migrate, CPUs that go offline and come
/// online, and another such event within a program.
///
/// No reservation gets less than its budget in a period; no deadline is missed; the reservation that is
/// first runs; a request is carried out within 120 us unless a higher class has the CPU; no task, reference
/// or bandwidth is lost; no CPU idles while a task waits; tasks leave a CPU that is offline within 420 us; no
/// clock goes back; no lock is held.
///
/// Fails when a request does not ask for `dispatch`, asks once only, or is not carried out as its task
/// blocks, stops, is enqueued, is boosted or is found to have blocked; when a decision while `dispatch` is
/// asked for does not preempt, or sets the timer for later; when `dispatch` does not end that; when a task
/// whose attributes changed while it ran keeps its slice, or its CPU is not kicked; when a waiting task that
/// is first asks once only, or does not ask where the picked one has not started; when a task that was moved
/// while a higher class had its CPU is not kicked off it; when a reservation begins without a member, or
/// outlives a task that leaves before it joined; when a task whose affinity excludes the CPU of its request
/// gets a whole slice where it is; with run hooks, when a woken task is put on the local DSQ while `dispatch` is
/// asked for, and when a task that started on a CPU that was offline keeps its slice or is not known when it goes on;
/// when nothing repeats the kick after a CPU went offline, or to one that comes online; when a CPU kicks or
/// sets a timer as the last thing before it stops; when a task that waits on another CPU than the one that goes
/// precedes the reservations there.
#[test]
fn promises_are_kept_in_random_sequences() {
    for rules in policies() {
        for run_hooks in [false, true] {
            for (cpus, deadline_server) in [(1, false), (2, false), (2, true), (3, true)] {
                let machine = Search { cpus, run_hooks, deadline_server, ..MACHINE };
                let Some(happened) = search(&rules, &machine) else { return };
                let (within, kinds) = happened.split_last().expect("a number");
                let seldom = kinds.iter().filter(|n| **n <= 100).count();
                // A CPU goes only if there is another.
                assert_eq!(seldom, usize::from(cpus == 1), "{happened:?}: some never happen");
                assert!(cpus == 1 || *within > 1000, "{happened:?}: few happen within a program");
            }
        }
    }
}

/// All sequences of two events from eight states, and all single events with every other event within them
/// at each of five instants.
///
/// Fails when a task that is taken from another CPU, and enqueued there again before its `dispatch` ends,
/// keeps its slice; when the timer of a CPU that comes online was set for long after that, or asks less and less often
/// while a higher class has that CPU; when, with run hooks, the servers do not know a task that a CPU woke which
/// stops; when the lateness of a first release counts as missed deadlines; when a timer that kicks a CPU with parked
/// tasks, which a higher class has, finds the next time that it is not due.
#[test]
fn promises_are_kept_in_all_short_sequences() {
    for rules in policies() {
        for run_hooks in [false, true] {
            for cpus in [1, 2] {
                let machine = Search { cpus, run_hooks, sequences: 2, events: 0, ..MACHINE };
                let Some(happened) = search(&rules, &machine) else { return };
                assert!(happened.iter().sum::<u64>() > 100_000, "{happened:?}");
            }
        }
    }
}
