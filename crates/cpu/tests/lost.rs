//! Reservations after the CPU was elsewhere, as the kernel's real-time classes take it.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, build};
use laxity_cpu::{Attributes, CpuId, Reservation, TaskId};

const MS: u64 = 1_000_000;
const GREEDY: TaskId = TaskId(1);
const PERIODIC: TaskId = TaskId(2);

/// Jobs of 1 ms in each 10 ms, reserved, beside a task that would use more than the 8 ms in 10 that it has; for
/// `away` ms the CPU is with neither. By how many ms jobs are late at most that come after that.
fn late_afterwards(name: &str, away: u64) -> u64 {
    let mut policy = build(name, &Options::default()).expect("a name of the registry");
    let reserved = |budget| Attributes::hard(Reservation::new(Span(budget * MS), Span(10 * MS)));
    policy.join(Time::ZERO, GREEDY, &reserved(8)).expect("80 % fit");
    policy.join(Time::ZERO, PERIODIC, &reserved(1)).expect("10 % more do");
    policy.wake(Time::ZERO, GREEDY);
    let (back, mut late, mut job) = (100 + away, 0, None);
    for ms in 0..back + 5000 {
        let now = Time(ms * MS);
        policy.timer(now);
        if ms % 10 == 0 && job.is_none() {
            policy.wake(now, PERIODIC);
            job = Some(ms);
        }
        if (100..back).contains(&ms) {
            continue;
        }
        let end = now + Span(MS);
        match policy.pick(now, CpuId::FIRST).map(|p| p.task) {
            Some(PERIODIC) => {
                policy.block(end, PERIODIC, Span(MS));
                let release = job.take().expect("it was awake");
                if release >= back {
                    late = late.max((ms + 1).saturating_sub(release + 10));
                }
            }
            Some(task) => policy.ran(end, task, Span(MS)),
            None => {}
        }
    }
    late
}

/// What was lost of a period is made up for, since the next one comes at its time.
///
/// Fails when a reservation makes up for all periods that it lost, one after the other: 1.6 s.
#[test]
fn nobody_makes_up_for_lost_periods_at_the_expense_of_others() {
    for name in ["edf", "bebs", "bebs-credit", "cbs"] {
        for away in [0, 5, 15, 2000] {
            let late = late_afterwards(name, away);
            assert!(late < 10, "{name}, away for {away} ms: late by {late} ms");
        }
    }
}
