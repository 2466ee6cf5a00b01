//! A model of each test, with parameters from the programs' sources and from measurements that docs/results/cpu-compare.md
//! names. The one that comes from a row of the table, [`MESSAGE`], makes that row a calibration.

use std::ops::RangeInclusive;

use laxity_core::{Span, Time};
use laxity_cpu::eevdf::{self, Eevdf};
use laxity_cpu::{Reservation, TaskId};
use laxity_kernel::cpu::Policy;
use laxity_sim::Control;
use laxity_sim::cpu::papers::{berate, cpu_bound, ms};
use laxity_sim::cpu::workloads::LastExecution;
use laxity_sim::cpu::workloads::compilation::Compilation;
use laxity_sim::cpu::workloads::hackbench::Hackbench;
use laxity_sim::cpu::workloads::schbench::Schbench;
use laxity_sim::cpu::{Cost, Machine, Observer, Step, Task, Workload, run};

use super::Scheduler;
use super::programs::{Executed, Film, Films, Responses, START};
use super::random::Random;

impl Scheduler {
    /// A switch between two processes that pass a byte through pipes takes so many instructions of 2 ns, system calls
    /// included (row `switch`).
    fn switch(self) -> Span {
        match self {
            Scheduler::Eevdf => Span(5639 * 2),
            Scheduler::BebsCredit => Span(7959 * 2),
        }
    }
}

/// Linux on one CPU: the base slice, a tick of 250 Hz (`CONFIG_HZ`), `RUN_TO_PARITY`.
const EEVDF: eevdf::Options =
    eevdf::Options { slice: Span(700_000), tick: Span(4_000_000), protects_slices: true };

/// Kernel threads and others that ran in the last second: three to eight live (docs/results/cpu-bebs-load.md).
const BACKGROUND: usize = 5;
/// Programs of the shell that ran in the second before the test `interactive`, besides its hogs: live the share of the new
/// task was 2 % (docs/results/cpu-compare.md) of the 37 % that the hard task leaves, so 18 tasks counted.
const SHELL: usize = 18 - BACKGROUND - 3 - 1;
/// Writing a message of 100 bytes to a socket, and reading it: half of it each. Calibrated by hackbench with one group
/// under EEVDF.
const MESSAGE: Span = Span(11_620);
/// A socket's buffer of 212,992 bytes (`net.core.wmem_default`) holds so many such messages, which count 768 bytes each: a
/// `sk_buff` of 256, and 512 for the data and its `skb_shared_info`.
const BUFFER: u32 = 212_992 / 768;
/// `do_some_math` of schbench with 16 KB: matrices of 26 by 26, 8 instructions of 2 ns for each product and 8 for each
/// element (compiled with -O2).
const REQUEST: Span = Span((26 * 26 * 26 * 8 + 26 * 26 * 8) * 2);
/// Sleep of a request, and the timer slack of Linux.
const REQUEST_SLEEP: Span = Span(100_000 + 50_000);
/// Hogs run for so long before the measured task starts.
const BEFORE: Time = Time(500_000_000);
/// Runs with other beginnings, of which the median counts.
const BEGINNINGS: RangeInclusive<u64> = 1..=15;
/// So much later does another beginning start (compare/cpu/vm.sh).
const LATER: Span = ms(137);
/// Of films, of which each has runs with these seeds (compare/cpu/src/plan.rs).
const FILM_BEGINNINGS: RangeInclusive<u64> = 1..=3;
const FILM_SEEDS: RangeInclusive<u64> = 1..=5;

/// Whether a task computes until it has used some CPU time, which it reads each time (`compute` of the program `tasks`):
/// after so much execution.
fn reads_clock(task: &Task) -> Option<Span> {
    match task.workload {
        Workload::Frames { .. } => Some(Span::ZERO),
        _ => ["process", "respond", "film"].contains(&task.name.as_str()).then_some(START),
    }
}

/// Runs tasks. Nothing is drawn in the run.
fn simulate<O: Observer>(
    scheduler: Scheduler,
    tasks: &[Task],
    until: Time,
    observer: &mut O,
) -> Result<(), String> {
    let machine = Machine { switch: scheduler.switch(), ..Machine::single(until, 1) };
    let control = Control::default();
    let done = match scheduler {
        Scheduler::Eevdf => {
            let mut policy = Eevdf::new(&EEVDF);
            let ids = (0..tasks.len() as u32).map(TaskId);
            for (id, after) in ids.filter_map(|id| Some((id, reads_clock(&tasks[id.index()])?))) {
                policy.reads_clock(id, after);
            }
            run(&mut policy, tasks, machine, observer, &control)
        }
        Scheduler::BebsCredit => {
            let policy = Policy::named("bebs-credit").map_err(|e| e.to_string())?;
            run(&mut policy.servers(), tasks, machine, observer, &control)
        }
    };
    done.map(|_| ()).map_err(|e| e.to_string())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn quantile(mut values: Vec<f64>, per_mille: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() * per_mille / 1000).min(values.len().saturating_sub(1));
    values.get(place).copied().unwrap_or(f64::NAN)
}

fn in_ms(times: &[Span]) -> Vec<f64> {
    times.iter().map(|t| t.0 as f64 / 1e6).collect()
}

/// hackbench: its time in ms.
pub fn hackbench(scheduler: Scheduler, groups: u32, loops: u32) -> Result<Vec<f64>, String> {
    let half = Span(MESSAGE.0 / 2);
    let tasks = Hackbench { groups, loops, buffer: BUFFER, send: half, receive: half }.tasks();
    let mut end = LastExecution::default();
    simulate(scheduler, &tasks, Time(10_000_000_000), &mut end)?;
    Ok(vec![end.0.0 as f64 / 1e6])
}

/// Hard tasks of `percent` with 5 % more budget.
fn hard(percent: u64, period: u64) -> Task {
    let cost = Span(ms(period).0 * percent / 100);
    let budget = Span(cost.0 * 105 / 100);
    Task::hard("hard", Reservation::new(budget, ms(period)), Cost::Fixed(cost))
}

fn background() -> Vec<Task> {
    berate::background(BACKGROUND)
}

/// A task that polls, beside `extra` that compute and `hards` of 15 % each.
pub fn poll(
    scheduler: Scheduler,
    extra: usize,
    hards: u64,
    length: u64,
) -> Result<Vec<f64>, String> {
    let (mut means, mut worst) = (Vec::new(), Vec::new());
    for beginning in BEGINNINGS {
        let mut tasks = background();
        // Each is started when the one before has started.
        let started = |k: u64| Task { phase: Span(START.0 * k), ..hard(15, 15 * k) };
        tasks.extend((1..=hards).map(started));
        tasks.extend(vec![cpu_bound("hog"); extra]);
        let begin = BEFORE + Span(LATER.0 * beginning);
        let end = begin + ms(length);
        tasks.push(cpu_bound("poll").joining(begin));
        let mut executed = Executed(TaskId(tasks.len() as u32 - 1), Vec::new());
        simulate(scheduler, &tasks, end, &mut executed)?;
        let times = in_ms(&executed.responses(end));
        means.push(mean(&times));
        worst.push(quantile(times, 990));
    }
    Ok(vec![quantile(means, 500), quantile(worst, 500)])
}

/// `tasks compile 3 1 6500000`: processes start and compute for 2 to 40 ms, drawn as there.
fn compilation() -> Compilation {
    let until = Time(6_500_000_000);
    let job = |number: u64| {
        let mut random = Random(1000 + number);
        // Alone, a job has time for so many.
        let most = until.0 / (START.0 + 2_000_000);
        let process = |_| START + Span(1000 * (2_000 + random.below(38_000)));
        (0..most).map(process).collect()
    };
    Compilation { jobs: (0..3).map(job).collect(), until }
}

/// schbench for 6 s beside a compilation that began 0.3 s before and lasts 6.5 s.
pub fn schbench(scheduler: Scheduler) -> Result<Vec<f64>, String> {
    let mut all = vec![Vec::new(); 8];
    for beginning in BEGINNINGS {
        let begin = Time(300_000_000 + LATER.0 / 100 * beginning);
        let end = begin + ms(6_000);
        let mut tasks = background();
        let bench = Schbench { workers: 2, sleep: REQUEST_SLEEP, work: REQUEST };
        let first = tasks.len() as u32;
        let own = bench.tasks(first).into_iter();
        tasks.extend(own.map(|task| Task { leaves: Some(end), ..task.joining(begin) }));
        let compilation = compilation();
        let jobs = tasks.len() as u32;
        tasks.extend(compilation.tasks(jobs));
        let mut seen = (bench.times(first), compilation.started(jobs));
        simulate(scheduler, &tasks, compilation.until, &mut seen)?;
        let (times, started) = seen;
        let us = |times: &[Span]| times.iter().map(|t| t.0 as f64 / 1e3).collect::<Vec<_>>();
        let mut values = Vec::new();
        for times in [&times.wake_ups, &times.requests] {
            values.extend([500, 990, 999].map(|per_mille| quantile(us(times), per_mille)));
        }
        values.push(times.requests.len() as f64 / 6.0);
        values.push(started.count as f64);
        all.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
    }
    Ok(all.into_iter().map(|values| quantile(values, 500)).collect())
}

/// 100 us of work after each 4 ms of sleep.
pub fn interactive(scheduler: Scheduler) -> Result<Vec<f64>, String> {
    let (gap, work) = (ms(4), Span(100_000));
    let mut steps = vec![Step::Run(START), Step::Sleep(ms(8))];
    steps.extend([Step::Sleep(gap), Step::Run(work)].repeat(1000));
    let respond = Task::new("respond", Workload::Script { steps, repeat: false });
    let shell = Workload::Script { steps: vec![Step::Run(START)], repeat: false };
    let shell = vec![Task::new("shell", shell); SHELL].into_iter();
    let mut worst = Vec::new();
    for beginning in BEGINNINGS {
        let begin = BEFORE + Span(LATER.0 * beginning);
        let mut tasks = background();
        let shortly_before = Time(begin.0 - ms(50).0);
        tasks.extend(shell.clone().map(|task| task.joining(shortly_before)));
        tasks.push(hard(60, 10));
        tasks.extend(vec![cpu_bound("hog"); 3]);
        tasks.push(respond.clone().joining(begin));
        let task = TaskId(tasks.len() as u32 - 1);
        let mut responses = Responses { task, gap, before: None, times: Vec::new() };
        simulate(scheduler, &tasks, begin + ms(4000), &mut responses)?;
        worst.push(quantile(in_ms(&responses.times), 990));
    }
    Ok(vec![quantile(worst, 500)])
}

/// Experiment 1, 2 or 3 of BeRate (compare/cpu/tests/berate.sh): per cent of late frames of each film, means of five
/// seeds.
pub fn films(scheduler: Scheduler, hogs: usize, films: &[(u64, u64)]) -> Result<Vec<f64>, String> {
    let mut values = vec![Vec::new(); films.len()];
    for beginning in FILM_BEGINNINGS {
        let mut sums = vec![0.0; films.len()];
        for seed in FILM_SEEDS {
            let mut tasks = background();
            tasks.extend(vec![cpu_bound("hog"); hogs]);
            let begin = BEFORE + Span(LATER.0 * beginning);
            let mut watched = Films(Vec::new());
            for ((fps, mean), nth) in films.iter().zip(0..) {
                let film = Film::new(*fps, *mean, seed + 100 * nth);
                watched.0.push(film.watched(tasks.len(), scheduler.switch()));
                tasks.push(film.task().joining(begin));
            }
            simulate(scheduler, &tasks, begin + ms(15_000), &mut watched)?;
            sums.iter_mut().zip(&watched.0).for_each(|(sum, film)| *sum += film.percent());
        }
        let means = sums.into_iter().map(|sum| sum / FILM_SEEDS.count() as f64);
        values.iter_mut().zip(means).for_each(|(values, value)| values.push(value));
    }
    Ok(values.into_iter().map(|values| quantile(values, 500)).collect())
}
