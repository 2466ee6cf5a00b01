//! Benchmarks of the hot paths, each beside its baselines in the same process.
//!
//! Every benchmark does one kind of operation over and over on fixed pseudo-random input. Within
//! a [`Group`] the contenders take turns (A B C A B C ...), so that what else the machine does hits
//! all of them; a ratio is the median over the turns of baseline over subject within one turn. Time is
//! CPU time of the measuring thread: what other processes take of a busy machine is not counted.
//! Only where two threads work together it is the time that passes.
//!
//! A new benchmark is a function that returns groups, listed in [`groups`].
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::time::Duration;

use laxity_results::BenchRow;
use rustix::time::{ClockId, clock_gettime};

mod admission;
mod assign;
pub mod baselines;
pub mod cpu;
mod dwcs;
mod edf;
mod fair;
mod pipeline;
pub mod ring;
mod slack;
pub mod workload;

/// Runs of each contender; the median is reported.
const RUNS: usize = 5;

/// Least length of one run.
const RUN: Duration = Duration::from_millis(200);

/// Does an operation this many times.
pub type Operation = Box<dyn FnMut(u64)>;

/// One implementation on the workload of its group.
pub struct Contender {
    name: String,
    /// Builds and fills it; only called when it is to run.
    build: Box<dyn FnOnce() -> Operation>,
    clock: ClockId,
}

impl Contender {
    /// A contender whose row is called `name`. `build` sets it up, in a state in which it can go on
    /// for any number of operations.
    pub fn new<F>(name: impl Into<String>, build: impl FnOnce() -> F + 'static) -> Contender
    where
        F: FnMut(u64) + 'static,
    {
        let clock = ClockId::ThreadCPUTime;
        Contender { name: name.into(), build: Box::new(|| Box::new(build())), clock }
    }

    /// The same, measured by the time that passes: where several threads work.
    pub fn by_wall_clock(self) -> Contender {
        Contender { clock: ClockId::Monotonic, ..self }
    }
}

/// Contenders on one workload: the subject first, then the baselines, the one that it is compared with
/// first among them.
pub struct Group(pub Vec<Contender>);

/// All benchmarks, in the order in which they run.
pub fn groups() -> Vec<Group> {
    let mut all = Vec::new();
    all.extend(edf::groups());
    all.extend(fair::groups());
    all.extend(assign::groups());
    all.extend(slack::groups());
    all.extend(pipeline::groups());
    all.extend(admission::groups());
    all.extend(ring::groups());
    all.extend(dwcs::groups());
    all.extend(cpu::groups());
    all
}

/// Runs the benchmarks with `only` in their names, or all. `progress` gets each group's first
/// name before it runs.
pub fn run(only: Option<&str>, progress: &mut dyn FnMut(&str)) -> Vec<BenchRow> {
    let wanted = |name: &str| only.is_none_or(|only| name.contains(only));
    groups().into_iter().flat_map(|group| measure(group, &wanted, progress)).collect()
}

fn measure(
    group: Group,
    wanted: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(&str),
) -> Vec<BenchRow> {
    let subject_wanted = group.0.first().is_some_and(|subject| wanted(&subject.name));
    let mut contenders = Vec::new();
    for (place, contender) in group.0.into_iter().enumerate() {
        // The subject is measured beside the one it is compared with.
        if wanted(&contender.name) || (subject_wanted && place == 1) {
            contenders.push((place, contender));
        }
    }
    let Some((_, first)) = contenders.first() else { return Vec::new() };
    progress(&first.name);

    let mut running: Vec<_> = contenders
        .into_iter()
        .map(|(place, contender)| {
            let mut operation = (contender.build)();
            let clock = contender.clock;
            let count = calibrate(&mut operation, clock);
            (place, contender.name, (operation, count, clock), Vec::with_capacity(RUNS))
        })
        .collect();
    for _ in 0..RUNS {
        for (_, _, (operation, count, clock), values) in &mut running {
            // The others have had the caches since its last turn.
            operation(*count / 8);
            values.push(time(operation, *count, *clock));
        }
    }

    let baseline = running.iter().find(|r| r.0 == 1).map(|r| (r.1.clone(), r.3.clone()));
    running
        .into_iter()
        .filter(|(_, name, ..)| wanted(name))
        .map(|(place, name, _, values)| {
            let baseline = baseline.as_ref().filter(|_| place == 0);
            let ratio = baseline.map(|(_, baseline)| {
                median(baseline.iter().zip(&values).map(|(baseline, own)| baseline / own).collect())
            });
            let baseline = baseline.map(|(name, _)| name.clone());
            BenchRow { name, unit: "ns".into(), value: median(values), baseline, ratio }
        })
        .collect()
}

/// How many operations make one run.
fn calibrate(operation: &mut Operation, clock: ClockId) -> u64 {
    let mut count = 1;
    loop {
        let begun = read(clock);
        operation(black_box(count));
        let took = read(clock).saturating_sub(begun);
        if took >= RUN / 8 {
            let run = count as f64 * RUN.as_secs_f64() / took.as_secs_f64();
            return (run as u64).max(1);
        }
        count *= 2;
    }
}

/// Nanoseconds for each operation.
fn time(operation: &mut Operation, count: u64, clock: ClockId) -> f64 {
    let begun = read(clock);
    operation(black_box(count));
    read(clock).saturating_sub(begun).as_nanos() as f64 / count as f64
}

/// CPU time that this thread has used.
pub fn cpu_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A small generator of pseudo-random numbers, the same for all contenders: Knuth's MMIX
/// congruence, upper bits.
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`, at most 2^32.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * bound) >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_relative_to_the_first_baseline_of_the_same_round() {
        let slow = |ns: u64| {
            move || {
                move |count: u64| {
                    let until = cpu_time() + Duration::from_nanos(ns * count);
                    while cpu_time() < until {}
                }
            }
        };
        let group = || {
            Group(vec![
                Contender::new("a/subject", slow(20_000)),
                Contender::new("a/baseline", slow(60_000)),
                Contender::new("a/other", slow(10_000)),
            ])
        };
        let mut seen = Vec::new();
        let rows =
            measure(group(), &|name| name == "a/subject", &mut |name| seen.push(name.to_string()));
        assert_eq!(seen, ["a/subject"]);
        assert_eq!((rows.len(), rows[0].baseline.as_deref()), (1, Some("a/baseline")));
        let ratio = rows[0].ratio.unwrap();
        assert!((2.0..4.5).contains(&ratio), "{ratio}");
        let rows = measure(group(), &|name| name == "a/other", &mut |_| {});
        assert_eq!((rows.len(), rows[0].ratio), (1, None));
        assert!(measure(group(), &|_| false, &mut |_| {}).is_empty());
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> =
            groups().into_iter().flat_map(|g| g.0).map(|c| c.name).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
