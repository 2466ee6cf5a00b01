//! `laxity link export`

use std::process::ExitCode;
use std::time::Duration;

use laxity_live::exposition::Text;
use laxity_live::http::{self, Page, Server};

use super::args::ExportArgs;
use super::backend;
use super::record::{Flow, Links, Stalls};
use crate::failure::Failure;
use crate::live::confine::{Bpf, OF_KERNEL, confine};
use crate::{interrupt, warning};

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    // Unreadable links are reported at the start.
    backend::status(args.dev.as_deref())?;
    let look = |device: Option<String>| {
        move || backend::status(device.as_deref()).map_err(|failure| failure.text().to_owned())
    };
    let (metrics, status) = (look(args.dev.clone()), look(args.dev.clone()));
    let pages = vec![
        Page::new("/metrics", http::METRICS, move || Ok(page(&metrics()?))),
        Page::new("/status", http::JSON, move || {
            serde_json::to_string_pretty(&status()?).map_err(|e| e.to_string())
        }),
    ];
    let interrupted = interrupt::control();
    let failed = |e| Failure::input(format!("--listen {}: {e}; choose another", args.listen));
    let server = Server::with(args.listen, pages, http::Limits::default(), OF_KERNEL);
    let server = server.map_err(failed)?;
    confine(OF_KERNEL, Bpf::Allowed);
    let address = server.address();
    warning::say(format!("metrics at http://{address}/metrics; Ctrl-C stops it"));
    while !interrupted.stopped() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(ExitCode::SUCCESS)
}

/// The metrics page. Counters restart at zero when another scenario comes into force; earlier counts are
/// under the flow `earlier`.
pub fn page(links: &Links) -> String {
    let mut text = Text::default();
    let mut gauge = |name: &str, help: &str, of: &dyn Fn(&super::record::Link) -> u64| {
        let name = format!("laxity_link_{name}");
        text.family(&name, "gauge", help);
        for link in &links.links {
            let labels = [("device", &*link.device), ("policy", &*link.policy)];
            text.sample(&name, &labels, of(link));
        }
    };
    gauge("attached", "1 while the interface has the qdisc.", &|l| l.attached.into());
    gauge("rate_bits", "Rate of the link, bit/s.", &|l| l.rate_bit_s);
    gauge("changes", "How often another scenario took over.", &|l| l.changes.into());
    gauge("waiting_packets", "Packets that wait.", &|l| l.waiting.packets.into());
    gauge("waiting_bytes", "Bytes that wait.", &|l| l.waiting.bytes.into());

    let mut stalls = |name: &str, kind: &str, help: &str, of: &dyn Fn(&Stalls) -> String| {
        let name = format!("laxity_link_{name}");
        text.family(&name, kind, help);
        for link in &links.links {
            let labels = [("device", &*link.device), ("policy", &*link.policy)];
            text.line(&name, &labels, &of(&link.stalls));
        }
    };
    let help = "Times at which packets waited and the link sent nothing, beyond the credit.";
    stalls("stalls_total", "counter", help, &|s| s.count.to_string());
    let help = "Time lost in stalls.";
    stalls("stalled_seconds_total", "counter", help, &|s| (s.total_ms / 1e3).to_string());
    stalls("longest_stall_seconds", "gauge", "The longest stall.", &|s| {
        (s.longest_ms / 1e3).to_string()
    });

    let help = "Packets by what became of them: sent, or the reason why not.";
    text.family("laxity_link_packets_total", "counter", help);
    each(links, |device, name, flow| {
        let mut fate = |fate, n| {
            let labels = [("device", device), ("flow", name), ("fate", fate)];
            text.sample("laxity_link_packets_total", &labels, n);
        };
        fate("sent", flow.packets);
        flow.reasons.iter().for_each(|(reason, n)| fate(reason, *n));
    });
    let mut counter = |name: &str, help: &str, of: &dyn Fn(&Flow) -> u64| {
        let name = format!("laxity_link_{name}");
        text.family(&name, "counter", help);
        each(links, |device, flow, counts| {
            text.sample(&name, &[("device", device), ("flow", flow)], of(counts));
        });
    };
    counter("sent_bytes_total", "Bytes of packets sent.", &|f| f.bytes);
    counter("deadline_misses_total", "Real-time packets sent late.", &|f| f.missed);
    let help = "Real-time packets beyond their envelope that travelled as best effort.";
    counter("demoted_packets_total", help, &|f| f.demoted);
    let name = "laxity_link_delay_seconds";
    text.family(
        name,
        "histogram",
        "From arrival to the end of transmission; without demoted packets.",
    );
    each(links, |device, flow, counts| {
        let (delays, sum) = &counts.delays;
        text.histogram(name, &[("device", device), ("flow", flow)], delays.iter().copied(), *sum);
    });
    text.page()
}

fn each(links: &Links, mut of: impl FnMut(&str, &str, &Flow)) {
    for link in &links.links {
        link.flows.iter().for_each(|(name, flow)| of(&link.device, name, flow));
        of(&link.device, "earlier", &link.earlier);
    }
}
