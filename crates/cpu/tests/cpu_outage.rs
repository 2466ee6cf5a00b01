//! Reservations after the CPU was taken away, as by the kernel's real-time classes.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, build};
use laxity_cpu::{Attributes, CpuId, Reservation, TaskId};

const MS: u64 = 1_000_000;
const GREEDY: TaskId = TaskId(1);
const PERIODIC: TaskId = TaskId(2);

/// The maximum lateness, in ms, of reserved jobs of 1 ms in each 10 ms that are released after the CPU was taken
/// away for `away` ms, beside a task that overruns its reservation of 8 ms in 10.
fn max_lateness_after_outage(name: &str, away: u64) -> u64 {
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

/// A partly lost period is made up for, since the next release stays at its time.
///
/// Fails when a reservation makes up for all lost periods, one after the other: 1.6 s.
#[test]
fn lost_periods_are_not_recovered_at_the_expense_of_others() {
    for name in ["edf", "bebs", "bebs-credit", "cbs"] {
        for away in [0, 5, 15, 2000] {
            let late = max_lateness_after_outage(name, away);
            assert!(late < 10, "{name}, away for {away} ms: late by {late} ms");
        }
    }
}
