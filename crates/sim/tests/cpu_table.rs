//! Table 1 of the paper on BeRate, and what the improved rule reaches.

use crate::cpu_common::{Srtsim, cpu_bound, measure, missed, ms};
use laxity_core::Span;
use laxity_cpu::{Policy, bebs, bebs_credit, berate, cbs, linux_2_4};
use laxity_sim::cpu::papers::bebs::{interactive, waking_for_good};
use laxity_sim::cpu::papers::berate::Shape;

const STATED: Srtsim = Srtsim::STATED;
const SEEDS: u64 = 10;

fn within<P: Policy>(policy: impl Fn() -> P, number: u32, published: &[f64], tolerance: f64) {
    let measured = missed(policy, number, STATED, ms(300_000), SEEDS);
    println!("experiment {number}: published {published:?}, measured {measured:?}");
    for (m, p) in measured.iter().zip(published) {
        assert!((m - p).abs() <= tolerance, "experiment {number}: {m} for {p}");
    }
}

/// The simulated columns, with quanta of 60 ms at 800 Hz, normal frames of variability 0.2 that
/// move the grid when late, and means as stated.
///
/// Fails for BeRate when the deadline after a quantum counts from now (48 % in experiment 1), when
/// the load is that of runnable tasks, and for Linux when quanta are those of 100 Hz ticks.
#[test]
fn berate_reproduces_table_1() {
    let linux = || linux_2_4::Linux24::new(&linux_2_4::Options::default());
    within(linux, 1, &[7.7], 2.0);
    within(linux, 2, &[7.7, 7.2], 2.0);
    within(linux, 3, &[10.0, 7.6], 2.0);
    within(linux, 5, &[11.0], 4.0);
    let berate = || berate::BeRate::new(&berate::Options::default());
    within(berate, 1, &[0.3], 2.0);
    within(berate, 2, &[0.2, 0.2], 2.0);
    within(berate, 3, &[0.1, 0.1], 2.0);
    within(berate, 5, &[0.2], 4.0);
}

/// Read by the letter, BeRate misses half of the deadlines (A8), and a fifth with the load of
/// runnable tasks (A9).
#[test]
fn other_options_of_berate_do_not_reproduce_table_1() {
    let with = |options| missed(|| berate::BeRate::new(&options), 1, STATED, ms(100_000), 2)[0];
    let now = berate::Options { base: berate::Base::Now, ..Default::default() };
    assert!(with(now) > 30.0);
    let runnable = berate::Options { load: berate::LoadOf::Runnable, ..Default::default() };
    assert!(with(runnable) > 5.0);
}

/// The improved rule misses under 1 % where BEBS as written misses a quarter, at both
/// variabilities, and an interactive task beside four hard ones waits no longer than under BEBS.
///
/// Fails with suspension instead of recharging, and with a limit of 50 ms.
#[test]
fn bebs_credit_meets_deadlines_at_the_full_share() {
    let credit = || bebs_credit::new(&bebs_credit::Options::default());
    for cv in [0.1, 0.2] {
        let v = Srtsim { shape: Shape::Gauss(cv), ..STATED };
        for number in [1, 2, 3] {
            let measured = missed(credit, number, v, ms(300_000), SEEDS);
            println!("experiment {number}, variability {cv}: {measured:?}");
            assert!(measured.iter().all(|m| *m < 1.0), "{measured:?}");
        }
    }
    let plain = missed(|| bebs::new(&bebs::Options::default()), 1, STATED, ms(300_000), 2);
    assert!((20.0..35.0).contains(&plain[0]), "{plain:?}");
    let tasks = interactive(1, 4, Span(50_000));
    let m = measure(&mut credit(), &tasks, ms(600_000), 1);
    let latency = m.tasks[tasks.len() - 1].latency.mean().expect("wake-ups");
    println!("figure 7(b), four hard tasks: {} us", latency / 1000.0);
    assert!(latency < 100_000.0);
    assert!(m.tasks[1..5].iter().all(|t| t.jobs > 9_000 && t.missed == 0));
}

/// The price of credit is bounded: when a task that left most of its share for ten seconds wakes for
/// good, the CPU-bound one beside it waits about as long as under BEBS. Plain CBS makes it wait for
/// seconds, as does BeRate.
///
/// Fails when deadlines run ahead without limit, and with samples by state.
#[test]
fn bebs_credit_starves_no_task() {
    let tasks = [waking_for_good(ms(10_000)), cpu_bound("cpu-bound")];
    let wait = |mut policy: Box<dyn Policy>| {
        measure(&mut policy, &tasks, ms(20_000), 1).tasks[1].longest_gap
    };
    let credit = wait(Box::new(bebs_credit::new(&bebs_credit::Options::default())));
    let plain = wait(Box::new(bebs::new(&bebs::Options::default())));
    let cbs = wait(Box::new(cbs::new(&cbs::Options::default())));
    println!("bebs-credit {credit}, bebs {plain}, cbs {cbs}");
    assert!(plain <= ms(200) && credit <= ms(250) && cbs >= ms(1000));
}
