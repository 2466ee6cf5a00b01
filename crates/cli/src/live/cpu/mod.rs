//! `laxity cpu`: the scheduler of live CPUs, and reservations.

pub mod args;
mod backend;
mod measure;
pub mod metrics;
mod record;
mod reservations;
mod run_record;
mod serve;
mod settings;
pub mod status;
pub mod top;

use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, ExitCode};

use laxity_report::escape::terminal;
use laxity_scenario::quantity;

use self::args::{CpuCommand, ReserveArgs, RunArgs, RunReservation, StatusArgs, UpArgs};
pub use self::backend::StatusMonitor;
pub use self::status::{CpuStatus, ReservationStatus, Status};
use crate::failure::Failure;
use crate::{output, warning};

/// Runs the command.
pub fn run(command: &CpuCommand) -> Result<ExitCode, Failure> {
    match command {
        CpuCommand::Up(args @ UpArgs { record: Some(file), .. }) => {
            return run_record::run(args, file);
        }
        CpuCommand::Up(args) => {
            let before = backend::up(&settings::policy(args)?)?;
            let instead = before.map_or(String::new(), |b| format!(" instead of {b}"));
            warning::say(format!("policy {} schedules the CPUs{instead}", args.policy));
        }
        CpuCommand::Measure(args) => measure::run(args)?,
        CpuCommand::Status(args) => status(args)?,
        CpuCommand::Run(args) => return Err(run_reserved(args)?),
        CpuCommand::Reserve(args) => reserve(args)?,
        CpuCommand::Release(args) => {
            reservations::release(args.pid)?;
            warning::say(format!("task {} is best effort", args.pid));
        }
        CpuCommand::Record(args) => return record::run(args),
        CpuCommand::Serve(args) => serve::run(args)?,
        CpuCommand::Down => {
            backend::down()?;
            warning::say("the kernel's own scheduler runs the CPUs");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether this process is in the initial PID namespace.
fn in_initial_pid_namespace() -> bool {
    /// `PROC_PID_INIT_INO`.
    const INITIAL: u64 = 0xEFFF_FFFC;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == INITIAL)
}

/// The name of a task; `None` if it has ended.
fn task_name(pid: u32) -> Option<String> {
    // A task names itself, with any bytes: with a newline in it a record could not be read.
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(terminal(String::from_utf8_lossy(&name).trim_end()))
}

fn status(args: &StatusArgs) -> Result<(), Failure> {
    let mut status = StatusMonitor::default().status()?;
    status.cpu_max = backend::limits();
    if args.json {
        return output::json(&status);
    }
    output::print(&status::tables(&status, output::style()))
}

/// The variable that names the reservation of `laxity cpu run`, as runtime and period: `4ms/10ms`.
const RESERVATION_VARIABLE: &str = "LAXITY_RESERVATION";

/// A runtime and a period, each with the option that it comes from.
fn checked(
    runtime: (&str, &str),
    period: (&str, &str),
) -> Result<laxity_cpu::Reservation, Failure> {
    let span = |(option, text): (&str, &str)| {
        quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))
    };
    let reservation = laxity_cpu::Reservation::new(span(runtime)?, span(period)?);
    reservation.check().map_err(Failure::input)?;
    Ok(reservation)
}

fn reservation(args: &args::Reservation) -> Result<laxity_cpu::Reservation, Failure> {
    checked(("--runtime", &args.runtime), ("--period", &args.period))
}

/// The reservation of the options or, without them, of the environment.
fn run_reservation(args: &RunReservation) -> Result<laxity_cpu::Reservation, Failure> {
    if let (Some(runtime), Some(period)) = (&args.runtime, &args.period) {
        return checked(("--runtime", runtime), ("--period", period));
    }
    let text = std::env::var(RESERVATION_VARIABLE).unwrap_or_default();
    let (runtime, period) = text.split_once('/').ok_or_else(|| {
        Failure::input(format!(
            "give --runtime and --period, or {RESERVATION_VARIABLE} such as 4ms/10ms, not `{text}`"
        ))
    })?;
    checked((RESERVATION_VARIABLE, runtime), (RESERVATION_VARIABLE, period))
}

fn reserve(args: &ReserveArgs) -> Result<(), Failure> {
    let reservation = reservation(&args.reservation)?;
    let cpu = reservations::reserve(args.pid, reservation, args.inherit)?;
    warning::say(format!("task {} has {reservation} on CPU {cpu}", args.pid));
    Ok(())
}

/// Reserves for this process, which then executes the command, so that the command never runs without the
/// reservation. Returns only if that fails.
fn run_reserved(args: &RunArgs) -> Result<Failure, Failure> {
    let reservation = run_reservation(&args.reservation)?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::input("give a command to run, after --"));
    };
    reservations::reserve_by_server_first(std::process::id(), reservation)?;
    let error = laxity_ring::exec(Command::new(program).args(arguments));
    Ok(Failure::Input(format!("{}: {error}; name a program", program.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the name of a task can end a line of a record, or is a command to a terminal.
    #[test]
    fn names_of_tasks_are_a_line_of_plain_text() {
        std::fs::write("/proc/thread-self/comm", b"a\nb\x1b[\xff").expect("a name");
        let thread = std::fs::read_link("/proc/thread-self").expect("procfs");
        let tid = thread.file_name().and_then(|n| n.to_str()?.parse().ok()).expect("a number");
        assert_eq!(task_name(tid).as_deref(), Some("a\u{fffd}b\u{fffd}[\u{fffd}"));
    }
}
