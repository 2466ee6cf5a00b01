//! Best effort after many tasks have joined and left.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, build};
use laxity_cpu::{Attributes, CpuId, TaskId};

const MS: u64 = 1_000_000;

/// The maximum lateness, in ms within 5 s, of a task with jobs of 2 ms in each 20 ms beside two CPU-bound tasks.
/// Before it joins, `many` tasks one after the other wake, compute for 5 ms and leave, and the CPU is idle for a
/// millisecond.
fn max_lateness_after(name: &str, many: u32) -> u64 {
    let mut policy = build(name, &Options::default()).expect("a name of the registry");
    let best_effort = Attributes::default();
    for task in (0..many).map(TaskId) {
        policy.join(Time::ZERO, task, &best_effort).expect("best effort is admitted");
    }
    let idle = 5 * u64::from(many);
    for task in (0..many).map(TaskId) {
        for ms in 0..5 {
            let at = Time((5 * u64::from(task.0) + ms) * MS);
            policy.timer(at);
            policy.wake(at, task);
            assert_eq!(policy.pick(at, CpuId::FIRST).map(|p| p.task), Some(task), "{name}");
            policy.ran(at + Span(MS), task, Span(MS));
        }
        policy.leave(Time(5 * u64::from(task.0 + 1) * MS), task, Span::ZERO);
    }
    assert_eq!(policy.pick(Time(idle * MS), CpuId::FIRST), None);

    let [answers, one, other] = [many, many + 1, many + 2].map(TaskId);
    let (mut job, mut late, mut left) = (None, 0, 0);
    for ms in idle + 1..idle + 5000 {
        let at = Time(ms * MS);
        policy.timer(at);
        if ms == idle + 1 {
            for task in [answers, one, other] {
                policy.join(at, task, &best_effort).expect("best effort is admitted");
            }
            policy.wake(at, one);
            policy.wake(at, other);
        }
        if (ms - idle) % 20 == 0 && job.is_none() {
            policy.wake(at, answers);
            (job, left) = (Some(ms), 2);
        }
        let end = at + Span(MS);
        match policy.pick(at, CpuId::FIRST).map(|p| p.task) {
            Some(task) if task == answers && left == 1 => {
                policy.block(end, task, Span(MS));
                let release = job.take().expect("it was awake");
                late = late.max((ms + 1).saturating_sub(release + 20));
            }
            Some(task) => {
                left -= u64::from(task == answers);
                policy.ran(end, task, Span(MS));
            }
            None => {}
        }
    }
    late.max(job.map_or(0, |release| (idle + 5000).saturating_sub(release + 20)))
}

/// When the CPU has been idle, departed tasks hold no bandwidth.
///
/// Fails when their shares are reclaimed at their zero-lag times only.
#[test]
fn departed_tasks_hold_no_bandwidth() {
    for name in ["bebs", "bebs-credit", "cbs", "iris"] {
        let late = max_lateness_after(name, 1);
        for many in [30, 1000] {
            assert_eq!(max_lateness_after(name, many), late, "{name}: after {many} tasks");
        }
    }
}
