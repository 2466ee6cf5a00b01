//! Records of simulated runs of CPUs are legal with their premises; changed records are not.

#[path = "../../sim/tests/cpu_common/mod.rs"]
mod cpu_common;

use std::path::Path;

use cpu_common::chains;
use cpu_common::machines::{build as build_clusters, random_machine};
use cpu_common::ms;
use cpu_common::systems::{Mix, system};
use laxity_analysis::cpu::{CpuFault, CpuRules, CpuValidation, Premise, judge};
use laxity_core::{Span, Time};
use laxity_cpu::clusters::{self, Layout};
use laxity_cpu::registry::{Options, POLICIES, build};
use laxity_cpu::{Attributes, Policy, Reservation, Service, bebs_credit};
use laxity_results::csv::cpu_run::{
    CpuRunRecord, RunCharge, RunEvent, RunKind, RunRow, RunSlice, RunState, ServerRow,
};
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::Control;
use laxity_sim::cpu::{Cost, Gap, Late, Machine, Task, Workload, run_recorded, tasks};

/// Those that keep deadlines.
fn keeping() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|p| p.keeps_deadlines).map(|p| p.name)
}

/// Whether a policy can have one queue for several CPUs.
fn shares_a_queue(name: &str) -> bool {
    let two = Layout::clustered(2, 2).expect("two CPUs");
    clusters::build(name, &Options::default(), &two, RESTLESS).is_ok()
}

/// Balance often, so that much moves.
const RESTLESS: clusters::Options = clusters::Options {
    steal: true,
    quantum: ms(3),
    balance: ms(20),
    pack: false,
    reservations: true,
};

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
    CpuRunRecord { policy: name.to_owned(), clusters, live: None, tasks, rows, end }
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

/// Records that are legal although something may be wrong that makes jobs late elsewhere.
fn legal_if_in_time(what: &str, run: &CpuRunRecord) {
    let found = judge(run, CpuRules::default());
    if found.late.iter().all(|late| !late.promised) {
        legal(what, &found);
    }
}

// Fails with most faults of `crates/cpu/tests/faults` put back (`make faults`), in a run in which no job is late.
#[test]
fn chains_of_changes_are_legal() {
    for name in keeping() {
        for seed in 0..systems() {
            let (mut tasks, hard) = chains::system(seed, 2_000_000_000);
            let run = on_one(name, &tasks, ms(2000), seed);
            legal_if_in_time(&format!("{name}, chain {seed}"), &run);
            // The same changes of soft reservations.
            for task in &mut tasks[hard..] {
                let changes = task.changes.iter_mut().map(|change| &mut change.attributes);
                for attributes in changes.chain([&mut task.attributes]) {
                    if let Service::Hard(r) = attributes.service {
                        attributes.service = Service::Soft(r);
                    }
                }
            }
            let run = on_one(name, &tasks, ms(2000), seed);
            legal_if_in_time(&format!("{name}, chain {seed} of soft ones"), &run);
        }
    }
}

// The same. Where hard jobs need a tenth of what they reserved, none is late.
#[test]
fn former_faults_are_found_before_jobs_are_late() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/tests/promises");
    let mut files: Vec<_> =
        folder.read_dir().expect("cases").map(|e| e.expect("one").path()).collect();
    files.sort();
    for (file, part) in files.iter().flat_map(|file| [(file, 10), (file, 1)]) {
        let scenario = CpuScenario::read(file).expect("it reads");
        let mut tasks = tasks(&scenario).expect("no recordings");
        for task in &mut tasks {
            if let Workload::Frames { cost: Cost::Fixed(cost), .. } = &mut task.workload {
                cost.0 /= part;
            }
        }
        for name in scenario.policy.compare.iter().chain([&scenario.policy.use_]) {
            let mut policy = build(name, &scenario.policy.options).expect("a name of the registry");
            let machine = Machine::single(Time::ZERO + ms(5000), 1);
            let run = record(name, &mut policy, &tasks, machine, vec![0]);
            let case = file.file_stem().expect("a name").display();
            legal_if_in_time(&format!("{name}, {case}, jobs divided by {part}"), &run);
        }
    }
    assert_eq!(files.len(), 8);
}

// Fails when whole jobs within short deadlines are judged as shares: tried with their sum and their keys.
#[test]
fn systems_with_short_deadlines_are_legal() {
    let mix = Mix { constrained: true, greedy: true, ..IMPLICIT };
    let mut constrained = 0;
    for name in keeping() {
        for seed in 0..systems() / 3 {
            let run = on_one(name, &system(seed, mix), mix.length, seed);
            let found = judge(&run, CpuRules::default());
            legal(&format!("{name}, system {seed} with short deadlines"), &found);
            constrained += u32::from(found.constrained.is_some());
        }
    }
    assert!(constrained > 20, "{constrained}");
}

// Fails when best effort that may go on is refused, or the exception holds where it does not apply.
#[test]
fn protected_tasks_go_on_where_the_policy_says_so() {
    let options = bebs_credit::Options {
        wakeup_granularity: ms(3),
        slice: ms(3),
        ..bebs_credit::Options::default()
    };
    let sleepers = [3, 5, 7].map(|gap| {
        let (sleep, burst) = (Gap::Fixed(ms(gap)), Cost::Fixed(ms(2)));
        Task::new("sleeper", Workload::Interactive { sleep, burst })
    });
    let tasks = sleepers.into_iter().chain([Task::new("bound", Workload::CpuBound)]);
    let tasks: Vec<Task> = tasks.collect();
    let machine = Machine::single(Time::ZERO + ms(2000), 1);
    let run = record("bebs-credit", &mut bebs_credit::new(&options), &tasks, machine, vec![0]);
    assert_eq!(judge(&run, CpuRules { wakeups_wait: true, live: None }).illegal, None);
    let strict = judge(&run, CpuRules::default()).illegal;
    assert!(matches!(strict, Some(CpuFault::Wrong { .. })), "{strict:?}");
}

const GREEDY: Mix = Mix { constrained: false, greedy: true, ..IMPLICIT };

// Fails when the servers of one cluster are judged by the slices of another, or the greatest share is left out.
#[test]
fn machines_of_several_cpus_are_legal() {
    for name in keeping() {
        for largest in [1, 4] {
            if largest > 1 && !shares_a_queue(name) {
                continue;
            }
            let mut jobs = 0;
            for seed in 0..systems() / 3 {
                let system = random_machine(seed, GREEDY, largest);
                let mut policy = build_clusters(name, &system.layout, RESTLESS);
                let machine = system.machine(GREEDY.length, seed);
                let mut clusters = vec![0; system.layout.cpus() as usize];
                for (k, set) in system.layout.clusters().iter().enumerate() {
                    set.iter().for_each(|cpu| clusters[cpu.index()] = k as u32);
                }
                let run = record(name, &mut policy, &system.tasks, machine, clusters);
                let found = judge(&run, CpuRules::default());
                legal(&format!("{name}, machine {seed} of clusters up to {largest}"), &found);
                jobs += found.jobs;
            }
            println!("{name}, {largest}: {jobs} jobs");
        }
    }
}

/// The records that are changed below: systems in which every CPU is always busy enough.
fn originals() -> Vec<CpuRunRecord> {
    let runs = (0..8).flat_map(|seed| {
        keeping().map(move |name| on_one(name, &system(seed, IMPLICIT), ms(1000), seed))
    });
    runs.collect()
}

/// Every 17th row that `change` changes, changed: it answers where the fault is to be, from when to when.
fn refused(
    what: &str,
    least: usize,
    change: impl Fn(&mut Vec<RunRow>, usize) -> Option<(Time, Time)>,
) -> Vec<CpuFault> {
    let mut faults = Vec::new();
    for run in originals() {
        for i in (0..run.rows.len()).step_by(17) {
            let mut changed = run.clone();
            let Some((from, until)) = change(&mut changed.rows, i) else { continue };
            let found = judge(&changed, CpuRules::default());
            let of = format!("{what}: {} row {i}: {:?}", run.policy, run.rows[i]);
            let Some(fault) = found.illegal else { panic!("{of}: legal") };
            assert!((from..=until).contains(&fault.at()), "{of}: {fault}, not in {from}..{until}");
            faults.push(fault);
        }
    }
    println!("{what}: {}", faults.len());
    assert!(faults.len() >= least, "{what}: {} only", faults.len());
    faults
}

/// A slice that was charged to a server, longer than a microsecond.
fn own(row: &RunRow) -> Option<&RunSlice> {
    match row {
        RunRow::Slice(slice) if matches!(slice.charge, RunCharge::Server(..)) => {
            (slice.to.since(slice.from) > Span(1000)).then_some(slice)
        }
        _ => None,
    }
}

// Fails when idle time is not compared with what is ready: tried.
#[test]
fn moved_and_dropped_slices_are_refused() {
    refused("moved", 200, |rows, i| {
        let slice = *own(&rows[i])?;
        let by = Span(slice.to.since(slice.from).0 / 2);
        let later = RunSlice { from: slice.from + by, to: slice.to + by, ..slice };
        rows[i] = RunRow::Slice(later);
        Some((slice.from, slice.from))
    });
    refused("dropped", 200, |rows, i| {
        let slice = *own(&rows[i])?;
        rows.remove(i);
        Some((slice.from, slice.from))
    });
}

// Fails when what runs is not compared with what waits: tried.
#[test]
fn swapped_slices_are_refused() {
    refused("swapped", 100, |rows, i| {
        let first = *own(&rows[i])?;
        let next = rows[i + 1..].iter().position(|row| matches!(row, RunRow::Slice(_)))? + i + 1;
        let second = *own(&rows[next])?;
        if second.charge == first.charge {
            return None;
        }
        // With equal deadlines either may go first.
        let due = |charge| {
            let of = rows[..i].iter().rev().find_map(|row| match row {
                RunRow::Server(row) if RunCharge::Server(row.cluster, row.slot) == charge => {
                    Some(row)
                }
                _ => None,
            });
            of.filter(|row| row.state == RunState::Ready).map(|row| row.deadline)
        };
        if due(first.charge) == due(second.charge) {
            return None;
        }
        let charged = |of: RunSlice, to: RunSlice| {
            RunRow::Slice(RunSlice { task: to.task, charge: to.charge, ..of })
        };
        (rows[i], rows[next]) = (charged(first, second), charged(second, first));
        Some((first.from, first.from))
    });
}

fn server(row: &RunRow) -> Option<&ServerRow> {
    match row {
        RunRow::Server(row) => Some(row),
        _ => None,
    }
}

// Fails when deadlines are believed: tried.
#[test]
fn other_deadlines_are_refused() {
    let early = refused("earlier deadline", 200, |rows, i| {
        let row = *server(&rows[i])?;
        let ready = row.state == RunState::Ready && row.kind != RunKind::Constrained;
        if !ready || row.remaining < Span(1000) {
            return None;
        }
        // Sooner than the server could execute it alone.
        let deadline = row.at + Span(row.remaining.0 / 2);
        rows[i] = RunRow::Server(ServerRow { deadline, ..row });
        Some((row.at, row.at))
    });
    let named = |fault: &CpuFault| matches!(fault, CpuFault::Early { .. } | CpuFault::Back { .. });
    assert!(early.iter().all(named), "{early:?}");
    // A hard job under a later deadline, if nothing goes wrong before it ends.
    refused("later deadline", 50, |rows, i| {
        let row = *server(&rows[i])?;
        if row.kind != RunKind::Hard || row.event != RunEvent::Wake || row.state != RunState::Ready
        {
            return None;
        }
        let charge = RunCharge::Server(row.cluster, row.slot);
        let rest = &rows[i + 1..];
        let task = rest.iter().filter_map(own).find(|slice| slice.charge == charge)?.task;
        let job = rest.iter().find_map(|row| match row {
            RunRow::Job(job) if job.task == task && job.ended => Some(*job),
            _ => None,
        })?;
        if job.release != row.at || job.deadline != Some(row.deadline) {
            return None;
        }
        let deadline = row.deadline + ms(1);
        rows[i] = RunRow::Server(ServerRow { deadline, ..row });
        Some((row.at, job.end))
    });
}

// Fails when shares are believed: tried without their sum, and without the zero-lag times.
#[test]
fn other_shares_are_refused() {
    const ALL: u64 = 1 << 56;
    // All of the CPU, beside another server that has some of it.
    refused("greater share", 30, |rows, i| {
        let row = *server(&rows[i])?;
        let same = |other: &&ServerRow| other.slot == row.slot;
        let next = *rows[i + 1..].iter().filter_map(server).find(same)?;
        let others = *rows[..i].iter().rev().filter_map(server).find(|other| !same(other))?;
        let lasts = next.at > row.from.max(row.at) + ms(2) && row.at + ms(2) < Time(1_000_000_000);
        let shared = others.kind == RunKind::Hard && others.rest > ALL / 50;
        if !lasts || !shared || row.state != RunState::Ready || row.steps[0].0 < row.from + ms(2) {
            return None;
        }
        let steps = [(row.steps[0].0, ALL), row.steps[1]];
        rows[i] = RunRow::Server(ServerRow { steps, ..row });
        Some((row.at, next.at))
    });
    // A hundredth of the share, under the same deadline.
    refused("smaller share", 200, |rows, i| {
        let row = *server(&rows[i])?;
        let ready = row.state == RunState::Ready && row.kind != RunKind::Constrained;
        if !ready || row.remaining < Span(1000) {
            return None;
        }
        let steps = row.steps.map(|(until, share)| (until, share / 100));
        rows[i] = RunRow::Server(ServerRow { steps, rest: row.rest / 100, ..row });
        Some((row.at, row.at))
    });
}

// Fails when a job is not compared with what was reserved for it: tried for each of the three.
#[test]
fn broken_premises_are_named() {
    let period = ms(10);
    let reservation = Reservation::new(ms(3), period);
    let hard = |cost, period, deadline| {
        let workload =
            Workload::Frames { period, deadline, cost: Cost::Fixed(cost), late: Late::Grid };
        Task::new("hard", workload).with(Attributes::hard(reservation))
    };
    let other = Task::new("other", Workload::CpuBound);
    for (task, says) in [
        (
            hard(ms(4), period, period),
            "the job of hard 0 released at 0 ms needed 4 ms, declared 3 ms",
        ),
        (
            hard(ms(3), ms(9), period),
            "the job of hard 0 released at 9 ms came 9 ms after the one before, declared 10 ms",
        ),
        (
            hard(ms(3), period, ms(5)),
            "the job of hard 0 released at 0 ms was due within 5 ms, declared 10 ms",
        ),
    ] {
        for name in keeping() {
            let run = on_one(name, &[task.clone(), other.clone()], ms(200), 1);
            let found = judge(&run, CpuRules::default());
            assert_eq!(found.illegal, None, "{name}");
            assert_eq!(found.broken.iter().map(ToString::to_string).collect::<Vec<_>>(), [says]);
        }
    }
    let found = judge(
        &on_one("bebs", &[hard(ms(3), period, period), other], ms(200), 1),
        CpuRules::default(),
    );
    assert!(found.holds() && found.jobs == 20 && found.late.is_empty(), "{found:?}");
}
