//! `source` and its `length`

use laxity_core::{Bytes, Span};
use laxity_curve::Envelope;

use super::Context;
use super::walk::{self, MAX_PACKET, Section};
use crate::keys::Kind;
use crate::model::{Length, Source};
use crate::problem::Problems;
use crate::quantity::{print_bytes, print_span};

/// Reads the source of a flow. Its forms stand in the table of keys in this order.
pub(super) fn read(
    flow: &Section<'_>,
    envelope: Option<&Envelope>,
    cx: &mut Context<'_, '_>,
) -> Option<Source> {
    let (form, section) = flow.form("source", cx.out)?;
    if form <= 1 && !flow.has("envelope") {
        let what = "a source that sends as soon as its envelope allows needs one";
        let remedy = "add envelope = { packet, peak, burst, rate }, or use { period, length }";
        flow.wrong("source", cx.out, what, remedy);
    }
    match form {
        0 => on_off(&section, envelope, cx.out),
        1 => greedy(&section, envelope, cx.out),
        2 => periodic(&section, envelope, cx.out),
        _ => {
            let path = section.file("trace", cx.out)?;
            Some(Source::Trace { path: cx.folder.join(path) })
        }
    }
}

fn on_off(
    section: &Section<'_>,
    envelope: Option<&Envelope>,
    out: &mut Problems<'_>,
) -> Option<Source> {
    let length = length(section, envelope, out);
    let on = range(section, "on", out);
    let off = range(section, "off", out);
    if on.is_some_and(|(_, most)| most.0 == 0) {
        section.wrong("on", out, "the source is never on", "give `on` a positive length");
        return None;
    }
    Some(Source::OnOff { length: length?, on: on?, off: off? })
}

fn greedy(
    section: &Section<'_>,
    envelope: Option<&Envelope>,
    out: &mut Problems<'_>,
) -> Option<Source> {
    let length = length(section, envelope, out);
    if section.boolean("greedy", out) == Some(false) {
        let remedy = "write greedy = true, or another kind of source";
        section.wrong("greedy", out, "a greedy source is not `false`", remedy);
    }
    Some(Source::Greedy { length: length? })
}

fn periodic(
    section: &Section<'_>,
    envelope: Option<&Envelope>,
    out: &mut Problems<'_>,
) -> Option<Source> {
    let length = length(section, envelope, out);
    let period = section.positive_time("period", out);
    let jitter = section.time("jitter", out).unwrap_or(Span::ZERO);
    Some(Source::Periodic { period: period?, length: length?, jitter })
}

/// A range of times, both ends included.
fn range(section: &Section<'_>, name: &str, out: &mut Problems<'_>) -> Option<(Span, Span)> {
    let (least, most) = section.pair(name, out, walk::time)?;
    if least > most {
        let what = format!("{} is more than {}", print_span(least), print_span(most));
        section.wrong(name, out, what, "a range is [least, most]");
        return None;
    }
    Some((least, most))
}

fn length(
    section: &Section<'_>,
    envelope: Option<&Envelope>,
    out: &mut Problems<'_>,
) -> Option<Length> {
    let (key, value) = section.get("length")?;
    if value.get_ref().is_str() {
        let size = section.packet("length", out)?;
        let most = envelope.map_or(size, Envelope::max_packet);
        if size > most {
            let (size, most) = (print_bytes(size), print_bytes(most));
            let what = format!("packets of {size} do not fit an envelope for packets of {most}");
            section.wrong("length", out, what, "shorten them, or raise the envelope's packet");
            return None;
        }
        return Some(Length::Fixed(size));
    }
    if !value.get_ref().is_table() {
        let Kind::Forms(forms) = key.kind else { return None };
        section.wrong("length", out, "this is not a length of packets", forms.usage());
        return None;
    }
    let (form, length) = section.form("length", out)?;
    let (name, read): (_, fn(Bytes, Bytes) -> Length) = match form {
        0 => ("normal", |mean, deviation| Length::Normal { mean, deviation }),
        _ => ("uniform", |least, most| Length::Uniform { least, most }),
    };
    let (first, second) = length.pair(name, out, walk::size)?;
    if form == 1 && first > second {
        let what = format!("{} is more than {}", print_bytes(first), print_bytes(second));
        length.wrong(name, out, what, "a range is [least, most]");
        return None;
    }
    if first > MAX_PACKET || second > MAX_PACKET {
        let what = format!("packets of {} are too large", print_bytes(first.max(second)));
        length.wrong(name, out, what, "packets may have up to 1 MB");
        return None;
    }
    if first.0 == 0 {
        let remedy = "give lengths of at least 1 B";
        length.wrong(name, out, "a packet has at least one byte", remedy);
        return None;
    }
    Some(read(first, second))
}
