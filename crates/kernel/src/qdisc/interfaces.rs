//! Requests of the ingress direction (rtnetlink(7)): interfaces, ifb devices, and the filter that
//! redirects to one.

use std::io;

use super::netlink::{
    ACK, CREATE, DEL_QDISC, DUMP, EXCLUSIVE, GET_FILTER, GET_LINK, GET_QDISC, KIND, LINK_HEADER,
    NEW_FILTER, NEW_LINK, NEW_QDISC, Netlink, OPTIONS, QDISC_HEADER, attribute, attributes, link,
    qdisc, u32_at,
};

const DEL_LINK: u16 = 17;
const DEL_FILTER: u16 = 45;

/// Attributes of interfaces.
const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const LOWER: u16 = 5;
const MASTER: u16 = 10;
const LINK_INFO: u16 = 18;
const LOWER_NAMESPACE: u16 = 37;
/// Within [`LINK_INFO`].
const INFO_KIND: u16 = 1;

/// `IFF_UP`.
const UP: u32 = 1;

/// The parent of `clsact` and `ingress`, and their handle.
const CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
/// The parents of filters at ingress and at egress.
const AT_INGRESS: u32 = 0xffff_fff2;
const AT_EGRESS: u32 = 0xffff_fff3;

/// The last place among filters, behind those of others.
pub(super) const PREFERENCE: u32 = 0xffff;
/// Handle of the filter, by which it is recognised.
const FILTER_HANDLE: u32 = 0x1ac5;
/// `ETH_P_ALL` in network order.
const ALL_PROTOCOLS: u32 = 0x0003_u16.to_be() as u32;

/// Attributes of a matchall filter and of its action.
const MATCHALL_ACTIONS: u16 = 2;
const MATCHALL_FLAGS: u16 = 3;
/// `TCA_CLS_FLAGS_SKIP_HW`: an interface must not redirect by itself.
const SKIP_HARDWARE: u32 = 1;
const MIRRED_PARAMETERS: u16 = 2;
/// `TC_ACT_STOLEN`, `TCA_EGRESS_REDIR`.
const STOLEN: u32 = 4;
const REDIRECT: u32 = 1;

/// An interface of this network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) address: Vec<u8>,
    /// Such as `ifb` or `vlan`; empty for hardware.
    pub(super) kind: String,
    /// The interface below a VLAN and the like, in this namespace.
    pub(super) lower: Option<u32>,
    /// The bridge or bond of which it is a port.
    pub(super) master: Option<u32>,
}

impl Interface {
    fn read(body: &[u8]) -> Interface {
        let mut interface = Interface { index: u32_at(body, 4), ..Interface::default() };
        let mut elsewhere = false;
        for (id, value) in attributes(&body[LINK_HEADER..]) {
            match id {
                ADDRESS => interface.address = value.to_vec(),
                NAME => interface.name = text(value),
                LOWER => interface.lower = Some(u32_at(value, 0)),
                MASTER => interface.master = Some(u32_at(value, 0)),
                LOWER_NAMESPACE => elsewhere = true,
                LINK_INFO => {
                    let kind = attributes(value).find(|(id, _)| *id == INFO_KIND);
                    interface.kind = kind.map(|(_, value)| text(value)).unwrap_or_default();
                }
                _ => {}
            }
        }
        let own = interface.index;
        // Tunnels name interface 0.
        let lower = interface.lower.filter(|lower| ![0, own].contains(lower) && !elsewhere);
        interface.lower = lower;
        interface
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned()
}

impl Netlink {
    pub(super) fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        let mut interfaces = Vec::new();
        self.ask(GET_LINK, DUMP, &link(0), |kind, body| {
            if kind == NEW_LINK && body.len() >= LINK_HEADER {
                interfaces.push(Interface::read(body));
            }
        })?;
        Ok(interfaces)
    }

    /// Creates an ifb device with an address; an error if an interface has the name.
    pub(super) fn add_ifb(&mut self, name: &str, address: &[u8]) -> io::Result<()> {
        let mut body = link(0);
        attribute(&mut body, NAME, &[name.as_bytes(), &[0]].concat());
        attribute(&mut body, ADDRESS, address);
        let mut info = Vec::new();
        attribute(&mut info, INFO_KIND, b"ifb\0");
        attribute(&mut body, LINK_INFO, &info);
        self.ask(NEW_LINK, ACK | CREATE | EXCLUSIVE, &body, |_, _| ())
    }

    pub(super) fn set_up(&mut self, index: u32) -> io::Result<()> {
        // Flags, and which of them change.
        let body = [0, index, UP, UP].map(u32::to_ne_bytes).concat();
        self.ask(NEW_LINK, ACK, &body, |_, _| ())
    }

    pub(super) fn delete_interface(&mut self, index: u32) -> io::Result<()> {
        self.ask(DEL_LINK, ACK, &link(index), |_, _| ())
    }

    /// Whether an interface has `clsact` or `ingress`, which hold filters of packets that come in.
    pub(super) fn has_clsact(&mut self, index: u32) -> io::Result<bool> {
        let mut found = false;
        self.ask(GET_QDISC, DUMP, &qdisc(index, 0, 0), |kind, body| {
            let here = body.len() >= QDISC_HEADER && u32_at(body, 4) == index;
            found |= kind == NEW_QDISC && here && u32_at(body, 12) == CLSACT;
        })?;
        Ok(found)
    }

    pub(super) fn add_clsact(&mut self, index: u32) -> io::Result<()> {
        let mut body = qdisc(index, CLSACT_HANDLE, CLSACT);
        attribute(&mut body, KIND, b"clsact\0");
        self.ask(NEW_QDISC, ACK | CREATE | EXCLUSIVE, &body, |_, _| ())
    }

    /// Removes `clsact` unless filters are left in it.
    pub(super) fn delete_empty_clsact(&mut self, index: u32) -> io::Result<()> {
        let mut filters = false;
        for parent in [AT_INGRESS, AT_EGRESS] {
            self.ask(GET_FILTER, DUMP, &qdisc(index, 0, parent), |kind, _| {
                filters |= kind == NEW_FILTER;
            })?;
        }
        if filters || !self.has_clsact(index)? {
            return Ok(());
        }
        self.ask(DEL_QDISC, ACK, &qdisc(index, CLSACT_HANDLE, CLSACT), |_, _| ())
    }

    /// Whether an interface has filters of packets that come in, and whether it has ours.
    pub(super) fn ingress_filters(&mut self, index: u32) -> io::Result<(bool, bool)> {
        let (mut others, mut ours) = (false, false);
        self.ask(GET_FILTER, DUMP, &qdisc(index, 0, AT_INGRESS), |kind, body| {
            if kind != NEW_FILTER || body.len() < QDISC_HEADER {
                return;
            }
            // The kernel lists each place, and then its filters.
            match (u32_at(body, 16) >> 16, u32_at(body, 8)) {
                (PREFERENCE, FILTER_HANDLE) => ours = true,
                (PREFERENCE, 0) => {}
                _ => others = true,
            }
        })?;
        Ok((others, ours))
    }

    /// Redirects what comes in by an interface to another one's egress, behind all other filters.
    pub(super) fn add_redirect(&mut self, index: u32, to: u32) -> io::Result<()> {
        self.ask(NEW_FILTER, ACK | CREATE | EXCLUSIVE, &redirect(index, Some(to)), |_, _| ())
    }

    pub(super) fn delete_redirect(&mut self, index: u32) -> io::Result<()> {
        self.ask(DEL_FILTER, ACK, &redirect(index, None), |_, _| ())
    }
}

/// `struct tcmsg` of the filter, with its action if it is created.
fn redirect(index: u32, to: Option<u32>) -> Vec<u8> {
    let place = PREFERENCE << 16 | ALL_PROTOCOLS;
    let mut body = [0, index, FILTER_HANDLE, AT_INGRESS, place].map(u32::to_ne_bytes).concat();
    attribute(&mut body, KIND, b"matchall\0");
    let Some(to) = to else { return body };
    // `struct tc_mirred`: index, capabilities, action, two counts, what it does, interface.
    let parameters = [0, 0, STOLEN, 0, 0, REDIRECT, to].map(u32::to_ne_bytes).concat();
    let nest = |id: u16, value: &[u8]| {
        let mut nest = Vec::new();
        attribute(&mut nest, id, value);
        nest
    };
    let mut action = nest(KIND, b"mirred\0");
    attribute(&mut action, OPTIONS, &nest(MIRRED_PARAMETERS, &parameters));
    // The first action.
    let mut options = nest(MATCHALL_ACTIONS, &nest(1, &action));
    attribute(&mut options, MATCHALL_FLAGS, &SKIP_HARDWARE.to_ne_bytes());
    attribute(&mut body, OPTIONS, &options);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a tunnel, which names interface 0, or a VLAN of another namespace has an interface below
    // it, tried without the look at 0: the kernel then has no features of such an interface.
    #[test]
    fn interfaces_below_are_those_of_this_namespace() {
        let read = |lower: u32, more: &[u16]| {
            let mut body = link(7);
            attribute(&mut body, NAME, b"wan\0");
            attribute(&mut body, LOWER, &lower.to_ne_bytes());
            more.iter().for_each(|id| attribute(&mut body, *id, &3u32.to_ne_bytes()));
            Interface::read(&body)
        };
        let vlan = read(3, &[MASTER]);
        assert_eq!((vlan.index, vlan.name.as_str()), (7, "wan"));
        assert_eq!((vlan.lower, vlan.master), (Some(3), Some(3)));
        for elsewhere in [read(0, &[]), read(7, &[]), read(3, &[LOWER_NAMESPACE])] {
            assert_eq!(elsewhere.lower, None, "{elsewhere:?}");
        }
    }
}
