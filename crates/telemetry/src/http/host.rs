//! The host that a request names.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::live::Fields;

/// Why the host of a request is refused.
pub(super) enum Host {
    Missing,
    Foreign,
}

/// Whether a request names a host of the loopback. The name of another site that resolves to this
/// machine would let that site's scripts read the pages in a browser on this machine.
pub(super) fn host(fields: &Fields<'_>, version: &str) -> Result<(), Host> {
    let mut hosts = fields.all("host");
    match (hosts.next(), hosts.next()) {
        (None, _) if version == "HTTP/1.0" => Ok(()),
        (None, _) | (Some(_), Some(_)) => Err(Host::Missing),
        (Some(host), None) if is_loopback(host) => Ok(()),
        (Some(_), None) => Err(Host::Foreign),
    }
}

pub(super) fn is_loopback(host: &str) -> bool {
    // A port may be another than ours where it is forwarded.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
                return false;
            }
            name
        }
        _ => host,
    };
    let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match v6 {
        Some(v6) => v6.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback()),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        }
    }
}
