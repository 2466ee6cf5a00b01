//! Scenarios in which promised jobs were late, or somebody waited beside idle time.
//!
//! Each is promised by `check`, and each has one fault that it shows; the folder `promises` says
//! which.

use std::path::Path;

use laxity_core::Span;
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::Control;
use laxity_sim::cpu::{simulate, tasks};

struct Outcome {
    jobs: u64,
    missed: u64,
    slowest: Span,
}

/// The outcome of a task under a policy.
fn outcome(case: &str, policy: &str, task: &str, seconds: u64) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promises").join(case);
    let scenario = CpuScenario::read(path.with_extension("toml")).expect("it reads");
    let tasks = tasks(&scenario).expect("no recordings");
    let (length, control) = (Span::from_millis(1000 * seconds), Control::default());
    let run = simulate(&scenario, &tasks, policy, 1, length, None, &control).expect("it runs");
    let i = tasks.iter().position(|t| t.name == task).expect("its name");
    let measured = &run.measure.tasks[i];
    Outcome {
        jobs: measured.jobs,
        missed: measured.missed,
        slowest: Span(measured.response.max().unwrap_or(0)),
    }
}

fn none_late(case: &str, task: &str, seconds: u64) {
    for policy in ["bebs", "bebs-credit", "cbs", "iris", "edf"] {
        let o = outcome(case, policy, task, seconds);
        assert!(o.jobs > 1, "{case}, {policy}: {} jobs", o.jobs);
        assert_eq!(o.missed, 0, "{case}, {policy}: of {} jobs", o.jobs);
    }
}

/// Fails when a change is compared with the last request instead of the row of requests: 1 of 2
/// jobs late by 17 ms under `bebs-credit`.
#[test]
fn a_smaller_rise_during_a_rise() {
    none_late("rise_then_smaller_rise", "v", 3);
}

/// Fails when the row falls at once although the period at hand has more.
#[test]
fn a_partial_rise_during_a_decrease() {
    none_late("rise_within_a_decrease", "v", 5);
}

/// Fails when a decrease that comes due brings a later rise into force.
#[test]
fn a_rise_beyond_a_pending_decrease() {
    none_late("rise_beyond_a_decrease", "v", 3);
}

/// Fails when what others have not left yet counts as free.
#[test]
fn a_dropped_rise_is_requested_again() {
    none_late("rise_dropped_then_raised", "v", 5);
}

/// Fails when a release that is dated back is sized with a share that rose since: 7 of 8 jobs late
/// under `bebs`.
#[test]
fn a_single_decrease() {
    none_late("decrease_of_a_reservation", "v", 5);
}

/// Fails when expired servers keep their release while deadlines move back: 158 of 229 jobs late
/// under `bebs-credit`.
#[test]
fn one_change_of_nice() {
    none_late("one_change_of_nice", "v0", 3);
}

/// Fails when the load falls while the share is limited: all jobs late under `cbs` and
/// `bebs-credit`.
#[test]
fn a_weight_that_rises_and_falls() {
    none_late("weight_raised_then_lowered", "v", 5);
}

/// Fails when a server that sleeps at the end of its budget expires: 975 ms. How far deadlines may
/// run ahead is the bound.
#[test]
fn the_cpu_never_idles_while_a_task_waits() {
    let slowest = outcome("sleeps_at_exhaustion", "bebs-credit", "b1", 3).slowest;
    assert!(slowest < Span::from_millis(500), "a burst of 20 ms took {slowest:?}");
}
