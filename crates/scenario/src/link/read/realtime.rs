//! `[[realtime]]`

use laxity_core::Span;
use laxity_curve::Envelope;

use super::{envelope, matches, rspec, source};
use crate::link::model::{Excess, RealtimeFlow, Source};
use crate::read::Context;
use crate::read::flows::{self, Names, OTHER};
use crate::read::values;
use crate::read::walk::Section;

pub(super) fn read(
    root: &Section<'_>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Vec<RealtimeFlow> {
    let (list, Some(shape)) = root.tables("realtime", cx.out) else { return Vec::new() };
    let mut flows = Vec::new();
    for (place, value) in list.iter().enumerate() {
        if let Some(section) = flows::open(root, "realtime", place, value, shape, cx.out) {
            flows.extend(read_flow(&section, names, cx));
        }
    }
    flows
}

fn read_flow(
    section: &Section<'_>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Option<RealtimeFlow> {
    let name = names.claim(section, cx.out);
    if name.as_deref() == Some(OTHER) {
        let what = "`other` is the best-effort class of unmatched packets";
        section.wrong("name", cx.out, what, "give the flow another name");
    }
    let flow = name.clone().unwrap_or_default();
    let envelope = envelope::read(section, &flow, cx);
    let deadline = deadline(section, envelope.as_ref(), cx);
    let excess = match section.choice("excess", cx.out) {
        Some(i) => [Excess::Delay, Excess::Demote, Excess::Drop][i],
        None => Excess::default(),
    };
    let importance = values::whole(section, "importance", cx.out).unwrap_or(0);
    let buffer = section.positive_size("buffer", cx.out);
    let source = source::read(section, envelope.as_ref(), None, cx);
    if matches!(source, Some(Source::Tcp(_))) {
        let what = "a TCP source obeys its congestion control, not an envelope with a deadline";
        let remedy = "give the flow another source, or make it a class of `[[best_effort]]`";
        section.wrong("source", cx.out, what, remedy);
    }
    let matches = matches::read(section, cx.out);
    Some(RealtimeFlow {
        name: name?,
        deadline: deadline?,
        envelope: envelope?,
        excess,
        importance,
        buffer,
        source,
        matches,
    })
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
        (false, false) => {
            let remedy = "add deadline = \"30 ms\", or rspec = { rate = \"300 kB/s\" }";
            let path = section.key_path("deadline");
            cx.out.structure(section.span.clone(), &path, "`deadline` is missing", remedy);
            None
        }
    }
}
