//! Table 1 of the paper on BeRate and figure 7(b) of the one on BEBS, measured under all policies
//! and some of their other readings: `cargo run --release --example cpu_table_1 [seeds]`.

#[path = "../tests/cpu_common/mod.rs"]
mod cpu_common;

use cpu_common::{Variability, cpu_bound, figure_7b, measure, missed, ms, waking_for_good};
use laxity_core::Span;
use laxity_cpu::registry::{Options, POLICIES, build};
use laxity_cpu::servers::Adaptation;
use laxity_cpu::{Policy, Sample, bebs, berate};

type Build = Box<dyn Fn() -> Box<dyn Policy + Send>>;

fn main() {
    let seeds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3);
    let mut policies: Vec<(&str, Build)> = Vec::new();
    for p in POLICIES {
        let build = || build(p.name, &Options::default()).expect("a name from the registry");
        policies.push((p.name, Box::new(build)));
    }
    let job = Adaptation { sample: Sample::Job, ..Adaptation::PAPER };
    let job = bebs::Options { adaptation: job, ..Default::default() };
    policies.push(("bebs, sample=job", Box::new(move || Box::new(bebs::new(&job)))));
    let now = berate::Options { base: berate::Base::Now, ..Default::default() };
    policies.push(("berate, base=now", Box::new(move || Box::new(berate::BeRate::new(&now)))));

    for cv in [0.2, 0.1] {
        println!("\nmissed %, experiments 1 to 6, variability {cv}, {seeds} x 300 s");
        for (name, build) in &policies {
            print!("{name:17}");
            for number in 1..=6 {
                let v = Variability { cv, scale: 1000 };
                let row = missed(build, number, v, ms(300_000), seeds);
                let row: Vec<String> = row.iter().map(|m| format!("{m:.2}")).collect();
                print!(" {:>12}", row.join("/"));
            }
            println!();
        }
    }
    for burst in [50, 2000] {
        println!(
            "\nwake-up to CPU, mean/p99 ms: bursts of {burst} us beside a CPU-bound and 0 to 4 hard tasks"
        );
        for (name, build) in &policies {
            print!("{name:17}");
            for hard in 0..=4 {
                let tasks = figure_7b(1, hard, Span(burst * 1000));
                let m = measure(&mut build(), &tasks, ms(300_000), 1);
                let latency = &m.tasks[tasks.len() - 1].latency;
                let p99 = latency.quantile(990).unwrap_or(0) as f64 / 1e6;
                let mean = latency.mean().unwrap_or(0.0) / 1e6;
                print!(" {:>12}", format!("{mean:.3}/{p99:.1}"));
            }
            println!();
        }
    }
    println!("\nmissed % in experiment 1 at means of .7 .8 .9 1 of the stated, by variability");
    for (name, build) in &policies {
        print!("{name:17}");
        for cv in [0.1, 0.2, 0.4] {
            for scale in [700, 800, 900, 1000] {
                let m = missed(build, 1, Variability { cv, scale }, ms(300_000), seeds);
                print!(" {:5.2}", m[0]);
            }
            print!(" |");
        }
        println!();
    }
    println!(
        "\nlongest wait of a CPU-bound task, ms, when another wakes for good after 10 s of 10 %"
    );
    for (name, build) in &policies {
        let tasks = [waking_for_good(ms(10_000)), cpu_bound("cpu-bound")];
        let m = measure(&mut build(), &tasks, ms(20_000), 1);
        println!("{name:17} {:6.0}", m.tasks[1].longest_gap.0 as f64 / 1e6);
    }
}
