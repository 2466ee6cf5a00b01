//! Recorded runs of the virtual machine, replayed in the Rust policies: all decisions are the same. And
//! in the simulator, which knows only when tasks wake and how long they compute: the order is the same.
//!
//! Built with the feature `kernel` only. Skipped, with the reason, where the virtual machine
//! cannot be had; `LAXITY_REQUIRE_ALL=1` makes that a failure.
#![cfg(feature = "kernel")]

#[path = "support/again.rs"]
mod again;
#[path = "support/film.rs"]
mod film;
mod machine;
#[path = "support/random.rs"]
#[allow(dead_code)] // others draw more kinds of numbers
mod random;
#[path = "support/resumed.rs"]
mod resumed;
#[path = "support/shown.rs"]
mod shown;
#[path = "support/simulated.rs"]
mod simulated;

use again::Again;
use film::{Film, executed};
use laxity_core::{Span, Time};
use laxity_kernel::cpu::record::{Event, EventKind};
use laxity_kernel::cpu::{Policy, policies};
use laxity_sim::cpu::{Task, Workload};
use machine::{available, number, part, program, tool};
use resumed::Resumed;
use shown::{BelowReservations, Shown};
use simulated::{alike, before, common, order, recorded_run, simulated};

/// The policy of a name as the kernel has it, without tasks.
fn fresh(name: &str) -> Box<dyn Shown> {
    let policy = Policy::named(name).expect("a policy");
    match policy.berate() {
        Some(options) => Box::new(BelowReservations::of(policy.servers(), options)),
        None => Box::new(policy.servers()),
    }
}

/// The events that a script printed.
fn recorded_events(text: &str) -> Vec<Event> {
    let event = |line| Event::parse(line).unwrap_or_else(|| panic!("no event: {line}"));
    part(text, "events").lines().map(event).collect()
}

/// A task that joins takes a share from the others, which cannot give up what they have used. So
/// beside reservations, which end with their tasks, the current task is charged first. Returns how
/// often a task joined while another one ran.
fn execution_is_charged_before_shares_change(events: &[Event]) -> u32 {
    let (mut runs, mut reported_at, mut joined) = (None, Time::ZERO, 0);
    let mut reserved = Vec::new();
    for event in events {
        let another_runs =
            !reserved.is_empty() && runs.is_some_and(|slot| Some(slot) != event.slot);
        match event.kind {
            EventKind::Bound { .. } => reserved.push(event.slot),
            EventKind::Left => reserved.retain(|slot| *slot != event.slot),
            EventKind::Started { .. } => (runs, reported_at) = (event.slot, event.at),
            EventKind::Ran { .. } => reported_at = event.at,
            EventKind::Stopped => runs = None,
            EventKind::Joined { .. } if another_runs => {
                assert_eq!(reported_at, event.at, "{event} beside {runs:?}");
                joined += 1;
            }
            _ => {}
        }
    }
    joined
}

/// The scheduler's decisions in 6 s, with tasks that compute, sleep, fork and end and two
/// reservations, replayed in the Rust policy: the same tasks, remaining budgets and deadlines to
/// the nanosecond.
///
/// In the simulator, which does not know these decisions, most turns have the same order, and most
/// time goes to the same tasks, 89 to 95 % of both; under another policy it is 19 to 61 %. Under
/// `bebs-credit` it is 85 to 89 and 77 to 87 %, as the simulator does not know which tasks are woken
/// by the running one. Differences begin where a switch, the end of a budget or an interrupt takes more or less time
/// than usual: of three tasks that compute for a millisecond each in turn, two may change places,
/// and keep them. So the run is simulated in parts, each from the state in which the kernel left
/// the policy.
fn kernel_decisions_replay(name: &str, run_hooks: bool) {
    if !available() {
        return;
    }
    let mut programs: Vec<_> = ["kernel-cpu", "tasks"].map(tool).into();
    programs.extend(["nice", "renice"].map(program));
    let text = machine::run_with(
        &["--for", "cpu"],
        "record.sh",
        &[name, if run_hooks { "1" } else { "0" }],
        &programs,
        &[],
    );
    let output = part(&text, name);
    assert!(output.starts_with("lost 0\n") && output.contains("kernel content"), "{output}");
    assert_eq!(output.matches(" missed 0 ").count(), 2, "{output}");
    let events = recorded_events(&text);
    let joined = execution_is_charged_before_shares_change(&events);
    eprintln!("{name}: {joined} joined beside another and reservations");
    // 62 to 73.
    assert!(joined >= 40, "{name}: {joined}");

    let mut again = Again::new(fresh(name));
    for event in &events {
        again.apply(event);
    }
    eprintln!("{name}: {:?} decisions, of a task", again.replay.decisions);
    assert_eq!(again.replay.reservations.len(), 2);
    // A nice value of 3, and 175 hundredths of 20.
    assert!([17, 35].iter().all(|w| again.weights.contains(w)), "{:?}", again.weights);
    assert!(again.replay.decisions[1] > 3000, "{name}: {:?}", again.replay.decisions);

    let switch = recorded_run(&events, 0).switch;
    for policy in policies() {
        let [turns, time] = agreement(&events, name, policy, switch);
        eprintln!("{name}, {policy} simulated: {turns} % of turns and {time} % of time alike");
        if policy == name {
            let least_time = if name == "bebs-credit" { 65 } else { 75 };
            // Both vary with how the programs are built; another policy has at most 68.
            assert!(turns > 80 && time > least_time, "{name}: {turns} % and {time} %");
        } else {
            assert!(turns < 75 && time < 75, "{policy} for {name}: {turns} % and {time} %");
        }
    }
}

/// A task that sleeps gets a reservation of half the CPU and loses it, twice, beside one that computes.
///
/// Fails when the end of a reservation whose task never woke is not recorded: best effort has other deadlines then.
#[test]
fn reservations_that_end_before_their_task_wakes_replay() {
    if !available() {
        return;
    }
    let programs: Vec<_> = ["kernel-cpu", "tasks"].map(tool).into();
    let text = machine::run_with(&["--for", "cpu"], "asleep.sh", &[], &programs, &[]);
    assert!(
        part(&text, "recorded").starts_with("lost 0\n") && text.contains("kernel content"),
        "{text}"
    );
    let mut again = Again::new(fresh("bebs"));
    let events = recorded_events(&text);
    events.iter().for_each(|event| again.apply(event));
    let count = |is: fn(&EventKind) -> bool| events.iter().filter(|event| is(&event.kind)).count();
    assert_eq!(count(|kind| matches!(kind, EventKind::Reserved { .. })), 2, "{text}");
    assert_eq!(count(|kind| matches!(kind, EventKind::ReservationEnded { .. })), 2, "{text}");
    assert!(again.replay.decisions[1] > 100, "{:?}", again.replay.decisions);
}

/// Length of one replay.
const PART: Span = Span(100_000_000);

/// Per cent of the turns, and of the time, that the simulator gives to the same task as the kernel.
fn agreement(events: &[Event], name: &str, policy: &str, switch: Span) -> [u64; 2] {
    let (mut same, mut all, mut start) = ([0; 2], [0; 2], 0);
    let end = events.last().map_or(Time::ZERO, |e| e.at);
    while let Some(first) = events.get(start) {
        let live = recorded_run(events, start);
        let until = Time(PART.min(end.since(first.at)).0);
        let mut resumed = if policy == name {
            let mut again = Again::new(fresh(name));
            events[..start].iter().for_each(|event| again.apply(event));
            Resumed::new(again.policy, first.at, switch, &live)
        } else {
            Resumed::starting_at(fresh(policy), first.at, switch)
        };
        let reference = simulated(&live.tasks, &mut resumed, until);
        let kernel = before(live.slices, until);
        let [a, b] = [&reference, &kernel].map(order);
        let (both, longer) = alike(&reference, &kernel);
        same = [same[0] + common(&a, &b) as u64, same[1] + both];
        all = [all[0] + a.len().max(b.len()) as u64, all[1] + longer];
        let is_next =
            |e: &Event| e.at.since(first.at) >= PART && matches!(e.kind, EventKind::Chosen { .. });
        let Some(length) = events[start..].iter().position(is_next) else { break };
        start += length;
    }
    [0, 1].map(|of| same[of] * 100 / all[of].max(1))
}

/// Fails when the headers and the Rust policy differ in what recordings reach: tried with
/// `inactive_after` twice as long in the headers, and without `lx_reset_lag`; and when an event is
/// not recorded: tried with `LX_TIMER`. Without `lx_wake_takes_share` a task joins before the
/// current one is charged. Without `grouping.changes` the cgroup's weight does not reach its task.
#[test]
fn kernel_decisions_replay_under_bebs() {
    kernel_decisions_replay("bebs", false);
}

#[test]
fn kernel_decisions_replay_under_bebs_credit() {
    kernel_decisions_replay("bebs-credit", false);
}

#[test]
fn kernel_decisions_replay_under_berate() {
    kernel_decisions_replay("berate", false);
}

/// The same with the `running` and `stopping` hooks, as newer kernels need them.
#[test]
fn kernel_decisions_replay_with_run_hooks() {
    kernel_decisions_replay("bebs-credit", true);
}

/// Experiment 1 of the BeRate paper under `bebs`, live and in the simulator: as many frames are
/// late. Without the other tasks, which compute for 0.2 % of the time, half as many are late: their
/// shares are the cause.
///
/// Measured: 49 of 100 live, 47 simulated, 31 without the other tasks. Fails when the simulator
/// runs another policy: tried with `bebs-credit`, which makes 8 late; and when the other tasks are
/// left out.
#[test]
fn other_tasks_make_frames_late() {
    if !available() {
        return;
    }
    let programs: Vec<_> = ["kernel-cpu", "tasks"].map(tool).into();
    let text = machine::run_with(&["--for", "cpu"], "background.sh", &[], &programs, &[]);
    let output = part(&text, "run");
    assert!(output.starts_with("lost 0\n") && output.contains("kernel content"), "{output}");
    let frames = number(output, "jobs", "jobs") as usize;
    let live = number(output, "jobs", "missed") as usize;
    let pid = number(output, "frames", "pid").to_string();
    let events = recorded_events(&text);

    let recorded = recorded_run(&events, 0);
    let film = recorded.tasks.iter().filter(|task| task.name == pid);
    let film = film.filter_map(|task| Film::of(task, frames)).next_back().expect("frames");
    let mut others: Vec<Task> =
        recorded.tasks.iter().filter(|task| task.name != pid).cloned().collect();
    others.sort_by_key(executed);
    let computes = Task { workload: Workload::CpuBound, ..others.pop().expect("a task") };
    let pair = vec![film.task.clone(), computes];
    let all = [pair.clone(), others].concat();

    let (first, last) = (events[0].at, events[events.len() - 1].at);
    let until = Time(last.since(first).0);
    let late = |tasks: &[Task]| {
        let mut policy = Resumed::starting_at(fresh("bebs"), first, recorded.switch);
        film.late(&simulated(tasks, &mut policy, until), 0).expect("time for all frames")
    };
    let (contended, alone) = (late(&all), late(&pair));
    eprintln!("late of {frames}: {live} live, {contended} simulated, {alone} without other tasks");
    assert!(live.abs_diff(contended) <= 10, "{live} live, {contended} simulated");
    assert!(alone + 10 <= live.min(contended), "{alone} without other tasks, {live} live");
}
