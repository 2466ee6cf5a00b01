//! Proportional rate reduction: a window is reduced over a round trip, in proportion to what arrives
//! (RFC 6937).

/// One reduction.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// The window before. RFC 6937 takes what was in flight, which is the same while it is used.
    prior: u32,
    delivered: u32,
    out: u32,
}

impl Prr {
    pub fn new(prior: u32) -> Prr {
        Prr { prior: prior.max(1), delivered: 0, out: 0 }
    }

    /// A segment, new or again, leaves.
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// The window after an acknowledgement of `delivered` segments, with `pipe` in flight. `progress`:
    /// it acknowledged data and showed no further loss, so the slow-start bound holds, else the
    /// conservative one.
    pub fn window(&mut self, delivered: u32, pipe: u32, ssthresh: u32, progress: bool) -> u32 {
        self.delivered += delivered;
        let count = if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            (share.div_ceil(u64::from(self.prior)) as u32).saturating_sub(self.out)
        } else {
            let unsent = self.delivered.saturating_sub(self.out);
            let limit = if progress { unsent.max(delivered) + 1 } else { unsent };
            limit.min(ssthresh - pipe)
        };
        // The retransmission that opens a recovery is always sent.
        pipe + count.max(u32::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when the window does not shrink in proportion: 20 segments, the first lost, the other 19
    // reported one by one. Tried with `delivered` for the sum of them.
    #[test]
    fn a_single_loss_sends_a_segment_for_every_second_delivered() {
        let mut prr = Prr::new(20);
        let (mut pipe, mut sent) = (19, 0);
        for delivered in 1..=19u32 {
            pipe -= 1;
            let window = prr.window(1, pipe, 10, false);
            while pipe < window {
                prr.sent();
                pipe += 1;
                sent += 1;
            }
            assert!(pipe <= 10 || sent == delivered.div_ceil(2), "{sent} of {delivered}");
        }
        assert_eq!((pipe, sent), (10, 10));
    }

    // Fails when a burst of losses is answered by a burst: tried with `ssthresh - pipe` alone.
    #[test]
    fn heavy_loss_is_answered_packet_by_packet() {
        let mut prr = Prr::new(20);
        assert_eq!(prr.window(1, 4, 10, false), 5);
        prr.sent();
        assert_eq!(prr.window(1, 4, 10, false), 5);
        prr.sent();
        // With progress the window may grow as in slow start.
        assert_eq!(prr.window(1, 4, 10, true), 6);
    }
}
