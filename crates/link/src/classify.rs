//! Classification: a packet belongs to the flow of the first matching rule, in file order.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;

use laxity_core::FlowId;

/// Fields of a packet by which rules match; fields absent from its headers are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Differentiated services code point.
    pub dscp: Option<u8>,
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Source address.
    pub src: Option<IpAddr>,
    /// Destination address.
    pub dst: Option<IpAddr>,
    /// Source port.
    pub sport: Option<u16>,
    /// Destination port.
    pub dport: Option<u16>,
    /// Firewall mark.
    pub mark: Option<u32>,
    /// Socket priority, or VLAN priority code point in captures.
    pub priority: Option<u32>,
}

/// Conditions that must all hold; an absent condition always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Code point.
    pub dscp: Option<u8>,
    /// Protocol number.
    pub protocol: Option<u8>,
    /// Source address and how many of its leading bits count.
    pub src: Option<(IpAddr, u8)>,
    /// Destination address and how many of its leading bits count.
    pub dst: Option<(IpAddr, u8)>,
    /// Source ports, both ends included.
    pub sport: Option<(u16, u16)>,
    /// Destination ports, both ends included.
    pub dport: Option<(u16, u16)>,
    /// Firewall mark.
    pub mark: Option<u32>,
    /// Priority.
    pub priority: Option<u32>,
}

impl Rule {
    /// Whether a packet matches. A condition on a field that the packet lacks fails.
    pub fn matches(&self, key: &Key) -> bool {
        fn same<T: PartialEq>(want: Option<T>, have: Option<T>) -> bool {
            want.is_none() || want == have
        }
        let port = |want: Option<(u16, u16)>, have: Option<u16>| {
            want.is_none_or(|(a, b)| have.is_some_and(|p| (a..=b).contains(&p)))
        };
        let address = |want: Option<(IpAddr, u8)>, have: Option<IpAddr>| {
            want.is_none_or(|(prefix, bits)| have.is_some_and(|a| in_prefix(a, prefix, bits)))
        };
        same(self.dscp, key.dscp)
            && same(self.protocol, key.protocol)
            && same(self.mark, key.mark)
            && same(self.priority, key.priority)
            && port(self.sport, key.sport)
            && port(self.dport, key.dport)
            && address(self.src, key.src)
            && address(self.dst, key.dst)
    }
}

/// Whether an address lies in a prefix of its family.
fn in_prefix(address: IpAddr, prefix: IpAddr, bits: u8) -> bool {
    let leading = |a: u128, b: u128, width: u32| {
        let bits = u32::from(bits).min(width);
        (a ^ b).checked_shr(width - bits).unwrap_or(0) == 0
    };
    match (address, prefix) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            leading(u128::from(u32::from(a)), u128::from(u32::from(b)), 32)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => leading(u128::from(a), u128::from(b), 128),
        _ => false,
    }
}

/// Rules of all flows in file order, and the default flow.
#[derive(Clone, Debug)]
pub struct Classifier {
    rules: Box<[(Rule, FlowId)]>,
    other: FlowId,
}

impl Classifier {
    /// A classifier; `other` takes packets that match no rule, flows without a rule take none.
    pub fn new(rules: Vec<(Rule, FlowId)>, other: FlowId) -> Classifier {
        Classifier { rules: rules.into_boxed_slice(), other }
    }

    /// The flow of a packet.
    pub fn classify(&self, key: &Key) -> FlowId {
        let first = self.rules.iter().find(|(rule, _)| rule.matches(key));
        first.map_or(self.other, |(_, flow)| *flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_rule_wins() {
        let voice = Rule { dscp: Some(46), ..Rule::default() };
        let web = Rule { protocol: Some(6), dport: Some((80, 443)), ..Rule::default() };
        let c = Classifier::new(alloc::vec![(voice, FlowId(0)), (web, FlowId(1))], FlowId(2));
        let key = Key { dscp: Some(46), protocol: Some(6), dport: Some(80), ..Key::default() };
        assert_eq!(c.classify(&key), FlowId(0));
        assert_eq!(c.classify(&Key { dscp: Some(0), ..key }), FlowId(1));
        assert_eq!(c.classify(&Key { dscp: None, dport: Some(444), ..key }), FlowId(2));
        assert_eq!(c.classify(&Key::default()), FlowId(2));
    }

    #[test]
    fn prefixes_of_both_families() {
        let ip = |s: &str| s.parse::<IpAddr>().unwrap();
        assert!(in_prefix(ip("10.1.2.3"), ip("10.1.0.0"), 16));
        assert!(!in_prefix(ip("10.2.2.3"), ip("10.1.0.0"), 16));
        assert!(in_prefix(ip("10.2.2.3"), ip("0.0.0.0"), 0));
        assert!(in_prefix(ip("fd00::1"), ip("fd00::"), 64));
        assert!(!in_prefix(ip("fd00::1"), ip("fd00::2"), 128));
        assert!(!in_prefix(ip("10.0.0.1"), ip("::"), 0));
    }
}
