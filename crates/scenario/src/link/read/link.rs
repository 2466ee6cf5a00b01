//! `[link]`

use laxity_core::{Bytes, Span};

use crate::link::model::{Buffer, Link};
use crate::quantity::print_bytes;
use crate::read::Context;
use crate::read::walk::{MAX_PACKET, Section};

/// Best-effort packets where `max_packet` is absent, as in the paper (section 5).
const DEFAULT_MAX_PACKET: Bytes = Bytes(1536);

pub(super) fn read(section: &Section<'_>, cx: &mut Context<'_, '_>) -> Option<Link> {
    let rate = section.positive_rate("rate", cx.out);
    let max_packet = match section.has("max_packet") {
        true => section.packet("max_packet", cx.out),
        false => Some(DEFAULT_MAX_PACKET),
    };
    let overhead = frame(section, "overhead", cx);
    let min_frame = frame(section, "min_frame", cx);
    let credit = section.time("credit", cx.out).unwrap_or(Span::ZERO);
    let in_flight = section.size("in_flight", cx.out).unwrap_or(Bytes(0));
    let buffer = section.table("buffer", cx.out);
    let buffer = buffer.and_then(|s| read_buffer(&s, max_packet, cx));
    Some(Link {
        rate: rate?,
        max_packet: max_packet?,
        overhead,
        min_frame,
        credit,
        in_flight,
        buffer,
    })
}

/// A size per packet that may be zero.
fn frame(section: &Section<'_>, name: &str, cx: &mut Context<'_, '_>) -> Bytes {
    let size = section.size(name, cx.out).unwrap_or(Bytes(0));
    if size > MAX_PACKET {
        let what = format!("{} for each packet is too much", print_bytes(size));
        section.wrong(name, cx.out, what, "it may be up to 1 MB; on Ethernet it is below 100 B");
        return Bytes(0);
    }
    size
}

fn read_buffer(
    section: &Section<'_>,
    max_packet: Option<Bytes>,
    cx: &mut Context<'_, '_>,
) -> Option<Buffer> {
    let total = section.size("total", cx.out)?;
    let least = max_packet.unwrap_or(Bytes(0));
    let usual = Bytes(total.0 / 2).max(least).min(total);
    let best_effort = section.size("best_effort", cx.out).unwrap_or(usual);
    for (name, size) in [("total", total), ("best_effort", best_effort)] {
        if size < least && section.has(name) {
            let (size, least) = (print_bytes(size), print_bytes(least));
            let what = format!("a buffer of {size} does not hold one packet of {least}");
            section.wrong(name, cx.out, what, "raise it, or lower `link.max_packet`");
        }
    }
    if best_effort > total {
        let (part, whole) = (print_bytes(best_effort), print_bytes(total));
        let what = format!("a best-effort limit of {part} exceeds the buffer of {whole}");
        section.wrong("best_effort", cx.out, what, "lower it, or raise `total`");
    }
    Some(Buffer { total, best_effort })
}
