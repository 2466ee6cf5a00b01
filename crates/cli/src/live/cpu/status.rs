//! The status of the scheduler, as JSON and as tables.

use std::collections::BTreeMap;

use laxity_report::text::{self, Style};
use laxity_report::{Cell, Column, Table, Tone, number};
use serde::Serialize;

/// The version of the JSON.
#[cfg_attr(not(feature = "kernel"), allow(dead_code))] // written where a scheduler can run
pub const STATUS_VERSION: u32 = 1;

/// The status of the scheduler.
#[derive(Debug, Serialize)]
pub struct Status {
    /// [`STATUS_VERSION`].
    pub version: u32,
    pub policy: String,
    /// The options of the policy, with their values.
    pub options: BTreeMap<String, String>,
    /// What a reservation that is made now gets besides its runtime.
    pub overheads: Overheads,
    pub cpus: Vec<CpuStatus>,
    pub reservations: Vec<ReservationStatus>,
    /// The inferred demand of best-effort tasks that ran recently, by descending budget.
    pub inferred: Vec<Inferred>,
    /// The number of times that a task without a table entry was served.
    pub unaccounted: u64,
    /// The number of times that a reserved task ran on another CPU than that of its reservation.
    pub misplaced_runs: u64,
    /// Limits of control groups with tasks (`cpu.max`), which the kernel does not enforce for this scheduler.
    pub cpu_max: Vec<CpuMax>,
}

/// Costs of scheduling.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Overheads {
    pub switch_ns: u64,
    pub release_ns: u64,
    /// Two switches and a release.
    pub per_job_ns: u64,
}

/// `cpu.max` of a control group.
#[derive(Debug, Serialize)]
pub struct CpuMax {
    /// The path of the group.
    pub group: String,
    pub runtime_ns: u64,
    pub period_ns: u64,
}

/// One CPU.
#[derive(Debug, Serialize)]
pub struct CpuStatus {
    pub cpu: u32,
    /// The reserved share.
    pub reserved: f64,
    pub servers: u64,
    pub switches: u64,
    /// The number of tasks that other CPUs stole from this one.
    pub steals: u64,
    /// The greatest overrun of a budget.
    pub max_overrun_ns: u64,
    /// The greatest lateness of a reservation's release.
    pub max_release_lateness_ns: u64,
    /// The number of periods of present and past reservations in which work within the runtime ended after
    /// the period.
    pub deadline_misses: u64,
    /// The greatest lateness of such work.
    pub max_lateness_ns: u64,
    /// The kernel's deadline server for sched_ext: what the CPU has beside real-time classes. `None` where the
    /// kernel has none.
    pub deadline_server: Option<DeadlineServer>,
}

/// CPU time that the kernel grants although a real-time class would take all.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeadlineServer {
    pub runtime_ns: u64,
    pub period_ns: u64,
}

/// One reservation.
#[derive(Debug, Serialize)]
pub struct ReservationStatus {
    /// `None` if the task is outside of the PID namespace of the command.
    pub pid: Option<u32>,
    /// The user whose share it is charged to.
    pub user: u32,
    pub cpu: u32,
    pub runtime_ns: u64,
    /// What it got besides for switches and the release.
    pub overhead_ns: u64,
    pub period_ns: u64,
    pub inherited: bool,
    pub tasks: u64,
    /// The number of periods in which work within the runtime ended after the period.
    pub deadline_misses: u64,
    /// The greatest lateness of such work.
    pub max_lateness_ns: u64,
    /// `cpu.max` of its task's control group, if that is less.
    pub exceeds: Option<CpuMax>,
}

impl ReservationStatus {
    /// The task that it was made for, as text.
    pub fn task(&self) -> String {
        self.pid.map_or_else(|| "unseen".to_owned(), |pid| pid.to_string())
    }
}

/// The inferred demand of one best-effort task.
#[derive(Debug, Serialize)]
pub struct Inferred {
    pub pid: u32,
    /// Its name; empty if it has ended.
    pub name: String,
    pub cpu: u32,
    /// The CPU time that it uses at once.
    pub budget_ns: u64,
    /// The time in which its share amounts to that.
    pub period_ns: u64,
}

/// A time in microseconds, for tables.
pub fn us(ns: u64) -> String {
    number::short(ns as f64 / 1e3)
}

/// A time in milliseconds, for tables.
pub fn ms(ns: u64) -> String {
    number::short(ns as f64 / 1e6)
}

/// The tables that people read.
pub fn tables(status: &Status, style: Style) -> String {
    let columns = vec![
        Column::text("CPU"),
        Column::number("reserved (%)"),
        Column::number("servers"),
        Column::number("switches"),
        Column::number("steals"),
        Column::number("max overrun (us)"),
        Column::number("max release lateness (us)"),
        Column::number("deadline misses"),
    ];
    let count = |n: u64| Cell::new(n.to_string());
    let rows = status.cpus.iter().map(|c| {
        let cells = vec![
            Cell::new(number::short(c.reserved * 100.0)),
            count(c.servers),
            count(c.switches),
            count(c.steals),
            Cell::new(us(c.max_overrun_ns)),
            Cell::new(us(c.max_release_lateness_ns)),
            count(c.deadline_misses),
        ];
        (c.cpu.to_string(), cells)
    });
    let mut notes = Vec::new();
    if !status.options.is_empty() {
        let options = status.options.iter().map(|(option, value)| format!("{option} {value}"));
        notes.push(format!("Options: {}. ", options.collect::<Vec<_>>().join(", ")));
    }
    if status.overheads.per_job_ns > 0 {
        let Overheads { switch_ns, release_ns, per_job_ns } = status.overheads;
        let [switch, release, job] = [switch_ns, release_ns, per_job_ns].map(us);
        notes.push(format!(
            "Overheads: a switch takes {switch} us, a release {release}, so each runtime gets {job} us more. "
        ));
    }
    if status.unaccounted > 0 {
        notes.push(format!(
            "Tasks without a table entry were served {} times. ",
            status.unaccounted
        ));
    }
    if status.misplaced_runs > 0 {
        notes.push(format!("Reserved tasks ran elsewhere {} times. ", status.misplaced_runs));
    }
    notes.extend(beside_real_time(status));
    notes.extend(limits(status));
    let caption = format!("Policy {}", status.policy);
    let cpus = Table::new(caption, columns).group("", rows.collect()).noted(notes.concat());
    let mut printed = text::table(&cpus, style);
    if !status.reservations.is_empty() {
        printed.push('\n');
        printed.push_str(&text::table(&reservations(status), style));
    }
    if !status.inferred.is_empty() {
        printed.push('\n');
        printed.push_str(&text::table(&inferred(status), style));
    }
    printed
}

/// What reservations have beside real-time classes.
fn beside_real_time(status: &Status) -> Option<String> {
    if status.reservations.is_empty() {
        return None;
    }
    let servers = status.cpus.iter().filter_map(|c| Some((c, c.deadline_server?)));
    let servers = servers.filter(|(c, _)| c.reserved > 0.0);
    let servers: Vec<String> = servers
        .map(|(c, s)| {
            let (runtime, period) = (ms(s.runtime_ns), ms(s.period_ns));
            format!("CPU {} has {runtime} ms in every {period} ms", c.cpu)
        })
        .collect();
    Some(if servers.is_empty() {
        "Real-time classes may take all of a CPU: the kernel has no deadline server for sched_ext, or \
         debugfs is not mounted. "
            .to_owned()
    } else {
        format!("Beside real-time classes {}. ", servers.join(", "))
    })
}

/// Limits of control groups that are not enforced, and reservations beyond them.
fn limits(status: &Status) -> Option<String> {
    /// Groups that are named.
    const NAMED: usize = 3;
    if status.cpu_max.is_empty() {
        return None;
    }
    let limit = |m: &CpuMax| {
        format!("{}: {} ms in every {} ms", m.group, ms(m.runtime_ns), ms(m.period_ns))
    };
    let mut named: Vec<String> = status.cpu_max.iter().take(NAMED).map(limit).collect();
    if status.cpu_max.len() > NAMED {
        named.push(format!("{} more", status.cpu_max.len() - NAMED));
    }
    let mut text = format!("cpu.max is not enforced by sched_ext ({}). ", named.join("; "));
    for r in &status.reservations {
        if let Some(exceeded) = &r.exceeds {
            text += &format!(
                "The reservation of task {} exceeds that of {}. ",
                r.task(),
                exceeded.group
            );
        }
    }
    Some(text)
}

fn inferred(status: &Status) -> Table {
    let columns = vec![
        Column::text("Task"),
        Column::text("name"),
        Column::number("on CPU"),
        Column::number("budget (ms)"),
        Column::number("period (ms)"),
    ];
    let rows = status.inferred.iter().map(|t| {
        let cells = vec![
            Cell::new(t.name.clone()),
            Cell::new(t.cpu.to_string()),
            Cell::new(ms(t.budget_ns)),
            Cell::new(ms(t.period_ns)),
        ];
        (t.pid.to_string(), cells)
    });
    Table::new("Inferred of tasks that ran recently", columns).group("", rows.collect())
}

fn reservations(status: &Status) -> Table {
    let mut columns = vec![
        Column::text("Reserved for task"),
        Column::number("by user"),
        Column::number("on CPU"),
        Column::number("runtime (ms)"),
        Column::number("period (ms)"),
        Column::number("tasks"),
        Column::number("deadline misses"),
        Column::number("max lateness (us)"),
    ];
    // Most machines have none.
    let overheads = status.reservations.iter().any(|r| r.overhead_ns > 0);
    if overheads {
        columns.insert(4, Column::number("overhead (us)"));
    }
    let rows = status.reservations.iter().map(|r| {
        let misses = r.deadline_misses.to_string();
        let mut cells = vec![
            Cell::new(r.user.to_string()),
            Cell::new(r.cpu.to_string()),
            Cell::new(ms(r.runtime_ns)),
            Cell::new(ms(r.period_ns)),
            Cell::new(r.tasks.to_string()),
            match r.deadline_misses {
                0 => Cell::new(misses),
                _ => Cell::toned(misses, Tone::Bad),
            },
            Cell::new(us(r.max_lateness_ns)),
        ];
        if overheads {
            cells.insert(3, Cell::new(us(r.overhead_ns)));
        }
        (r.task(), cells)
    });
    Table::new("Reservations", columns).group("", rows.collect())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A status with one entry of each kind.
    pub fn sample() -> Status {
        Status {
            version: STATUS_VERSION,
            policy: "bebs".into(),
            options: BTreeMap::from([("max-budget".into(), "100 ms".into())]),
            overheads: Overheads { switch_ns: 6_125, release_ns: 4_000, per_job_ns: 16_250 },
            cpus: vec![CpuStatus {
                cpu: 1,
                reserved: 0.45,
                servers: 7,
                switches: 1234,
                steals: 3,
                max_overrun_ns: 7_250,
                max_release_lateness_ns: 3_500,
                deadline_misses: 2,
                max_lateness_ns: 15_500,
                deadline_server: Some(DeadlineServer {
                    runtime_ns: 2_250_000,
                    period_ns: 5_000_000,
                }),
            }],
            reservations: vec![ReservationStatus {
                pid: Some(369),
                user: 1000,
                cpu: 1,
                runtime_ns: 4_500_000,
                overhead_ns: 13_375,
                period_ns: 10_000_000,
                inherited: true,
                tasks: 2,
                deadline_misses: 1,
                max_lateness_ns: 12_000,
                exceeds: Some(cpu_max()),
            }],
            inferred: vec![Inferred {
                pid: 471,
                name: "player".into(),
                cpu: 1,
                budget_ns: 12_500_000,
                period_ns: 90_000_000,
            }],
            unaccounted: 0,
            misplaced_runs: 3,
            cpu_max: vec![cpu_max()],
        }
    }

    fn cpu_max() -> CpuMax {
        CpuMax { group: "/games".into(), runtime_ns: 20_000_000, period_ns: 100_000_000 }
    }

    /// Fails when a value is missing in the tables, or a key of the JSON is renamed.
    #[test]
    fn tables_and_json_have_the_same_values() {
        let status = sample();
        let text = tables(&status, Style { colour: false, width: 0 });
        for value in [
            "Policy bebs",
            "45",
            "1234",
            "7.25",
            "369",
            "1000",
            "player",
            "12.5",
            "ran elsewhere 3 times",
            "has 2.25 ms in every 5 ms",
            "a switch takes 6.12 us, a release 4, so each runtime gets 16.2 us more",
            "13.4",
            "/games: 20 ms in every 100 ms",
            "of task 369 exceeds that of /games",
        ] {
            assert!(text.contains(value), "no {value} in:\n{text}");
        }
        let data = serde_json::to_value(&status).expect("JSON");
        assert_eq!(data["version"], 1);
        assert_eq!(data["reservations"][0]["runtime_ns"], 4_500_000);
        assert_eq!(data["reservations"][0]["overhead_ns"], 13_375);
        assert_eq!(data["overheads"]["per_job_ns"], 16_250);
        assert_eq!(data["inferred"][0]["period_ns"], 90_000_000);
        for kind in ["cpus", "reservations"] {
            for key in ["deadline_misses", "max_lateness_ns"] {
                assert!(data[kind][0][key].is_u64(), "no {key} of {kind}");
            }
        }
        assert_eq!(data["cpus"][0]["reserved"], 0.45);
    }
}
