//! The command line of `laxity cpu`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum CpuCommand {
    /// Give this machine's CPUs to a policy, until `down`; or to another policy, under load.
    Up(UpArgs),
    /// Say what the scheduler did and which reservations it holds.
    Status(StatusArgs),
    /// Run a command within a reservation, its children included.
    Run(RunArgs),
    /// Reserve CPU time for a task that runs.
    Reserve(ReserveArgs),
    /// End a task's reservation; the task goes on as best effort.
    Release(ReleaseArgs),
    /// Give the CPUs back to the kernel's own scheduler.
    Down,
}

#[derive(Debug, Args)]
pub struct UpArgs {
    /// The policy for best effort; reservations go before it under all of them.
    #[arg(long, value_name = "P", default_value = "bebs-credit",
          value_parser = clap::builder::PossibleValuesParser::new(laxity_kernel::cpu::POLICIES))]
    pub policy: String,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Reservation {
    /// CPU time in each period, such as `4ms`.
    #[arg(long, value_name = "TIME")]
    pub runtime: String,
    /// The period, which is also the time within which the CPU time is given, such as `10ms`.
    #[arg(long, value_name = "TIME")]
    pub period: String,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub reservation: Reservation,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub struct ReserveArgs {
    /// The task: a process, for its first thread, or any thread by its own number.
    pub pid: u32,
    #[command(flatten)]
    pub reservation: Reservation,
    /// Children that it starts from now on share the reservation.
    #[arg(long)]
    pub inherit: bool,
}

#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// The task.
    pub pid: u32,
}
