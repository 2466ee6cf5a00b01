//! `flows` and `aqm` of a best-effort class.

use laxity_core::Span;
use laxity_link::config::{Aqm, FlowQueueing, Hosts, QueueBy, Sojourn};

use crate::keys::{list, nearest};
use crate::link::model::Link;
use crate::link::queueing::{AQM_NAMES, MAX_RTT, MAX_TARGET, MIN_RTT};
use crate::problem::Problems;
use crate::quantity::print_span;
use crate::read::values;
use crate::read::walk::{Section, shown};

/// Reads `flows`; `None` when it is absent, or after a problem.
pub(super) fn flows(class: &Section<'_>, out: &mut Problems<'_>) -> Option<FlowQueueing> {
    let section = class.table("flows", out)?;
    let mut flows = FlowQueueing::default();
    let by = [QueueBy::FiveTuple, QueueBy::Source, QueueBy::Destination, QueueBy::HostAndFlow];
    let by = section.choice("by", out).map(|place| by[place]);
    flows.by = by.unwrap_or_default();
    let hosts = [Hosts::Source, Hosts::Destination, Hosts::Both];
    if let Some(place) = section.choice("hosts", out) {
        flows.hosts = hosts[place];
        // A faulty `by` has been reported.
        if flows.by != QueueBy::HostAndFlow && by.is_some() == section.has("by") {
            let what = "`hosts` means something only with by = \"host-and-flow\"";
            section.wrong("hosts", out, what, "remove it, or write by = \"host-and-flow\"");
        }
    }
    if let Some(queues) = values::whole(&section, "queues", out) {
        flows.queues = queues;
        if !queues.is_power_of_two() {
            let above = queues.next_power_of_two();
            let what = format!("{queues} is not a power of two");
            section.wrong("queues", out, what, format!("write {} or {above}", above / 2));
        }
    }
    Some(flows)
}

/// Reads `aqm` of a class with or without `flows`; `None` after a problem.
pub(super) fn aqm(
    class: &Section<'_>,
    flows: bool,
    link: Option<&Link>,
    out: &mut Problems<'_>,
) -> Option<Aqm> {
    let Some((_, value)) = class.get("aqm") else { return Some(Aqm::None) };
    if let Some(name) = value.get_ref().as_str() {
        return match name {
            "none" => Some(Aqm::None),
            "codel" => Some(Aqm::CODEL),
            "pie" => Some(Aqm::PIE),
            "l4s" => Some(Aqm::L4S),
            _ => {
                let remedy = match nearest(name, AQM_NAMES.iter().copied()) {
                    Some(near) => {
                        format!("did you mean \"{near}\"? It is one of {}", list(AQM_NAMES))
                    }
                    None => format!("write one of {}", list(AQM_NAMES)),
                };
                let what = format!("unknown aqm \"{}\"", shown(name));
                class.wrong("aqm", out, what, remedy);
                None
            }
        };
    }
    let (_, section) = class.form("aqm", out)?;
    let algorithm = [Algorithm::Codel, Algorithm::Pie, Algorithm::L4s];
    let algorithm = algorithm[section.choice("use", out)?];
    let by_codel = algorithm == Algorithm::Codel || algorithm == Algorithm::L4s && flows;
    if !by_codel && section.has("rtt") {
        let (needed, remedy) = match algorithm {
            Algorithm::L4s => ("`flows`, whose queues have CoDel", "remove it, or add `flows`"),
            _ => ("`codel` and `l4s`", "remove it, or write use = \"codel\""),
        };
        let what = format!("`rtt` means something only with {needed}");
        section.wrong("rtt", out, what, remedy);
    }
    let rtt = match section.has("rtt") {
        true => rtt(&section, out),
        false => Some(Aqm::RTT),
    };
    let (most, bound) = match (by_codel, rtt) {
        (true, Some(rtt)) => (Span(rtt.0 / 2), "half of `rtt`: lower it, or raise `rtt`"),
        _ => (MAX_TARGET, "the largest that makes sense: lower it"),
    };
    let target = delay(&section, "target", link, (most, bound), out);
    let most = (MAX_TARGET, "the largest that makes sense: lower it");
    let step = match algorithm {
        Algorithm::L4s => delay(&section, "step", link, most, out),
        _ => None,
    };
    if algorithm != Algorithm::L4s && section.has("step") {
        let what = "`step` means something only with use = \"l4s\"";
        section.wrong("step", out, what, "remove it, or write use = \"l4s\"");
    }
    let ecn = section.boolean("ecn", out).unwrap_or(true);
    let sojourn = section.choice("sojourn", out).map(|i| [Sojourn::Raw, Sojourn::Link][i]);
    let ingress = section.boolean("ingress", out).unwrap_or(false);
    Some(match algorithm {
        Algorithm::Codel => Aqm::Codel { rtt: rtt?, target, interval: None, ecn, sojourn, ingress },
        Algorithm::Pie => Aqm::Pie { target, ecn, sojourn, ingress },
        Algorithm::L4s => Aqm::L4s { target, rtt: rtt?, step, ecn, sojourn, ingress },
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Codel,
    Pie,
    L4s,
}

/// Reads `rtt`; `None` when it is absent, or after a problem.
pub(super) fn rtt(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Span> {
    let rtt = section.positive_time("rtt", out)?;
    if !(MIN_RTT..=MAX_RTT).contains(&rtt) {
        let what = format!("a round-trip time of {} is out of range", print_span(rtt));
        let (least, most) = (print_span(MIN_RTT), print_span(MAX_RTT));
        section.wrong("rtt", out, what, format!("give from {least} to {most}"));
        return None;
    }
    Some(rtt)
}

/// A delay that a queue of packets can have.
fn delay(
    section: &Section<'_>,
    name: &str,
    link: Option<&Link>,
    (most, bound): (Span, &str),
    out: &mut Problems<'_>,
) -> Option<Span> {
    let delay = section.positive_time(name, out)?;
    let packet = link.and_then(|l| l.rate.time_for(l.wire().of_bytes(l.max_packet)));
    let (what, remedy) = match packet {
        Some(packet) if delay < packet => (
            format!("{} is less than one packet takes on the link", print_span(delay)),
            format!("give at least {}, or leave it out", print_span(packet)),
        ),
        _ if delay > most => (
            format!("{} is too long for `{name}`", print_span(delay)),
            format!("{} is {bound}", print_span(most)),
        ),
        _ => return Some(delay),
    };
    section.wrong(name, out, what, remedy);
    None
}
