//! `laxity check --tc`: what the kernel's queueing disciplines guarantee.

pub mod args;
mod rtnetlink;
mod source;

pub use source::speed;

use std::collections::BTreeMap;
use std::process::ExitCode;

use laxity_analysis::tc::{Device, Request, analyse, largest_packet};
use laxity_core::{Bytes, Rate};
use laxity_report::text;
use laxity_results::TcChecks;
use laxity_scenario::Document;
use laxity_scenario::link::Scenario;
use laxity_tc::{Config, Handle};

use super::CheckArgs;
use crate::failure::{Failure, NO};
use crate::{files, output};

/// Largest packet of Ethernet without segmentation offload.
const ETHERNET: Bytes = Bytes(1514);

/// Runs the command.
pub fn run(args: &CheckArgs, input: &str) -> Result<ExitCode, Failure> {
    let scenario = scenario(args)?;
    let classes = classes(args, scenario.as_ref())?;
    let mut devices = Vec::new();
    for (interface, config) in source::configs(input)? {
        let device = device(args, scenario.as_ref(), interface.as_deref())?;
        if let Some(scenario) = &scenario {
            known_classes(&config, &classes)?;
            refuse_other_rate(scenario, &device)?;
        }
        let request = Request {
            device,
            burst: args.tc.burst.unwrap_or(device.max_packet),
            slower_hop: args.tc.slower_hop,
            flows: scenario.as_ref().map(|s| (s, &classes)),
        };
        let mut check = analyse(&config, &request).map_err(Failure::input)?;
        check.device = check.device.or(interface);
        devices.push(check);
    }
    let guaranteed = devices.iter().all(|d| d.guaranteed);
    if args.json {
        output::result(&TcChecks { devices })?;
    } else {
        let style = output::style();
        let texts: Vec<String> = devices.iter().map(|d| text::tc_check(d, style)).collect();
        output::print(&texts.join("\n"))?;
    }
    Ok(if guaranteed { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

fn scenario(args: &CheckArgs) -> Result<Option<Scenario>, Failure> {
    let Some(path) = &args.scenario else {
        return match args.tc.class.first() {
            None => Ok(None),
            Some((flow, _)) => Err(Failure::Input(format!(
                "--class {flow}: there is no scenario; give its file before --tc"
            ))),
        };
    };
    let document = Document::read(path).map_err(Failure::input)?;
    files::read_scenario(path, &document);
    match document {
        Document::Link(scenario) => Ok(Some(scenario)),
        _ => Err(Failure::Input(format!(
            "{}: --tc judges links; give a scenario of a link",
            path.display()
        ))),
    }
}

/// The class of each flow: all must have one, since a flow in an unknown class may delay any other.
fn classes(
    args: &CheckArgs,
    scenario: Option<&Scenario>,
) -> Result<BTreeMap<String, Handle>, Failure> {
    let mut out = BTreeMap::new();
    for (flow, handle) in &args.tc.class {
        if out.insert(flow.clone(), *handle).is_some() {
            return Err(Failure::Input(format!("--class {flow}: given twice; remove one")));
        }
    }
    let Some(scenario) = scenario else { return Ok(out) };
    if let Some(flow) = out.keys().find(|flow| !scenario.flow_names().any(|n| n == flow.as_str())) {
        let names: Vec<_> = scenario.flow_names().collect();
        return Err(Failure::Input(format!(
            "--class {flow}: the scenario has no such flow; it has {}",
            names.join(", ")
        )));
    }
    if let Some(flow) = scenario.flow_names().find(|flow| !out.contains_key(*flow)) {
        return Err(Failure::Input(format!(
            "the flow `{flow}` has no class; add --class {flow}=MAJOR:MINOR"
        )));
    }
    Ok(out)
}

fn known_classes(config: &Config, classes: &BTreeMap<String, Handle>) -> Result<(), Failure> {
    for (flow, handle) in classes {
        let class = config.classes.iter().any(|c| c.handle == *handle);
        let qdisc = config.qdiscs.iter().any(|q| q.handle == *handle && handle.major != 0);
        if !class && !qdisc {
            return Err(Failure::Input(format!(
                "--class {flow}={handle}: the device has no such class; `tc class show` lists them"
            )));
        }
    }
    Ok(())
}

/// Laxity's delays next to those of the classes are about the same link.
fn refuse_other_rate(scenario: &Scenario, device: &Device) -> Result<(), Failure> {
    if scenario.link.rate == device.rate {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--link-rate {} is not the scenario's {}; change one of them",
        device.rate, scenario.link.rate
    )))
}

fn device(
    args: &CheckArgs,
    scenario: Option<&Scenario>,
    interface: Option<&str>,
) -> Result<Device, Failure> {
    let speed = || interface.and_then(source::speed)?.checked_mul(1_000_000).map(Rate);
    let rate = args.tc.link_rate.or(scenario.map(|s| s.link.rate)).or_else(speed);
    let rate = rate.ok_or_else(|| {
        let of = interface.unwrap_or("the device");
        Failure::Input(format!(
            "{of}: its rate is unknown, and without it nothing is guaranteed; add --link-rate RATE"
        ))
    })?;
    let max_packet = args.tc.queued_packet.or(scenario.map(largest_packet)).unwrap_or(ETHERNET);
    Ok(Device { rate, max_packet, timer_lateness: args.tc.timer_lateness })
}
