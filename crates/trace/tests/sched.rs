//! Recordings of schedulers: real ones of this repository, lines of several versions of the tools,
//! malformed lines, and random bytes.

mod support;

use std::fs::read_to_string;
use std::path::Path;

use laxity_trace::fuzz;
use laxity_trace::sched::{Burst, PrevState, Recorded, Rest, SchedEvent, SchedKind, SchedReader};

fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    read_to_string(folder.join(name)).expect("a file of the repository")
}

fn one(line: &str) -> SchedEvent {
    let event = SchedReader::new(line.as_bytes()).next_event();
    event.unwrap_or_else(|e| panic!("{line}: {e}")).expect("an event")
}

fn wrong(text: &str) -> String {
    Recorded::read(text.as_bytes()).expect_err(text).to_string()
}

/// CPU times and sleeps of the workload's first threads were counted by another program, straight from
/// the switches.
#[test]
fn real_recordings_are_read() {
    let (perf, ftrace) = (capture("sched-perf.txt"), capture("sched-ftrace.txt"));
    for (text, counted) in [(perf, PERF), (ftrace, FTRACE)] {
        let recorded = Recorded::read(text.as_bytes()).expect("it is sound");
        assert_eq!((recorded.lost, recorded.cpus), (0, 2));
        for (tid, name, cpu_ns, sleeps) in counted {
            let thread = recorded.threads.iter().find(|t| t.tid == *tid).expect("it is there");
            let blocked = |b: &&Burst| matches!(b.rest, Rest::Sleep { .. });
            let found = thread.bursts.iter().filter(blocked).count();
            assert_eq!((thread.name.as_str(), thread.cpu_ns(), found), (*name, *cpu_ns, *sleeps));
        }
        // Exits and parents of threads were recorded.
        let ended = |t: &&_| matches!(last(t), Rest::Exit);
        assert!(recorded.threads.iter().filter(ended).count() >= 50);
        assert!(recorded.threads.iter().filter(|t| t.parent.is_some()).count() >= 50);
    }
}

fn last(thread: &laxity_trace::sched::RecordedThread) -> Rest {
    thread.bursts.last().expect("a burst").rest
}

const PERF: &[(u32, &str, u64, usize)] = &[
    (102, "sh", 137_793_151, 0),
    (104, "python3", 254_009_181, 82),
    (105, "work.sh", 1_685_029, 20),
    (107, "sleep", 1_240_442, 1),
];
const FTRACE: &[(u32, &str, u64, usize)] = &[
    (102, "sh", 137_837_000, 0),
    (104, "python3", 254_447_000, 82),
    (105, "work.sh", 1_711_000, 20),
    (107, "sleep", 1_240_000, 1),
];

/// Fails when wake-ups by interrupts count as those of the thread that was interrupted.
///
/// The same switch as perf of several versions, trace-cmd with and without its plugins, and the
/// kernel print it.
#[test]
fn formats_of_several_versions_are_equivalent() {
    let fields = "prev_comm=my task prev_pid=12 prev_prio=120 prev_state=S ==> \
                  next_comm=kworker/0:1 next_pid=7 next_prio=120";
    let lines = [
        format!("my task    12 [003]  5.000001: sched:sched_switch: {fields}"),
        format!("my task    10/12    [003]     5.000001000: sched:sched_switch: {fields}"),
        format!("  my task 12 [003] 5.000001:       sched_switch: {fields}"),
        format!("         my task-12    [003]     5.000001: sched_switch:         {fields}"),
        format!("         my task-12    [003] d..2. 5.000001: sched_switch: {fields}"),
        format!("         my task-12    (     10) [003] d..2. 5.000001: sched_switch: {fields}"),
        "my task-12    [003] 5.000001: sched_switch: my task:12 [120] S ==> kworker/0:1:7 [120]"
            .to_string(),
        "my task-12 [003] d..3 5.000001000: sched_switch: my task:12 [120] S ==> kworker/0:1:7 [120]"
            .to_string(),
    ];
    for line in lines {
        let event = one(&line);
        assert_eq!((event.time_ns, event.cpu, event.current), (5_000_001_000, 3, 12), "{line}");
        let want = SchedKind::Switch {
            from: 12,
            from_name: "my task".into(),
            prev_state: PrevState::Blocked,
            to: 7,
            to_name: "kworker/0:1".into(),
        };
        assert_eq!(event.kind, want, "{line}");
    }
    let wakeups = [
        "a 1 [000] 1.5: sched:sched_wakeup: comm=b:c pid=9 prio=120 target_cpu=000",
        "a 1 [000] 1.5: sched:sched_wakeup: comm=b:c pid=9 prio=120 success=1 target_cpu=000",
        "a-1 [000] 1.5: sched_wakeup: b:c:9 [120] success=1 CPU:000",
        "a-1 [000] 1.5: sched_waking: b:c:9 [120] CPU:000",
        "a-1 [000] 1.5: sched_wakeup: b:c:9 [120]<CANT FIND FIELD success> CPU:000",
    ];
    for line in wakeups {
        let want = SchedKind::Wakeup { thread: 9, name: "b:c".into(), new: false };
        assert_eq!((one(line).kind, one(line).current), (want, 1), "{line}");
    }
    for (line, want) in [
        (
            "a 1 [000] 1.5: sched:sched_process_fork: comm=a pid=1 child_comm=a b child_pid=2",
            SchedKind::Fork { parent: 1, child: 2, name: "a b".into() },
        ),
        (
            "a 1 [000] 1.5: sched:sched_process_exit: comm=a pid=1 prio=120",
            SchedKind::Exit { thread: 1 },
        ),
    ] {
        assert_eq!(one(line).kind, want);
    }
    // A wake-up by an interrupt is not one by the interrupted thread.
    assert_eq!(
        one("a-1 [000] d.h3. 1.5: sched_wakeup: comm=b pid=9 prio=1 target_cpu=0").current,
        0
    );
    assert_eq!(one("a -1 [000] 1.5: sched_wakeup: comm=b pid=9 prio=1 target_cpu=0").current, 0);
}

/// States as kernels of all ages write them.
#[test]
fn task_states_are_distinguished() {
    let prev_state = |state: &str| {
        let line = format!(
            "a 1 [000] 1.5: sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 \
             prev_state={state} ==> next_comm=b next_pid=2 next_prio=120"
        );
        match one(&line).kind {
            SchedKind::Switch { prev_state, .. } => prev_state,
            other => panic!("{other:?}"),
        }
    };
    assert!(["R", "R+", "0"].map(prev_state).iter().all(|l| *l == PrevState::Preempted));
    assert!(
        ["S", "D", "T", "t", "I", "D|K", "S+"]
            .map(prev_state)
            .iter()
            .all(|l| *l == PrevState::Blocked)
    );
    assert!(["X", "Z", "x"].map(prev_state).iter().all(|l| *l == PrevState::Dead));
}

fn switch(time: &str, from: u32, state: &str, to: u32) -> String {
    format!(
        "t{from} {from} [000] {time}: sched:sched_switch: prev_comm=t{from} prev_pid={from} \
         prev_prio=120 prev_state={state} ==> next_comm=t{to} next_pid={to} next_prio=120\n"
    )
}

fn wake(time: &str, by: u32, wakee: u32) -> String {
    format!(
        "t{by} {by} [000] {time}: sched:sched_wakeup: comm=t{wakee} pid={wakee} prio=120 target_cpu=0\n"
    )
}

/// Pre-emption is no sleep and not in the CPU time; wakers are known, also of tasks that wake each other.
///
/// Fails when pre-emption counts as sleep, and when waiting for a CPU counts as execution.
#[test]
fn events_become_bursts_and_sleeps() {
    let text = [
        switch("10.000", 0, "R", 1),
        switch("10.003", 1, "R+", 2),
        switch("10.005", 2, "S", 1),
        wake("10.006", 1, 2),
        switch("10.008", 1, "S", 2),
        wake("10.009", 2, 1),
        switch("10.010", 2, "X", 1),
        switch("10.014", 1, "S", 0),
        wake("10.020", 0, 1),
        switch("10.021", 0, "R", 1),
        switch("10.022", 1, "R", 0),
    ];
    let recorded = Recorded::read(text.concat().as_bytes()).expect("sound");
    let ms = |n: u64| n * 1_000_000;
    let sleep =
        |length, until, waker| Rest::Sleep { length_ns: ms(length), until_ns: ms(until), waker };
    let burst = |cpu, rest, wakes: &[(u64, usize)]| Burst {
        cpu_ns: ms(cpu),
        rest,
        wakes: wakes.iter().map(|(at, wakee)| (ms(*at), *wakee)).collect(),
    };
    assert_eq!(
        recorded.threads[0].bursts,
        [
            burst(6, sleep(1, 9, Some(1)), &[(4, 1)]),
            burst(4, sleep(6, 20, None), &[]),
            burst(1, Rest::Open, &[]),
        ]
    );
    assert_eq!(
        recorded.threads[1].bursts,
        [burst(2, sleep(1, 6, Some(0)), &[]), burst(2, Rest::Exit, &[(1, 0)])]
    );
    assert_eq!((recorded.gaps, recorded.length_ns), (0, ms(22)));
    assert_eq!(recorded.cycles, [[0, 1]]);
    let alone = recorded.only(|t| t.tid == 1);
    assert!(alone.cycles.is_empty() && alone.threads[0].bursts[0].wakes.is_empty());
    assert_eq!(alone.threads[0].bursts[0].rest, sleep(1, 9, None));
}

/// Gaps in a recording are counted, not filled silently.
#[test]
fn gaps_are_counted() {
    // The wake-up of 1 and the switch to 2 were not recorded.
    let text = [switch("1.0", 1, "S", 0), switch("1.1", 0, "R", 1), switch("1.2", 2, "S", 0)];
    assert_eq!(Recorded::read(text.concat().as_bytes()).expect("sound").gaps, 2);
    let lost = format!("CPU:0 [LOST 12 EVENTS]\n{}[3 EVENTS DROPPED]\n", text.concat());
    assert_eq!(Recorded::read(lost.as_bytes()).expect("sound").lost, 15);
    let other = format!("a 1 [000] 1.0: sched:sched_stat_runtime: comm=a pid=1\n{}", text[0]);
    let recorded = Recorded::read(other.as_bytes()).expect("sound");
    assert_eq!(recorded.others.get("sched_stat_runtime"), Some(&1));
}

/// The line and the remedy are named.
#[test]
fn malformed_lines_are_named() {
    let good = switch("2.0", 1, "S", 0);
    for (bad, expected) in [
        ("what is this", "line 2: \"what is this\" is no event"),
        ("a 1 3.0: sched:sched_switch: x", "line 2: no CPU such as [002]"),
        ("a 1 [0] 3.0: sched:sched_switch: prev_pid=1", "sched_switch without prev_comm="),
        ("a 1 [0] 3.0: sched:sched_switch: x", "sched_switch without ==>"),
        ("a 1 [0] 3.0: sched:sched_wakeup: comm=a pid=x", "pid is \"x\", not a number"),
        ("a 1 [0] 3.0: sched:sched_wakeup: nothing", "sched_wakeup without pid"),
        ("a 1 [x] 3.0: sched:sched_wakeup: comm=a pid=1", "CPU is \"x\""),
        ("a 1 [0] 3.0000000001: sched:sched_wakeup: comm=a pid=1", "time is"),
        ("a 1 [0] 99999999999999999999.0: sched:sched_wakeup: comm=a pid=1", "time is"),
        ("a 99999999999 [0] 3.0: sched:sched_wakeup: comm=a pid=1", "thread of the line"),
        ("a 1 [0] 1.0: sched:sched_wakeup: comm=a pid=1", "time 1000000000 ns after 2000000000 ns"),
    ] {
        let message = wrong(&format!("{good}{bad}\n"));
        assert!(message.starts_with("line 2: ") && message.contains(expected), "{bad}: {message}");
    }
    assert!(wrong("").starts_with("line 1: no event of the scheduler"));
    assert!(wrong("# nothing\n\n").starts_with("line 3: no event of the scheduler"));
    assert!(wrong(&"x".repeat(70_000)).starts_with("line 1: longer than"));
}

/// Bytes changed, cut, doubled and moved about in real recordings never panic, and an error has a
/// line within the file.
///
/// Fails when reuse of a thread ID discards its former owner's last burst.
#[test]
fn mutated_recordings_cause_no_panic() {
    for name in ["sched-perf.txt", "sched-ftrace.txt"] {
        let text: Vec<u8> = capture(name).lines().take(120).collect::<Vec<_>>().join("\n").into();
        let (mut sound, mut refused) = (0, 0);
        support::mutate(&text, 3000, |bytes| match fuzz::schedule(bytes) {
            true => sound += 1,
            false => refused += 1,
        });
        assert!(sound > 300 && refused > 300, "{name}: {sound} {refused}");
    }
}
