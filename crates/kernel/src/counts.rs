//! Counters of the BPF programs for each flow and class.

use laxity_link::buffer::DropReason;

use crate::layout::Field;
use crate::layout::link::{LX_DELAY_SHIFT, LX_FLUSHED, LX_REASONS, lx_counts};

const SHIFT: u32 = LX_DELAY_SHIFT as u32;
const REASONS: usize = DropReason::ALL.len();
const _: () = assert!(REASONS as u64 == LX_FLUSHED && LX_FLUSHED < LX_REASONS);

/// Counts of one flow or class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, in packet lengths.
    pub bytes: u64,
    /// Real-time packets whose transmission ended after their deadline.
    pub deadline_misses: u64,
    /// Packets sent after demotion: real-time packets beyond their envelope, sent as best effort.
    pub demoted: u64,
    /// Sum of the delays of all but these, from arrival to the end of transmission, in ns.
    pub delay_sum: u64,
    /// The longest of them, in ns.
    pub delay_max: u64,
    /// Sum of the delays of demoted packets, which have no deadline, in ns.
    pub demoted_sum: u64,
    /// The longest of them, in ns.
    pub demoted_max: u64,
    /// Packets marked with "congestion experienced" as they arrived, for marks that an AQM owed.
    pub ecn_marks: u64,
    /// Packets dropped for each reason of [`DropReason::ALL`].
    pub dropped: [u64; REASONS],
    /// Packets flushed: the interface went down, or the discipline was removed.
    pub flushed: u64,
    /// Histogram of the delays of packets that were not demoted.
    delays: Vec<u64>,
}

impl Counts {
    /// Reads `struct lx_counts`; `None` when the bytes are too few.
    pub fn read(bytes: &[u8]) -> Option<Counts> {
        let bytes = bytes.get(..lx_counts::SIZEOF)?;
        let words = |field: Field| {
            let words = field.of(bytes).chunks_exact(8);
            words.map(|w| w.try_into().map_or(0, u64::from_ne_bytes)).collect::<Vec<u64>>()
        };
        let dropped = words(lx_counts::DROPPED);
        Some(Counts {
            packets: lx_counts::PACKETS.u64(bytes),
            bytes: lx_counts::BYTES.u64(bytes),
            deadline_misses: lx_counts::DEADLINE_MISSES.u64(bytes),
            demoted: lx_counts::DEMOTED.u64(bytes),
            delay_sum: lx_counts::DELAY_SUM.u64(bytes),
            delay_max: lx_counts::DELAY_MAX.u64(bytes),
            demoted_sum: lx_counts::DEMOTED_SUM.u64(bytes),
            demoted_max: lx_counts::DEMOTED_MAX.u64(bytes),
            ecn_marks: lx_counts::ECN_MARKS.u64(bytes),
            dropped: std::array::from_fn(|i| dropped[i]),
            flushed: dropped[LX_FLUSHED as usize],
            delays: words(lx_counts::DELAY),
        })
    }

    /// Packets dropped for any reason.
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum::<u64>() + self.flushed
    }

    /// The delay histogram, as pairs of a bucket's upper end in ns and its count.
    pub fn delays(&self) -> impl Iterator<Item = (u64, u64)> {
        self.delays.iter().enumerate().map(|(i, n)| (upper(i), *n)).filter(|(_, n)| *n > 0)
    }

    /// The least bound, in ns, that at least `per_mille / 1000` of the delays do not exceed; right
    /// to 25 %. `None` when nothing was sent but demoted packets.
    pub fn quantile(&self, per_mille: u32) -> Option<u64> {
        let all: u64 = self.delays.iter().sum();
        let rank = (u128::from(all) * u128::from(per_mille)).div_ceil(1000).max(1) as u64;
        let mut seen = 0;
        let bucket = self.delays.iter().position(|n| {
            seen += n;
            seen >= rank
        })?;
        Some(upper(bucket).min(self.delay_max))
    }
}

/// The longest delay that a bucket counts.
fn upper(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    let bound = if next <= 4 { next } else { (4 + next % 4) << (next / 4 - 1) };
    (bound << SHIFT) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::link::LX_DELAY_BUCKETS;

    #[test]
    fn buckets_adjoin_and_are_at_most_a_quarter_wide() {
        let mut below = 0;
        for bucket in 0..LX_DELAY_BUCKETS as usize {
            let bound = upper(bucket) + 1;
            assert!(bound > below && (bucket < 4 || (bound - below) * 4 <= below.max(1)));
            below = bound;
        }
        assert!(Counts::read(&[0; lx_counts::SIZEOF - 1]).is_none());
        assert_eq!(Counts::read(&[0; lx_counts::SIZEOF]).and_then(|c| c.quantile(500)), None);
    }
}
