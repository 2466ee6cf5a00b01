//! The order in which idle CPUs look for tasks, and the migrations of busy ones
//! (`bpf/include/laxity/nearness.h`), in a model with CPU-bound tasks (`headers/nearness.c`).

#[path = "support/headers.rs"]
mod headers;

use laxity_kernel::cpu::{CpuLocation, places};

/// Nodes of caches of cores of CPUs; numbered as usual, the second threads of all cores after the first ones.
#[derive(Clone, Copy, Debug)]
struct Machine {
    nodes: u32,
    caches: u32,
    cores: u32,
    threads: u32,
}

impl Machine {
    fn locations(self) -> Vec<CpuLocation> {
        let Machine { nodes, caches, cores, threads } = self;
        let all = nodes * caches * cores;
        let location = |cpu| {
            let core = cpu % all;
            CpuLocation { core, cache: core / cores, node: core / cores / caches }
        };
        (0..all * threads).map(location).collect()
    }
}

struct Ran {
    /// For each CPU the others, in the order of its looks.
    looks: Vec<Vec<u32>>,
    /// CPU time of each task in ms.
    service: Vec<u64>,
    /// Migrations within caches, nodes, the machine.
    migrations: Vec<u64>,
    longest_uneven: u64,
}

fn ran(locations: &[CpuLocation], starts: &[u32], seconds: u32) -> Option<Ran> {
    let numbers = |list: &[u32]| list.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
    let input = [
        numbers(&[locations.len() as u32]),
        places(locations).concat(),
        numbers(&[starts.len() as u32]),
        numbers(starts),
        numbers(&[seconds]),
    ];
    let lines = headers::ask("nearness.c", input.concat())?;
    let read = |line: &String| -> Vec<u64> {
        line.split_whitespace().map(|n| n.parse().expect("a number")).collect()
    };
    let (looks, rest) = lines.split_at(locations.len());
    let looks = looks.iter().map(|line| read(line).into_iter().map(|n| n as u32).collect());
    let [service, migrations, longest] = rest else { panic!("{lines:?}") };
    let longest_uneven = read(longest)[0];
    Some(Ran {
        looks: looks.collect(),
        service: read(service),
        migrations: read(migrations),
        longest_uneven,
    })
}

/// What two CPUs share: 0 a core, 3 the machine alone.
fn distance(a: CpuLocation, b: CpuLocation) -> u32 {
    match (a.node == b.node, a.cache == b.cache, a.core == b.core) {
        (false, ..) => 3,
        (true, false, _) => 2,
        (true, true, false) => 1,
        (true, true, true) => 0,
    }
}

/// An idle CPU looks at each other CPU once, nearer ones first, and several do not begin with the same one.
///
/// Fails when it looks by number, when a level begins before the one below it has ended, and when it wraps in
/// the wrong range.
#[test]
fn idle_cpus_look_at_all_cpus_nearest_first() {
    let mut machines = vec![
        Machine { nodes: 2, caches: 2, cores: 2, threads: 2 }.locations(),
        Machine { nodes: 1, caches: 1, cores: 1, threads: 1 }.locations(),
        Machine { nodes: 1, caches: 3, cores: 4, threads: 1 }.locations(),
        Machine { nodes: 4, caches: 1, cores: 2, threads: 2 }.locations(),
    ];
    // Levels of different sizes; the third CPU was offline.
    let at = |node, cache, core| CpuLocation { node, cache, core };
    machines.push(vec![
        at(1, 0, 0),
        at(0, 1, 1),
        at(0, 2, 2),
        at(1, 0, 0),
        at(1, 4, 4),
        at(0, 1, 1),
    ]);
    for (i, locations) in machines.into_iter().enumerate() {
        let Some(ran) = ran(&locations, &[0], 0) else { return };
        for (cpu, looks) in ran.looks.iter().enumerate() {
            let mut sorted = looks.clone();
            sorted.push(cpu as u32);
            sorted.sort_unstable();
            assert_eq!(sorted, (0..locations.len() as u32).collect::<Vec<_>>(), "{cpu}: {looks:?}");
            let far = |other: &u32| distance(locations[cpu], locations[*other as usize]);
            assert!(looks.is_sorted_by_key(far), "{cpu}: {looks:?}");
        }
        let first: std::collections::BTreeSet<_> = ran.looks.iter().map(|l| l.first()).collect();
        assert!(i == 4 || first.len() == locations.len(), "{:?}", ran.looks);
    }
}

/// CPU-bound tasks get equal shares to 6 % over 200 s, also where caches and nodes hold unequal numbers. No task stays
/// for longer than 2 s where it gets less than it would elsewhere, and hardly any leaves its cache where each cache
/// has as many for its CPUs.
///
/// Fails when distance is a number of tasks instead of a time (without `LX_CACHE_PATIENCE_NS` and
/// `LX_NODE_PATIENCE_NS`: uneven for 5.1 s), when CPUs do not take turns (`lx_takes_turn`: 25 % off), and when any
/// task but the one that has been there longest goes (the first by number: 27 %).
#[test]
fn shares_are_equal_although_tasks_stay_near() {
    let small = Machine { nodes: 1, caches: 2, cores: 2, threads: 1 };
    let large = Machine { nodes: 2, caches: 2, cores: 4, threads: 1 };
    let two_nodes = Machine { nodes: 2, caches: 1, cores: 1, threads: 1 };
    for (machine, tasks, on) in [
        (small, 5, 4),
        (small, 7, 4),
        (small, 8, 2),
        (small, 6, 1),
        (large, 17, 16),
        (large, 20, 16),
        (large, 31, 4),
        (large, 40, 1),
        (two_nodes, 3, 2),
        (Machine { nodes: 1, ..two_nodes }, 1, 1),
    ] {
        let locations = machine.locations();
        let starts: Vec<u32> = (0..tasks).map(|i| i % on).collect();
        let Some(ran) = ran(&locations, &starts, 200) else { return };
        let even = 200_000.0 * (locations.len() as f64 / f64::from(tasks)).min(1.0);
        let off = ran.service.iter().map(|ms| (*ms as f64 / even - 1.0).abs());
        let worst = off.fold(0.0, f64::max);
        println!(
            "{machine:?}, {tasks} tasks: {worst:.3}, {:?}, {} ms",
            ran.migrations, ran.longest_uneven
        );
        assert!(worst < 0.06, "{machine:?}, {tasks} tasks: {:?}", ran.service);
        assert!(ran.longest_uneven < 2000, "{machine:?}: {} ms", ran.longest_uneven);
    }
    // Divided evenly within the caches, none leaves its own.
    let starts: Vec<u32> = (0..16).map(|i| i / 4 * 4).collect();
    let Some(ran) = ran(&large.locations(), &starts, 20) else { return };
    assert!(ran.service.iter().all(|ms| *ms > 19_000), "{:?}", ran.service);
    assert_eq!(ran.migrations[1..], [0, 0], "{:?}", ran.migrations);
}
