//! How responsiveness and overhead change from 1 to 128 CPUs: the tables of `docs/results/cpu-scale.md`.
//!
//! `cargo bench -p laxity-sim --bench cpu_scale -- [CPUS]`
//!
//! Each CPU brings the same work: a CPU-bound task, four that compute 2 ms after sleeping 40 ms on
//! average, a film of 25 frames/s that takes 20 % of a CPU, and a reservation of 10 ms in every 50 ms.
//! The time of a decision is the median of what the policy takes for the reports of an instant and
//! the decision after them. All else is simulated and the same in every run.

use std::env;
use std::time::{Duration, Instant};

use laxity_core::{Histogram, Span, Time};
use laxity_cpu::clusters::{self, Clusters, Layout};
use laxity_cpu::{
    Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, TaskId, registry,
};
use laxity_sim::Control;
use laxity_sim::cpu::{Cost, Gap, Machine, Measure, Task, Workload, run};

const LENGTH: Span = Span::from_millis(5_000);

const fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn tasks(cpus: u32) -> Vec<Task> {
    let mut tasks = Vec::new();
    for _ in 0..cpus {
        tasks.push(Task::new("cpu-bound", Workload::CpuBound));
        for _ in 0..4 {
            let (sleep, burst) = (Gap::Exponential(ms(40)), Cost::Fixed(ms(2)));
            tasks.push(Task::new("interactive", Workload::Interactive { sleep, burst }));
        }
        tasks.push(Task::frames("film", ms(40), Cost::Gauss { mean: ms(8), cv: 0.2 }));
        let reservation = Reservation::new(ms(10), ms(50));
        tasks.push(Task::hard("hard", reservation, Cost::Fixed(ms(10))));
    }
    tasks
}

/// Takes the time of what a kernel would do at an event: the report and the decision after it.
struct Timed<P> {
    policy: P,
    /// Since the last decision.
    spent: Duration,
    calls: u32,
    /// In ns, without the clock's own time.
    decisions: Histogram,
    clock: Duration,
}

impl<P> Timed<P> {
    fn new(policy: P, clock: Duration) -> Timed<P> {
        let decisions = Histogram::new();
        Timed { policy, spent: Duration::ZERO, calls: 0, decisions, clock }
    }

    fn decided(&mut self) {
        let clock = self.clock * std::mem::take(&mut self.calls);
        let spent = std::mem::take(&mut self.spent).saturating_sub(clock);
        self.decisions.record(spent.as_nanos() as u64);
    }

    fn time<T>(&mut self, call: impl FnOnce(&mut P) -> T) -> T {
        let begin = Instant::now();
        let answer = call(&mut self.policy);
        self.spent += begin.elapsed();
        self.calls += 1;
        answer
    }
}

impl<P: Policy> Policy for Timed<P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.policy.join(now, task, a)
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.policy.leave(now, task, ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.policy.change(now, task, a)
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        self.time(|p| p.wake(now, task));
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.time(|p| p.block(now, task, ran));
    }
    // The engine reports every CPU at every instant, a kernel only the one that has an event.
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.policy.ran(now, task, ran);
    }
    fn timer(&mut self, now: Time) {
        self.time(|p| p.timer(now));
    }
    fn next_event(&self) -> Option<Time> {
        self.policy.next_event()
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        // The first question of an instant decides for all CPUs.
        if cpu != CpuId::FIRST {
            return self.policy.pick(now, cpu);
        }
        let pick = self.time(|p| p.pick(now, cpu));
        self.decided();
        pick
    }
}

/// The cost of reading the clock.
fn clock() -> Duration {
    let mut timed = Timed::new((), Duration::ZERO);
    for _ in 0..100_000 {
        timed.time(|()| ());
        timed.decided();
    }
    Duration::from_nanos(timed.decisions.quantile(500).unwrap_or(0))
}

fn print(name: &str, cpus: u32, size: u32, clock: Duration) {
    let layout = Layout::clustered(cpus, size).expect("CPUs");
    let tasks = tasks(cpus);
    let options = registry::Options::default();
    let policy: Clusters<Box<dyn Policy + Send>> =
        clusters::build(name, &options, &layout, clusters::Options::default()).expect("it can");
    let mut timed = Timed::new(policy, clock);
    let mut measure = Measure::new(tasks.len());
    let end = Time::ZERO + LENGTH;
    let machine = Machine { cpus, ..Machine::single(end, 1) };
    run(&mut timed, &tasks, machine, &mut measure, &Control::default()).expect("a run");
    measure.finish(end);

    let of = |kind: &str| {
        let all = tasks.iter().zip(&measure.tasks);
        let kind = kind.to_string();
        all.filter(move |(task, _)| task.name == kind).map(|(_, m)| m)
    };
    let mut response = Histogram::new();
    of("interactive").for_each(|t| response.merge(&t.response));
    let missed = |kind: &str| -> f64 {
        let (missed, jobs) = of(kind).fold((0, 0), |(m, j), t| (m + t.missed, j + t.jobs));
        missed as f64 * 100.0 / f64::max(jobs as f64, 1.0)
    };
    let late: u64 = of("hard").map(|t| t.missed).sum();
    let refused = of("hard").filter(|t| t.refused.is_some()).count();
    let shares: Vec<f64> = of("cpu-bound").map(|t| t.executed.0 as f64 / LENGTH.0 as f64).collect();
    let (least, most) =
        shares.iter().fold((f64::MAX, 0.0), |(a, b), s| (f64::min(a, *s), f64::max(b, *s)));
    let busy: u64 = measure.busy.iter().map(|b| b.0).sum();
    let seconds = LENGTH.0 as f64 / 1e9 * f64::from(cpus);
    println!(
        "| {name} | {cpus} | {size} | {:.2} | {:.1} | {:.1} | {late} of {} | {least:.2} to {most:.2} | {:.1} | {:.0} | {:.1} | {} |",
        response.mean().unwrap_or(0.0) / 1e6,
        response.quantile(990).unwrap_or(0) as f64 / 1e6,
        missed("film"),
        of("hard").count() - refused,
        busy as f64 * 100.0 / (LENGTH.0 as f64 * f64::from(cpus)),
        measure.switches as f64 / seconds,
        measure.migrations as f64 / seconds,
        timed.decisions.quantile(500).unwrap_or(0),
    );
}

fn main() {
    let clock = clock();
    let most: u32 = env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(128);
    println!(
        "| policy | CPUs | CPUs a queue | interactive mean, ms | p99, ms | film missed, % | hard late | \
         CPU-bound share | busy, % | switches/s a CPU | migrations/s a CPU | ns a decision |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for name in ["bebs", "bebs-credit", "edf"] {
        for size in [1, 4, 16, 128] {
            let counts = [1, 2, 4, 8, 16, 32, 64, 128];
            for cpus in counts.into_iter().filter(|n| *n <= most) {
                // A cluster larger than the machine is the machine, which another row has.
                if size == 1 || (size < 128 && cpus >= size) || (size == 128 && cpus > 16) {
                    print(name, cpus, size.min(cpus), clock);
                }
            }
        }
    }
}
