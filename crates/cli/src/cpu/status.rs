//! The status, as data and as tables.

use laxity_report::text::{self, Style};
use laxity_report::{Cell, Column, Table, Tone, number};
use serde::Serialize;

/// The scheduler as it is.
#[derive(Debug, Serialize)]
pub struct Status {
    pub policy: String,
    pub cpus: Vec<Cpu>,
    pub reservations: Vec<Reserved>,
    /// What was found of tasks that are not reserved and ran lately, the greatest budget first.
    pub inferred: Vec<Inferred>,
    /// Tasks beyond those that it has places for, each time one was served.
    pub unaccounted: u64,
    /// Times that a reserved task could not run where its reservation is.
    pub elsewhere: u64,
}

/// One CPU.
#[derive(Debug, Serialize)]
pub struct Cpu {
    pub cpu: u32,
    /// The share that is reserved.
    pub reserved: f64,
    pub servers: u64,
    pub switches: u64,
    /// Tasks that other CPUs took from it.
    pub taken: u64,
    /// By how much a budget was overrun at most.
    pub overrun_max_us: f64,
    /// By how much a reservation was released late at most.
    pub release_late_max_us: f64,
    /// Periods of reservations, those that have ended too, in which work within the runtime ended after the
    /// period.
    pub late: u64,
    pub late_max_us: f64,
}

/// One reservation.
#[derive(Debug, Serialize)]
pub struct Reserved {
    /// None where the task is not seen from here.
    pub pid: Option<u32>,
    /// To whose share it counts.
    pub user: u32,
    pub cpu: u32,
    pub runtime_ms: f64,
    pub period_ms: f64,
    pub inherited: bool,
    pub tasks: u64,
    /// Periods in which work within the runtime ended after the period.
    pub late: u64,
    pub late_max_us: f64,
}

impl Reserved {
    /// The task that it was made for, to be read.
    pub fn task(&self) -> String {
        self.pid.map_or_else(|| "unseen".to_owned(), |pid| pid.to_string())
    }
}

/// One task of best effort.
#[derive(Debug, Serialize)]
pub struct Inferred {
    pub pid: u32,
    /// What it calls itself; empty when it ended meanwhile.
    pub name: String,
    pub cpu: u32,
    /// CPU time that it wants at once.
    pub budget_ms: f64,
    /// In which time its share comes to that.
    pub period_ms: f64,
}

/// What people read.
pub fn tables(status: &Status, style: Style) -> String {
    let columns = vec![
        Column::words("CPU"),
        Column::number("reserved (%)"),
        Column::number("servers"),
        Column::number("switches"),
        Column::number("tasks taken by others"),
        Column::number("longest overrun (us)"),
        Column::number("latest release (us)"),
        Column::number("late periods"),
    ];
    let count = |n: u64| Cell::new(n.to_string());
    let real = |x: f64| Cell::new(number::short(x));
    let rows = status.cpus.iter().map(|c| {
        let cells = vec![
            real(c.reserved * 100.0),
            count(c.servers),
            count(c.switches),
            count(c.taken),
            real(c.overrun_max_us),
            real(c.release_late_max_us),
            count(c.late),
        ];
        (c.cpu.to_string(), cells)
    });
    let mut said = Vec::new();
    if status.unaccounted > 0 {
        said.push(format!(
            "Tasks beyond those it has places for: served {} times. ",
            status.unaccounted
        ));
    }
    if status.elsewhere > 0 {
        said.push(format!("Reserved tasks ran elsewhere {} times.", status.elsewhere));
    }
    let caption = format!("Policy {}", status.policy);
    let cpus = Table::new(caption, columns).group("", rows.collect()).noted(said.concat());
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

fn inferred(status: &Status) -> Table {
    let columns = vec![
        Column::words("Task"),
        Column::words("name"),
        Column::number("on CPU"),
        Column::number("budget (ms)"),
        Column::number("period (ms)"),
    ];
    let rows = status.inferred.iter().map(|t| {
        let cells = vec![
            Cell::new(t.name.clone()),
            Cell::new(t.cpu.to_string()),
            Cell::new(number::short(t.budget_ms)),
            Cell::new(number::short(t.period_ms)),
        ];
        (t.pid.to_string(), cells)
    });
    Table::new("Inferred of tasks that ran lately", columns).group("", rows.collect())
}

fn reservations(status: &Status) -> Table {
    let columns = vec![
        Column::words("Reserved for task"),
        Column::number("by user"),
        Column::number("on CPU"),
        Column::number("runtime (ms)"),
        Column::number("period (ms)"),
        Column::number("tasks in it"),
        Column::number("late periods"),
        Column::number("latest (us)"),
    ];
    let rows = status.reservations.iter().map(|r| {
        let late = r.late.to_string();
        let cells = vec![
            Cell::new(r.user.to_string()),
            Cell::new(r.cpu.to_string()),
            Cell::new(number::short(r.runtime_ms)),
            Cell::new(number::short(r.period_ms)),
            Cell::new(r.tasks.to_string()),
            if r.late > 0 { Cell::toned(late, Tone::Bad) } else { Cell::new(late) },
            Cell::new(number::short(r.late_max_us)),
        ];
        (r.task(), cells)
    });
    Table::new("Reservations", columns).group("", rows.collect())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// One of each.
    pub fn sample() -> Status {
        Status {
            policy: "bebs".into(),
            cpus: vec![Cpu {
                cpu: 1,
                reserved: 0.45,
                servers: 7,
                switches: 1234,
                taken: 3,
                overrun_max_us: 7.25,
                release_late_max_us: 3.5,
                late: 2,
                late_max_us: 15.5,
            }],
            reservations: vec![Reserved {
                pid: Some(369),
                user: 1000,
                cpu: 1,
                runtime_ms: 4.5,
                period_ms: 10.0,
                inherited: true,
                tasks: 2,
                late: 1,
                late_max_us: 12.0,
            }],
            inferred: vec![Inferred {
                pid: 471,
                name: "player".into(),
                cpu: 1,
                budget_ms: 12.5,
                period_ms: 90.0,
            }],
            unaccounted: 0,
            elsewhere: 3,
        }
    }

    #[test]
    fn tables_and_data_hold_the_same() {
        let status = sample();
        let text = tables(&status, Style { colour: false, width: 0 });
        for shown in [
            "Policy bebs",
            "45",
            "1234",
            "7.25",
            "369",
            "1000",
            "player",
            "12.5",
            "ran elsewhere 3 times",
        ] {
            assert!(text.contains(shown), "no {shown} in:\n{text}");
        }
        let data = serde_json::to_value(&status).expect("JSON");
        assert_eq!(data["reservations"][0]["runtime_ms"], 4.5);
        assert_eq!(data["inferred"][0]["period_ms"], 90.0);
        assert_eq!(data["cpus"][0]["reserved"], 0.45);
    }
}
