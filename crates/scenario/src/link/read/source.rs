//! `source` and its `length`

use laxity_core::Span;
use laxity_curve::Envelope;

use super::queueing;
use crate::link::model::{Length, Link, Source};
use crate::link::tcp::{App, CongestionControl, MIN_TCP_PACKET, TcpSource};
use crate::problem::Problems;
use crate::quantity::print_bytes;
use crate::read::walk::{MAX_PACKET, Section};
use crate::read::{Context, length, values};

/// Reads the source of a flow. Its forms stand in the table of keys in this order.
pub(super) fn read(
    flow: &Section<'_>,
    envelope: Option<&Envelope>,
    link: Option<&Link>,
    cx: &mut Context<'_, '_>,
) -> Option<Source> {
    let (form, section) = flow.form("source", cx.out)?;
    if form <= 1 && !flow.has("envelope") {
        let what = "this source is limited by its envelope alone and needs one";
        let remedy = "add envelope = { packet, peak, burst, rate }, or use { period, length }";
        flow.wrong("source", cx.out, what, remedy);
    }
    match form {
        0 => on_off(&section, envelope, cx.out),
        1 => greedy(&section, envelope, cx.out),
        2 => periodic(&section, envelope, cx.out),
        3 => tcp(&section, link, cx.out),
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
    let on = values::range(section, "on", out);
    let off = values::range(section, "off", out);
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

fn tcp(section: &Section<'_>, link: Option<&Link>, out: &mut Problems<'_>) -> Option<Source> {
    if link.is_some_and(|link| link.max_packet < MIN_TCP_PACKET) {
        let least = print_bytes(MIN_TCP_PACKET);
        let what = "segments do not fit the link's packets";
        section.wrong("tcp", out, what, format!("raise link.max_packet to {least} or more"));
        return None;
    }
    let controls = [
        CongestionControl::NewReno,
        CongestionControl::Cubic,
        CongestionControl::Dctcp,
        CongestionControl::Prague,
        CongestionControl::Bbr,
    ];
    let control = section.choice("tcp", out).map(|place| controls[place]);
    let apps = [App::Bulk, App::Page, App::SmallPage, App::LargePage, App::Video];
    let app = section.choice("app", out).map(|place| apps[place]);
    let rtt = queueing::rtt(section, out)?;
    let count = values::whole(section, "count", out).unwrap_or(1);
    let start = section.time("start", out).unwrap_or(Span::ZERO);
    let ecn = section.boolean("ecn", out).unwrap_or(false);
    let (control, app) = (control?, app.unwrap_or(App::Bulk));
    Some(Source::Tcp(TcpSource { control, rtt, app, count, start, ecn }))
}

/// The lengths of a source's packets, which its envelope must hold.
fn length(
    section: &Section<'_>,
    envelope: Option<&Envelope>,
    out: &mut Problems<'_>,
) -> Option<Length> {
    let length = length::read(section, "length", MAX_PACKET, out)?;
    if let (Length::Fixed(size), Some(most)) = (length, envelope.map(Envelope::max_packet)) {
        if size > most {
            let (size, most) = (print_bytes(size), print_bytes(most));
            let what = format!("packets of {size} do not fit an envelope for packets of {most}");
            section.wrong("length", out, what, "shorten them, or raise the envelope's packet");
            return None;
        }
    }
    Some(length)
}
