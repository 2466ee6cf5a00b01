//! `laxity cpu`: this machine's CPUs, scheduled by the policies in the kernel, and reservations.

pub mod args;
mod backend;
pub mod metrics;
mod program;
mod record;
mod serve;
pub mod status;
pub mod top;

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use laxity_scenario::quantity;

use self::args::{CpuCommand, ReserveArgs, RunArgs, StatusArgs};
pub use self::backend::Watch;
pub use self::status::Status;
use crate::failure::Failure;
use crate::{output, warning};

/// Runs the command.
pub fn run(command: &CpuCommand) -> Result<ExitCode, Failure> {
    match command {
        CpuCommand::Up(args) => {
            let before = backend::up(&args.policy)?;
            let instead = before.map_or(String::new(), |b| format!(" instead of {b}"));
            warning::say(format!("policy {} schedules the CPUs{instead}", args.policy));
        }
        CpuCommand::Status(args) => status(args)?,
        CpuCommand::Run(args) => return Err(run_reserved(args)?),
        CpuCommand::Reserve(args) => reserve(args)?,
        CpuCommand::Release(args) => {
            program::release(args.pid)?;
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

/// Whether numbers of tasks are the kernel's here, and not those of a container.
fn numbers_are_the_kernels() -> bool {
    /// Of the kernel's first name space of processes, since there are any.
    const FIRST: u64 = 0xEFFF_FFFC;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|space| space.ino() == FIRST)
}

/// What a task calls itself; `None` when it has ended.
fn name_of(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn status(args: &StatusArgs) -> Result<(), Failure> {
    let status = Watch::default().status()?;
    if args.json {
        return output::json(&status);
    }
    output::print(&status::tables(&status, output::style()))
}

fn reservation(args: &args::Reservation) -> Result<laxity_cpu::Reservation, Failure> {
    let span = |option: &str, text: &str| {
        quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))
    };
    let asked = laxity_cpu::Reservation::new(
        span("--runtime", &args.runtime)?,
        span("--period", &args.period)?,
    );
    asked.check().map_err(Failure::input)?;
    Ok(asked)
}

fn reserve(args: &ReserveArgs) -> Result<(), Failure> {
    let asked = reservation(&args.reservation)?;
    let cpu = program::reserve(args.pid, asked, args.inherit)?;
    warning::say(format!("task {} has {asked} on CPU {cpu}", args.pid));
    Ok(())
}

/// The reservation is made for this very process, which then becomes the command: there is no
/// moment at which the command runs without it. Comes back only if that fails.
fn run_reserved(args: &RunArgs) -> Result<Failure, Failure> {
    let asked = reservation(&args.reservation)?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::input("give a command to run, after --"));
    };
    program::reserve(std::process::id(), asked, true)?;
    let error = Command::new(program).args(arguments).exec();
    Ok(Failure::Input(format!("{}: {error}; name a program", program.to_string_lossy())))
}
