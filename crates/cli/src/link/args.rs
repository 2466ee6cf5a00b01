//! The command line of `laxity link` and `laxity top`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum LinkCommand {
    /// Put a scenario on an interface, after checking that every deadline is kept.
    Up(UpArgs),
    /// Change the scenario while traffic flows; one that is not admitted changes nothing.
    Set(SetArgs),
    /// Say what links have done so far, and media servers that run.
    Status(StatusArgs),
    /// Show the status again and again.
    Watch(WatchArgs),
    /// Serve metrics for Prometheus at /metrics, and the status as JSON at /status.
    Export(ExportArgs),
    /// Take a link away and leave the interface as it was found.
    Down(DownArgs),
    /// Join two interfaces and schedule what goes from one to the other, without help of the
    /// kernel.
    Bridge(crate::bridge::args::BridgeArgs),
    /// Make a tunnel device and schedule what is routed into it on its way to an interface,
    /// without help of the kernel.
    Tun(crate::bridge::args::TunArgs),
}

#[derive(Debug, Args)]
pub struct UpArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// The interface, such as `eth0`.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
    /// A policy, instead of the scenario's.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Put a root qdisc that somebody configured aside until the link goes down.
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub struct SetArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// The interface.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
    /// A policy, instead of the scenario's.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// How long to wait for an instant at which no real-time packet waits.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub patience: String,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The interface; all that have a link when absent.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The interface; all that have a link when absent.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
    /// Time between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// Stop after so many looks.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Where to serve; loopback, such as `127.0.0.1:9401`.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// The interface; all that have a link when absent.
    #[arg(long, value_name = "DEV")]
    pub dev: Option<String>,
}

#[derive(Debug, Args)]
pub struct DownArgs {
    /// The interface.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
}
