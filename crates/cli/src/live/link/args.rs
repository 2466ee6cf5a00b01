//! The command line of `laxity link` and `laxity top`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum LinkCommand {
    /// Schedule an interface by a scenario, if it is admitted.
    Up(UpArgs),
    /// Replace the scenario, or change the rate, under load.
    Set(SetArgs),
    /// Show statistics of links and running media servers.
    Status(StatusArgs),
    /// Show the status continuously.
    Watch(WatchArgs),
    /// Serve metrics for Prometheus at /metrics, and the status as JSON at /status.
    Export(ExportArgs),
    /// Remove the links of both directions and restore the interface.
    Down(DownArgs),
    /// Print a tree of the kernel's own disciplines for a scenario as commands of tc, and what is lost; changes
    /// nothing.
    Plan(PlanArgs),
    #[command(hide = true)]
    RunRateSource(RunRateSourceArgs),
    /// Bridge two interfaces and schedule the frames between them in user space.
    Bridge(crate::live::bridge::args::BridgeArgs),
    /// Create a tunnel device and schedule the packets routed into it, to an interface, in user
    /// space.
    Tun(crate::live::bridge::args::TunArgs),
}

#[derive(Debug, Args)]
pub struct UpArgs {
    /// The scenario file of the egress direction.
    #[arg(required_unless_present = "ingress")]
    pub scenario: Option<PathBuf>,
    /// The scenario file of the ingress direction: what comes in by the interface passes an ifb device,
    /// which schedules it.
    #[arg(long, value_name = "SCENARIO")]
    pub ingress: Option<PathBuf>,
    /// The interface, such as `eth0`.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
    /// A policy, instead of those of the scenarios.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Replace a configured root qdisc until the link goes down.
    #[arg(long)]
    pub replace: bool,
    /// Follow a program that prints a rate a line, `RATE` or `UP DOWN` (`5 Mbit/s`; a number is
    /// kbit/s), until Ctrl-C. DOWN is the rate of the ingress direction, and so is RATE without a link of
    /// the other one. The program is run without a shell.
    #[arg(long, value_name = "COMMAND")]
    pub rate_from: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// The discipline.
    #[arg(long, value_name = "DISCIPLINE")]
    pub target: TargetArg,
    /// The interface in the commands, else eth0. One that reports a higher speed than the link's rate is
    /// shaped to it.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
    /// Shape the interface to the rate of the link with tbf, whatever its speed.
    #[arg(long)]
    pub shape: bool,
    /// How late a timer of the kernel may be.
    #[arg(long, value_name = "TIME", default_value = "0 ms")]
    pub timer_lateness: String,
    /// Simulated time of best effort in the tree and under the scenario's policy, if the flows have sources.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub duration: String,
    /// Print the commands alone, for a shell.
    #[arg(long, conflicts_with = "json")]
    pub commands: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Disciplines to plan for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetArg {
    Hfsc,
    Htb,
    Cbs,
}

/// Starts the program of `--rate-from`.
#[derive(Debug, Args)]
pub struct RunRateSourceArgs {
    /// The process with which the program dies.
    #[arg(long)]
    pub parent: u32,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true)
    .args(["scenario", "ingress", "rate", "ingress_rate"]))]
pub struct SetArgs {
    /// The scenario file of the egress direction, if the new scenario is admitted.
    pub scenario: Option<PathBuf>,
    /// The scenario file of the ingress direction.
    #[arg(long, value_name = "SCENARIO")]
    pub ingress: Option<PathBuf>,
    /// Another rate of the scenario that runs, such as `5 Mbit/s`. Flows that are no longer admitted
    /// are shed by `importance`: best effort without a deadline.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["policy", "scenario", "ingress"])]
    pub rate: Option<String>,
    /// Another rate of the ingress direction.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["policy", "scenario", "ingress"])]
    pub ingress_rate: Option<String>,
    /// The interface.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
    /// A policy, instead of the scenario's.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Timeout of waiting for an instant without queued real-time packets.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: String,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The interface; the default is all with a link.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The interface; the default is all with a link.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
    /// Time between two updates.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// Stop after this number of updates.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Address to serve at; loopback, such as `127.0.0.1:9401`.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// The interface; the default is all with a link.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
}

#[derive(Debug, Args)]
pub struct DownArgs {
    /// The interface.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
}
