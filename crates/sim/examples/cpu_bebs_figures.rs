//! Figures 1(c), 3, 4, 6, 7(a) and 8 of the paper on BEBS, roughly, from runs of fixed length:
//! `cargo run --release --example cpu_bebs_figures`.

#[path = "../tests/cpu_common/mod.rs"]
mod cpu_common;

use cpu_common::{cpu_bound, measure, ms};
use laxity_core::Span;
use laxity_cpu::registry::{Options, build};
use laxity_cpu::servers::Adaptation;
use laxity_cpu::{Attributes, Policy, Reservation, Sample, Share, bebs, cbs, iris_naive};
use laxity_sim::cpu::{Cost, Gap, Measure, Task, Workload};

type Build = Box<dyn Fn() -> Box<dyn Policy + Send>>;

const LENGTH: Span = ms(300_000);

fn hard(percent: u64, period: u64) -> Task {
    let budget = Span(ms(period).0 * percent / 100);
    Task::hard("hard", Reservation::new(budget, ms(period)), Cost::Fixed(budget))
}

fn adapted(adaptation: Adaptation) -> Build {
    Box::new(move || Box::new(bebs::new(&bebs::Options { adaptation, ..Default::default() })))
}

fn fixed_bebs() -> Box<dyn Policy + Send> {
    Box::new(bebs::new(&bebs::Options { least_best_effort: Share::ZERO, ..Default::default() }))
}

fn fixed_cbs() -> Box<dyn Policy + Send> {
    Box::new(cbs::new(&cbs::Options { least_best_effort: Share::ZERO, ..Default::default() }))
}

/// Mean latency of the last task in ms.
fn latency(build: &Build, tasks: &[Task]) -> f64 {
    let m: Measure = measure(&mut build(), tasks, LENGTH, 1);
    m.tasks[tasks.len() - 1].latency.mean().unwrap_or(0.0) / 1e6
}

/// A poller beside extra CPU-bound tasks and hard ones of 15 %.
fn compute(extra: usize, hard_tasks: u64) -> Vec<Task> {
    let mut tasks = vec![cpu_bound("cpu-bound"); extra];
    tasks.extend((1..=hard_tasks).map(|k| hard(15, 15 * k)));
    let gap = Gap::Uniform(ms(10), ms(200));
    tasks.push(Task::new("poller", Workload::Poller { gap }));
    tasks
}

fn figures_6_to_8() {
    let most = |n| Adaptation { most: ms(n), ..Adaptation::PAPER };
    let switch = Adaptation { sample: Sample::Switch, ..most(100) };
    let equal = |period| cbs::Options { period: ms(period), ..Default::default() };
    let named = |name: &'static str| -> Build {
        Box::new(move || build(name, &Options::default()).expect("a name of the registry"))
    };
    let policies: Vec<(&str, Build)> = vec![
        ("bebs", adapted(Adaptation::PAPER)),
        ("bebs, most=100 ms", adapted(most(100))),
        ("bebs, 100, switch", adapted(switch)),
        ("bebs-credit", named("bebs-credit")),
        ("linux-2.6", named("linux-2.6")),
        ("posix", named("posix")),
        ("iris-naive 40", Box::new(move || Box::new(iris_naive::new(&equal(40))))),
        ("iris-naive 100", Box::new(move || Box::new(iris_naive::new(&equal(100))))),
        ("eevdf", named("eevdf")),
    ];
    println!(
        "6(a), 8(a): compute-bound response in ms, 2 4 6 8 extra | 7(a): 0 to 4 hard, 1 extra"
    );
    for (name, build) in &policies {
        print!("{name:18}");
        for extra in [2, 4, 6, 8] {
            print!(" {:8.1}", latency(build, &compute(extra, 0)));
        }
        print!("  |");
        for hard_tasks in 0..=4 {
            print!(" {:8.1}", latency(build, &compute(1, hard_tasks)));
        }
        println!();
    }
}

/// The system of figures 1(c) and 3: half of the CPU hard, one soft task of frames of 40 ms.
fn tardiness(build: fn() -> Box<dyn Policy + Send>, server: u64, load: f64) -> (f64, f64) {
    let budget = |b, p| Reservation::new(ms(b), ms(p));
    let fixed = |b, p| Task::hard("hard", budget(b, p), Cost::Fixed(ms(b)));
    let mut tasks = vec![fixed(5, 40), fixed(10, 80), fixed(25, 100)];
    let mean = Span((20e6 * load) as u64);
    let reservation = Reservation::new(Span(ms(server).0 / 2), ms(server));
    let frames = Workload::Frames {
        period: ms(40),
        deadline: ms(40),
        cost: Cost::Gauss { mean, cv: 0.4 },
        late: laxity_sim::cpu::Late::Grid,
    };
    tasks.push(Task::new("soft", frames).with(Attributes::soft(reservation)));
    let m = measure(&mut build(), &tasks, ms(1_000_000), 1);
    (m.tasks[3].mean_tardiness().unwrap_or(0.0) / 1e6, m.switches as f64 / 1000.0)
}

fn figures_1c_and_3() {
    println!("1(c): mean tardiness in ms, bebs/cbs, loads .7 .8 .9 .95 (server 40 ms, gauss 0.4)");
    for load in [0.7, 0.8, 0.9, 0.95] {
        let (b, c) = (tardiness(fixed_bebs, 40, load), tardiness(fixed_cbs, 40, load));
        print!("  {:.2}/{:.2}", b.0, c.0);
    }
    println!("\n3: load .9, server period, tardiness bebs/cbs, switches a second bebs/cbs");
    for server in [5, 10, 20, 40, 80, 200] {
        let (b, c) = (tardiness(fixed_bebs, server, 0.9), tardiness(fixed_cbs, server, 0.9));
        println!("  {server:3} ms  {:.1}/{:.1}  {:.0}/{:.0}", b.0, c.0, b.1, c.1);
    }
}

/// Five hard tasks of a tenth, three CPU-bound and two soft tasks that need `percent` of their
/// share, a tenth.
fn figure_4() {
    println!("4: missed % of 25 and 12.5 fps, switches a second");
    for percent in [90, 80] {
        for (name, server) in
            [("20 ms", Some(20)), ("40 ms", Some(40)), ("200 ms", Some(200)), ("adaptive", None)]
        {
            let attributes = server.map_or(Attributes::default(), |p| {
                Attributes::soft(Reservation::new(Span(ms(p).0 / 10), ms(p)))
            });
            let mut tasks: Vec<Task> = [20, 30, 40, 50, 60].iter().map(|p| hard(10, *p)).collect();
            tasks.extend((0..3).map(|_| cpu_bound("cpu-bound").with(attributes)));
            for period in [40, 80] {
                let mean = Span(ms(period).0 * percent / 1000);
                let frames = Task::frames("soft", ms(period), Cost::Gauss { mean, cv: 0.1 });
                tasks.push(frames.with(attributes));
            }
            let m = measure(&mut fixed_bebs(), &tasks, LENGTH, 1);
            let missed = |i: usize| m.tasks[i].missed_percent().unwrap_or(0.0);
            let late: u64 = m.tasks[..5].iter().map(|t| t.missed).sum();
            println!(
                "  {percent} % {name:8}  {:.1}/{:.1}  {:.0}, {late} late hard jobs",
                missed(8),
                missed(9),
                m.switches as f64 / 300.0
            );
        }
    }
}

fn main() {
    figures_1c_and_3();
    figure_4();
    figures_6_to_8();
}
