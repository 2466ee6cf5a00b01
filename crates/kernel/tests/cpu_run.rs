//! The per-CPU run state of the CPU scheduler (`bpf/include/laxity/cpu_run.h`) against a reference
//! model that keeps it as one list, in all states that the hooks can reach (`headers/cpu_run.c`).

#[path = "support/headers.rs"]
mod headers;

/// The explored systems: `tasks` of them, the first `reserved` with a reservation, with run hooks or not,
/// after `awake` wake-ups from the latest deadline on, up to a number of further events.
struct Search {
    tasks: u32,
    reserved: u32,
    run_hooks: bool,
    awake: u32,
    events: u32,
}

/// More events than lead to any state.
const UNBOUNDED: u32 = 1000;

/// The number of states found.
fn states(search: &Search) -> Option<u64> {
    let Search { tasks, reserved, run_hooks, awake, events } = *search;
    let input = [tasks, reserved, run_hooks.into(), awake, events];
    let lines = headers::ask("cpu_run.c", input.iter().flat_map(|n| n.to_ne_bytes()).collect())?;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(!line.starts_with('E'), "{line}");
    let (states, events) = line.split_once(' ').expect("two numbers");
    eprintln!("{tasks} tasks, {awake} awake: {states} states, {events} events");
    Some(states.parse().expect("a number"))
}

/// Four tasks, until there is no other state: the same task is current, the same are parked in the
/// same order, the same one is picked, and the drain is the same. No runnable task is lost, and a
/// task that runs before an earlier one, or without a budget, is about to be preempted.
///
/// Fails when a preempted task is lost, is swapped with the one that preempts it, or stays parked
/// when it resumes; when the oldest task resumes instead of the last, or none; when a task that
/// leaves stays picked, or stays parked below another; when a decision never drains, drains for the
/// task that resumes anyway, or undoes a drain as it preempts; when `dispatch` does not end the
/// drain, keeps the current task beside the picked one, takes the previous task for stale, or removes
/// stale ones in another order than they ran in; when a decision that picks no task does not preempt a
/// reservation whose budget ends as another without a budget wakes.
#[test]
fn run_state_is_a_list() {
    for reserved in 0..=3 {
        let search = Search { tasks: 4, reserved, run_hooks: false, awake: 0, events: UNBOUNDED };
        let Some(states) = states(&search) else { return };
        assert!(states > 30_000, "{states} states: some events never happen");
    }
}

/// Fails when a start does not make a task current, when a stop forgets whichever task is picked,
/// and when the picked task is compared with the current one.
#[test]
fn run_hooks_park_nothing() {
    let search = Search { tasks: 4, reserved: 2, run_hooks: true, awake: 0, events: UNBOUNDED };
    let Some(states) = states(&search) else { return };
    assert!(states > 20_000, "{states} states: some events never happen");
}

/// Eight parked tasks, the most there is room for, with a ninth current and a tenth waiting.
///
/// Fails when removal looks at seven of them only.
#[test]
fn run_state_is_full() {
    for awake in [9, 10] {
        let search = Search { tasks: 10, reserved: 0, run_hooks: false, awake, events: 3 };
        let Some(states) = states(&search) else { return };
        assert!(states > 1000, "{states} states: some events never happen");
    }
}
