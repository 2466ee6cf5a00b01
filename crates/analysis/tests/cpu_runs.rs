//! Records of simulated runs of CPUs are legal with their premises; changed records are not.

#[path = "../../sim/tests/cpu_common/mod.rs"]
mod cpu_common;

use cpu_common::chains;
use cpu_common::machines::{build as build_clusters, random_machine};
use cpu_common::ms;
use cpu_common::systems::{Mix, system};
use laxity_analysis::cpu::{CpuRules, CpuValidation, Premise, judge};
use laxity_core::{Span, Time};
use laxity_cpu::Policy;
use laxity_cpu::registry::{Options, POLICIES, build};
use laxity_results::csv::cpu_run::CpuRunRecord;
use laxity_sim::Control;
use laxity_sim::cpu::{Machine, Task, run_recorded};

/// Those that keep deadlines.
fn keeping() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|p| p.keeps_deadlines).map(|p| p.name)
}

fn systems() -> u64 {
    std::env::var("LAXITY_SYSTEMS").map_or(60, |n| n.parse().expect("LAXITY_SYSTEMS is a number"))
}

fn record(
    name: &str,
    policy: &mut impl Policy,
    tasks: &[Task],
    machine: Machine,
    clusters: Vec<u32>,
) -> CpuRunRecord {
    let mut rows = Vec::new();
    let mut keep = |row: &_| rows.push(*row);
    let control = Control::default();
    let ending = run_recorded(policy, tasks, machine, &mut (), &mut keep, &control);
    let end = ending.expect("a run").time;
    let tasks = tasks.iter().enumerate().map(|(i, t)| format!("{} {i}", t.name)).collect();
    CpuRunRecord { policy: name.to_owned(), clusters, tasks, rows, end }
}

fn on_one(name: &str, tasks: &[Task], length: Span, seed: u64) -> CpuRunRecord {
    let mut policy = build(name, &Options::default()).expect("a name of the registry");
    let machine = Machine::single(Time::ZERO + length, seed);
    record(name, &mut policy, tasks, machine, vec![0])
}

/// Tasks that are refused, or ask for more than they reserved, are the only ones with failed premises.
fn legal(what: &str, found: &CpuValidation) {
    if let Some(fault) = &found.illegal {
        panic!("{what}: {fault}");
    }
    assert_eq!(found.contradiction(), None, "{what}");
    for late in &found.late {
        assert!(!late.promised, "{what}: {late}");
    }
}

const IMPLICIT: Mix = Mix { soft: true, constrained: false, greedy: false, length: ms(2000) };

// Fails when a legal run is refused.
#[test]
fn random_systems_are_legal() {
    for name in keeping() {
        let (mut jobs, mut slices) = (0, 0);
        for seed in 0..systems() {
            let tasks = system(seed, IMPLICIT);
            let run = on_one(name, &tasks, IMPLICIT.length, seed);
            let found = judge(&run, CpuRules::default());
            legal(&format!("{name}, system {seed}"), &found);
            let refused = |premise: &Premise| matches!(premise, Premise::Refused { .. });
            assert!(found.broken.iter().all(refused), "{name}, {seed}: {:?}", found.broken);
            jobs += found.jobs;
            slices += found.slices;
        }
        println!("{name}: {jobs} jobs, {slices} slices");
        assert!(jobs > 20 * systems() as usize, "{name}: {jobs} jobs");
    }
}

// Fails when a change of a share is taken for one before the zero-lag time.
#[test]
fn chains_of_changes_are_legal() {
    for name in keeping() {
        for seed in 0..systems() {
            let (tasks, _) = chains::system(seed, 2_000_000_000);
            let run = on_one(name, &tasks, ms(2000), seed);
            legal(&format!("{name}, chain {seed}"), &judge(&run, CpuRules::default()));
        }
    }
}
#[test]
fn dbg() {
    let v: Vec<String> =
        std::env::var("DBG").unwrap_or_default().split(' ').map(str::to_owned).collect();
    if v.len() < 5 {
        return;
    }
    let n: Vec<u64> = v[2..].iter().map(|x| x.parse().unwrap()).collect();
    let tasks = if v[0] == "chain" {
        chains::system(n[0], 2_000_000_000).0
    } else {
        system(n[0], IMPLICIT)
    };
    let run = on_one(&v[1], &tasks, ms(2000), n[0]);
    for row in run.rows.iter().filter(|r| r.at().0 >= n[1] && r.at().0 <= n[2]) {
        println!("{row:?}");
    }
    println!("{:?}", judge(&run, CpuRules::default()));
}
