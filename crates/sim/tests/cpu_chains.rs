//! Random chains of changes beside hard tasks: reservations that rise and fall before the last change is in
//! force, weights that do, tasks that become reservations and back, come and go.
//!
//! Debug builds assert the rule of `laxity_cpu::servers` after every event, so a chain that breaks it fails
//! here although no job happens to be late. LAXITY_SYSTEMS says how many systems; `make chains` runs 100,000.

use crate::cpu_common::chains::system;
use crate::cpu_common::ms;
use crate::cpu_common::systems::HardJobs;
use laxity_core::Time;
use laxity_cpu::registry::{Options, build};
use laxity_sim::Control;
use laxity_sim::cpu::{Machine, run};

fn systems() -> u64 {
    std::env::var("LAXITY_SYSTEMS").map_or(400, |n| n.parse().expect("LAXITY_SYSTEMS is a number"))
}

/// Says which system it was when an assertion of the policy fails.
struct Running(&'static str, u64);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}: system {}", self.0, self.1);
        }
    }
}

/// Fails with each mend of `crates/cpu/tests/faults` undone but those that need more than two tasks to
/// wake in the right order, which `crates/cpu/tests/search.rs` finds.
#[test]
fn chains_of_changes_make_no_hard_job_late() {
    let length = ms(2000);
    for policy in ["bebs", "bebs-credit", "cbs", "iris", "edf"] {
        let (mut jobs, mut late, mut refused) = (0, Vec::new(), 0);
        for seed in 0..systems() {
            let _running = Running(policy, seed);
            let (tasks, hard) = system(seed, length.0);
            let mut seen = HardJobs::of((0..tasks.len()).map(|i| i < hard).collect());
            let machine = Machine::single(Time::ZERO + length, seed);
            let mut served = build(policy, &Options::default()).expect("a name of the registry");
            run(&mut served, &tasks, machine, &mut seen, &Control::default()).expect("a run");
            (jobs, refused) = (jobs + seen.jobs, refused + seen.refused);
            if seen.late > 0 {
                late.push(seed);
            }
        }
        println!("{policy}: {jobs} jobs, {refused} refused");
        assert!(late.is_empty(), "{policy}: late jobs in systems {late:?}");
        assert!(
            jobs > 10 * systems() && refused > systems() / 10,
            "{jobs} jobs, {refused} refused"
        );
    }
}
