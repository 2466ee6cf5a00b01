//! Cost of a byte for each best-effort class.

use laxity_link::buffer::FlowLimit;
use laxity_link::config::{FairQueue, LinkConfig};

use super::Notice;
use super::queues::Queues;
use crate::layout::link::{LX_SCFQ, LX_WF2Q_PLUS, lx_limit, lx_share, lx_shares};

/// Costs stay below this, so that tags of some hundred packets stay below 2^62.
const LARGEST_SCALE: u64 = 1 << 40;

#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// Cost and weight of each class.
    classes: Vec<(u64, u64)>,
    common: u64,
    kind: u32,
}

impl Shares {
    pub(super) fn new(link: &LinkConfig, notices: &mut Vec<Notice>) -> Shares {
        let weights: Vec<u64> = link.best_effort.iter().map(|c| c.weight.0.max(1).into()).collect();
        let divisor = weights.iter().fold(0, |d, w| gcd(d, *w)).max(1);
        let weights: Vec<u64> = weights.iter().map(|w| w / divisor).collect();
        let sum = weights.iter().sum::<u64>().max(1);
        let multiple =
            weights.iter().copied().chain([sum]).try_fold(1u64, |m, w| {
                (m / gcd(m, w)).checked_mul(w).filter(|m| *m <= LARGEST_SCALE)
            });
        let scale = multiple.unwrap_or(LARGEST_SCALE);
        if multiple.is_none() && weights.len() > 1 {
            let parts = LARGEST_SCALE / sum;
            notices.push(Notice::RoundedShares { parts });
        }
        if link.fair_queue == FairQueue::Wfq && weights.len() > 1 {
            notices.push(Notice::Wf2qPlusForWfq);
        }
        let kind = if link.fair_queue == FairQueue::Scfq { LX_SCFQ } else { LX_WF2Q_PLUS };
        let classes = weights.iter().map(|w| (scale / w, *w)).collect();
        Shares { classes, common: scale / sum, kind: kind as u32 }
    }

    /// Writes a `struct lx_shares`.
    pub(super) fn write(&self, place: &mut [u8], queues: &Queues) {
        let places = lx_shares::CLASS.elements(place, lx_share::SIZEOF);
        for (k, ((cost, weight), place)) in self.classes.iter().zip(places).enumerate() {
            queues.best_effort[k].write(lx_share::LIMIT.of_mut(place));
            lx_share::COST.set_u64(place, *cost);
            lx_share::WEIGHT.set_u64(place, *weight);
        }
        let classes = self.classes.len();
        lx_shares::COMMON.set_u64(place, self.common);
        lx_shares::KIND.set_u32(place, self.kind);
        lx_shares::NR_CLASSES.set_u32(place, classes as u32);
        lx_shares::SIZE.set_u32(place, classes.next_power_of_two() as u32);
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `struct lx_limit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(pub(super) FlowLimit);

impl Limit {
    pub(super) fn reserved_packets(&self) -> u64 {
        self.0.reserved.0 / self.0.smallest.0.max(1)
    }

    pub(super) fn write(&self, place: &mut [u8]) {
        lx_limit::LIMIT.set_u64(place, self.0.limit.map_or(u64::MAX, |b| b.0));
        lx_limit::RESERVED.set_u64(place, self.0.reserved.0);
        lx_limit::RESERVED_PACKETS.set_u64(place, self.reserved_packets());
        lx_limit::SMALLEST.set_u64(place, self.0.smallest.0.max(1));
    }
}
