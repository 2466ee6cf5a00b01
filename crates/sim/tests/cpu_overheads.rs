//! Overheads of scheduling: a simulation adds them to the work after each wake-up, admission to each budget.

use laxity_core::Span;
use laxity_results::TaskKind;
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::Control;
use laxity_sim::cpu::{simulate_all, tasks};

const SCENARIO: &str = r#"
[cpu]
[overheads]
switch = "100 us"
release = "50 us"
[[task]]
name = "a"
reservation = { budget = "2 ms", period = "10 ms" }
[[task]]
name = "b"
reservation = { budget = "4.5 ms", period = "15 ms" }
[[task]]
name = "c"
reservation = { budget = "9 ms", period = "25 ms" }
[[task]]
name = "bulk"
count = 2
work = "cpu-bound"
[[task]]
name = "editor"
work = { burst = { normal = ["2 ms", "0.5 ms"] }, think = { exponential = "20 ms" } }
"#;

/// Jobs that use their whole budgets are in time beside 95 % of load, and each takes its overhead.
///
/// Fails when budgets are not enlarged (tried in `drive`), or jobs do not cost more (tried in `machine`).
#[test]
fn admitted_jobs_with_overheads_are_in_time() {
    let scenario = CpuScenario::parse(SCENARIO, "test.toml").expect("a scenario");
    let tasks = tasks(&scenario).expect("tasks");
    let policies = ["edf", "bebs", "bebs-credit", "cbs"].map(str::to_owned);
    let duration = Span::from_millis(5_000);
    let control = Control::default();
    let runs = simulate_all(&scenario, &tasks, &policies, &[1, 2], duration, &control);
    for run in runs.expect("runs") {
        let result = run.result(&scenario, &tasks);
        let hard = result.tasks.iter().filter(|(_, t)| t.kind == TaskKind::Hard);
        for (name, task) in hard {
            assert!(task.jobs >= 199 && task.refused.is_none(), "{} {name}", run.policy);
            assert_eq!(task.deadline_misses, 0, "{} {name}", run.policy);
        }
        let share = result.tasks["a"].share;
        assert!((share - 0.225).abs() < 0.002, "{}: {share}", run.policy);
    }
}
