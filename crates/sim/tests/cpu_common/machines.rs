//! Random systems for machines of several CPUs.

use laxity_core::{Span, Time};
use laxity_cpu::clusters::{self, Clusters, Layout};
use laxity_cpu::registry;
use laxity_cpu::{CpuId, CpuSet, Policy, Service, TaskId};
use laxity_sim::cpu::{Machine, Observer, Task, run};
use laxity_sim::{Control, Random};

use super::systems::{HardJobs, Mix, Verdict, judged, system};

/// Policies in clusters.
pub type Several = Clusters<Box<dyn Policy + Send>>;

/// A machine and what runs on it.
pub struct System {
    /// Its clusters.
    pub layout: Layout,
    /// Its tasks, about ten to a CPU.
    pub tasks: Vec<Task>,
}

impl System {
    /// How many CPUs there are, and so on.
    pub fn machine(&self, length: Span, seed: u64) -> Machine {
        Machine { cpus: self.layout.cpus(), ..Machine::single(Time::ZERO + length, seed) }
    }
}

/// One to eight CPUs in clusters of at most `largest`, each CPU with the tasks of a small system;
/// some tasks may run on a part of the machine only.
pub fn random_machine(seed: u64, mix: Mix, largest: u32) -> System {
    let mut r = Random::new(seed, u32::MAX - 1);
    let cpus = r.uniform(1, 8) as u32;
    let layout = divided(&mut r, cpus, largest);
    let mut tasks = Vec::new();
    for k in 0..cpus {
        tasks.extend(system(seed * 8 + u64::from(k), mix));
    }
    // Sometimes little load, so that idle CPUs steal work.
    if r.uniform(0, 2) == 0 {
        let keep = r.uniform(1, tasks.len() as u64) as usize;
        tasks.truncate(keep);
    }
    for task in &mut tasks {
        let all = CpuSet::range(0, cpus);
        let affinity = match r.uniform(0, 5) {
            0 => layout.clusters()[r.uniform(0, layout.clusters().len() as u64 - 1) as usize],
            1 => (0..cpus).filter(|_| r.uniform(0, 3) > 0).map(CpuId).collect(),
            _ => all,
        };
        task.attributes.affinity = affinity;
        for change in &mut task.changes {
            // A reservation that must move loses its job at hand, so those stay.
            let hard = matches!(task.attributes.service, Service::Hard(_));
            let wide = !hard && r.uniform(0, 3) == 0;
            change.attributes.affinity = if wide { all } else { affinity };
        }
    }
    System { layout, tasks }
}

fn divided(r: &mut Random, cpus: u32, largest: u32) -> Layout {
    let (mut clusters, mut first) = (Vec::new(), 0);
    while first < cpus {
        let size = r.uniform(1, u64::from(largest.min(cpus - first))) as u32;
        clusters.push(CpuSet::range(first, size));
        first += size;
    }
    Layout::of(clusters).expect("each CPU once")
}

/// A policy of the registry on these CPUs.
pub fn build(name: &str, layout: &Layout, options: clusters::Options) -> Several {
    clusters::build(name, &registry::Options::default(), layout, options).expect("it can")
}

/// Which tasks must not be late.
pub fn hard_ones(tasks: &[Task]) -> HardJobs {
    let hard = |t: &Task| matches!(t.attributes.service, Service::Hard(_));
    HardJobs::of(tasks.iter().map(hard).collect())
}

/// Runs the random machines of these seeds.
pub fn judge_machines<P: Policy>(
    policy: impl Fn(&Layout) -> P + Sync,
    seeds: std::ops::Range<u64>,
    mix: Mix,
    largest: u32,
) -> Verdict {
    judged(seeds, |verdict, seed| {
        let system = random_machine(seed, mix, largest);
        let mut jobs = hard_ones(&system.tasks);
        let mut policy = policy(&system.layout);
        let machine = system.machine(mix.length, seed);
        let ending = run(&mut policy, &system.tasks, machine, &mut jobs, &Control::default())
            .unwrap_or_else(|e| panic!("machine {seed}: {e}"));
        verdict.add(seed, &jobs, ending);
    })
}

/// Watches that no CPU idles beside best-effort work that may run there, and that nothing runs
/// where it may not.
pub struct Conserving {
    affinity: Vec<CpuSet>,
    best_effort: Vec<bool>,
    runnable: Vec<bool>,
    on: Vec<Option<TaskId>>,
    last: Time,
    /// Instants at which some CPU idled.
    pub idle: u64,
    /// Times a task ran.
    pub ran: u64,
}

impl Conserving {
    /// For tasks whose affinities do not change.
    pub fn new(system: &System) -> Conserving {
        let tasks = &system.tasks;
        let hard = |t: &Task| matches!(t.attributes.service, Service::Hard(_));
        Conserving {
            affinity: tasks.iter().map(|t| t.attributes.affinity).collect(),
            best_effort: tasks.iter().map(|t| !hard(t)).collect(),
            runnable: vec![false; tasks.len()],
            on: vec![None; system.layout.cpus() as usize],
            last: Time::ZERO,
            idle: 0,
            ran: 0,
        }
    }

    /// Before anything of a later instant, the state is that between two decisions.
    fn look(&mut self, now: Time) {
        if now <= self.last {
            return;
        }
        let idle: CpuSet =
            (0..self.on.len()).filter(|c| self.on[*c].is_none()).map(|c| CpuId(c as u32)).collect();
        self.idle += u64::from(!idle.is_empty());
        for (i, runnable) in self.runnable.iter().enumerate() {
            let waits = *runnable && !self.on.contains(&Some(TaskId(i as u32)));
            if waits && self.best_effort[i] {
                let could = idle.and(self.affinity[i]);
                assert!(could.is_empty(), "task {i} waits since {} beside {could}", self.last);
            }
        }
        self.last = now;
    }
}

impl Observer for Conserving {
    fn woke(&mut self, now: Time, task: TaskId) {
        self.look(now);
        self.runnable[task.index()] = true;
    }
    fn slept(&mut self, now: Time, task: TaskId) {
        self.look(now);
        self.runnable[task.index()] = false;
        for on in self.on.iter_mut().filter(|on| **on == Some(task)) {
            *on = None;
        }
    }
    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        self.look(now);
        for on in self.on.iter_mut().filter(|on| on.is_some() && **on == task) {
            *on = None;
        }
        self.on[cpu.index()] = task;
    }
    fn ran(&mut self, from: Time, _: Time, cpu: CpuId, task: TaskId) {
        self.look(from);
        self.ran += 1;
        assert!(self.affinity[task.index()].contains(cpu), "task {} on {}", task.0, cpu.0);
    }
}
