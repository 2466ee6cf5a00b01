//! Packets and frames built by hand.

/// An IPv4 packet: 10.1.2.3 to 192.0.2.9, DSCP 34, ECN 1, without checksum.
pub fn v4(protocol: u8, flags: u16, payload: &[u8]) -> Vec<u8> {
    v4_with(&[], protocol, flags, payload)
}

/// The same with options, in units of four bytes.
pub fn v4_with(options: &[u8], protocol: u8, flags: u16, payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let total = (header + payload.len()) as u16;
    let mut b = vec![0x40 | (header / 4) as u8, 34 << 2 | 1];
    b.extend(total.to_be_bytes());
    b.extend([0, 7]);
    b.extend(flags.to_be_bytes());
    b.extend([64, protocol, 0, 0, 10, 1, 2, 3, 192, 0, 2, 9]);
    b.extend_from_slice(options);
    b.extend_from_slice(payload);
    b
}

/// An IPv6 packet: 2001:db8::1 to 2001:db8::2, flow label 0xabcde, DSCP 46, ECN 2.
pub fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let tos: u8 = 46 << 2 | 2;
    let mut b = vec![0x60 | tos >> 4, tos << 4 | 0xa, 0xbc, 0xde];
    b.extend((payload.len() as u16).to_be_bytes());
    b.extend([next, 64]);
    for last in [1, 2] {
        b.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    b.extend_from_slice(payload);
    b
}

/// An IPv6 extension header of 8 bytes and 8 bytes for each of `more`, before `payload`.
pub fn extension(next: u8, more: u8, payload: &[u8]) -> Vec<u8> {
    let mut b = vec![next, more];
    b.resize(8 + 8 * usize::from(more), 0x11);
    b.extend_from_slice(payload);
    b
}

/// An IPv6 fragment header before `payload`.
pub fn fragment(next: u8, offset: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut b = vec![next, 0];
    b.extend((offset << 3 | u16::from(more)).to_be_bytes());
    b.extend([0, 0, 0, 9]);
    b.extend_from_slice(payload);
    b
}

/// An Ethernet frame: EtherTypes and tags, then the packet.
pub fn ethernet(kinds: &[u16], packet: &[u8]) -> Vec<u8> {
    let mut b = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for field in kinds {
        b.extend(field.to_be_bytes());
    }
    b.extend_from_slice(packet);
    b
}
