//! Recordings and rt-app's workloads played again.

use std::fs::read_to_string;
use std::path::Path;

use crate::cpu_common::machines::build;
use crate::cpu_common::ms;
use laxity_core::{Span, Time};
use laxity_cpu::clusters::{Layout, Options};
use laxity_cpu::{CpuId, TaskId, bebs};
use laxity_sim::Control;
use laxity_sim::cpu::recorded::{Sleeps, replay, rt_app};
use laxity_sim::cpu::{Machine, Measure, Recording, Task, run};
use laxity_trace::rt_app;
use laxity_trace::sched::{Recorded, Rest};

fn recorded(name: &str) -> Recorded {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let text = read_to_string(folder.join(name)).expect("a file of the repository");
    let recorded = Recorded::read(text.as_bytes()).expect("sound");
    // Without the rest of the machine, which was only recorded as busy.
    recorded.only(|thread| !thread.name.starts_with("other/"))
}

fn play(tasks: &[Task], cpus: u32, length: Span) -> (Measure, Recording) {
    let layout = Layout::partitioned(cpus).expect("CPUs");
    let mut observers = (Measure::new(tasks.len()), Recording::new());
    let machine = Machine { cpus, ..Machine::single(Time::ZERO + length, 1) };
    let mut policy = build("bebs", &layout, Options::default());
    run(&mut policy, tasks, machine, &mut observers, &Control::default()).expect("a run");
    observers
}

/// Replayed with CPUs to spare, threads execute exactly what they did.
#[test]
fn a_recording_is_replayed() {
    for name in ["sched-perf.txt", "sched-ftrace.txt"] {
        let recorded = recorded(name);
        assert!(recorded.threads.len() > 50 && recorded.gaps < 10, "{}", recorded.gaps);
        for sleeps in [Sleeps::Lengths, Sleeps::Instants, Sleeps::Wakers] {
            let tasks = replay(&recorded, sleeps);
            let (measure, _) = play(&tasks, 64, Span(2 * recorded.length_ns));
            for (thread, task) in recorded.threads.iter().zip(&measure.tasks) {
                // Some wait for ever because no task is left to wake them.
                let ended = thread.bursts.last().is_some_and(|b| b.rest == Rest::Exit);
                if sleeps != Sleeps::Wakers || ended {
                    let found = (thread.name.as_str(), task.executed.0);
                    assert_eq!(found, (thread.name.as_str(), thread.cpu_ns()), "{sleeps:?}");
                }
            }
        }
    }
}

/// On the two CPUs that it was recorded on, without the other load, the afternoon is over sooner,
/// and no thread has less CPU time.
#[test]
fn a_recording_under_bebs() {
    let recorded = recorded("sched-perf.txt");
    let tasks = replay(&recorded, Sleeps::Instants);
    let (measure, slices) = play(&tasks, 2, Span(recorded.length_ns));
    let executed: u64 = measure.tasks.iter().map(|t| t.executed.0).sum();
    let all: u64 = recorded.threads.iter().map(|t| t.cpu_ns()).sum();
    assert_eq!(executed, all);
    assert!(slices.slices.iter().all(|s| s.cpu.0 < 2));
}

/// A thread that waits for another continues once that one has reached the wake-up, not after the recorded time.
#[test]
fn a_woken_task_waits_for_its_waker() {
    let switch = |time: &str, from: u32, state: &str, to: u32| {
        format!(
            "t{from}-{from} [000] d..2. {time}: sched_switch: prev_comm=t{from} prev_pid={from} \
             prev_prio=120 prev_state={state} ==> next_comm=t{to} next_pid={to} next_prio=120\n"
        )
    };
    let wake = "t1-1 [000] d..2. 0.020: sched_wakeup: comm=t2 pid=2 prio=120 target_cpu=0\n";
    let text = [
        switch("0.000", 0, "R", 2),
        switch("0.001", 2, "S", 1),
        wake.into(),
        switch("0.030", 1, "S", 2),
        switch("0.032", 2, "X", 0),
    ];
    let recorded = Recorded::read(text.concat().as_bytes()).expect("sound");
    // The waker had 19 ms until then; as it starts at once on a CPU of its own it is there 1 ms
    // sooner.
    let starts = |sleeps| {
        let mut tasks = replay(&recorded, sleeps);
        tasks[1].joins = Time::ZERO;
        let (_, recording) = play(&tasks, 2, ms(100));
        let second = recording.slices.iter().filter(|s| s.task == TaskId(0)).nth(1);
        second.expect("it continues").from
    };
    assert_eq!(starts(Sleeps::Lengths), Time(20_000_000));
    assert_eq!(starts(Sleeps::Wakers), Time(19_000_000));
}

/// Timers start again when they were missed, loops and instances are played, semaphores remember.
///
/// Fails when relative timers keep their grid, and when wake-ups before the sleep are forgotten.
#[test]
fn rt_app_workloads_are_simulated() {
    let text = r#"{ "tasks" : {
        "late" : { "cpus" : [0], "loop" : 1, "phases" : {
            "a" : { "run" : 1000, "timer" : { "ref" : "t", "period" : 10000 } },
            "b" : { "run" : 25000, "timer" : { "ref" : "t", "period" : 10000 } },
            "c" : { "run" : 1000, "timer" : { "ref" : "t", "period" : 10000 } },
            "d" : { "run" : 1000 } } },
        "taker" : { "cpus" : [1], "instance" : 2, "loop" : 2, "sem_wait" : "s", "run" : 1000 },
        "giver" : { "cpus" : [2], "loop" : 1, "run" : 3000, "sem_post" : "s", "sem_post1" : "s" }
    } }"#;
    let tasks = rt_app(&rt_app::read(text).expect("sound"));
    let names: Vec<&str> = tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["late", "taker-0", "taker-1", "giver"]);
    let (measure, recording) = play(&tasks, 3, ms(200));
    let starts = |task: u32| -> Vec<u64> {
        let slices = recording.slices.iter().filter(|s| s.task == TaskId(task));
        slices.map(|s| s.from.0 / 1_000_000).collect()
    };
    // Late by 15 ms at 35 ms, c continues at once, and the timer counts from then.
    assert_eq!(starts(0), [0, 10, 45]);
    assert_eq!(measure.tasks[0].executed, ms(28));
    // Both takers have both turns, at 3 ms, on the one CPU that they may use.
    assert_eq!([1, 2].map(|t: usize| measure.tasks[t].executed), [ms(2), ms(2)]);
    assert_eq!(starts(1)[0].min(starts(2)[0]), 3);
    assert!(recording.slices.iter().filter(|s| s.task.0 == 2).all(|s| s.cpu == CpuId(1)));
}

/// The same on one CPU under a policy that knows no others.
#[test]
fn a_recording_on_one_cpu() {
    let recorded = recorded("sched-perf.txt");
    let tasks = replay(&recorded, Sleeps::Lengths);
    let mut measure = Measure::new(tasks.len());
    let machine = Machine::single(Time(2 * recorded.length_ns), 1);
    let mut policy = bebs::new(&bebs::Options::default());
    run(&mut policy, &tasks, machine, &mut measure, &Control::default()).expect("a run");
    let executed: u64 = measure.tasks.iter().map(|t| t.executed.0).sum();
    let all: u64 = recorded.threads.iter().map(|t| t.cpu_ns()).sum();
    assert_eq!(executed, all);
}
