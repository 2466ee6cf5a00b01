//! Clusters under arbitrary reports: unknown tasks, duplicate events, absurd
//! times and requests. Nothing panics; no task runs on two CPUs, while it sleeps or outside its
//! affinity.

use std::collections::BTreeMap;

use crate::cpu_common::machines::build;
use laxity_core::{Span, Time};
use laxity_cpu::clusters::{Layout, Options};
use laxity_cpu::{Attributes, CpuId, CpuSet, GroupId, Nice, Policy, Reservation, Service, TaskId};
use laxity_sim::Random;

const CPUS: u32 = 5;

fn length(r: &mut Random) -> Span {
    match r.uniform(0, 30) {
        0 => Span(r.uniform(0, u64::MAX / 4)),
        1 => Span(0),
        _ => Span(r.uniform(1, 50_000_000)),
    }
}

fn attributes(r: &mut Random) -> Attributes {
    let reservation =
        Reservation { budget: Span(length(r).0 / 10), period: length(r), deadline: length(r) };
    let implicit = Reservation::new(
        reservation.budget,
        Span(reservation.budget.0.saturating_mul(r.uniform(2, 30))),
    );
    let service = match r.uniform(0, 5) {
        0 => Service::Hard(reservation),
        1 => Service::Hard(implicit),
        2 => Service::Soft(implicit),
        _ => Service::BestEffort,
    };
    let affinity = match r.uniform(0, 3) {
        0 => (0..8).filter(|_| r.uniform(0, 2) > 0).map(CpuId).collect(),
        _ => CpuSet::ALL,
    };
    let nice = Nice::new(r.uniform(0, 39) as i8 - 20).expect("in range");
    let group = (r.uniform(0, 4) == 0).then(|| GroupId(r.uniform(0, 2) as u32));
    Attributes { nice, service, group, affinity }
}

/// Fails when a move forgets that a task had a CPU (tried without `preempt` in `migrate`), and when
/// a changed affinity does not end background work outside of it.
#[test]
fn no_sequence_of_reports_panics_on_several_cpus() {
    let options = Options { balance: Span::from_millis(5), quantum: Span(1), ..Options::default() };
    let mut picks = 0;
    for (name, size) in ["bebs", "bebs-credit", "cbs", "iris", "edf", "berate"]
        .into_iter()
        .flat_map(|name| [(name, 1), (name, 2), (name, 5)])
        .chain([("linux-2.4", 1), ("linux-2.6", 1), ("eevdf", 1), ("posix", 1)])
    {
        for seed in 0..6 {
            let mut r = Random::new(seed, size);
            let layout = Layout::clustered(CPUS, size).expect("clusters");
            let mut policy = build(name, &layout, options);
            let mut now = Time(0);
            // By task that is there: whether it is awake, and where it may run.
            let mut known: BTreeMap<u32, (bool, CpuSet)> = BTreeMap::new();
            for _ in 0..3000 {
                let task = TaskId(r.uniform(0, 24) as u32);
                let ran = if r.uniform(0, 9) == 0 { length(&mut r) } else { Span(0) };
                match r.uniform(0, 8) {
                    0 | 1 => {
                        let a = attributes(&mut r);
                        if policy.join(now, task, &a).is_ok() {
                            assert!(known.insert(task.0, (false, a.affinity)).is_none());
                        }
                    }
                    2 if r.uniform(0, 2) == 0 => {
                        policy.leave(now, task, ran);
                        known.remove(&task.0);
                    }
                    3 => {
                        let a = attributes(&mut r);
                        if policy.change(now, task, &a).is_ok() {
                            known.get_mut(&task.0).expect("it is there").1 = a.affinity;
                        }
                    }
                    4 => {
                        policy.block(now, task, ran);
                        known.entry(task.0).and_modify(|k| k.0 = false);
                    }
                    5 => policy.ran(now, task, ran),
                    _ => {
                        policy.wake(now, task);
                        known.entry(task.0).and_modify(|k| k.0 = true);
                    }
                }
                if r.uniform(0, 2) == 0 {
                    now += Span(length(&mut r).0.min(u64::MAX / 100_000));
                }
                if policy.next_event().is_some_and(|at| at <= now) {
                    policy.timer(now);
                }
                let mut on = Vec::new();
                for cpu in (0..CPUS).map(CpuId) {
                    let Some(pick) = policy.pick(now, cpu) else { continue };
                    let (awake, affinity) = known[&pick.task.0];
                    assert!(awake && affinity.contains(cpu), "{name} {size}: {pick:?}");
                    assert!(!on.contains(&pick.task), "{name} {size}: {pick:?} twice");
                    on.push(pick.task);
                    picks += 1;
                }
                assert_eq!(policy.pick(now, CpuId(CPUS)), None);
            }
        }
    }
    assert!(picks > 100_000, "{picks}");
}
