//! Explicit congestion notification (RFC 3168), with marks that are owed.
//!
//! A queueing discipline in BPF cannot write to packets, so what marks them stands at the entry of
//! the queue, after the AQM has decided about an earlier packet. The policies follow the same rule,
//! so that simulation and kernel mark alike: where an AQM would mark the packet that leaves, its
//! queue **owes** a mark, and the next ECN-capable packet that enters the queue is marked. The
//! signal then leaves later, by the time for which that packet waits. Marks that are owed
//! never exceed the packets of the queue, and are forgotten when it is empty. The low-latency queue
//! of RFC 9332, which is rarely longer than a packet, may owe eight more.

/// The two bits of the ECN field (RFC 3168, section 5), by their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECT(1): a scalable congestion control (RFC 9331).
    Ect1 = 1,
    /// ECT(0): a classic congestion control.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// From the traffic class or TOS byte of an IP header.
    #[inline]
    pub const fn of_traffic_class(byte: u8) -> Ecn {
        match byte & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a mark takes the place of a drop: ECN-capable, or marked already.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// Whether it belongs in the low-latency queue (RFC 9331, section 5.1): ECT(1) and CE.
    #[inline]
    pub const fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    // Fails when ECT(0) and ECT(1) are exchanged, or the DSCP is not masked.
    #[test]
    fn codepoints_are_those_of_the_header() {
        for byte in 0..=255u8 {
            assert_eq!(Ecn::of_traffic_class(byte) as u8, byte & 3);
        }
        assert!(Ecn::Ect1.is_l4s() && Ecn::Ce.is_l4s() && !Ecn::Ect0.is_l4s());
        assert!(!Ecn::NotEct.is_capable() && Ecn::Ect0.is_capable());
    }
}
