//! `laxity link`: a scenario on an interface of this machine, scheduled by the kernel.

pub mod args;
pub mod backend;
pub mod export;
mod plan;
pub mod rate;
mod rate_source;
pub mod record;
pub mod table;
pub mod top;
pub mod watch;

use std::process::ExitCode;
use std::time::Duration;

use laxity_kernel::{Notice, Plan, PlanError};
use laxity_scenario::Document;
use laxity_scenario::link::model::Scenario;
use laxity_scenario::quantity;

use self::args::{DownArgs, LinkCommand, SetArgs, StatusArgs, UpArgs};
use crate::failure::Failure;
use crate::live::running;
use crate::{output, warning};

/// Runs the command.
pub fn run(command: &LinkCommand) -> Result<ExitCode, Failure> {
    match command {
        LinkCommand::Up(args) => up(args),
        LinkCommand::Set(args) => set(args),
        LinkCommand::Status(args) => status(args),
        LinkCommand::Watch(args) => watch::run(args),
        LinkCommand::Export(args) => export::run(args),
        LinkCommand::Down(args) => down(args),
        LinkCommand::RunRateSource(args) => rate_source::child::run(args),
        LinkCommand::Bridge(args) => crate::live::bridge::run(args),
        LinkCommand::Plan(args) => plan::run(args),
        LinkCommand::Tun(args) => crate::live::bridge::tun(args),
    }
}

/// The link of an interface, or all of this network namespace with its media servers, as they are now.
pub fn now(device: Option<&str>) -> Result<record::Links, Failure> {
    let running = running::look(device);
    match backend::status(device) {
        Ok(kernel) => {
            Ok(record::Links { links: [kernel.links, running.links].concat(), ..running })
        }
        // Running links are shown also when the kernel lacks something.
        Err(failure) if !running.is_empty() => {
            let kernel_error = device.is_none().then(|| failure.text().to_owned());
            Ok(record::Links { kernel_error, ..running })
        }
        Err(failure) => Err(failure),
    }
}

/// A scenario that was admitted, and its plan.
pub struct Admitted {
    scenario: Scenario,
    policy: String,
    plan: Plan,
}

impl Admitted {
    fn read(path: &std::path::Path, policy: Option<&String>) -> Result<Admitted, Failure> {
        let admitted = Admitted::of(Document::read(path).map_err(Failure::input)?, path, policy)?;
        admitted.notices().for_each(|notice| warning::say(format_args!("note: {notice}")));
        Ok(admitted)
    }

    /// Of what was read; `path` is where it came from.
    pub fn of(
        document: Document,
        path: &std::path::Path,
        policy: Option<&String>,
    ) -> Result<Admitted, Failure> {
        let scenario = match document {
            Document::Link(scenario) => scenario,
            _ => {
                let what = "this scenario does not describe a link; one that does has a section \
                            [link]";
                return Err(Failure::input(format!("{}: {what}", path.display())));
            }
        };
        let policy = policy.unwrap_or(&scenario.policy.use_).clone();
        let plan = Plan::with_policy(&scenario, &policy).map_err(|error| {
            let text = format!("{}: {error}", path.display());
            match error {
                PlanError::NotAdmitted(_) => Failure::Refused(text),
                _ => Failure::Input(text),
            }
        })?;
        Ok(Admitted { scenario, policy, plan })
    }

    /// What the kernel does not do of it.
    pub fn notices(&self) -> impl Iterator<Item = &Notice> {
        self.plan.notices.iter()
    }

    /// What runs on an interface, for people.
    pub fn sentence(&self, device: &str, when: &str) -> String {
        let flows = self.scenario.realtime.len();
        format!(
            "{device} runs policy {} at {}{when}: {flows} real-time flows admitted",
            self.policy,
            laxity_report::number::rate(self.scenario.link.rate.0),
        )
    }

    fn say(&self, device: &str, when: &str) {
        warning::say(self.sentence(device, when));
    }
}

fn up(args: &UpArgs) -> Result<ExitCode, Failure> {
    let source = args.rate_from.as_deref().map(rate_source::RateSource::new).transpose()?;
    let read = |path: &Option<_>| {
        path.as_deref().map(|path| Admitted::read(path, args.policy.as_ref())).transpose()
    };
    let (egress, ingress) = (read(&args.scenario)?, read(&args.ingress)?);
    let filtered = backend::up(egress.as_ref(), ingress.as_ref(), &args.dev, args.replace)?;
    if let Some(egress) = &egress {
        egress.say(&args.dev, "");
    }
    if let Some(ingress) = &ingress {
        ingress.say(
            &backend::ingress_device(&args.dev)?,
            &format!(", for what comes in by {}", args.dev),
        );
    }
    if filtered {
        warning::say(format!(
            "note: filters of others at ingress of {} come first; packets that they drop, redirect or \
             accept for good do not reach the link",
            args.dev
        ));
    }
    match source {
        Some(source) => rate_source::follow(&args.dev, source, egress.is_some(), ingress.is_some()),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn set(args: &SetArgs) -> Result<ExitCode, Failure> {
    if args.rate.is_some() || args.ingress_rate.is_some() {
        return rate::set(args);
    }
    let timeout = duration("--timeout", &args.timeout)?;
    let read = |path: &Option<_>| {
        path.as_deref().map(|path| Admitted::read(path, args.policy.as_ref())).transpose()
    };
    // Both are admitted before the first is changed.
    let (egress, ingress) = (read(&args.scenario)?, read(&args.ingress)?);
    let ingress = match ingress {
        Some(ingress) => Some((ingress, backend::ingress_device(&args.dev)?)),
        None => None,
    };
    for (admitted, device) in egress.map(|e| (e, args.dev.clone())).into_iter().chain(ingress) {
        let with_next_packet = backend::set(&admitted, &device, timeout)?;
        admitted.say(&device, if with_next_packet { " from its next packet on" } else { "" });
    }
    Ok(ExitCode::SUCCESS)
}

fn status(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let links = now(args.dev.as_deref())?;
    if args.json {
        output::json(&links)?;
    } else {
        output::print(&table::links(&links, output::style()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn down(args: &DownArgs) -> Result<ExitCode, Failure> {
    backend::down(&args.dev)?;
    Ok(ExitCode::SUCCESS)
}

pub fn duration(option: &str, text: &str) -> Result<Duration, Failure> {
    let span = quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))?;
    Ok(Duration::from_nanos(span.0))
}
