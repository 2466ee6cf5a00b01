//! `laxity link bridge` and `laxity link tun`: links in user space.

pub mod args;
mod compared;
mod schedule;
mod status;
mod watch;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use laxity_report::number;
use laxity_trace::LinkType;
use laxity_userlink::WireError;
use laxity_userlink::bridge::{Attached, Ended, Io, Report, Running, Schedule};
use laxity_userlink::device::Device;
use laxity_userlink::lock::Lock;
use laxity_userlink::offload::Offload;
use laxity_userlink::port::{Receive, Transmit};
use laxity_userlink::tun::{RawTransmitter, TunReceiver};

use self::args::{BridgeArgs, CommonArgs, IoArg, TunArgs};
use self::compared::compared;
use self::schedule::{schedule, span};
use self::status::Status;
use self::watch::{serve, with, write_status};
use crate::failure::Failure;
use crate::live::confine::{Bpf, Capabilities, confine};
use crate::live::link::record::Links;
use crate::live::link::table;
use crate::live::running;
use crate::{interrupt, output, warning};

/// Period of checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Period of writes of the status file.
const STATUS: Duration = Duration::from_secs(1);

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        let text = error.to_string();
        match error {
            WireError::NotPermitted { .. }
            | WireError::NotSupported { .. }
            | WireError::NoTunnels { .. } => Failure::Lacking(text),
            WireError::Occupied { .. } => Failure::Refused(text),
            WireError::NoRate
            | WireError::Policy(_)
            | WireError::PoolTooLarge { .. }
            | WireError::NoDevice { .. }
            | WireError::BadName { .. }
            | WireError::NameInUse { .. }
            | WireError::NotEthernet { .. }
            | WireError::Queues { .. }
            | WireError::Jumbo { .. } => Failure::Input(text),
            _ => Failure::Internal(text),
        }
    }
}

/// Interfaces, I/O and schedule of a direction.
struct Place {
    /// The interface that it reads from, and the one that it sends to.
    from: String,
    to: String,
    io: &'static str,
    /// None where nothing is scheduled.
    schedule: Option<Schedule>,
}

/// All directions, and what the interfaces must not do meanwhile.
struct Bridge {
    directions: Vec<(Place, Running)>,
    _holds: Vec<(Offload, Lock)>,
}

/// Runs `laxity link bridge`.
pub fn run(args: &BridgeArgs) -> Result<ExitCode, Failure> {
    if args.input == args.output {
        return Err(Failure::input("--in and --out are the same interface; name two"));
    }
    let forth = schedule(&args.scenario, args.common.policy.as_ref(), &args.common)?;
    let back =
        args.reverse.as_deref().map(|path| schedule(path, None, &args.common)).transpose()?;
    drive(&args.common, "link bridge", || Bridge::join(args, forth, back))
}

/// Runs `laxity link tun`.
pub fn tun(args: &TunArgs) -> Result<ExitCode, Failure> {
    let schedule = schedule(&args.scenario, args.common.policy.as_ref(), &args.common)?;
    drive(&args.common, "link tun", || {
        let bridge = Bridge::tunnel(args, schedule)?;
        let (name, out) = (&args.name, &args.output);
        warning::say(format!(
            "next, `ip link set {name} up` and route the packets to schedule into it; the routes \
             of {out} apply after it"
        ));
        Ok(bridge)
    })
}

/// Lets directions run until it is time to stop.
fn drive(
    args: &CommonArgs,
    program: &'static str,
    start: impl FnOnce() -> Result<Bridge, Failure>,
) -> Result<ExitCode, Failure> {
    let limit = args.duration.as_deref().map(|text| span("--duration", text)).transpose()?;
    let limit = limit.map(|span| Duration::from_nanos(span.0));
    // From now on the interfaces have to be restored at the end.
    let interrupted = interrupt::control();
    let bridge = start()?;
    for (place, _) in &bridge.directions {
        warning::say(place.description());
    }
    let bridge = Arc::new(Mutex::new(Some(bridge)));
    let server = args.listen.map(|address| serve(address, &bridge)).transpose()?;
    // The features of interfaces are put back at the end, and the status file may be anywhere.
    let of_status =
        if args.status.is_some() { Capabilities::DAC_OVERRIDE } else { Capabilities::empty() };
    confine(Capabilities::NET_ADMIN | of_status, Bpf::Denied);
    let shown = Arc::clone(&bridge);
    let shown = running::show(move || {
        let status = with(&shown, Bridge::status).flatten()?;
        Some(Links::of(program, status.links.links))
    });
    let began = Instant::now();
    let mut written = None;
    while !interrupted.stopped() && limit.is_none_or(|limit| began.elapsed() < limit) {
        std::thread::sleep(POLL_INTERVAL.min(limit.unwrap_or(POLL_INTERVAL)));
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
    drop((server, shown));
    let bridge = bridge.lock().unwrap_or_else(PoisonError::into_inner).take();
    bridge.map_or(Ok(ExitCode::SUCCESS), |bridge| bridge.finish(args))
}

impl Bridge {
    /// Two interfaces, both ways.
    fn join(args: &BridgeArgs, forth: Schedule, back: Option<Schedule>) -> Result<Bridge, Failure> {
        let io = match args.io {
            IoArg::Auto => Io::Auto,
            IoArg::Xdp => Io::Xdp,
            IoArg::Packet => Io::Packet,
        };
        let (a, b) = (Attached::to(&args.input, io)?, Attached::to(&args.output, io)?);
        let place = |from: &String, to: &String, io, schedule| {
            let (from, to) = (from.clone(), to.clone());
            Place { from, to, io, schedule }
        };
        let (input, output) = (&args.input, &args.output);
        let (forth, back) =
            (place(input, output, a.io, Some(forth)), place(output, input, b.io, back));
        let ethernet = LinkType::ETHERNET;
        let directions = vec![
            forth.start(ethernet, a.receive, b.transmit)?,
            back.start(ethernet, b.receive, a.transmit)?,
        ];
        Ok(Bridge { directions, _holds: vec![a.hold, b.hold] })
    }

    /// A tunnel into an interface.
    fn tunnel(args: &TunArgs, schedule: Schedule) -> Result<Bridge, Failure> {
        let transmit = RawTransmitter::open(&Device::find(&args.output)?)?;
        let receive = TunReceiver::create(&args.name)?;
        let (from, to) = (args.name.clone(), args.output.clone());
        let place = Place { from, to, io: "tun", schedule: Some(schedule) };
        let direction = place.start(LinkType::RAW, Box::new(receive), Box::new(transmit))?;
        Ok(Bridge { directions: vec![direction], _holds: Vec::new() })
    }

    fn is_running(&self) -> bool {
        self.directions.iter().all(|(_, running)| running.is_running())
    }

    /// The current status; `None` when a direction has ended.
    fn status(&self) -> Option<Status> {
        let reports =
            self.directions.iter().map(|(place, running)| Some((place, running.report()?)));
        let reports: Vec<(&Place, Report)> = reports.collect::<Option<_>>()?;
        Some(Status::of(
            &reports.iter().map(|(place, report)| (*place, report)).collect::<Vec<_>>(),
        ))
    }

    fn finish(self, args: &CommonArgs) -> Result<ExitCode, Failure> {
        let Bridge { directions, _holds } = self;
        let ended = directions.into_iter().map(|(place, running)| Ok((place, running.stop()?)));
        let ended: Vec<(Place, Ended)> = ended.collect::<Result<_, WireError>>()?;
        drop(_holds);
        let reports: Vec<_> = ended.iter().map(|(place, ended)| (place, &ended.report)).collect();
        let status = Status::of(&reports);
        if args.json {
            output::json(&status)?;
        } else {
            output::print(&table::links(&status.links, output::style()))?;
        }
        let mut error = None;
        for (place, ended) in ended {
            if let (Some(schedule), Some((arrivals, complete))) = (&place.schedule, ended.record) {
                let counts = &ended.report.counts;
                compared(&place, schedule, counts, arrivals, complete, args.json)?;
            }
            error = error.or(ended.error);
        }
        error.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()))
    }
}

impl Place {
    fn start(
        self,
        link_type: LinkType,
        receive: Box<dyn Receive>,
        transmit: Box<dyn Transmit>,
    ) -> Result<(Place, Running), WireError> {
        let schedule = self.schedule.clone().unwrap_or_else(Schedule::unscheduled);
        let running = Running::start(&self.from, &schedule, link_type, receive, transmit)?;
        Ok((self, running))
    }

    fn description(&self) -> String {
        let Place { from, to, io, schedule } = self;
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
