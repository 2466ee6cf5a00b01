//! The command line of `laxity link bridge` and `laxity link tun`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct BridgeArgs {
    /// The scenario file, for what goes from `--in` to `--out`.
    pub scenario: PathBuf,
    /// The interface on the side of the senders.
    #[arg(long = "in", value_name = "DEV")]
    pub input: String,
    /// The interface on the side of the slow link.
    #[arg(long = "out", value_name = "DEV")]
    pub output: String,
    /// Another scenario for the way back, which is otherwise passed on as it comes.
    #[arg(long, value_name = "SCENARIO")]
    pub reverse: Option<PathBuf>,
    /// By which calls frames come and go.
    #[arg(long, value_enum, default_value_t = IoArg::Auto)]
    pub io: IoArg,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub struct TunArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// The tunnel device to make.
    #[arg(long, value_name = "DEV", default_value = "tun0")]
    pub name: String,
    /// The interface that packets leave by.
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
    /// Stay awake for so long before a frame's time: less late, more processor time.
    #[arg(long, value_name = "TIME", default_value = "0 us")]
    pub spin: String,
    /// Stop after this time.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Keep a file up to date with the status as JSON.
    #[arg(long, value_name = "FILE")]
    pub status: Option<PathBuf>,
    /// Serve metrics for Prometheus at /metrics and the status at /status; loopback, such as
    /// `127.0.0.1:9402`.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// At the end, simulate the frames that came, and show both.
    #[arg(long)]
    pub compare: bool,
    /// Print the status at the end as JSON.
    #[arg(long)]
    pub json: bool,
}

/// By which calls frames come and go.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum IoArg {
    /// XDP sockets where the interface allows, else packet sockets.
    Auto,
    /// XDP sockets.
    Xdp,
    /// Packet sockets.
    Packet,
}
