//! The interface of the line: the default route's, from the tables in `/proc/net`, and its header.

use laxity_core::Bytes;

/// Header of an Ethernet frame without its check sequence.
const ETHERNET: Bytes = Bytes(14);
/// `IFNAMSIZ` of Linux without the final zero.
const LONGEST_NAME: usize = 15;

/// `RTF_UP` of routes.
const UP: u32 = 0x1;
/// `RTF_REJECT` of routes.
const REJECT: u32 = 0x200;

/// The interface of the default route with the least metric, IPv4 before IPv6, from the contents of
/// `/proc/net/route` and `/proc/net/ipv6_route`.
pub fn default_route(ipv4: &str, ipv6: &str) -> Option<String> {
    let route = ipv4.lines().filter_map(ipv4_route).min_by_key(|(metric, _)| *metric);
    let ipv6 = || ipv6.lines().filter_map(ipv6_route).min_by_key(|(metric, _)| *metric);
    let route = route.or_else(ipv6);
    route.map(|(_, device)| device.to_owned()).filter(|device| is_name(device))
}

/// Columns: interface, destination, gateway, flags, references, use, metric, mask.
fn ipv4_route(line: &str) -> Option<(u32, &str)> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [device, "00000000", _, flags, _, _, metric, "00000000", ..] = columns[..] else {
        return None;
    };
    let flags = u32::from_str_radix(flags, 16).ok()?;
    (flags & (UP | REJECT) == UP).then_some((metric.parse().ok()?, device))
}

/// Columns: destination, its length, source, its length, gateway, metric, references, use, flags,
/// interface.
fn ipv6_route(line: &str) -> Option<(u32, &str)> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [to, "00", _, _, _, metric, _, _, flags, device] = columns[..] else { return None };
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let default = to.bytes().all(|digit| digit == b'0') && device != "lo";
    let metric = u32::from_str_radix(metric, 16).ok()?;
    (default && flags & (UP | REJECT) == UP).then_some((metric, device))
}

/// Whether Linux takes this as the name of an interface.
pub fn is_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_graphic() && !['/', ':'].contains(&c);
    (1..=LONGEST_NAME).contains(&text.len())
        && !text.starts_with(['-', '.'])
        && text.chars().all(good)
}

/// The link-layer header in the packets of an interface, from the contents of its `type` in
/// `/sys/class/net`: 14 B for Ethernet (`ARPHRD_ETHER`), none for PPP, tunnels and modems. Ethernet
/// where the interface is not of this machine.
pub fn header(link_type: Option<&str>) -> Bytes {
    match link_type.map(str::trim) {
        None | Some("1") => ETHERNET,
        Some(_) => Bytes(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPV4: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
        wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
        eth1\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        eth2\t00000000\t00000000\t0201\t0\t0\t1\t00000000\t0\t0\t0\n\
        eth3\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
    const IPV6: &str = "\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
        fe800000000000000000000000000001 00000400 00000001 00000000 00000003 ppp0\n\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
        00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n";

    // Fails when a route that rejects, one with a worse metric or one of a subnet is chosen: tried
    // without the test for the mask and without the one for RTF_REJECT.
    #[test]
    fn the_default_route_with_the_least_metric_is_chosen() {
        assert_eq!(default_route(IPV4, IPV6).as_deref(), Some("eth1"));
        assert_eq!(default_route("", IPV6).as_deref(), Some("ppp0"));
        let rejecting = IPV6.lines().nth(1).unwrap();
        assert_eq!(default_route("garbage\n\u{0}\n", rejecting), None);
        assert_eq!(default_route("", ""), None);
    }

    // Fails when a name that is a path or an option is accepted.
    #[test]
    fn names_and_headers() {
        assert!(["eth0", "ppp0", "wan.7", "enp0s31f6"].into_iter().all(is_name));
        let wrong = ["", ".", "..", "-o", "a/b", "a b", "a:1", "sixteencharacter", "\u{e9}th0"];
        assert!(!wrong.into_iter().any(is_name));
        assert_eq!((header(Some("1\n")), header(None)), (Bytes(14), Bytes(14)));
        assert_eq!((header(Some("512\n")), header(Some("65534\n"))), (Bytes(0), Bytes(0)));
    }
}
