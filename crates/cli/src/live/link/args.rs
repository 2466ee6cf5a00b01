//! The command line of `laxity link` and `laxity top`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum LinkCommand {
    /// Schedule an interface by a scenario, if it is admitted.
    Up(UpArgs),
    /// Replace the scenario under load, if the new one is admitted.
    Set(SetArgs),
    /// Show statistics of links and running media servers.
    Status(StatusArgs),
    /// Show the status continuously.
    Watch(WatchArgs),
    /// Serve metrics for Prometheus at /metrics, and the status as JSON at /status.
    Export(ExportArgs),
    /// Remove a link and restore the interface.
    Down(DownArgs),
    /// Bridge two interfaces and schedule the frames between them in user space.
    Bridge(crate::live::bridge::args::BridgeArgs),
    /// Create a tunnel device and schedule the packets routed into it, to an interface, in user
    /// space.
    Tun(crate::live::bridge::args::TunArgs),
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
    /// Replace a configured root qdisc until the link goes down.
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
