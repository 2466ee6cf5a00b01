//! `match`

use std::net::IpAddr;

use crate::link::model::{Match, Prefix};
use crate::names;
use crate::problem::Problems;
use crate::read::values;
use crate::read::walk::{Section, shown};

pub(super) fn read(flow: &Section<'_>, out: &mut Problems<'_>) -> Option<Match> {
    let section = flow.table("match", out)?;
    let keys = ["dscp", "protocol", "src", "dst", "sport", "dport", "mark", "priority"];
    if !keys.iter().any(|k| section.has(k)) {
        let what = "an empty `match` would match every packet";
        let remedy = "name at least one field, such as dscp = \"EF\", or leave `match` out";
        flow.wrong("match", out, what, remedy);
        return None;
    }
    let matches = Match {
        dscp: code(&section, "dscp", 63, names::dscp, out),
        protocol: code(&section, "protocol", 255, names::protocol, out),
        src: prefix(&section, "src", out),
        dst: prefix(&section, "dst", out),
        sport: ports(&section, "sport", out),
        dport: ports(&section, "dport", out),
        mark: values::whole(&section, "mark", out),
        priority: values::whole(&section, "priority", out),
    };
    let ports = ["sport", "dport"].into_iter().find(|k| section.has(k));
    if let (Some(port), Some(protocol)) = (ports, matches.protocol) {
        if !names::has_ports(protocol) {
            let name = names::protocol_name(protocol);
            let what = format!("packets of protocol {name} have no ports");
            section.wrong(port, out, what, "remove the port, or match udp, tcp or sctp");
        }
    }
    Some(matches)
}

/// A number of eight bits that may have a name.
fn code(
    section: &Section<'_>,
    key: &str,
    most: u32,
    named: fn(&str) -> Option<u8>,
    out: &mut Problems<'_>,
) -> Option<u8> {
    let (_, value) = section.get(key)?;
    let Some(text) = value.get_ref().as_str() else {
        return values::number(section, key, (0, most), out).map(|n| n as u8);
    };
    let number = || text.parse::<u8>().ok().filter(|n| u32::from(*n) <= most);
    let found = named(text).or_else(number);
    if found.is_none() {
        let what = format!("unknown {key} \"{}\"", shown(text));
        let known = names::of(key);
        let remedy = match crate::keys::nearest(text, known.iter().copied()) {
            Some(near) => {
                format!("did you mean \"{near}\"? Numbers from 0 to {most} are also valid")
            }
            None => format!("write a number from 0 to {most} or one of {}", known.join(" ")),
        };
        section.wrong(key, out, what, remedy);
    }
    found
}

fn ports(section: &Section<'_>, key: &str, out: &mut Problems<'_>) -> Option<(u16, u16)> {
    let (_, value) = section.get(key)?;
    let Some(text) = value.get_ref().as_str() else {
        let number = values::number(section, key, (0, u16::MAX.into()), out);
        return number.map(|n| (n as u16, n as u16));
    };
    let number = |s: &str| s.trim().parse::<u16>().ok();
    let range = match text.split_once('-') {
        Some((least, most)) => number(least).zip(number(most)),
        None => number(text).map(|n| (n, n)),
    };
    match range {
        Some((least, most)) if least > most => {
            let what = format!("{least} is more than {most}");
            section.wrong(key, out, what, "a range is \"least-most\", both included");
            None
        }
        Some(range) => Some(range),
        None => {
            let what = format!("\"{}\" is not a port or a range of ports", shown(text));
            section.wrong(key, out, what, "write it like 5004 or \"5004-5010\", up to 65535");
            None
        }
    }
}

fn prefix(section: &Section<'_>, key: &str, out: &mut Problems<'_>) -> Option<Prefix> {
    let text = section.text(key, out)?;
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        let what = format!("\"{}\" is not an address", shown(text));
        let remedy = "write it like \"10.0.0.0/8\", \"192.0.2.7\" or \"2001:db8::/32\"";
        section.wrong(key, out, what, remedy);
        return None;
    };
    let most: u8 = if address.is_ipv4() { 32 } else { 128 };
    let bits = match length.map(|l| l.parse::<u8>().ok().filter(|n| *n <= most)) {
        None => most,
        Some(Some(bits)) => bits,
        Some(None) => {
            let what = format!("\"{}\" has no valid prefix length", shown(text));
            section.wrong(key, out, what, format!("write 0 to {most} after the slash"));
            return None;
        }
    };
    let masked = names::masked(address, bits);
    if masked != address {
        let what = format!("\"{}\" has bits set beyond the first {bits}", shown(text));
        section.wrong(key, out, what, format!("write \"{masked}/{bits}\", or \"{address}\""));
        return None;
    }
    Some(Prefix { address, bits })
}
