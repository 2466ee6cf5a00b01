//! CPUs on `laxity top`: what is reserved and how it is kept, and what is inferred of the rest.

use std::fmt::Write as _;

use laxity_report::text::Style;
use laxity_report::{escape, number};

use super::status::{Cpu, Status};
use crate::top::{BOLD, RED, line};

/// Tasks of best effort that are shown; those that want most come first.
const TASKS: usize = 20;

/// All CPUs; rates since `before`, a look so many seconds ago.
pub fn screen(now: &Status, before: Option<(&Status, f64)>, style: Style) -> String {
    let mut text = String::new();
    line(&mut text, &format!("CPUs: {}", now.policy), BOLD, style);
    let _ = writeln!(
        text,
        "cpu   reserved  switches/s  servers  latest release  longest overrun   late"
    );
    for cpu in &now.cpus {
        let _ = writeln!(
            text,
            "{:<4} {:>8} % {:>11} {:>8} {:>12} us {:>13} us {:>6}",
            cpu.cpu,
            number::short(cpu.reserved * 100.0),
            switches(cpu, before),
            cpu.servers,
            number::short(cpu.release_late_max_us),
            number::short(cpu.overrun_max_us),
            cpu.late,
        );
    }
    if !now.reservations.is_empty() {
        let _ = writeln!(text, "reserved for       runtime      period  cpu  tasks  late   latest");
    }
    for r in &now.reservations {
        let row = format!(
            "{:<14} {:>8} ms {:>8} ms {:>4} {:>6} {:>5} {:>5} us",
            r.task(),
            number::short(r.runtime_ms),
            number::short(r.period_ms),
            r.cpu,
            r.tasks,
            r.late,
            number::short(r.late_max_us),
        );
        line(&mut text, &row, if r.late > 0 { RED } else { "" }, style);
    }
    if !now.inferred.is_empty() {
        let _ = writeln!(text, "inferred of         budget      period  cpu  name");
    }
    for t in now.inferred.iter().take(TASKS) {
        let (budget, period) = (number::short(t.budget_ms), number::short(t.period_ms));
        // Tasks give themselves any name.
        let name = escape::terminal(&t.name);
        let _ = writeln!(text, "{:<14} {budget:>8} ms {period:>8} ms {:>4}  {name}", t.pid, t.cpu);
    }
    let more = now.inferred.len().saturating_sub(TASKS);
    if more > 0 {
        let _ = writeln!(text, "and {more} that want less");
    }
    text
}

fn switches(cpu: &Cpu, before: Option<(&Status, f64)>) -> String {
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
    use crate::cpu::status::Inferred;
    use crate::cpu::status::tests::sample;

    fn status(switches: u64, late: u64) -> Status {
        let mut status = sample();
        status.cpus[0].switches = switches;
        status.reservations[0].late = late;
        let player = |i: u32| Inferred {
            pid: 400 + i,
            name: if i == 3 { "\u{1b}[2K\nroot".into() } else { format!("player-{i}") },
            cpu: 0,
            budget_ms: 12.5,
            period_ms: 90.0,
        };
        status.inferred = (0..22).map(player).collect();
        status
    }

    /// Fails when rates are not since the look before, when what is late is not red, when more
    /// tasks are shown than fit, and when names of tasks reach the terminal as they are: tried each.
    #[test]
    fn rates_lateness_and_the_greatest_are_shown() {
        let (before, now) = (status(1000, 0), status(1250, 3));
        let text = screen(&now, Some((&before, 0.5)), Style::PLAIN);
        let row = text.lines().nth(2).expect("a row");
        assert!(
            row.split_whitespace().eq(["1", "45", "%", "500", "7", "3.5", "us", "7.25", "us", "2"]),
            "{text}"
        );
        assert!(text.contains("player-19") && !text.contains("player-20"), "{text}");
        assert!(text.contains("and 2 that want less"), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains("\nroot"), "{text}");
        let coloured = screen(&now, None, Style { colour: true, width: 0 });
        assert!(coloured.contains("\x1b[31m369 "), "{coloured}");
        let kept = screen(&before, None, Style { colour: true, width: 0 });
        assert!(!kept.contains(RED), "{kept}");
    }
}
