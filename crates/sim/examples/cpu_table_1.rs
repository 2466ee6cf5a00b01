//! Table 1 of the paper on BeRate, measured: `cargo run --release --example cpu_table_1 [seeds]`.

#[path = "../tests/cpu_common/mod.rs"]
mod cpu_common;

use cpu_common::{Variability, missed, ms};
use laxity_cpu::servers::{
    Adaptation, Exhaustion, Load, Rules, Servers, Sizing, Slack, Transition,
};
use laxity_cpu::{Policy, Sample, Share, bebs, berate, best, linux_2_4, linux_2_6, quantum::Clock};

type Build = Box<dyn Fn() -> Box<dyn Policy>>;

fn main() {
    let seeds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3);
    let cbs_job = || {
        Servers::new(Rules {
            exhaustion: Exhaustion::Recharge,
            slack: Slack::Unused,
            sizing: Sizing::Adaptive(Adaptation {
                sample: Sample::Job,
                margin: 250,
                ..Adaptation::PAPER
            }),
            declared: true,
            load: Load::Live,
            transition: Transition::ZeroLag,
            least_best_effort: Share::per_mille(50),
        })
    };
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
        ("linux-2.6", Box::new(|| Box::new(linux_2_6::Linux26::new()))),
        ("cbs job 1/4", Box::new(move || Box::new(cbs_job()))),
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
}
