//! Figures 1 and 2 of the paper on best-effort bandwidth servers, to the nanosecond.

use crate::cpu_common::ms;
use laxity_core::Time;
use laxity_cpu::servers::Servers;
use laxity_cpu::{Policy, Share, TaskId};
use laxity_cpu::{bebs, cbs, iris};
use laxity_sim::Control;
use laxity_sim::cpu::papers::bebs::{figure_1, figure_2};
use laxity_sim::cpu::{Machine, Measure, Recording, Task, run};

/// (task, from, to) in ms.
fn slices(policy: &mut impl Policy, tasks: &[Task], until: u64) -> Vec<(u32, u64, u64)> {
    let mut recording = Recording::new();
    let machine = Machine::single(Time::ZERO + ms(until), 1);
    run(policy, tasks, machine, &mut recording, &Control::default()).unwrap();
    let whole = |t: Time| {
        assert_eq!(t.0 % 1_000_000, 0, "{t} is no whole millisecond");
        t.0 / 1_000_000
    };
    recording.slices.iter().map(|s| (s.task.0 + 1, whole(s.from), whole(s.to))).collect()
}

fn bebs() -> Servers {
    bebs::new(&bebs::Options { best_effort_bw_min: Share::ZERO, ..Default::default() })
}

/// Figure 2: at 25 ms idle time releases tasks 2 and 3 early; at 26 ms task 1 wakes.
///
/// Fails when an early release uses `r + p` as its deadline (tried: BEBS turns into IRIS), when
/// only the first expired server is advanced, and when ties go to the latest activated.
#[test]
fn figure_2_is_exact() {
    let begin = [(1, 0, 5), (2, 5, 15), (3, 15, 25)];
    let bebs = slices(&mut bebs(), &figure_2(), 55);
    assert_eq!(bebs, [&begin[..], &[(2, 25, 26), (1, 26, 36), (2, 36, 45), (3, 45, 55)]].concat());
    let iris = slices(&mut iris::new(&cbs::Options::default()), &figure_2(), 55);
    assert_eq!(iris, [&begin[..], &[(2, 25, 35), (3, 35, 45), (1, 45, 55)]].concat());
}

/// The deadlines of the figure: 60 under BEBS, 55 under IRIS, and 56 for task 1 under both.
#[test]
fn figure_2_deadlines_are_exact() {
    let deadlines = |mut policy: Servers| {
        let machine = Machine::single(Time::ZERO + ms(27), 1);
        run(&mut policy, &figure_2(), machine, &mut (), &Control::default()).unwrap();
        [0, 1, 2].map(|t| policy.server_of(TaskId(t)).unwrap().2.0 / 1_000_000)
    };
    assert_eq!(deadlines(bebs()), [56, 60, 60]);
    assert_eq!(deadlines(iris::new(&cbs::Options::default())), [56, 55, 55]);
}

/// Figure 1(a, b): task 1 uses a tenth of the CPU until 0.4 s, then all that it can get. Under
/// CBS task 2, whose deadline ran ahead, then waits for 170 ms; under BEBS and IRIS never longer
/// than a period.
///
/// Fails when an exhausted CBS server waits for its period, or a BEBS server does not.
#[test]
fn figure_1_gap_is_170_ms() {
    let tasks = figure_1();
    let gap = |mut policy: Servers| {
        let mut observer = (Measure::new(2), Recording::new());
        let end = Time::ZERO + ms(600);
        run(&mut policy, &tasks, Machine::single(end, 1), &mut observer, &Control::default())
            .unwrap();
        let (mut measure, recording) = observer;
        measure.finish(end);
        let late = Time::ZERO + ms(400);
        let share: u64 = recording
            .slices
            .iter()
            .filter(|s| s.task == TaskId(1) && s.to > late)
            .map(|s| s.to.since(s.from.max(late)).0)
            .sum();
        (measure.tasks[1].longest_gap.0 / 1_000, share / 2_000_000)
    };
    let iris = iris::new(&cbs::Options::default());
    assert_eq!(gap(cbs::new(&cbs::Options::default())), (170_000, 10));
    assert_eq!(gap(bebs()), (10_000, 50));
    assert_eq!(gap(iris), (10_000, 50));
}
