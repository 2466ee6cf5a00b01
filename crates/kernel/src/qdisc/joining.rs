//! Features of interfaces that join packets, by the family `ethtool` of generic netlink: a link takes
//! packets as they come over the wire.

use std::io;

use super::netlink::{ACK, Netlink, attribute, attributes};

/// The features, by their names in `ethtool -k`.
pub(super) const JOINING: [&str; 5] =
    ["rx-gro", "rx-gro-hw", "rx-gro-list", "rx-lro", "rx-udp-gro-forwarding"];

/// `GENL_ID_CTRL`, and how a family is looked up with it.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `ETHTOOL_MSG_FEATURES_GET` and `_SET`.
const GET_FEATURES: u8 = 11;
const SET_FEATURES: u8 = 12;
/// Of both, and of the answer.
const HEADER: u16 = 1;
const DEVICE_INDEX: u16 = 1;
const WANTED: u16 = 3;
/// Bit sets.
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// `struct genlmsghdr`.
const GENERIC_HEADER: usize = 4;

/// The kernel's interface to features of interfaces.
#[derive(Debug)]
pub(super) struct Features {
    netlink: Netlink,
    family: u16,
}

impl Features {
    /// Fails with `NotFound` on a kernel without it.
    pub(super) fn open() -> io::Result<Features> {
        let mut netlink = Netlink::generic()?;
        let mut body = vec![GET_FAMILY, 1, 0, 0];
        attribute(&mut body, FAMILY_NAME, b"ethtool\0");
        let mut family = None;
        netlink.ask(CONTROL, ACK, &body, |_, body| {
            let mut found = attributes(body.get(GENERIC_HEADER..).unwrap_or_default());
            let id = found.find(|(id, _)| *id == FAMILY_ID).and_then(|(_, v)| v.try_into().ok());
            family = family.or(id.map(u16::from_ne_bytes));
        })?;
        let family = family.ok_or(io::ErrorKind::NotFound)?;
        Ok(Features { netlink, family })
    }

    /// The features of [`JOINING`] that are wanted on an interface.
    pub(super) fn joining(&mut self, index: u32) -> io::Result<Vec<&'static str>> {
        let mut wanted = Vec::new();
        self.netlink.ask(self.family, ACK, &request(GET_FEATURES, index), |_, body| {
            let all = attributes(body.get(GENERIC_HEADER..).unwrap_or_default());
            for (_, set) in all.filter(|(id, _)| *id == WANTED) {
                for (_, bits) in attributes(set).filter(|(id, _)| *id == BITS) {
                    for (_, bit) in attributes(bits) {
                        let name = attributes(bit).find(|(id, _)| *id == BIT_NAME);
                        let name = name.and_then(|(_, v)| v.strip_suffix(&[0]));
                        wanted.extend(JOINING.iter().find(|j| Some(j.as_bytes()) == name));
                    }
                }
            }
        })?;
        Ok(wanted)
    }

    /// Switches features of an interface on or off.
    pub(super) fn set(&mut self, index: u32, names: &[&str], on: bool) -> io::Result<()> {
        let mut bits = Vec::new();
        for name in names {
            let mut bit = Vec::new();
            attribute(&mut bit, BIT_NAME, &[name.as_bytes(), &[0]].concat());
            if on {
                attribute(&mut bit, BIT_VALUE, &[]);
            }
            attribute(&mut bits, BIT | NESTED, &bit);
        }
        let mut set = Vec::new();
        attribute(&mut set, BITS | NESTED, &bits);
        let mut body = request(SET_FEATURES, index);
        attribute(&mut body, WANTED | NESTED, &set);
        self.netlink.ask(self.family, ACK, &body, |_, _| ())
    }
}

/// `NLA_F_NESTED`, which this family requires.
const NESTED: u16 = 0x8000;

fn request(command: u8, index: u32) -> Vec<u8> {
    let mut header = Vec::new();
    attribute(&mut header, DEVICE_INDEX, &index.to_ne_bytes());
    let mut body = vec![command, 1, 0, 0];
    attribute(&mut body, HEADER | NESTED, &header);
    body
}
