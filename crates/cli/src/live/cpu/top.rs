//! CPUs on `laxity top`: reservations with their deadline statistics, and inferred demands.

use std::fmt::Write as _;

use laxity_report::text::Style;
use laxity_report::{escape, number};

use super::status::{CpuStatus, Status, ms, us};
use crate::live::top::{BOLD, RED, line};

/// The number of best-effort tasks that are shown, by descending budget.
const MAX_TASKS: usize = 20;

/// All CPUs; rates are since `before`, a status and its age in seconds.
pub fn screen(now: &Status, before: Option<(&Status, f64)>, style: Style) -> String {
    let mut text = String::new();
    line(&mut text, &format!("CPUs: {}", now.policy), BOLD, style);
    let _ = writeln!(
        text,
        "cpu   reserved  switches/s  servers  max release lateness    max overrun  deadline misses"
    );
    for cpu in &now.cpus {
        let _ = writeln!(
            text,
            "{:<4} {:>8} % {:>11} {:>8} {:>18} us {:>11} us {:>16}",
            cpu.cpu,
            number::short(cpu.reserved * 100.0),
            switches(cpu, before),
            cpu.servers,
            us(cpu.max_release_lateness_ns),
            us(cpu.max_overrun_ns),
            cpu.deadline_misses,
        );
    }
    if !now.reservations.is_empty() {
        let _ = writeln!(
            text,
            "reserved for       runtime      period  cpu  tasks  deadline misses  max lateness"
        );
    }
    for r in &now.reservations {
        let row = format!(
            "{:<14} {:>8} ms {:>8} ms {:>4} {:>6} {:>16} {:>10} us",
            r.task(),
            ms(r.runtime_ns),
            ms(r.period_ns),
            r.cpu,
            r.tasks,
            r.deadline_misses,
            us(r.max_lateness_ns),
        );
        line(&mut text, &row, if r.deadline_misses > 0 { RED } else { "" }, style);
    }
    if !now.inferred.is_empty() {
        let _ = writeln!(text, "inferred of         budget      period  cpu  name");
    }
    for t in now.inferred.iter().take(MAX_TASKS) {
        let (budget, period) = (ms(t.budget_ns), ms(t.period_ns));
        // A task can set its name to any bytes.
        let name = escape::terminal(&t.name);
        let _ = writeln!(text, "{:<14} {budget:>8} ms {period:>8} ms {:>4}  {name}", t.pid, t.cpu);
    }
    let more = now.inferred.len().saturating_sub(MAX_TASKS);
    if more > 0 {
        let _ = writeln!(text, "and {more} with smaller budgets");
    }
    text
}

fn switches(cpu: &CpuStatus, before: Option<(&Status, f64)>) -> String {
    let earlier = before.and_then(|(status, seconds)| {
        let same = status.cpus.iter().find(|c| c.cpu == cpu.cpu)?;
        Some((same.switches, seconds))
    });
    match earlier {
        Some((earlier, seconds)) if seconds > 0.0 => {
            number::fixed(cpu.switches.saturating_sub(earlier) as f64 / seconds, 0)
        }
        _ => number::NONE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::cpu::status::Inferred;
    use crate::live::cpu::status::tests::sample;

    fn status(switches: u64, deadline_misses: u64) -> Status {
        let mut status = sample();
        status.cpus[0].switches = switches;
        status.reservations[0].deadline_misses = deadline_misses;
        let player = |i: u32| Inferred {
            pid: 400 + i,
            name: if i == 3 { "\u{1b}[2K\nroot".into() } else { format!("player-{i}") },
            cpu: 0,
            budget_ns: 12_500_000,
            period_ns: 90_000_000,
        };
        status.inferred = (0..22).map(player).collect();
        status
    }

    /// Fails when rates are not since the previous status, when deadline misses are not red, when too many
    /// tasks are shown, and when names of tasks are not escaped: tried each.
    #[test]
    fn rates_misses_and_the_greatest_budgets_are_shown() {
        let (before, now) = (status(1000, 0), status(1250, 3));
        let text = screen(&now, Some((&before, 0.5)), Style::PLAIN);
        let row = text.lines().nth(2).expect("a row");
        assert!(
            row.split_whitespace().eq(["1", "45", "%", "500", "7", "3.5", "us", "7.25", "us", "2"]),
            "{text}"
        );
        assert!(text.contains("player-19") && !text.contains("player-20"), "{text}");
        assert!(text.contains("and 2 with smaller budgets"), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains("\nroot"), "{text}");
        let coloured = screen(&now, None, Style { colour: true, width: 0 });
        assert!(coloured.contains("\x1b[31m369 "), "{coloured}");
        let in_time = screen(&before, None, Style { colour: true, width: 0 });
        assert!(!in_time.contains(RED), "{in_time}");
    }
}
