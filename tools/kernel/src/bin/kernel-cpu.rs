//! Controls the live CPU scheduler for tests and comparisons; also verifies its programs, records events
//! and injects a fault. Prints status in lines of words and numbers.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use laxity_core::{OptionValue, Span};
use laxity_cpu::Reservation;
use laxity_kernel::cpu;
use laxity_tools_kernel::command;

const USAGE: &str = "\
kernel-cpu verify | up [POLICY [OPTION=US]...] | status | down | reserve PID BUDGET_US PERIOD_US
           | release PID | run BUDGET_US PERIOD_US COMMAND... | up-recorded POLICY MS
           | recorded FILE | lose PID | reset-maxima | steady INTERVALS";

fn main() {
    command::main(run);
}

fn reservation(budget: &str, period: &str) -> Result<Reservation, std::num::ParseIntError> {
    let us = |text: &str| text.parse::<u64>().map(|n| Span(n * 1000));
    Ok(Reservation::new(us(budget)?, us(period)?))
}

/// Prints the greatest overrun and release lateness of each interval between lines of standard input.
fn steady(intervals: usize) -> Result<(), command::Failure> {
    let mut monitor = cpu::StatusMonitor::default();
    monitor.status()?;
    let mut lines = std::io::stdin().lines();
    lines.next();
    for _ in 0..intervals {
        monitor.reset_maxima()?;
        lines.next();
        for cpu in monitor.status()?.cpus {
            println!(
                "steady max_overrun_ns {} max_release_lateness_ns {}",
                cpu.max_overrun_ns, cpu.max_release_lateness_ns
            );
        }
    }
    Ok(())
}

fn run(arguments: &[&str]) -> Result<(), command::Failure> {
    match arguments {
        ["verify"] => {
            // The same programs under all of them.
            for (program, instructions) in cpu::verify("bebs-credit")? {
                println!("{program} {instructions}");
            }
        }
        ["up", rest @ ..] => {
            let (policy, settings) = rest.split_first().unwrap_or((&"bebs-credit", &[]));
            // Times only, in us.
            let setting = |text: &&str| -> Result<_, command::Failure> {
                let (name, us) = text.split_once('=').ok_or(USAGE)?;
                Ok((name.to_owned(), OptionValue::Time(Span(us.parse::<u64>()? * 1000))))
            };
            let settings = settings.iter().map(setting).collect::<Result<Vec<_>, _>>()?;
            if let Some(before) = cpu::up(&cpu::Policy::configured(policy, &settings)?)? {
                println!("instead of {before}");
            }
        }
        ["up-recorded", policy, ms] => {
            let policy = cpu::Policy::named(policy)?;
            cpu::up_recorded(&policy, Duration::from_millis(ms.parse()?))?;
        }
        // Writes what was recorded since then to a file, an event a line.
        ["recorded", file] => {
            let mut text = String::new();
            let lost = cpu::record::Recorder::open()?.record(
                None,
                || true,
                |event| {
                    let _ = writeln!(text, "{event}");
                },
            )?;
            std::fs::write(file, text)?;
            println!("lost {lost}");
        }
        ["status"] => {
            let status = cpu::status()?;
            println!(
                "policy {} unaccounted {} elsewhere {} absent {} unlocked {} waited_ns {}",
                status.policy,
                status.unaccounted,
                status.misplaced_runs,
                status.absent,
                status.unlocked,
                status.waited
            );
            let options = status.options.iter().map(|(option, value)| format!("{option} {value}"));
            println!("options {}", options.collect::<Vec<_>>().join(", "));
            for c in &status.cpus {
                println!(
                    "cpu {} reserved {} total_weight {} servers {} switches {} steals {} \
                     max_overrun_ns {} max_release_lateness_ns {} deadline_misses {} \
                     max_lateness_ns {}",
                    c.cpu,
                    c.reserved,
                    c.total_weight,
                    c.servers,
                    c.switches,
                    c.steals,
                    c.max_overrun_ns,
                    c.max_release_lateness_ns,
                    c.deadline_misses,
                    c.max_lateness_ns
                );
            }
            for r in &status.reservations {
                println!(
                    "reservation pid {} cpu {} {} tasks {} deadline_misses {} max_lateness_ns {}",
                    r.pid.unwrap_or(0),
                    r.placed.cpu,
                    r.placed.reservation,
                    r.tasks,
                    r.deadline_misses,
                    r.max_lateness_ns
                );
            }
            for t in &status.inferred {
                println!(
                    "task {} cpu {} budget_us {} period_us {}",
                    t.pid,
                    t.cpu,
                    t.budget.0 / 1000,
                    t.period.0 / 1000
                );
            }
        }
        ["reset-maxima"] => cpu::StatusMonitor::default().reset_maxima()?,
        ["steady", intervals] => steady(intervals.parse()?)?,
        ["down"] => cpu::down()?,
        ["reserve", pid, budget, period] => {
            println!("on cpu {}", cpu::reserve(pid.parse()?, reservation(budget, period)?, false)?);
        }
        ["release", pid] => cpu::release(pid.parse()?)?,
        ["lose", pid] => cpu::fault::lose(pid.parse()?)?,
        ["run", budget, period, command, rest @ ..] => {
            cpu::reserve(std::process::id(), reservation(budget, period)?, true)?;
            return Err(std::process::Command::new(command).args(rest).exec().into());
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}
