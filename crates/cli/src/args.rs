//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use laxity_core::Bytes;
use laxity_curve::Rational;
use laxity_dwcs::Tolerance;
use laxity_scenario::quantity;

use crate::check::tc::args::TcArgs;
use crate::doctor::DoctorArgs;
use crate::init::args::InitArgs;
use crate::live::cpu::args::CpuCommand;
use crate::live::link::args::{LinkCommand, WatchArgs};
use crate::reproduce;

/// Least `--memory`: less leaves nothing to compute with.
const LEAST_MEMORY: Bytes = Bytes(64_000_000);

/// Schedules real-time and best-effort work by deadline: every admitted deadline is kept, and best
/// effort gets the lowest delay that this permits.
#[derive(Debug, Parser)]
#[command(name = "laxity", version, max_term_width = 100)]
#[command(after_help = "Exit status: 0 success; 1 refused (not admitted, a guaranteed deadline \
    missed); 2 bad usage or input; 3 the machine lacks a requirement; 4 I/O or internal error; \
    130 interrupted.")]
pub struct Laxity {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write two scenarios for the line of a home or an office, up and down, from a few answers, or one for CPUs.
    Init(InitArgs),
    /// Test whether a scenario keeps every real-time deadline, with the reason and the margin.
    Check(CheckArgs),
    /// Check a certificate of admission, with a small checker of its own.
    Certify(CertifyArgs),
    /// Simulate policies on a scenario's traffic or tasks, or on recorded ones, and compare them.
    Simulate(Box<SimulateArgs>),
    /// Simulate a scenario over a grid of values, policies and seeds, into a dataset of Parquet files; an
    /// interrupted sweep goes on where it was.
    Sweep(SweepArgs),
    /// Judge a recorded run of a link or of CPUs: legal or not, which premise failed, and when.
    Validate(ValidateArgs),
    /// Derive a scenario from a capture: its flows and their smallest envelopes.
    Fit(FitArgs),
    /// Rerun a paper's experiments in simulation and compare them with the published numbers.
    Reproduce(ReproduceArgs),
    /// Send media streams paced by DWCS, or receive and measure them (live).
    #[command(subcommand)]
    Stream(StreamCommand),
    /// Schedule an interface of this machine (live): in the kernel (up, set, status, watch, export,
    /// down) or in user space (bridge, tun); plan prints commands of tc instead.
    #[command(subcommand)]
    Link(LinkCommand),
    /// Watch links (delays, bounds, drops), media servers and CPUs (reservations, deadline misses,
    /// inferred parameters) (live). On a terminal keys sort, filter, choose and pause.
    Top(TopArgs),
    /// Serve a page on this machine's loopback that watches the same parts as `top`, and tries the admission
    /// of edited scenarios (live).
    Web(WebArgs),
    /// Schedule the CPUs of this machine in the kernel, with reservations (live).
    #[command(subcommand)]
    Cpu(CpuCommand),
    /// Report which commands this machine can run, what they lack, and what brings it; needs no root.
    Doctor(DoctorArgs),
    /// Benchmark the hot paths beside their baselines.
    Bench(BenchArgs),
    /// List the policies with their options.
    Policies(PoliciesArgs),
    /// Print the JSON schema of scenario files, for editors.
    Schema,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory.
    Man {
        /// The directory.
        directory: PathBuf,
    },
}

/// Blocking by a packet already on the wire.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BlockingArg {
    /// The largest packet of all flows (the paper).
    Paper,
    /// The largest packet that can block.
    Exact,
}

impl From<BlockingArg> for laxity_curve::Blocking {
    fn from(b: BlockingArg) -> Self {
        match b {
            BlockingArg::Paper => laxity_curve::Blocking::Paper,
            BlockingArg::Exact => laxity_curve::Blocking::Exact,
        }
    }
}

/// Limits of commands that compute.
#[derive(Debug, Args)]
pub struct ResourceArgs {
    /// Memory limit; the command stops when it is exceeded.
    #[arg(long, value_name = "SIZE", default_value = "2 GB", value_parser = parse_memory)]
    pub memory: Bytes,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The scenario file; with --tc optional.
    #[arg(required_unless_present = "tc")]
    pub scenario: Option<PathBuf>,
    /// Blocking, instead of the scenario's.
    #[arg(long)]
    pub blocking: Option<BlockingArg>,
    #[command(flatten)]
    pub tc: TcArgs,
    /// Write a certificate: corner points from which anybody can check that all deadlines are kept.
    #[arg(long, value_name = "OUT", conflicts_with = "tc")]
    pub certificate: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Write a page with the residual capacity.
    #[arg(long, value_name = "OUT.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

#[derive(Debug, Args)]
pub struct CertifyArgs {
    /// The certificate, which `laxity check --certificate` wrote.
    pub certificate: PathBuf,
    /// The scenario file that it is about.
    pub scenario: PathBuf,
    /// Blocking, instead of the scenario's.
    #[arg(long)]
    pub blocking: Option<BlockingArg>,
    /// Write what a certificate of the scenario has to be about, for other checkers.
    #[arg(long, value_name = "OUT")]
    pub facts: Option<PathBuf>,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// Policies to run, instead of the scenario's `use` and `compare`; `all` for all.
    #[arg(long, value_delimiter = ',', value_name = "P[,P..]|all")]
    pub policy: Vec<String>,
    /// Seed of the generators.
    #[arg(long, default_value_t = 1, conflicts_with = "seeds")]
    pub seed: u64,
    /// Several seeds, including both ends.
    #[arg(long, value_name = "A..B", value_parser = parse_seeds)]
    pub seeds: Option<Seeds>,
    /// Simulated time, such as `360s`; the default is 60 s for links, 10 s for streams and CPUs.
    #[arg(long, value_name = "TIME", conflicts_with = "trace")]
    pub duration: Option<String>,
    /// Replay a CSV trace or a capture instead of the scenario's sources.
    #[arg(long, value_name = "F.csv|F.pcap|F.pcapng")]
    pub trace: Option<PathBuf>,
    /// Blocking, instead of the scenario's.
    #[arg(long)]
    pub blocking: Option<BlockingArg>,
    /// Write a line for each packet.
    #[arg(long, value_name = "OUT.csv")]
    pub packets: Option<PathBuf>,
    /// Write the departures of the first policy as a capture with synthetic frames.
    #[arg(long, value_name = "OUT.pcapng")]
    pub pcap_out: Option<PathBuf>,
    /// Write the schedule of CPUs as trace events, for Perfetto and chrome://tracing.
    #[arg(long, value_name = "OUT.json")]
    pub trace_out: Option<PathBuf>,
    /// Write a line for each slice of a task.
    #[arg(long, value_name = "OUT.csv")]
    pub slices: Option<PathBuf>,
    /// Write a line for each job of a task.
    #[arg(long, value_name = "OUT.csv")]
    pub jobs: Option<PathBuf>,
    /// Write a record of the run of CPUs for `laxity validate`: slices, jobs, and each change of a server.
    #[arg(long, value_name = "OUT.csv")]
    pub record: Option<PathBuf>,
    /// Write a page with plots.
    #[arg(long, value_name = "OUT.html")]
    pub report: Option<PathBuf>,
    /// Also write each plot of the page as an SVG file into a directory.
    #[arg(long, value_name = "DIR", requires = "report")]
    pub svg: Option<PathBuf>,
    /// Also write each plot of the page as a Vega-Lite specification with its data into a directory.
    #[arg(long, value_name = "DIR", requires = "report")]
    pub vega: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A line for each packet, as `laxity simulate --packets` writes them, or a record of CPUs, as
    /// `laxity simulate --record` and `laxity cpu up --record` do.
    #[arg(value_name = "RUN.csv")]
    pub run: PathBuf,
    /// The scenario file; none for a record of live CPUs.
    pub scenario: Option<PathBuf>,
    /// Blocking, instead of the scenario's.
    #[arg(long)]
    pub blocking: Option<BlockingArg>,
    /// Error of the timestamps of a live run of a link, without it none; or the time within which live CPUs do what
    /// their scheduler decides, without it 200 us.
    #[arg(long, value_name = "TIME")]
    pub tolerance: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

impl ValidateArgs {
    /// The tolerance that is given; none without the option.
    pub fn tolerance(&self) -> Result<Option<laxity_core::Span>, crate::failure::Failure> {
        let parse = |text: &String| {
            let wrong = |e| crate::failure::Failure::quantity("--tolerance", text, &e);
            laxity_scenario::quantity::span(text).map_err(wrong)
        };
        self.tolerance.as_ref().map(parse).transpose()
    }
}

#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub watch: WatchArgs,
    /// Print JSON, a line for each update.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WebArgs {
    /// Address to serve at; loopback. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9480")]
    pub listen: SocketAddr,
    /// Time between two updates.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// A scenario that the page begins with.
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
}

/// Key that distinguishes the flows of a capture.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum GroupArg {
    /// The DSCP.
    Dscp,
    /// Addresses, protocol, ports and the DSCP.
    Flow,
    /// Protocol, the server's port and the DSCP.
    Port,
}

impl From<GroupArg> for laxity_sim::link::fit::Grouping {
    fn from(by: GroupArg) -> Self {
        match by {
            GroupArg::Dscp => laxity_sim::link::fit::Grouping::Dscp,
            GroupArg::Flow => laxity_sim::link::fit::Grouping::Flow,
            GroupArg::Port => laxity_sim::link::fit::Grouping::Port,
        }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without -o, standard output gets the scenario, with the table as comments \
    above it; with -o it gets the table. Default deadlines by DSCP (RFC 4594): voice (EF, VA) 10 \
    ms; AF4x, CS4, CS5 30 ms; AF3x, CS3 100 ms. All other flows become best-effort classes."
)]
pub struct FitArgs {
    /// A capture (pcap, pcapng) or a CSV trace.
    #[arg(value_name = "F.pcap|F.pcapng|F.csv")]
    pub capture: PathBuf,
    /// Largest packet of real-time flows, such as `1536 B`; the default is the largest seen.
    #[arg(long, value_name = "S")]
    pub max_packet: Option<String>,
    /// From 0 (peak rate, smallest burst) to 1 (mean rate, the burst that it needs).
    #[arg(long, value_name = "X", default_value = "1", value_parser = parse_tightness)]
    pub tightness: Rational,
    /// Key that distinguishes flows; a CSV trace names its flows.
    #[arg(long, value_name = "KEY", default_value = "dscp")]
    pub flow_key: GroupArg,
    /// Rate of the link, such as `10 Mbit/s`; guessed when absent.
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Make a flow of the table real-time with this deadline (repeatable).
    #[arg(long, value_name = "FLOW=TIME")]
    pub deadline: Vec<String>,
    /// Write the scenario to a file.
    #[arg(short, long, value_name = "F.toml")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The file that describes the sweep.
    pub sweep: PathBuf,
    /// The folder of the dataset, made if need be.
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// The paper.
    #[arg(value_parser = reproduce::papers())]
    pub paper: String,
    /// Only these experiments, such as `low-delay.table2` or `table2`.
    #[arg(long, value_delimiter = ',', value_name = "ID[,ID..]")]
    pub only: Vec<String>,
    /// Number of seeds, from 1 on; the default is in the paper's sheet.
    #[arg(long, value_name = "K")]
    pub seeds: Option<u64>,
    /// Fewer seeds and shorter runs.
    #[arg(long)]
    pub quick: bool,
    /// Write a page with plots.
    #[arg(long, value_name = "OUT.html")]
    pub report: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resources: ResourceArgs,
}

#[derive(Debug, Subcommand)]
pub enum StreamCommand {
    /// Send the streams of a scenario until stopped.
    Serve(Box<ServeArgs>),
    /// Receive RTP and measure losses in windows, delay and jitter.
    Receive(ReceiveArgs),
    /// Send a request to a running server: add, change, remove, list, stats, describe.
    Control(ControlArgs),
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The scenario file, with `[server]` and `[[stream]]`.
    pub scenario: PathBuf,
    /// A policy for streams, instead of the scenario's.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Duration, such as `10s`; the default is until Ctrl-C.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// On stop, send queued packets for at most this time; later ones are dropped and counted.
    #[arg(long, value_name = "TIME")]
    pub drain: Option<String>,
    /// Local addresses to send from; the default is the scenario's number of sockets.
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Vec<SocketAddr>,
    /// Read receiver reports and send sender reports at this address.
    #[arg(long, value_name = "ADDRESS")]
    pub rtcp: Option<SocketAddr>,
    /// Write a session description for players.
    #[arg(long, value_name = "OUT.sdp")]
    pub sdp: Option<PathBuf>,
    /// Accept requests at a Unix socket, from this user and root only.
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Serve metrics for Prometheus at /metrics; loopback, such as `127.0.0.1:9400`.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Threads that produce packets.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub producers: u8,
    /// Minimum time between two scheduling passes: a longer one batches more packets in a system
    /// call and sends them later.
    #[arg(long, value_name = "TIME")]
    pub quantum: Option<String>,
    /// Busy-wait at the end of each sleep: more precise, but costs CPU time.
    #[arg(long, value_name = "TIME")]
    pub spin: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReceiveArgs {
    /// RTP address, such as `127.0.0.1:5004`; RTCP uses the next port.
    pub bind: SocketAddr,
    /// Tolerated losses in a window, such as `1/100`.
    #[arg(long, value_name = "X/Y", default_value = "0/1")]
    pub tolerance: Tolerance,
    /// Clock rate of the timestamps: 48000 for Opus, 90000 for video.
    #[arg(long, value_name = "HZ", default_value = "90000",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub clock_rate: u32,
    /// Maximum number of sources, of some 32 KiB each; one address gets at most half of the free
    /// places.
    #[arg(long, value_name = "N", default_value = "256",
          value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub max_sources: u32,
    /// Duration, such as `10s`; the default is until Ctrl-C.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// The sender is another machine with an unsynchronised clock.
    #[arg(long)]
    pub remote_sender: bool,
    /// Send no receiver reports.
    #[arg(long)]
    pub no_reports: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ControlArgs {
    /// The server's socket.
    pub socket: PathBuf,
    /// A request, such as `{"list": {}}` or
    /// `{"change": {"name": "video-0", "tolerance": "1/4", "gap_ns": 10000000}}`.
    pub request: String,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Only benchmarks with this in their name.
    #[arg(long)]
    pub only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PoliciesArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Seeds from the first to the last.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// First.
    pub first: u64,
    /// Last, included.
    pub last: u64,
}

impl Seeds {
    /// All of them.
    pub fn list(self) -> Vec<u64> {
        (self.first..=self.last).collect()
    }
}

fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || format!("write two numbers, such as 1..5, not `{text}`");
    let (a, b) = text.split_once("..").ok_or_else(wrong)?;
    let first = a.trim().parse().map_err(|_| wrong())?;
    let last = b.trim_start_matches('=').trim().parse().map_err(|_| wrong())?;
    if last < first {
        return Err(format!("the last seed {last} is below the first {first}"));
    }
    if last - first >= 10_000 {
        return Err("that is more than 10000 seeds".to_owned());
    }
    Ok(Seeds { first, last })
}

/// A size of memory that leaves room for the command itself.
fn parse_memory(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text).map_err(|e| format!("{}; {}", e.reason(), e.remedy()))?;
    if size < LEAST_MEMORY {
        return Err("too little for the command itself; give at least 64 MB".to_owned());
    }
    Ok(size)
}

/// A decimal number from 0 to 1, exactly.
fn parse_tightness(text: &str) -> Result<Rational, String> {
    let wrong = || format!("write a number from 0 to 1, such as 0.9, not `{text}`");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.len() + part.len() > 18 {
        return Err(wrong());
    }
    let digits: i128 = format!("{whole}{part}").parse().map_err(|_| wrong())?;
    let value = Rational::new(digits, 10i128.pow(part.len() as u32)).map_err(|_| wrong())?;
    if value > Rational::ONE { Err(wrong()) } else { Ok(value) }
}
