//! The command line of `laxity link bridge` and `laxity link tun`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct BridgeArgs {
    /// The scenario file, for the direction from `--in` to `--out`.
    pub scenario: PathBuf,
    /// The interface on the senders' side.
    #[arg(long = "in", value_name = "DEV")]
    pub input: String,
    /// The interface on the slow link's side.
    #[arg(long = "out", value_name = "DEV")]
    pub output: String,
    /// Scenario for the reverse direction, which is otherwise forwarded unscheduled.
    #[arg(long, value_name = "SCENARIO")]
    pub reverse: Option<PathBuf>,
    /// Frame I/O.
    #[arg(long, value_enum, default_value_t = IoArg::Auto)]
    pub io: IoArg,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub struct TunArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// The tunnel device to create.
    #[arg(long, value_name = "DEV", default_value = "tun0")]
    pub name: String,
    /// The outgoing interface.
    #[arg(long = "out", value_name = "DEV")]
    pub output: String,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub struct CommonArgs {
    /// A policy, instead of the scenario's.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Busy-wait before each frame: more precise, but costs CPU time.
    #[arg(long, value_name = "TIME", default_value = "0 us")]
    pub spin: String,
    /// Stop after this time.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Write the status as JSON to a file and keep it current.
    #[arg(long, value_name = "FILE")]
    pub status: Option<PathBuf>,
    /// Serve metrics for Prometheus at /metrics and the status at /status; loopback, such as
    /// `127.0.0.1:9402`.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// At the end, simulate the received frames and show both results.
    #[arg(long)]
    pub compare: bool,
    /// Print the status at the end as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Frame I/O.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum IoArg {
    /// XDP sockets if the interface supports them, else packet sockets.
    Auto,
    /// XDP sockets.
    Xdp,
    /// Packet sockets.
    Packet,
}
