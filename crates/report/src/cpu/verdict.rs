//! The answer of `laxity check` for CPUs, in sentences and a table.

use crate::cells::percent;
use crate::number::{fixed, span};
use crate::page::Assessment;
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::{CpuCheckResult, CpuLockWait, CpuOverheads, CpuRequest, TaskKind};

/// The verdict: (mood, label, sentence).
pub fn cpu_verdict(check: &CpuCheckResult) -> (Assessment, &'static str, String) {
    let policy = &check.policy;
    let Some(left) = check.best_effort_share else {
        let text = match check.requests.is_empty() {
            true => {
                "No task requests a reservation; a simulation shows the service of each.".to_owned()
            }
            false => format!("{policy} has no reservations, so it promises nothing."),
        };
        return (Assessment::Neutral, "Nothing is reserved.", text);
    };
    let cpus = match check.cpus {
        1 => "the CPU is".to_owned(),
        n => format!("the {n} CPUs is"),
    };
    let needs = format!(
        "At most {}% of {cpus} reserved at a time, and best effort keeps {}%.",
        percent(check.demand),
        percent(left)
    );
    let needs = check.overheads.map_or(needs.clone(), |o| format!("{needs} {}", terms(&o)));
    let hard = check.requests.iter().any(|r| r.kind == TaskKind::Hard);
    match (check.admitted, check.guaranteed) {
        (true, _) if check.requests.is_empty() => {
            let text = "No task requests a reservation: best effort has everything.".to_owned();
            (Assessment::Neutral, "Nothing is reserved.", text)
        }
        (true, true) if hard => {
            let text = format!("{needs} Under {policy} no job of a hard task is late.");
            (Assessment::Good, "Admitted, and promised.", text)
        }
        (true, true) => (Assessment::Good, "Admitted.", needs),
        (true, false) => {
            let text = format!("{needs} But {policy} does not promise that no hard job is late.");
            (Assessment::Neutral, "Admitted without a promise.", text)
        }
        (false, _) => {
            let n = check.requests.iter().filter(|r| !r.admitted).count();
            let what = match n {
                0 => "one task or more do".to_owned(),
                1 => "one request does".to_owned(),
                n => format!("{n} requests do"),
            };
            (Assessment::Bad, "Not admitted.", format!("Of all requests {what} not fit. {needs}"))
        }
    }
}

/// The overheads that the reserved share includes.
fn terms(overheads: &CpuOverheads) -> String {
    let CpuOverheads { switch_ns, release_ns, migration_ns, per_job_ns } = *overheads;
    let mut terms = Vec::new();
    if switch_ns > 0 {
        terms.push(format!("2 switches of {}", span(switch_ns)));
    }
    if release_ns > 0 {
        terms.push(format!("a release of {}", span(release_ns)));
    }
    if migration_ns > 0 {
        terms.push(format!("a migration of {}", span(migration_ns)));
    }
    format!("That includes {} for each job: {}.", span(per_job_ns), terms.join(", "))
}

/// The reasons of refusals, obstacles to a promise, and what locks add to jobs, a sentence each.
pub fn cpu_reasons(check: &CpuCheckResult) -> Vec<String> {
    let refused = check.requests.iter().filter(|r| !r.admitted).map(refusal);
    let obstacles = check.obstacles.iter().map(|text| format!("{text}."));
    refused.chain(obstacles).chain(check.locks.iter().map(lock_wait)).collect()
}

/// The budget that a task with locks needs.
fn lock_wait(wait: &CpuLockWait) -> String {
    let CpuLockWait { task, execution_ns, interference_ns, by_lock_ns, .. } = wait;
    let execution = span(*execution_ns);
    let Some(interference) = interference_ns else {
        return format!(
            "{task} executes up to {execution} for a job; its waits for locks have no bound."
        );
    };
    let terms = by_lock_ns.iter().map(|(lock, ns)| format!("{lock} {}", span(*ns)));
    format!(
        "{task} executes up to {execution} for a job, and others up to {} on its budget while it waits for locks \
         ({}): it needs {}.",
        span(*interference),
        terms.collect::<Vec<_>>().join(", "),
        span(execution_ns.saturating_add(*interference))
    )
}

fn refusal(request: &CpuRequest) -> String {
    let CpuRequest { task, at_ns, budget_ns, .. } = request;
    let asked = format!("{task} requests {} {}", wanted(request), at(*at_ns));
    let (Some(needs), Some(free)) = (request.required_share, request.available_share) else {
        let why = request.refused.as_deref().unwrap_or("it is refused");
        return format!("{asked}, which is refused: {why}.");
    };
    let share = |share: f64| fixed(share * 100.0, 3);
    let mut text = format!(
        "{asked}. It needs {}% of the CPU beside what is reserved, {}% more than the {}% that are \
         free.",
        share(needs),
        share((needs - free).max(0.0)),
        share(free)
    );
    let budget = request.max_budget_ns.map(|ns| format!("{} in the same period", floor(ns)));
    let period =
        request.min_period_ns.map(|ns| format!("{} in every {}", span(*budget_ns), ceil(ns)));
    match (budget, period) {
        (None, None) => text.push_str(" Nothing would fit."),
        (Some(one), None) | (None, Some(one)) => text.push_str(&format!(" What would fit: {one}.")),
        (Some(one), Some(other)) => text.push_str(&format!(" What would fit: {one}, or {other}.")),
    }
    text
}

fn at(ns: u64) -> String {
    if ns == 0 { "from the start".into() } else { format!("at {}", span(ns)) }
}

/// The requested reservation: `1 ms in every 5 ms within 3 ms`.
fn wanted(request: &CpuRequest) -> String {
    let within = match request.deadline_ns < request.period_ns {
        true => format!(" within {}", span(request.deadline_ns)),
        false => String::new(),
    };
    format!("{} in every {}{within}", span(request.budget_ns), span(request.period_ns))
}

/// All requests, each with its outcome.
pub fn cpu_check_table(check: &CpuCheckResult) -> Table {
    let columns = vec![
        Column::text("Task"),
        Column::text("from"),
        Column::text("requests"),
        Column::number("share"),
        Column::text("admitted"),
    ];
    let rows = check.requests.iter().map(|request| {
        let fate = match (request.admitted, request.from_ns) {
            (true, None) => Cell::new("\u{2713} yes"),
            (true, Some(from)) => Cell::new(format!("\u{2713} in force at {}", span(from))),
            (false, _) => Cell::toned("\u{2717} no", Tone::Bad),
        };
        let kind = if request.kind == TaskKind::Soft { " (soft)" } else { " (hard)" };
        let cells = vec![
            Cell::new(span(request.at_ns)),
            Cell::new(wanted(request)),
            Cell::new(format!("{}%", fixed(request.utilisation * 100.0, 2))),
            fate,
        ];
        (format!("{}{kind}", request.task), cells)
    });
    Table::new("Reservations", columns).group("", rows.collect()).noted(
        "Assumes that nothing runs: while jobs are pending, an admitted request comes into force when \
         what was used ahead has been paid back. `laxity simulate` includes that.",
    )
}

/// Rounded to a thousandth of its unit, so that the printed value fits.
fn floor(ns: u64) -> String {
    let unit = unit(ns);
    span(ns / unit * unit)
}

fn ceil(ns: u64) -> String {
    let unit = unit(ns);
    span(ns.div_ceil(unit).saturating_mul(unit))
}

fn unit(ns: u64) -> u64 {
    match ns {
        1_000_000_000.. => 1_000_000,
        1_000_000.. => 1_000,
        _ => 1,
    }
}
