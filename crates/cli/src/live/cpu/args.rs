//! The command line of `laxity cpu`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum CpuCommand {
    /// Start the scheduler with a policy, until `down`; or change its policy under load.
    Up(UpArgs),
    /// Measure what a switch, a release and a migration cost on this machine.
    Measure(MeasureArgs),
    /// Show statistics and reservations.
    Status(StatusArgs),
    /// Run a command and its children within a reservation.
    Run(RunArgs),
    /// Reserve CPU time for an existing task.
    Reserve(ReserveArgs),
    /// End the reservation of a task; it continues as best effort.
    Release(ReleaseArgs),
    /// Record a trace of the CPUs, for Perfetto and chrome://tracing.
    Record(RecordArgs),
    /// Serve reservation requests of programs on a local socket.
    Serve(ServeArgs),
    /// Stop the scheduler; the kernel's own takes over.
    Down,
}

#[derive(Debug, Args)]
pub struct UpArgs {
    /// The policy of best effort; reservations have precedence under every policy.
    #[arg(long, value_name = "P", default_value = laxity_cpu::bebs_credit::INFO.name,
          value_parser = clap::builder::PossibleValuesParser::new(laxity_kernel::cpu::policies()))]
    pub policy: String,
    /// Set an option of the policy, such as `slice=2ms`; `laxity policies` lists them. Others get their
    /// defaults for live CPUs. May be repeated.
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    pub settings: Vec<String>,
    /// What scheduling costs on this machine, such as `switch=6us` or `release=4us`; `laxity cpu measure` measures
    /// both. Each reservation made from now on gets two switches and a release more than its runtime, and is admitted
    /// with them. Without this option a running scheduler keeps what it has. May be repeated.
    #[arg(long = "overhead", value_name = "KIND=TIME")]
    pub overheads: Vec<String>,
    /// Record what the CPUs do from the start on for `laxity validate`, and end after that; the scheduler stays. None
    /// may be up before. Not for berate.
    #[arg(long, value_name = "RUN.csv")]
    pub record: Option<PathBuf>,
    /// The duration of the record, at most `10min`. It ends sooner after two million events.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "record")]
    pub duration: String,
}

#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// The CPU to measure; without it the first one on which this process may run.
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
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
    /// The period, which is also the relative deadline, such as `10ms`.
    #[arg(long, value_name = "TIME")]
    pub period: String,
}

/// A reservation on the command line or, without both options, in the environment.
#[derive(Debug, Args)]
pub struct RunReservation {
    /// CPU time in each period, such as `4ms`. Without it and `--period` the reservation is that of the
    /// environment variable LAXITY_RESERVATION, such as `4ms/10ms`.
    #[arg(long, value_name = "TIME", requires = "period")]
    pub runtime: Option<String>,
    /// The period, which is also the relative deadline, such as `10ms`.
    #[arg(long, value_name = "TIME", requires = "runtime")]
    pub period: Option<String>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub reservation: RunReservation,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub struct ReserveArgs {
    /// The thread id of the task; a process id names its first thread.
    pub pid: u32,
    #[command(flatten)]
    pub reservation: Reservation,
    /// Children that it starts later share the reservation.
    #[arg(long)]
    pub inherit: bool,
}

#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// The task.
    pub pid: u32,
}

#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Output file with trace events in JSON.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The duration, at most `10min`.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub duration: String,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The socket, unless systemd passes one.
    #[arg(long, value_name = "PATH", default_value = laxity_reserve::protocol::SOCKET_PATH)]
    pub socket: PathBuf,
    /// The mode of the socket, which determines the users that may connect.
    #[arg(long, value_name = "MODE", default_value = "0660", value_parser = mode)]
    pub mode: u32,
    /// The socket's group, by name or number.
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// The share of all CPUs together that each user except root may reserve: a quarter of four CPUs
    /// is one CPU.
    #[arg(long, value_name = "PERCENT", default_value = "25%", value_parser = share)]
    pub share: laxity_cpu::Share,
    /// Serve metrics for Prometheus at /metrics; loopback, such as `127.0.0.1:9402`.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
}

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "give a mode in octal, such as 0660".to_owned())
}

/// A share in percent, with at most one decimal.
fn share(text: &str) -> Result<laxity_cpu::Share, String> {
    let number = text.strip_suffix('%').unwrap_or_default();
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let number = |text: &str, max_digits: usize| {
        let digits = text.len() <= max_digits && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let per_mille = number(whole, 3).zip(number(tenth, 1)).map(|(w, t)| 10 * w + t);
    per_mille
        .filter(|per_mille| *per_mille <= 1000)
        .map(laxity_cpu::Share::per_mille)
        .ok_or_else(|| "give a share from 0% to 100%, such as 12.5%".to_owned())
}

#[cfg(test)]
mod tests {
    use laxity_cpu::Share;

    use super::*;

    /// Fails when a number without its sign, or more than 100 %, is accepted.
    #[test]
    fn shares_and_modes_are_parsed() {
        assert_eq!(share("25%"), Ok(Share::per_mille(250)));
        assert_eq!(share("12.5%"), Ok(Share::per_mille(125)));
        assert_eq!((share("0%"), share("100%")), (Ok(Share::ZERO), Ok(Share::ONE)));
        for wrong in ["25", "", "%", ".%", "100.1%", "101%", "-1%", "+1%", "1.25%", "1e1%", "x%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!((mode("0660"), mode("600")), (Ok(0o660), Ok(0o600)));
        for wrong in ["0o660", "rw", "1777", "668", ""] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }
}
