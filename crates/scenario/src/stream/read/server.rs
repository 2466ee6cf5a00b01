//! `[server]` and the limits on queues.

use laxity_core::Bytes;

use crate::problem::Problems;
use crate::quantity::print_bytes;
use crate::read::Context;
use crate::read::values;
use crate::read::walk::Section;
use crate::stream::model::{MAX_PAYLOAD, Pace, QueueLimit, Server};

pub(super) fn read(section: &Section<'_>, cx: &mut Context<'_, '_>) -> Option<Server> {
    let pace = pace(section, cx.out);
    let overhead = section.size("overhead", cx.out).unwrap_or(Bytes(0));
    if overhead > MAX_PAYLOAD {
        let what = format!("{} for each packet is too much", print_bytes(overhead));
        let remedy = "headers of RTP, UDP, IP and Ethernet are below 200 B together";
        section.wrong("overhead", cx.out, what, remedy);
    }
    let sockets = values::whole(section, "sockets", cx.out).unwrap_or(1);
    let buffer = buffer(section, cx.out).unwrap_or_default();
    Some(Server { pace: pace?, overhead, sockets: sockets as u16, buffer })
}

fn pace(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Pace> {
    match (section.has("rate"), section.has("service")) {
        (true, false) => section.positive_rate("rate", out).map(Pace::Rate),
        (false, true) => section.positive_time("service", out).map(Pace::Service),
        (true, true) => {
            let what = "`service` and `rate` exclude each other";
            section.wrong("service", out, what, "remove `rate` or `service`");
            None
        }
        (false, false) if section.misspelt("rate") || section.misspelt("service") => None,
        (false, false) => {
            let remedy = "add rate = \"1 Gbit/s\", or service = \"10 us\" for a time per packet";
            let path = section.key_path("rate");
            out.structure(section.span.clone(), &path, "`rate` is missing", remedy);
            None
        }
    }
}

/// The limit on a stream's queue, where one is given.
pub(super) fn buffer(section: &Section<'_>, out: &mut Problems<'_>) -> Option<QueueLimit> {
    let section = section.table("buffer", out)?;
    let packets = values::whole(&section, "packets", out);
    Some(QueueLimit {
        packets: packets.unwrap_or(QueueLimit::default().packets),
        bytes: section.positive_size("bytes", out),
    })
}
