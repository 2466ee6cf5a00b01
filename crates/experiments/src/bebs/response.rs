//! Figures 6 to 8: response times to events.

use laxity_core::Span;
use laxity_report::Figure;
use laxity_report::plot::Unit;
use laxity_sim::cpu::Task;
use laxity_sim::cpu::papers::bebs::{ANY_TIME, SOON, compute, interactive};

use crate::draw::{Line, Panel, figure};
use crate::tasks::contenders::{
    BEBS, BEBS_100, BEBS_CREDIT, BEBS_SWITCH, EEVDF_BELOW, LINUX_26, NAIVE_40, NAIVE_100,
    SCHED_DEADLINE,
};
use crate::tasks::runs::times;
use crate::tasks::{Contender, Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

/// Execution time of an interactive task after each event.
const BURST: Span = Span(50_000);

const WHAT: (numbers::Numbers, usize, Rule) = (numbers::response, 1, Rule::TENTH);

/// Extra tasks of figures 6(a) and 8(a).
const EXTRA: [usize; 5] = [0, 2, 4, 6, 8];
/// Extra tasks of figures 6(b) and 8(b).
const LOADED: [usize; 2] = [0, 5];
/// Hard tasks of figure 7, beside one CPU-bound task.
const HARD: [u64; 5] = [0, 1, 2, 3, 4];

const SHARING: [Contender; 5] = [BEBS, BEBS_100, LINUX_26, BEBS_CREDIT, EEVDF_BELOW];
const NAIVE: [Contender; 3] = [BEBS, NAIVE_40, NAIVE_100];
const WITH_HARD_TASKS: [Contender; 7] =
    [BEBS, BEBS_100, BEBS_SWITCH, LINUX_26, BEBS_CREDIT, EEVDF_BELOW, SCHED_DEADLINE];

fn compute_system(extra: usize, hard: u64) -> (String, Vec<Task>) {
    (format!("compute-{extra}-extra-{hard}-hard"), compute(extra, hard, ANY_TIME))
}

/// The same with events so close that many come within the budget in which the last was seen.
fn soon_system(extra: usize) -> (String, Vec<Task>) {
    (format!("compute-soon-{extra}-extra"), compute(extra, 0, SOON))
}

fn interactive_system(extra: usize, hard: u64) -> (String, Vec<Task>) {
    (format!("interactive-{extra}-extra-{hard}-hard"), interactive(extra, hard, BURST))
}

type Systems = Vec<(String, Vec<Task>)>;

fn trials(scale: Scale, policies: &[Contender], systems: Systems) -> Vec<Trial> {
    let each = policies.iter().flat_map(|p| systems.iter().map(move |s| (*p, s)));
    each.map(|(policy, (name, tasks))| scale.trial(policy, name, tasks.clone(), WHAT)).collect()
}

fn systems_6() -> Systems {
    let compute = EXTRA.into_iter().map(|n| compute_system(n, 0));
    compute.chain(LOADED.into_iter().map(|n| interactive_system(n, 0))).collect()
}

fn systems_7() -> Systems {
    let compute = HARD.into_iter().map(|n| compute_system(1, n));
    compute.chain(HARD.into_iter().map(|n| interactive_system(1, n))).collect()
}

/// Trials of Figure 6.
pub fn trials_6(scale: Scale) -> Vec<Trial> {
    let mut systems = systems_6();
    systems.extend(EXTRA.into_iter().skip(1).map(soon_system));
    trials(scale, &SHARING, systems)
}

/// Trials of Figure 7.
pub fn trials_7(scale: Scale) -> Vec<Trial> {
    trials(scale, &WITH_HARD_TASKS, systems_7())
}

/// Trials of Figure 8.
pub fn trials_8(scale: Scale) -> Vec<Trial> {
    trials(scale, &NAIVE, systems_6())
}

/// One policy's mean over another's in the same system.
fn over(runs: &Runs, label: String, system: &str, above: Contender, below: Contender) -> Measured {
    times(label, runs.known(above, system, 0), runs.known(below, system, 0))
}

fn means(runs: &Runs, policies: &[Contender], systems: &[(String, Vec<Task>)]) -> Vec<Measured> {
    let mut rows = Vec::new();
    for (system, _) in systems {
        for policy in policies {
            let label = |what| format!("{system}/{what}");
            rows.extend(runs.row(*policy, system, &label("mean-response"), "ms", 0));
            rows.extend(runs.row(*policy, system, &label("p99-response"), "ms", 1));
        }
    }
    rows
}

/// Figure 6.
pub fn rows_6(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for policy in [BEBS, BEBS_100, BEBS_CREDIT] {
        for extra in EXTRA.into_iter().skip(1) {
            let (system, _) = compute_system(extra, 0);
            let label = format!("{}/compute-{extra}-extra/over-linux", policy.name);
            rows.push(over(runs, label, &system, policy, LINUX_26));
        }
    }
    for policy in [BEBS, BEBS_100] {
        for extra in EXTRA.into_iter().skip(1) {
            let (system, _) = soon_system(extra);
            let label = format!("{}/compute-soon-{extra}-extra/over-linux", policy.name);
            rows.push(over(runs, label, &system, policy, LINUX_26));
        }
    }
    for policy in [BEBS, LINUX_26] {
        let mean = |extra| runs.known(policy, &compute_system(extra, 0).0, 0);
        let label = format!("{}/compute/8-over-2-extra", policy.name);
        rows.push(times(label, mean(8), mean(2)));
    }
    rows.extend(means(runs, &SHARING, &systems_6()));
    Ok(rows)
}

/// Figure 7.
pub fn rows_7(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    let mut compare = |policy: Contender, what: &str, of: fn(usize, u64) -> (String, Vec<Task>)| {
        for hard in HARD.into_iter().skip(1) {
            let (system, _) = of(1, hard);
            let label = format!("{}/{what}-{hard}-hard/over-linux", policy.name);
            rows.push(over(runs, label, &system, policy, LINUX_26));
        }
    };
    for policy in [BEBS, BEBS_100, BEBS_SWITCH] {
        compare(policy, "compute", compute_system);
    }
    for policy in [BEBS, BEBS_CREDIT, EEVDF_BELOW, SCHED_DEADLINE] {
        compare(policy, "interactive", interactive_system);
    }
    rows.extend(means(runs, &WITH_HARD_TASKS, &systems_7()));
    Ok(rows)
}

/// Figure 8.
pub fn rows_8(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for policy in [NAIVE_40, NAIVE_100] {
        for extra in EXTRA.into_iter().skip(1) {
            let (system, _) = compute_system(extra, 0);
            let label = format!("{}/compute-{extra}-extra/over-bebs", policy.name);
            rows.push(over(runs, label, &system, policy, BEBS));
        }
    }
    rows.extend(means(runs, &NAIVE, &systems_6()));
    Ok(rows)
}

fn panel<'a>(
    runs: &Runs,
    (title, x): (&'a str, &'a str),
    policies: &[Contender],
    log_from: Option<f64>,
    points: &[(f64, String)],
) -> Panel<'a> {
    let line = |(i, policy): (usize, &Contender)| {
        let point = |(x, system): &(f64, String)| (*x, runs.mean(*policy, system, 0) * 1e6);
        Line::new(policy.title, points.iter().map(point).collect(), i)
    };
    Panel {
        title,
        desc: "Mean response, one line for each policy.",
        x,
        y: "mean response",
        unit: Unit::Time,
        log_from,
        lines: policies.iter().enumerate().map(line).collect(),
    }
}

const FROM_A_MICROSECOND: Option<f64> = Some(1e3);

fn by_extra(runs: &Runs, policies: &[Contender], name: &str, title: &str, n: u32) -> Figure {
    let compute: Vec<_> = EXTRA.iter().map(|n| (*n as f64, compute_system(*n, 0).0)).collect();
    let waiting: Vec<_> = LOADED.iter().map(|n| (*n as f64, interactive_system(*n, 0).0)).collect();
    let x = "extra CPU-bound tasks";
    let panels = [
        panel(runs, ("(a) compute-bound", x), policies, None, &compute),
        panel(runs, ("(b) interactive", x), policies, FROM_A_MICROSECOND, &waiting),
    ];
    let caption = format!(
        "Mean time from an event to the task's seeing it; what is less than a microsecond lies on \
         the edge. After Banachowski, Bisson and Brandt (BEBS), Figure {n}."
    );
    figure(name, title, &caption, &panels)
}

/// The drawing of Figure 6.
pub fn figures_6(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    Ok(vec![by_extra(runs, &SHARING, "bebs-fig6", "Response beside other tasks", 6)])
}

/// The drawing of Figure 7.
pub fn figures_7(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let points = |of: fn(usize, u64) -> (String, Vec<Task>)| -> Vec<(f64, String)> {
        HARD.iter().map(|n| (*n as f64, of(1, *n).0)).collect()
    };
    let x = "hard tasks of 15 %";
    let (compute, waiting) = (points(compute_system), points(interactive_system));
    let panels = [
        panel(runs, ("(a) compute-bound", x), &WITH_HARD_TASKS, None, &compute),
        panel(runs, ("(b) interactive", x), &WITH_HARD_TASKS, FROM_A_MICROSECOND, &waiting),
    ];
    let caption = "Mean time from an event to the task's seeing it, beside one CPU-bound task and \
                   hard ones of 15, 30, 45, 60 ms; what is less than a microsecond lies on the \
                   edge. After Banachowski, Bisson and Brandt (BEBS), Figure 7.";
    Ok(vec![figure("bebs-fig7", "Response beside real-time tasks", caption, &panels)])
}

/// The drawing of Figure 8.
pub fn figures_8(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    Ok(vec![by_extra(runs, &NAIVE, "bebs-fig8", "Response under naive IRIS", 8)])
}
