//! Filters that select what `match` selects.

use laxity_scenario::link::model::Match;

use super::PlanError;

/// The transport protocols whose ports a flower filter reads.
const WITH_PORTS: [(u8, &str); 3] = [(6, "tcp"), (17, "udp"), (132, "sctp")];

/// The selections of one `match`, each `protocol P` and what follows the number of the filter.
pub fn selections(flow: &str, m: &Match) -> Result<Vec<(&'static str, String)>, PlanError> {
    let fail = |why| PlanError::Match { flow: flow.to_owned(), why };
    let header = m.dscp.is_some()
        || m.protocol.is_some()
        || m.src.is_some()
        || m.dst.is_some()
        || m.sport.is_some()
        || m.dport.is_some();
    match (m.mark, m.priority, header) {
        (Some(0), ..) => {
            return Err(fail("mark 0 is that of all packets without one; use another"));
        }
        (Some(mark), None, false) => return Ok(vec![("all", format!("handle {mark:#x} fw"))]),
        (None, Some(priority), false) => {
            return Ok(vec![("all", format!("basic match 'meta(priority eq {priority})'"))]);
        }
        (None, None, true) => {}
        (None, None, false) => return Ok(vec![("all", "matchall".to_owned())]),
        _ => {
            let why = "no filter of tc has mark, priority and header fields together; select by one of them";
            return Err(fail(why));
        }
    }
    let ports = m.sport.is_some() || m.dport.is_some();
    let transports: Vec<Option<String>> = match (m.protocol, ports) {
        (None, false) => vec![None],
        (None, true) => WITH_PORTS.iter().map(|(_, name)| Some((*name).to_owned())).collect(),
        (Some(number), _) => {
            let named = WITH_PORTS.iter().find(|(n, _)| *n == number);
            if ports && named.is_none() {
                return Err(fail("ports are read for tcp, udp and sctp; name one of them"));
            }
            vec![Some(named.map_or_else(|| format!("{number:#x}"), |(_, n)| (*n).to_owned()))]
        }
    };
    let v4 = [m.src, m.dst].into_iter().flatten().map(|p| p.address.is_ipv4());
    let families: &[&str] = match v4.clone().next() {
        None => &["ip", "ipv6"],
        Some(true) => &["ip"],
        Some(false) => &["ipv6"],
    };
    if v4.clone().any(|own| Some(own) != v4.clone().next()) {
        return Err(fail("src and dst of different families match nothing; correct one"));
    }
    let mut out = Vec::new();
    for family in families {
        for transport in &transports {
            let mut text = "flower".to_owned();
            if let Some(transport) = transport {
                text += &format!(" ip_proto {transport}");
            }
            if let Some(dscp) = m.dscp {
                text += &format!(" ip_tos {:#x}/0xfc", u32::from(dscp) << 2);
            }
            for (key, prefix) in [("src_ip", m.src), ("dst_ip", m.dst)] {
                if let Some(p) = prefix {
                    text += &format!(" {key} {}/{}", p.address, p.bits);
                }
            }
            for (key, range) in [("src_port", m.sport), ("dst_port", m.dport)] {
                match range {
                    Some((low, high)) if low == high => text += &format!(" {key} {low}"),
                    Some((low, high)) => text += &format!(" {key} {low}-{high}"),
                    None => {}
                }
            }
            out.push((*family, text));
        }
    }
    Ok(out)
}
