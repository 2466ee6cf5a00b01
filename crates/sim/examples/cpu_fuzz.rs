//! Late hard jobs in random systems: `cargo run --release --example cpu_fuzz [systems] [ms]`.

#[path = "../tests/cpu_common/mod.rs"]
mod cpu_common;

use cpu_common::systems::{Mix, judge};
use laxity_core::Span;
use laxity_cpu::layered::Layered;
use laxity_cpu::registry::{Options, build};
use laxity_cpu::round_robin::RoundRobin;
use laxity_cpu::sched_deadline::SchedDeadline;
use laxity_cpu::servers::{Adaptation, Basis, Load, Transition};
use laxity_cpu::{Policy, bebs, bebs_credit, cbs, edf, iris, iris_naive};

type Build = Box<dyn Fn() -> Box<dyn Policy + Send> + Sync>;

fn reserved(reclaim: bool) -> impl Policy + Send {
    Layered::new(SchedDeadline::new(reclaim), RoundRobin::new(Span::from_millis(10)))
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let systems = args.next().unwrap_or(1000);
    let length = Span::from_millis(args.next().unwrap_or(2000));
    let bebs =
        |options: bebs::Options| -> Build { Box::new(move || Box::new(bebs::new(&options))) };
    let plain = bebs::Options::default();
    let with = |transition| bebs::Options { transition, ..plain };
    let average = Adaptation { basis: Basis::Average, ..Adaptation::PAPER };
    let equal = cbs::Options::default();
    let policies: Vec<(&str, Build)> = vec![
        ("bebs", bebs(plain)),
        ("bebs stretch", bebs(with(Transition::Stretch))),
        ("bebs wait", bebs(with(Transition::Wait))),
        ("bebs stretch-and-wait", bebs(with(Transition::StretchAndWait))),
        ("bebs neither", bebs(with(Transition::Neither))),
        ("bebs unblocked", bebs(bebs::Options { load: Load::Unblocked, ..plain })),
        (
            "bebs unblocked stretch",
            bebs(bebs::Options { load: Load::Unblocked, ..with(Transition::Stretch) }),
        ),
        (
            "bebs unblocked neither",
            bebs(bebs::Options { load: Load::Unblocked, ..with(Transition::Neither) }),
        ),
        ("bebs period=average", bebs(bebs::Options { adaptation: average, ..plain })),
        ("bebs-credit", Box::new(|| Box::new(bebs_credit::new(&Default::default())))),
        ("sched-deadline", Box::new(|| Box::new(reserved(true)))),
        ("sched-deadline, reclaim=false", Box::new(|| Box::new(reserved(false)))),
        ("posix", Box::new(|| build("posix", &Options::default()).expect("a name"))),
        ("cbs", Box::new(move || Box::new(cbs::new(&equal)))),
        ("iris", Box::new(move || Box::new(iris::new(&equal)))),
        ("iris-naive", Box::new(move || Box::new(iris_naive::new(&equal)))),
        ("edf", Box::new(move || Box::new(edf::new(&equal)))),
    ];
    for (constrained, greedy) in [(false, false), (false, true), (true, false), (true, true)] {
        let mix = Mix { soft: true, constrained, greedy, length };
        println!(
            "{systems} systems of {length}, shorter deadlines: {constrained}, greedy: {greedy}"
        );
        for (name, build) in &policies {
            let start = std::time::Instant::now();
            let v = judge(build, 0..systems, mix);
            println!(
                "{name:24} {} late of {} in {} systems (first {:?}), worst {} us, {} refused, {} decisions, {:.1} s",
                v.late,
                v.jobs,
                v.broken.len(),
                v.broken.first(),
                v.worst / 1000,
                v.refused,
                v.decisions,
                start.elapsed().as_secs_f64()
            );
        }
    }
}
