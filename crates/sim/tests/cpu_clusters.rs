//! Several CPUs: the hard guarantee in random machines, work conservation, fairness, determinism,
//! and that a cluster of one CPU is what it would be alone.

use crate::cpu_common::machines::{Conserving, build, judge_machines, random_machine};
use crate::cpu_common::systems::Mix;
use crate::cpu_common::{cpu_bound, ms};
use laxity_core::{Span, Time};
use laxity_cpu::clusters::{self, ClusterId, Layout, Options};
use laxity_cpu::registry::{self, POLICIES};
use laxity_cpu::{Attributes, CpuId, CpuSet, Nice, Reservation, Share, TaskId};
use laxity_sim::Control;
use laxity_sim::cpu::{Cost, Machine, Measure, Recording, Slice, Task, run};

const MIX: Mix = Mix { soft: true, constrained: true, greedy: true, length: ms(2000) };

const SHARED: [&str; 7] = ["bebs", "bebs-credit", "cbs", "iris", "iris-naive", "edf", "berate"];

const MACHINES: u64 = 10_000;

/// Options changed for all policies alike: balance often, so that much moves.
const RESTLESS: Options =
    Options { steal: true, quantum: ms(3), balance: ms(20), pack: false, reservations: true };

/// Ten thousand machines, divided among the policies.
fn none_late(names: &[&str], largest: u32) {
    let each = MACHINES / names.len() as u64 + 1;
    for (i, name) in names.iter().enumerate() {
        let seeds = i as u64 * each..(i as u64 + 1) * each;
        let v = judge_machines(|layout| build(name, layout, RESTLESS), seeds, MIX, largest);
        println!("{name}: {} of {} late, {} refused", v.late, v.jobs, v.refused);
        assert_eq!(v.late, 0, "{name}: machines {:?}, worst {} ns", v.broken, v.worst);
        assert!(v.jobs > 100 * each && v.refused > each / 10, "{v:?}");
    }
}

/// No admitted hard job is late on machines of one to eight CPUs with a queue for each.
///
/// Fails when stolen work is not pre-empted by what the CPU's own policy picks (tried: one job in
/// six late), and when a cluster divides more than it has, as with the load of another (tried: half
/// the load).
#[test]
fn deadlines_are_kept_on_partitioned_cpus() {
    let keeping = POLICIES.iter().filter(|p| p.keeps_deadlines);
    none_late(&keeping.map(|p| p.name).collect::<Vec<_>>(), 1);
}

/// The same with queues for up to eight CPUs.
///
/// Fails when reservations are admitted without `(m - 1) max u` (tried: 2 late in 1429 machines),
/// when the greatest reservation is left out of what best effort divides (tried: 1), and when
/// releases are advanced as soon as one of several CPUs idles, as BEBS does on one (tried: 24 under
/// `iris`). That newcomers must wait for all of their share was not found to matter in these; the
/// proof needs it.
#[test]
fn deadlines_are_kept_under_global_edf() {
    none_late(&SHARED.map(|name| if name == "berate" { "bebs" } else { name }), 8);
}

/// Nobody waits beside a CPU that it may use.
///
/// Fails when only the first of several idle CPUs looks for work.
#[test]
fn no_cpu_idles_while_best_effort_waits() {
    for p in POLICIES {
        for largest in [1, 4] {
            if largest > 1 && !SHARED.contains(&p.name) {
                continue;
            }
            let (mut idle, mut ran) = (0, 0);
            for seed in 0..100 {
                let mut system = random_machine(seed, MIX, largest);
                system.tasks.iter_mut().for_each(|t| t.changes.clear());
                let mut conserving = Conserving::new(&system);
                let mut policy = build(p.name, &system.layout, RESTLESS);
                let machine = system.machine(MIX.length, seed);
                run(&mut policy, &system.tasks, machine, &mut conserving, &Control::default())
                    .unwrap_or_else(|e| panic!("{}: {e}", p.name));
                idle += conserving.idle;
                ran += conserving.ran;
            }
            assert!(idle > 5_000 && ran > 100_000, "{}: {idle} {ran}", p.name);
        }
    }
}

/// Tasks pinned to one CPU each are scheduled as on a uniprocessor, regardless of what
/// the other CPUs' tasks do.
///
/// Fails when a cluster is not charged for execution before other reports.
#[test]
fn pinned_tasks_are_scheduled_as_on_one_cpu() {
    let alone = Options { steal: false, balance: Span::ZERO, ..Options::default() };
    // GRUB rounds what it charges at each report, and there are fewer reports here.
    for p in POLICIES.iter().filter(|p| p.name != "sched-deadline") {
        for seed in 0..60 {
            let mut system = random_machine(seed, MIX, 1);
            let cpus = system.layout.cpus();
            for (i, task) in system.tasks.iter_mut().enumerate() {
                let one = CpuSet::one(CpuId(i as u32 % cpus));
                task.attributes.affinity = one;
                task.changes.iter_mut().for_each(|c| c.attributes.affinity = one);
            }
            let mut policy = build(p.name, &system.layout, alone);
            let mut together = Recording::new();
            let machine = system.machine(MIX.length, seed);
            run(&mut policy, &system.tasks, machine, &mut together, &Control::default())
                .expect(p.name);
            for cpu in 0..cpus {
                // The same places in the list, as what a task draws depends on its place.
                let tasks: Vec<Task> = (system.tasks.iter().enumerate())
                    .map(|(i, t)| match i as u32 % cpus == cpu {
                        true => t.clone(),
                        false => t.clone().joining(Time(u64::MAX / 2)),
                    })
                    .collect();
                let mut own = Recording::new();
                let mut policy =
                    registry::build(p.name, &registry::Options::default()).expect(p.name);
                let machine = Machine::single(Time::ZERO + MIX.length, seed);
                run(&mut policy, &tasks, machine, &mut own, &Control::default()).expect(p.name);
                let on_cluster: Vec<Slice> = (together.slices.iter())
                    .filter(|s| s.cpu.0 == cpu)
                    .map(|s| Slice { cpu: CpuId::FIRST, ..*s })
                    .collect();
                let same = on_cluster.iter().zip(&own.slices).take_while(|(a, b)| a == b).count();
                assert!(
                    on_cluster == own.slices,
                    "{} system {seed}, CPU {cpu}: {:?} {:?}",
                    p.name,
                    on_cluster.get(same),
                    own.slices.get(same)
                );
            }
        }
    }
}

/// Fails when anything depends on addresses, clocks or the order of a hash map.
#[test]
fn the_same_input_gives_the_same_schedule_on_several_cpus() {
    for name in SHARED {
        for seed in 0..20 {
            let once = || {
                let system = random_machine(seed, MIX, 4);
                let mut recording = Recording::new();
                let mut policy = build(name, &system.layout, RESTLESS);
                let machine = system.machine(MIX.length, seed);
                run(&mut policy, &system.tasks, machine, &mut recording, &Control::default())
                    .expect(name);
                recording
            };
            assert_eq!(once(), once(), "{name}");
        }
    }
}

fn shares(name: &str, layout: &Layout, tasks: &[Task], length: Span) -> Vec<f64> {
    let mut measure = Measure::new(tasks.len());
    let end = Time::ZERO + length;
    let machine = Machine { cpus: layout.cpus(), ..Machine::single(end, 1) };
    let mut policy = build(name, layout, Options::default());
    run(&mut policy, tasks, machine, &mut measure, &Control::default()).expect("a run");
    measure.finish(end);
    (0..tasks.len()).map(|i| measure.share(i, end)).collect()
}

/// In the long run CPU-bound tasks have shares of the whole machine by weight, also where their
/// number does not divide by that of the CPUs.
///
/// Fails when shares are of half the load, without moves between equally loaded clusters, when
/// always the same two clusters are paired (tried: some tasks stay at a half), and when tasks on a
/// shared queue do not take turns (tried: under `bebs` and `iris` three of eleven tasks on eight
/// CPUs have 24 % too little, and which ones have too little, in clusters of four, depends on
/// rounding).
#[test]
fn long_runs_are_fair_on_several_cpus() {
    let nice = |n: i8| Attributes::best_effort(Nice::new(n).expect("in range"));
    let alone = [(2, 1, 3), (4, 1, 7), (3, 1, 4)];
    let shared = [(4, 4, 5), (4, 4, 6), (4, 4, 7), (4, 2, 9), (8, 4, 11), (8, 8, 11)];
    for name in SHARED {
        for (cpus, size, tasks) in alone.into_iter().chain(shared) {
            let layout = Layout::clustered(cpus, size).expect("clusters");
            let tasks = vec![cpu_bound("equal"); tasks];
            let even = f64::from(cpus) / tasks.len() as f64;
            for share in shares(name, &layout, &tasks, ms(100_000)) {
                assert!(
                    (share / even - 1.0).abs() < 0.02,
                    "{name} {cpus}/{size}: {share} of {even}"
                );
            }
        }
        // Its best effort has turns at any weight.
        if name == "edf" {
            continue;
        }
        for (size, within) in [(1, 0.06), (2, 0.01)] {
            let layout = Layout::clustered(2, size).expect("clusters");
            let weighted: Vec<Task> =
                [0, 0, 0, 10, 10, 10].map(|n| cpu_bound("weighted").with(nice(n))).to_vec();
            let shares = shares(name, &layout, &weighted, ms(200_000));
            for (share, ideal) in shares.iter().zip([4, 4, 4, 2, 2, 2]) {
                let ideal = f64::from(ideal) / 9.0;
                assert!((share - ideal).abs() < within, "{name} {size}: {shares:?}");
            }
        }
    }
}

/// The set of Dhall and Liu: on two CPUs two short tasks with early deadlines keep a long one from
/// its CPU at the start. A shared queue refuses the long one and says what would fit; with a queue
/// for each CPU it has one to itself.
#[test]
fn global_edf_refuses_inadmissible_reservations() {
    let light = || Task::hard("light", Reservation::new(ms(2), ms(10)), Cost::Fixed(ms(2)));
    let heavy = Task::hard("heavy", Reservation::new(ms(100), ms(101)), Cost::Fixed(ms(100)));
    let outcome = |size: u32, pack: bool| {
        let tasks = [light(), light(), heavy.clone()];
        let layout = Layout::clustered(2, size).expect("clusters");
        let mut options = registry::Options::default();
        options.edf.best_effort_bw_min = Share::ZERO;
        let mut policy =
            clusters::build("edf", &options, &layout, Options { pack, ..Options::default() })
                .expect("it can");
        let mut measure = Measure::new(tasks.len());
        let machine = Machine { cpus: 2, ..Machine::single(Time::ZERO + ms(1000), 1) };
        run(&mut policy, &tasks, machine, &mut measure, &Control::default()).expect("a run");
        (policy.home(TaskId(2)), measure)
    };
    let (home, measure) = outcome(1, true);
    assert_eq!(home, Some(ClusterId(1)));
    assert!(measure.tasks.iter().all(|t| t.missed == 0 && t.jobs >= 9));
    // Spread, the light ones leave room for the heavy one nowhere.
    assert_eq!(outcome(1, false).0, None);
    let (home, measure) = outcome(2, false);
    assert_eq!(home, None);
    let refusal = measure.tasks[2].refused.expect("no room").to_string();
    assert!(refusal.ends_with("a budget of 80.799999 ms would fit"), "{refusal}");
}
