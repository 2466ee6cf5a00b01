//! Names of code points and protocols, and helpers for addresses.

use std::net::IpAddr;

/// Differentiated services code points by name (RFC 2474, 2597, 3246, 5865, 8622).
const DSCP: &[(&str, u8)] = &[
    ("EF", 46),
    ("VA", 44),
    ("LE", 1),
    ("BE", 0),
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
];

/// IP protocols by name.
const PROTOCOLS: &[(&str, u8)] =
    &[("udp", 17), ("tcp", 6), ("icmp", 1), ("icmpv6", 58), ("sctp", 132)];

const DSCP_NAMES: [&str; DSCP.len()] = names(DSCP);
const PROTOCOL_NAMES: [&str; PROTOCOLS.len()] = names(PROTOCOLS);

const fn names<const N: usize>(table: &[(&'static str, u8)]) -> [&'static str; N] {
    let mut out = [""; N];
    let mut i = 0;
    while i < N {
        out[i] = table[i].0;
        i += 1;
    }
    out
}

fn by_name(table: &[(&str, u8)], name: &str) -> Option<u8> {
    table.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, code)| *code)
}

/// A code point by its name, in any case.
pub fn dscp(name: &str) -> Option<u8> {
    by_name(DSCP, name)
}

/// The name of a code point, if it has one.
pub fn dscp_name(code: u8) -> Option<&'static str> {
    DSCP.iter().find(|(_, c)| *c == code).map(|(n, _)| *n)
}

/// An IP protocol by its name, in any case.
pub fn protocol(name: &str) -> Option<u8> {
    by_name(PROTOCOLS, name)
}

/// The name of an IP protocol, or its number.
pub fn protocol_name(code: u8) -> String {
    let name = PROTOCOLS.iter().find(|(_, c)| *c == code).map(|(n, _)| (*n).to_owned());
    name.unwrap_or_else(|| code.to_string())
}

/// The names that a key of `match` accepts.
pub(crate) fn of(key: &str) -> &'static [&'static str] {
    match key {
        "dscp" => &DSCP_NAMES,
        "protocol" => &PROTOCOL_NAMES,
        _ => &[],
    }
}

/// Whether packets of a protocol have ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
pub(crate) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

/// An address with all but its leading bits cleared.
pub(crate) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(a) => {
            let keep = 32u32.saturating_sub(bits.into());
            IpAddr::from(
                (u32::from(a).checked_shr(keep).unwrap_or(0).checked_shl(keep))
                    .unwrap_or(0)
                    .to_be_bytes(),
            )
        }
        IpAddr::V6(a) => {
            let keep = 128u32.saturating_sub(bits.into());
            IpAddr::from(
                (u128::from(a).checked_shr(keep).unwrap_or(0).checked_shl(keep))
                    .unwrap_or(0)
                    .to_be_bytes(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_follow_their_patterns() {
        for class in 0..8u8 {
            assert_eq!(dscp(&format!("cs{class}")), Some(class * 8));
        }
        for class in 1..5u8 {
            for drop in 1..4u8 {
                assert_eq!(dscp(&format!("AF{class}{drop}")), Some(class * 8 + drop * 2));
            }
        }
        assert_eq!(
            (dscp("EF"), dscp("VA"), dscp("LE"), dscp("BE")),
            (Some(46), Some(44), Some(1), Some(0))
        );
        for (name, code) in DSCP.iter().filter(|(n, _)| *n != "CS0") {
            assert_eq!(dscp_name(*code), Some(*name));
        }
        assert_eq!((protocol("UDP"), protocol("igmp")), (Some(17), None));
    }

    #[test]
    fn only_leading_bits_are_kept() {
        let a = |s: &str| s.parse::<IpAddr>().unwrap();
        assert_eq!(masked(a("10.1.2.3"), 8), a("10.0.0.0"));
        assert_eq!(masked(a("10.1.2.3"), 0), a("0.0.0.0"));
        assert_eq!(masked(a("10.1.2.3"), 32), a("10.1.2.3"));
        assert_eq!(masked(a("2001:db8::1"), 32), a("2001:db8::"));
        assert_eq!(masked(a("ffff::1"), 0), a("::"));
    }
}
