//! `laxity stream receive`

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use laxity_media::receiver::{Receiver, ReceiverConfig};

use super::{duration, of_system, table};
use crate::args::ReceiveArgs;
use crate::failure::Failure;
use crate::live::confine::{Bpf, Capabilities, confine};
use crate::{interrupt, output, warning};

/// The duration without `--duration`: practically until it is stopped.
const ALWAYS: Duration = Duration::from_secs(u32::MAX as u64);

/// Runs the command.
pub fn run(args: &ReceiveArgs) -> Result<ExitCode, Failure> {
    let limit = duration("--duration", args.duration.as_ref())?.unwrap_or(ALWAYS);
    let reports = (!args.no_reports).then_some(Duration::from_secs(5));
    let config = ReceiverConfig {
        tolerance: args.tolerance,
        clock: args.clock_rate,
        same_machine: !args.remote_sender,
        reports,
        sources: args.max_sources as usize,
        ..ReceiverConfig::new(args.bind)
    };
    let failed = |e: laxity_media::receiver::ReceiverError| of_system(&e, &e.source);
    let receiver = Receiver::open(config).map_err(failed)?;
    interrupt::control();
    confine(Capabilities::empty(), Bpf::Denied);
    if let Ok(address) = receiver.address() {
        warning::say(format!("receiving at {address}; Ctrl-C stops it"));
        if receiver.rtcp_address().is_none() {
            warning::say(match address.port().checked_add(1) {
                Some(next) => format!("without RTCP reports: another program uses port {next}"),
                None => {
                    "without RTCP, so no reports are read or sent: it would come in at the port \
                         after this one, and there is none; choose a port below 65535"
                        .to_owned()
                }
            });
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&stop);
    std::thread::spawn(move || {
        interrupt::wait(None);
        done.store(true, Ordering::Relaxed);
    });
    let report = receiver.run(limit, &stop).map_err(failed)?;
    if args.json {
        output::json(&report)?;
    } else {
        output::print(&table::received(&report, output::style()))?;
    }
    Ok(ExitCode::SUCCESS)
}
