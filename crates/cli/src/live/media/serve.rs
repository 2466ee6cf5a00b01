//! `laxity stream serve`

use std::process::ExitCode;

use laxity_analysis::stream;
use laxity_media::control::{Control, statistics};
use laxity_media::metrics::Metrics;
use laxity_media::plan::{Plan, plan};
use laxity_media::server::{Server, Stop};
use laxity_scenario::Document;
use laxity_scenario::stream::StreamScenario;

use super::{duration, of_server, span, table};
use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::live::confine::{Bpf, Capabilities, confine};
use crate::live::link::record::{Links, MediaServer};
use crate::live::running;
use crate::{files, interrupt, output, warning};

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let document = Document::read(&args.scenario).map_err(Failure::input)?;
    files::read_scenario(&args.scenario, &document);
    files::plan([("--sdp", args.sdp.as_ref())])?;
    let scenario = match document {
        Document::Stream(scenario) => scenario,
        other => {
            let what = format!(
                "this is {}; a media server has sections [server] and [[stream]]",
                other.kind().noun()
            );
            return Err(Failure::input(format!("{}: {what}", args.scenario.display())));
        }
    };
    let policy = args.policy.as_deref().unwrap_or(&scenario.policy.use_);
    let Plan { mut config, notes } =
        plan(&scenario, policy).map_err(|e| in_file(&scenario, &e.to_string()))?;
    notes.iter().for_each(warning::say);
    warn_of_overload(&scenario, policy);

    if !args.bind.is_empty() {
        config.bind.clone_from(&args.bind);
    }
    config.rtcp = args.rtcp;
    config.producers = args.producers.into();
    if let Some(text) = &args.quantum {
        config.quantum = span("--quantum", text)?;
    }
    if let Some(text) = &args.spin {
        config.spin = span("--spin", text)?;
    }
    let limit = duration("--duration", args.duration.as_ref())?;
    let stop = match &args.drain {
        Some(text) => Stop::Drain(span("--drain", text)?),
        None => Stop::Drop,
    };

    // Before the first packet, so that nothing is served that cannot be stopped.
    interrupt::control();
    let server = Server::start(config).map_err(of_server)?;
    let handle = server.handle().clone();
    let _control = match &args.control {
        Some(path) => Some(Control::listen(handle.clone(), path).map_err(of_server)?),
        None => None,
    };
    let metrics = match args.listen {
        Some(bind) => Some(Metrics::listen(handle.clone(), bind).map_err(of_server)?),
        None => None,
    };
    if let Some(path) = &args.sdp {
        let streams = handle.list();
        let names: Vec<&str> = streams.iter().map(|s| s.name.as_str()).collect();
        let text = handle.describe(&scenario.name, &names).map_err(of_server)?;
        output::file(path, &text)?;
    }
    confine(Capabilities::empty(), Bpf::Denied);
    let _shown = running::show({
        let (handle, control) = (handle.clone(), args.control.clone());
        let (scenario, policy) = (scenario.name.clone(), policy.to_owned());
        let metrics = metrics.as_ref().map(Metrics::address);
        move || {
            let snapshot = handle.snapshot().ok()?;
            let total = snapshot.total();
            let windows = snapshot.streams.iter().map(|s| s.row.measures.tumbling);
            Some(Links::of_server(MediaServer {
                process: running::myself("stream serve"),
                scenario: scenario.clone(),
                policy: policy.clone(),
                streams: snapshot.streams.len() as u64,
                sent: total.sent,
                expired: total.expired,
                tumbling_violations: windows.sum(),
                control: control.as_deref().and_then(|path| std::path::absolute(path).ok()),
                metrics,
            }))
        }
    });
    let from: Vec<_> = handle.addresses().iter().map(ToString::to_string).collect();
    let mut say = format!("serving {} streams from {}", scenario.stream_count(), from.join(", "));
    if let Some(address) = handle.rtcp_address() {
        say += &format!(", receiver reports to {address}");
    }
    if let Some(metrics) = &metrics {
        say += &format!(", metrics at http://{}/metrics", metrics.address());
    }
    warning::say(format!("{say}; Ctrl-C stops it"));

    interrupt::wait(limit);
    let snapshot = server.stop(stop);
    if args.json {
        output::json(&statistics(&snapshot))?;
    } else {
        output::print(&table::served(&scenario, &snapshot, output::style()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_file(scenario: &StreamScenario, what: &str) -> Failure {
    Failure::input(format!("{}: {what}", scenario.path.display()))
}

/// Warns of streams that need more than the link has. The server runs all the same: tolerances
/// determine the losses.
fn warn_of_overload(scenario: &StreamScenario, policy: &str) {
    let verdict = stream::analyse(scenario, policy);
    if !verdict.admitted {
        warning::say(format!(
            "the streams need {:.1}% of the link after all tolerated losses; windows will be \
             violated (`laxity check` has details)",
            100.0 * verdict.utilisation
        ));
    }
}
