//! `laxity link export`

use std::process::ExitCode;

use laxity_telemetry::exposition::{Text, Value};
use laxity_telemetry::http::{Page, Server};
use laxity_telemetry::table::link as table;

use super::args::ExportArgs;
use super::backend;
use super::record::{Flow, Kind, Link, Links};
use crate::failure::Failure;
use crate::live::confine::{Bpf, OF_KERNEL, confine, keep};
use crate::{interrupt, warning};

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    // Unreadable links are reported at the start.
    backend::status(args.dev.as_deref())?;
    let look = |device: Option<String>| {
        move || backend::status(device.as_deref()).map_err(|failure| failure.text().to_owned())
    };
    let (metrics, status) = (look(args.dev.clone()), look(args.dev.clone()));
    let pages = vec![Page::metrics(move || Ok(page(&metrics()?))), Page::status(status)];
    interrupt::control();
    let failed = |e| Failure::input(format!("--listen {}: {e}; choose another", args.listen));
    let server = Server::listen(args.listen, pages, || keep(OF_KERNEL));
    let server = server.map_err(failed)?;
    confine(OF_KERNEL, Bpf::Allowed);
    let address = server.address();
    warning::say(format!("metrics at http://{address}/metrics; Ctrl-C stops it"));
    interrupt::wait(None);
    Ok(ExitCode::SUCCESS)
}

/// The metrics page. Counters restart at zero when another scenario comes into force; earlier counts are
/// under the flow `previous`.
pub fn page(links: &Links) -> String {
    use Value::{Count, Number};

    let mut text = Text::default();
    let mut of_link = |metric, value: &dyn Fn(&Link) -> Value| {
        let mut family = text.family(metric);
        for link in &links.links {
            family.sample(&[&link.device, &link.policy], value(link));
        }
    };
    of_link(&table::ATTACHED, &|l| Count(l.attached.into()));
    of_link(&table::RATE_BITS_PER_SECOND, &|l| Count(l.rate_bit_s));
    of_link(&table::CHANGES_TOTAL, &|l| Count(l.changes.into()));
    of_link(&table::BACKLOG_PACKETS, &|l| Count(l.backlog.packets.into()));
    of_link(&table::BACKLOG_BYTES, &|l| Count(l.backlog.bytes.into()));
    of_link(&table::STALLS_TOTAL, &|l| Count(l.stalls.count));
    of_link(&table::STALL_SECONDS_TOTAL, &|l| Number(l.stalls.total_ms / 1e3));
    of_link(&table::MAX_STALL_SECONDS, &|l| Number(l.stalls.max_ms / 1e3));
    of_link(&table::LATE_RATE_CHANGE_TOTAL, &|l| Count(l.late_rate_change));

    let mut reserved = text.family(&table::RESERVED);
    for link in &links.links {
        for (name, flow) in &link.flows {
            if flow.kind == Kind::Realtime {
                let reserved_now = !link.shed.contains(name);
                reserved.sample(&[&link.device, name], u64::from(reserved_now));
            }
        }
    }
    let mut packets = text.family(&table::PACKETS_TOTAL);
    each(links, |device, name, flow| {
        packets.sample(&[device, name, "sent"], flow.packets);
        flow.drop_reasons
            .iter()
            .for_each(|(reason, n)| packets.sample(&[device, name, reason], *n));
    });
    let mut of_flow = |metric, value: &dyn Fn(&Flow) -> u64| {
        let mut family = text.family(metric);
        each(links, |device, name, flow| family.sample(&[device, name], value(flow)));
    };
    of_flow(&table::SENT_BYTES_TOTAL, &|f| f.bytes);
    of_flow(&table::DEADLINE_MISSES_TOTAL, &|f| f.deadline_misses);
    of_flow(&table::DEMOTED_PACKETS_TOTAL, &|f| f.demoted);
    of_flow(&table::ECN_MARKS_TOTAL, &|f| f.ecn_marks);
    let mut delay = text.family(&table::DELAY_SECONDS);
    each(links, |device, name, flow| {
        let (delays, sum) = &flow.delays;
        delay.histogram(&[device, name], delays.iter().copied(), *sum);
    });
    text.page()
}

fn each(links: &Links, mut of: impl FnMut(&str, &str, &Flow)) {
    for link in &links.links {
        link.flows.iter().for_each(|(name, flow)| of(&link.device, name, flow));
        of(&link.device, "previous", &link.previous);
    }
}
