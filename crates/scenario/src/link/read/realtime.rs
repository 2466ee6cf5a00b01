//! `[[realtime]]`

use laxity_core::Span;
use laxity_curve::Envelope;

use super::service_curve::{self, Written};
use super::{envelope, matches, rspec, source};
use crate::link::model::{Excess, Link, RealtimeFlow, Source};
use crate::link::service_curve::largest;
use crate::read::Context;
use crate::read::flows::{self, Names, OTHER};
use crate::read::values;
use crate::read::walk::Section;

pub(super) fn read(
    root: &Section<'_>,
    link: Option<&Link>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Vec<RealtimeFlow> {
    let (list, Some(shape)) = root.tables("realtime", cx.out) else { return Vec::new() };
    let mut read = Vec::new();
    for (place, value) in list.iter().enumerate() {
        if let Some(section) = flows::open(root, "realtime", place, value, shape, cx.out) {
            if let Some((flow, curve)) = read_flow(&section, link, names, cx) {
                read.push((section, flow, curve));
            }
        }
    }
    let packets = read.iter().map(|(_, flow, _)| flow.envelope.max_packet());
    let largest = link.map(|link| (link, largest(link, packets)));
    let mut flows = Vec::with_capacity(read.len());
    for (section, mut flow, curve) in read {
        if let (Some(curve), Some((link, largest))) = (curve, largest) {
            let Some((curve, delay)) = curve.on(&section, &flow.envelope, link, largest, cx.out)
            else {
                continue;
            };
            (flow.service_curve, flow.deadline) = (Some(curve), delay);
        }
        flows.push(flow);
    }
    flows
}

/// A flow, and its service curve, which depends on the packets of all flows.
fn read_flow(
    section: &Section<'_>,
    link: Option<&Link>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Option<(RealtimeFlow, Option<Written>)> {
    let name = names.claim(section, cx.out);
    if name.as_deref() == Some(OTHER) {
        let what = "`other` is the best-effort class of unmatched packets";
        section.wrong("name", cx.out, what, "give the flow another name");
    }
    let flow = name.clone().unwrap_or_default();
    let declared = envelope::read(section, &flow, cx);
    let source = source::read(section, declared.as_ref(), None, cx);
    if matches!(source, Some(Source::Tcp(_))) {
        let what = "a TCP source obeys its congestion control, not an envelope with a deadline";
        let remedy = "give the flow another source, or make it a class of `[[best_effort]]`";
        section.wrong("source", cx.out, what, remedy);
    }
    let (deadline, envelope, curve) = match section.has("service_curve") {
        true => {
            let curve = curve(section, declared, link, cx);
            (Some(Span::ZERO), curve.as_ref().map(|(_, e)| e.clone()), curve.map(|(c, _)| c))
        }
        false => {
            let deadline = deadline(section, declared.as_ref(), cx);
            needs_envelope(section, cx);
            (deadline, declared, None)
        }
    };
    let excess = match section.choice("excess", cx.out) {
        Some(i) => [Excess::Delay, Excess::Demote, Excess::Drop][i],
        None => Excess::default(),
    };
    let importance = values::whole(section, "importance", cx.out).unwrap_or(0);
    let buffer = section.positive_size("buffer", cx.out);
    let matches = matches::read(section, cx.out);
    let flow = RealtimeFlow {
        name: name?,
        deadline: deadline?,
        envelope: envelope?,
        service_curve: None,
        excess,
        importance,
        buffer,
        source,
        matches,
    };
    Some((flow, curve))
}

/// The service curve of a flow, and the envelope that tells the sizes of its packets.
fn curve(
    section: &Section<'_>,
    declared: Option<Envelope>,
    link: Option<&Link>,
    cx: &mut Context<'_, '_>,
) -> Option<(Written, Envelope)> {
    for key in ["deadline", "rspec"].into_iter().filter(|key| section.has(key)) {
        let what = format!("`service_curve` and `{key}` exclude each other");
        section.wrong(key, cx.out, what, format!("remove `{key}` or `service_curve`"));
    }
    if section.has("excess") && !section.has("envelope") {
        let what = "without an envelope nothing is in excess";
        section.wrong("excess", cx.out, what, "remove `excess`, or add an envelope");
    }
    service_curve::read(section, declared, link, cx.out)
}

fn needs_envelope(section: &Section<'_>, cx: &mut Context<'_, '_>) {
    if section.has("envelope") || section.misspelt("envelope") {
        return;
    }
    let remedy = "add envelope = { packet = \"1536 B\", peak = \"800 kB/s\", burst = \"15 kB\", \
                  rate = \"600 kB/s\" }";
    let path = section.key_path("envelope");
    cx.out.structure(section.span.clone(), &path, "`envelope` is missing", remedy);
}

fn deadline(
    section: &Section<'_>,
    envelope: Option<&Envelope>,
    cx: &mut Context<'_, '_>,
) -> Option<Span> {
    match (section.has("deadline"), section.has("rspec")) {
        (true, false) => section.positive_time("deadline", cx.out),
        (false, true) => rspec::read(section, envelope, cx),
        (true, true) => {
            let what = "`rspec` and `deadline` exclude each other";
            section.wrong("rspec", cx.out, what, "remove `deadline` or `rspec`");
            None
        }
        (false, false) if section.misspelt("deadline") || section.misspelt("rspec") => None,
        (false, false) if section.misspelt("service_curve") => None,
        (false, false) => {
            let remedy = "add deadline = \"30 ms\", rspec = { rate = \"300 kB/s\" }, or a \
                          service_curve = { rate, latency }";
            let path = section.key_path("deadline");
            cx.out.structure(section.span.clone(), &path, "`deadline` is missing", remedy);
            None
        }
    }
}
