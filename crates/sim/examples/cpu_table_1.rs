//! Table 1 of the paper on BeRate, measured: `cargo run --release --example cpu_table_1 [seeds]`.

#[path = "../tests/cpu_common/mod.rs"]
mod cpu_common;

use cpu_common::{Variability, figure_7b, measure, missed, ms};
use laxity_core::Span;
use laxity_cpu::servers::Adaptation;
use laxity_cpu::{Policy, Sample, bebs, bebs_credit, berate, best, linux_2_4, quantum::Clock};

type Build = Box<dyn Fn() -> Box<dyn Policy>>;

fn main() {
    let seeds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3);
    let policies: Vec<(&str, Build)> = vec![
        ("linux-2.4", Box::new(|| Box::new(linux_2_4::Linux24::new(&Default::default())))),
        ("berate", Box::new(|| Box::new(berate::BeRate::new(&Default::default())))),
        (
            "berate now",
            Box::new(|| {
                let options = berate::Options { base: berate::Base::Now, ..Default::default() };
                Box::new(berate::BeRate::new(&options))
            }),
        ),
        ("best", Box::new(|| Box::new(best::Best::new(Clock::default())))),
        ("bebs", Box::new(|| Box::new(bebs::new(&Default::default())))),
        (
            "bebs job",
            Box::new(|| {
                let adaptation = Adaptation { sample: Sample::Job, ..Adaptation::PAPER };
                Box::new(bebs::new(&bebs::Options { adaptation, ..Default::default() }))
            }),
        ),
        ("bebs-credit", Box::new(|| Box::new(bebs_credit::new(&bebs_credit::Options::default())))),
    ];
    for cv in [0.2, 0.1] {
        println!("variability {cv}, {seeds} x 300 s");
        for (name, build) in &policies {
            print!("{name:14}");
            for number in 1..=6 {
                let v = Variability { cv, scale: 1000 };
                let row = missed(build, number, v, ms(300_000), seeds);
                let row: Vec<String> = row.iter().map(|m| format!("{m:.2}")).collect();
                print!("  {:>12}", row.join("/"));
            }
            println!();
        }
    }
    println!("interactive beside 1 CPU-bound and 0..4 hard tasks: wake-up to CPU, mean/p99/max ms");
    for (name, build) in &policies {
        print!("{name:14}");
        for hard in 0..=4 {
            for burst in [50, 2000] {
                let tasks = figure_7b(1, hard, Span(burst * 1000));
                let m = measure(&mut build(), &tasks, ms(300_000), 1);
                let latency = &m.tasks[tasks.len() - 1].latency;
                let (p99, max) = (latency.quantile(990), latency.max());
                let ms = |ns: Option<u64>| ns.unwrap_or(0) as f64 / 1e6;
                let mean = latency.mean().unwrap_or(0.0) / 1e6;
                print!("  {mean:.2}/{:.1}/{:.1}", ms(p99), ms(max));
            }
        }
        println!();
    }
}
