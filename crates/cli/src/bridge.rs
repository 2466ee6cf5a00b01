//! `laxity link bridge`: two interfaces joined in user space, each direction scheduled.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indexmap::IndexMap;
use laxity_core::Span;
use laxity_live::http::{self, Page, Server};
use laxity_report::{Cell, Column, Table, number, text};
use laxity_scenario::Document;
use laxity_scenario::model::Scenario;
use laxity_scenario::quantity;
use laxity_trace::LinkType;
use laxity_wire::bridge::{Attached, Ended, Io, Report, Running, Schedule};
use laxity_wire::compare::compare;
use laxity_wire::offload::Offload;
use laxity_wire::{WireError, counts};
use serde::Serialize;

use crate::failure::Failure;
use crate::link::record::{Flow, Kind, Link, Links, Waiting};
use crate::link::{export, table};
use crate::{analysis, interrupt, output, warning};

/// How often is looked whether it is time to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How often the status file is written.
const STATUS: Duration = Duration::from_secs(1);

/// Arrivals that `--compare` keeps: some 100 MB.
const RECORD: usize = 1 << 22;

/// Credits that are tried where a scenario names none.
const CREDITS: [Span; 5] =
    [Span(1_000_000), Span(500_000), Span(200_000), Span(100_000), Span(50_000)];

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
    /// A policy, instead of the scenario's.
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Another scenario for the way back, which is otherwise passed on as it comes.
    #[arg(long, value_name = "SCENARIO")]
    pub reverse: Option<PathBuf>,
    /// By which calls frames come and go.
    #[arg(long, value_enum, default_value_t = IoArg::Auto)]
    pub io: IoArg,
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

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        let text = error.to_string();
        match error {
            WireError::NotPermitted { .. } | WireError::NotSupported { .. } => {
                Failure::Lacking(text)
            }
            WireError::NoRate
            | WireError::Policy(_)
            | WireError::PoolTooLarge { .. }
            | WireError::NoDevice { .. }
            | WireError::NotEthernet { .. }
            | WireError::Queues { .. }
            | WireError::Jumbo { .. } => Failure::Input(text),
            _ => Failure::Internal(text),
        }
    }
}

/// The status: what `laxity link status` says of other links, and how the threads fare.
#[derive(Debug, Serialize)]
struct Status {
    #[serde(flatten)]
    links: Links,
    threads: IndexMap<String, Thread>,
}

/// One direction's thread, under the interface that it reads from.
#[derive(Debug, Serialize)]
struct Thread {
    io: &'static str,
    cpu_ms: f64,
    packets: u64,
    /// From a frame's start, as the policy has it, to its being handed over.
    lag_mean_us: Option<f64>,
    lag_p99_us: Option<f64>,
    lag_max_us: Option<f64>,
    /// From the instant asked for to waking.
    wake_p99_us: Option<f64>,
    /// Beyond what the credit makes good.
    stalled_ms: f64,
    longest_stall_ms: f64,
    blocked: u64,
    down: u64,
    overflow: u64,
    segmented: u64,
    checksums: u64,
    malformed: u64,
}

/// A direction that runs.
struct Direction {
    /// The interface that it reads from, and the one that it sends to.
    from: String,
    to: String,
    io: &'static str,
    /// None where nothing is scheduled.
    schedule: Option<Schedule>,
    running: Running,
}

/// Both directions, and what the interfaces must not do meanwhile.
struct Bridge {
    directions: [Direction; 2],
    _offloads: [Offload; 2],
}

/// Runs the command.
pub fn run(args: &BridgeArgs) -> Result<ExitCode, Failure> {
    let spin = span("--spin", &args.spin)?;
    let limit = args.duration.as_deref().map(|text| span("--duration", text)).transpose()?;
    let limit = limit.map(|span| Duration::from_nanos(span.0));
    if args.input == args.output {
        return Err(Failure::input("--in and --out are the same interface; name two"));
    }
    let record = if args.compare { RECORD } else { 0 };
    let read = |path: &Path, policy: Option<&String>| -> Result<Schedule, Failure> {
        Ok(Schedule { spin, record, ..schedule(path, policy)? })
    };
    let forth = read(&args.scenario, args.policy.as_ref())?;
    let back = args.reverse.as_deref().map(|path| read(path, None)).transpose()?;
    // From here on the interfaces are to be left as they were found.
    let interrupted = interrupt::control();
    let bridge = Bridge::start(args, forth, back)?;
    for direction in &bridge.directions {
        warning::say(direction.said());
    }
    let bridge = Arc::new(Mutex::new(Some(bridge)));
    let server = args.listen.map(|address| serve(address, &bridge)).transpose()?;
    let began = Instant::now();
    let mut written = None;
    while !interrupted.stopped() && limit.is_none_or(|limit| began.elapsed() < limit) {
        std::thread::sleep(LOOK.min(limit.unwrap_or(LOOK)));
        if !with(&bridge, Bridge::is_running).unwrap_or(false) {
            break;
        }
        if let Some(path) = &args.status {
            if written.is_none_or(|at: Instant| at.elapsed() >= STATUS) {
                written = Some(Instant::now());
                write_status(path, &bridge)?;
            }
        }
    }
    drop(server);
    let bridge = bridge.lock().unwrap_or_else(PoisonError::into_inner).take();
    bridge.map_or(Ok(ExitCode::SUCCESS), |bridge| bridge.finish(args))
}

/// A scenario that is admitted, with a credit.
fn schedule(path: &Path, policy: Option<&String>) -> Result<Schedule, Failure> {
    let place = path.display();
    let mut scenario = match Document::read(path).map_err(Failure::input)? {
        Document::Link(scenario) => scenario,
        _ => {
            let what = "this scenario does not describe a link; one that does has a section [link]";
            return Err(Failure::input(format!("{place}: {what}")));
        }
    };
    if let Some(policy) = policy {
        scenario.policy.use_.clone_from(policy);
    }
    let admitted = |scenario: &Scenario| {
        let verdict = analysis::check(scenario);
        verdict.map(|v| v.admitted).map_err(|e| Failure::input(format!("{place}: {e}")))
    };
    if !admitted(&scenario)? {
        return Err(Failure::Refused(format!(
            "{place}: not admitted: some deadline could be missed; `laxity check` says which"
        )));
    }
    if scenario.link.credit == Span::ZERO {
        for credit in CREDITS {
            let mut with = scenario.clone();
            with.link.credit = credit;
            if admitted(&with)? {
                scenario = with;
                break;
            }
        }
        let credit = scenario.link.credit;
        warning::say(format!(
            "note: {place} names no link.credit, the time by which a thread may be late; with \
             {credit} all deadlines are kept, and that is taken"
        ));
    }
    let realtime = scenario.realtime.iter().map(|f| &f.matches);
    let matches = realtime.chain(scenario.best_effort.iter().map(|c| &c.matches));
    if matches.flatten().any(|m| m.mark.is_some()) {
        warning::say(format!(
            "note: {place} has rules by firewall mark, which frames do not carry from one \
             interface to another: they match nothing here"
        ));
    }
    Ok(Schedule::of(scenario))
}

fn span(option: &str, text: &str) -> Result<Span, Failure> {
    quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))
}

impl Bridge {
    fn start(
        args: &BridgeArgs,
        forth: Schedule,
        back: Option<Schedule>,
    ) -> Result<Bridge, Failure> {
        let io = match args.io {
            IoArg::Auto => Io::Auto,
            IoArg::Xdp => Io::Xdp,
            IoArg::Packet => Io::Packet,
        };
        let (a, b) = (Attached::to(&args.input, io)?, Attached::to(&args.output, io)?);
        let direction =
            |from: &str, to: &str, io, schedule: Option<Schedule>, receive, transmit| {
                let used = schedule.clone().unwrap_or_else(Schedule::unscheduled);
                let running = Running::start(from, &used, LinkType::ETHERNET, receive, transmit)?;
                let (from, to) = (from.to_owned(), to.to_owned());
                Ok::<_, WireError>(Direction { from, to, io, schedule, running })
            };
        let (input, output) = (&args.input, &args.output);
        let directions = [
            direction(input, output, a.io, Some(forth), a.receive, b.transmit)?,
            direction(output, input, b.io, back, b.receive, a.transmit)?,
        ];
        Ok(Bridge { directions, _offloads: [a.offload, b.offload] })
    }

    fn is_running(&self) -> bool {
        self.directions.iter().all(|direction| direction.running.is_running())
    }

    /// What is to be seen now; `None` when a direction has ended.
    fn status(&self) -> Option<Status> {
        let reports = self.directions.iter().map(|d| Some((d, d.running.report()?)));
        let reports: Option<Vec<_>> = reports.collect();
        Some(Status::of(&reports?))
    }

    fn finish(self, args: &BridgeArgs) -> Result<ExitCode, Failure> {
        let Bridge { directions, _offloads } = self;
        let mut reports = Vec::new();
        let mut ended = Vec::new();
        for Direction { from, to, io, schedule, running } in directions {
            let Ended { report, record, error } = running.stop()?;
            ended.push((error, record));
            reports.push((Stopped { from, to, io, schedule }, report));
        }
        drop(_offloads);
        let parts: Vec<_> = reports.iter().map(|(d, report)| (d, report.clone())).collect();
        let status = Status::of(&parts);
        if args.json {
            output::json(&status)?;
        } else {
            output::print(&table::links(&status.links, output::style()))?;
        }
        for ((direction, report), (_, record)) in reports.iter().zip(&ended) {
            if let (Some(schedule), Some((arrivals, complete))) = (&direction.schedule, record) {
                compared(direction, schedule, report, arrivals.clone(), *complete, args.json)?;
            }
        }
        match ended.into_iter().find_map(|(error, _)| error) {
            Some(error) => Err(error.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// A direction that no longer runs.
struct Stopped {
    from: String,
    to: String,
    io: &'static str,
    schedule: Option<Schedule>,
}

/// What the status says of a direction beside its counts.
trait Described {
    fn described(&self) -> (&str, &str, &'static str, Option<&Schedule>);
}

impl Described for Direction {
    fn described(&self) -> (&str, &str, &'static str, Option<&Schedule>) {
        (&self.from, &self.to, self.io, self.schedule.as_ref())
    }
}

impl Described for Stopped {
    fn described(&self) -> (&str, &str, &'static str, Option<&Schedule>) {
        (&self.from, &self.to, self.io, self.schedule.as_ref())
    }
}

impl Direction {
    fn said(&self) -> String {
        let Direction { from, to, io, schedule, .. } = self;
        match schedule {
            Some(Schedule { scenario, policy, .. }) => format!(
                "{from} to {to} by {io}: policy {policy} at {}, {} real-time flows admitted",
                number::rate(scenario.link.rate.0),
                scenario.realtime.len()
            ),
            None => format!("{from} to {to} by {io}: passed on as it comes"),
        }
    }
}

impl Status {
    fn of(reports: &[(&impl Described, Report)]) -> Status {
        let mut status = Status { links: Links::default(), threads: IndexMap::new() };
        for (direction, report) in reports {
            let (from, to, io, schedule) = direction.described();
            status.threads.insert(from.to_owned(), Thread::of(io, report));
            if let Some(schedule) = schedule {
                status.links.links.push(link(to, schedule, report));
            }
        }
        status
    }
}

impl Thread {
    fn of(io: &'static str, Report { counts, cpu_ns, .. }: &Report) -> Thread {
        let us = |ns: u64| ns as f64 / 1e3;
        Thread {
            io,
            cpu_ms: *cpu_ns as f64 / 1e6,
            packets: counts.lag.count(),
            lag_mean_us: counts.lag.mean().map(|ns| ns / 1e3),
            lag_p99_us: counts.lag.quantile(990).map(us),
            lag_max_us: counts.lag.max().map(us),
            wake_p99_us: counts.wakes.quantile(990).map(us),
            stalled_ms: counts.stalled.0 as f64 / 1e6,
            longest_stall_ms: counts.longest_stall.0 as f64 / 1e6,
            blocked: counts.blocked,
            down: counts.down,
            overflow: counts.overflow,
            segmented: counts.segmented,
            checksums: counts.checksums,
            malformed: counts.malformed,
        }
    }
}

fn link(device: &str, schedule: &Schedule, report: &Report) -> Link {
    let scenario = &schedule.scenario;
    let deadlines = scenario.realtime.iter().map(|f| Some(f.deadline.0));
    let all = deadlines.chain(std::iter::repeat(None));
    let classes = scenario.flow_names().zip(all).zip(&report.counts.classes);
    let flows = classes.map(|((name, deadline), c)| {
        let kind = if deadline.is_some() { Kind::Realtime } else { Kind::BestEffort };
        (name.to_owned(), flow(kind, deadline, c))
    });
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let bytes = report.counts.classes.iter().map(counts::ClassCounts::waiting_bytes).sum();
    Link {
        device: device.to_owned(),
        policy: schedule.policy.clone(),
        rate_bit_s: scenario.link.rate.0,
        attached: true,
        changes: 0,
        pending: false,
        replaced: None,
        waiting: Waiting { packets: narrow(report.waiting as u64), bytes: narrow(bytes) },
        flows: flows.collect(),
        earlier: flow(Kind::Mixed, None, &counts::ClassCounts::default()),
    }
}

fn flow(kind: Kind, deadline: Option<u64>, c: &counts::ClassCounts) -> Flow {
    let ms = |ns: u64| ns as f64 / 1e6;
    Flow {
        kind,
        deadline_ms: deadline.map(ms),
        packets: c.sent(),
        bytes: c.sent_bytes,
        mean_ms: c.delay.mean().map(|ns| ns / 1e6),
        p50_ms: c.delay.quantile(500).map(ms),
        p99_ms: c.delay.quantile(990).map(ms),
        max_ms: c.delay.max().map(ms),
        missed: c.late,
        demoted: c.demoted,
        dropped: c.drops().map(|(_, n)| n).sum(),
        reasons: c.drops().map(|(why, n)| (why.to_owned(), n)).collect(),
        delays: (c.delay.iter().collect(), u64::try_from(c.delay.sum()).unwrap_or(u64::MAX)),
    }
}

/// Asks the bridge, as long as there is one.
fn with<T>(bridge: &Mutex<Option<Bridge>>, ask: impl Fn(&Bridge) -> T) -> Option<T> {
    bridge.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ask)
}

fn serve(address: SocketAddr, bridge: &Arc<Mutex<Option<Bridge>>>) -> Result<Server, Failure> {
    let look = || {
        let bridge = Arc::clone(bridge);
        move || with(&bridge, Bridge::status).flatten().ok_or("the link ends".to_owned())
    };
    let (metrics, status) = (look(), look());
    let pages = vec![
        Page::new("/metrics", http::METRICS, move || Ok(export::page(&metrics()?.links))),
        Page::new("/status", http::JSON, move || {
            serde_json::to_string_pretty(&status()?).map_err(|e| e.to_string())
        }),
    ];
    let failed = |e| Failure::input(format!("--listen {address}: {e}; choose another"));
    let server = Server::listen(address, pages).map_err(failed)?;
    warning::say(format!("metrics at http://{}/metrics", server.address()));
    Ok(server)
}

/// Writes the status beside the file and moves it there, so that readers see a whole one.
fn write_status(path: &Path, bridge: &Mutex<Option<Bridge>>) -> Result<(), Failure> {
    let Some(status) = with(bridge, Bridge::status).flatten() else { return Ok(()) };
    let text = serde_json::to_string_pretty(&status).map_err(Failure::input)?;
    let new = path.with_extension("new");
    output::file(&new, &text)?;
    std::fs::rename(&new, path).map_err(|e| Failure::write(&path.display().to_string(), &e))
}

/// What the simulator makes of the frames that came.
fn compared(
    direction: &Stopped,
    schedule: &Schedule,
    report: &Report,
    arrivals: Vec<laxity_sim::Arrival>,
    complete: bool,
    json: bool,
) -> Result<(), Failure> {
    if !complete {
        warning::say(format!(
            "--compare keeps {RECORD} frames; more came from {}, and are not compared",
            direction.from
        ));
        return Ok(());
    }
    let rows = compare(&schedule.scenario, &schedule.policy, arrivals, &report.counts);
    let rows = rows.map_err(Failure::input)?;
    let ms = |ns: Option<f64>| ns.map_or_else(Cell::none, |ns| Cell::new(number::short(ns / 1e6)));
    let columns = vec![
        Column::words("Flow"),
        Column::number("packets, live"),
        Column::number("simulated"),
        Column::number("mean delay (ms), live"),
        Column::number("simulated"),
        Column::number("difference (%)"),
    ];
    let cells = rows.iter().map(|row| {
        let percent = |part: f64| Cell::new(format!("{:+.1}", part * 100.0));
        let cells = vec![
            Cell::new(row.sent.0.to_string()),
            Cell::new(row.sent.1.to_string()),
            ms(row.mean.0),
            ms(row.mean.1),
            row.difference().map_or_else(Cell::none, percent),
        ];
        (row.name.clone(), cells)
    });
    let caption = format!("{} to {}: live beside simulated", direction.from, direction.to);
    let table = Table::new(caption, columns).group("", cells.collect());
    let text = text::table(&table, output::style());
    // With JSON there is one document on standard output.
    if json {
        warning::say(text.trim_end());
        return Ok(());
    }
    output::print(&text)
}
