//! The check that all promises together fit the capacity.

use alloc::vec::Vec;

use super::super::super::Servers;
use super::super::tail::{FULL_CPU, FineShare};
use super::{WORK_TOLERANCE, earlier};

/// Shorter steps, in ns, separate instants that differ by rounding only.
const SHORTEST: u64 = 200;

impl Servers {
    /// Asserts rule 2, the sum, from `from` on, in one pass over the steps of all promises, which may be hundreds.
    pub(super) fn assert_sum(&mut self, now: u64, from: u64) {
        let cpus = u128::from(self.cpus);
        // Shares in the ledger and limits are rounded to 2^-40.
        let excess_work = self.divided().minus(self.best_effort());
        let rows = &mut self.promises.rows;
        let count = rows.iter().flatten().count() as u128;
        let most = FULL_CPU * cpus + ((count + 2) << 17) + (u128::from(excess_work.0) << 16);
        // An excess is counted as work. A server that runs ahead returns bandwidth by its last period; as budgets
        // are whole, an earlier period may have had up to a nanosecond more, for which no server waits.
        let mut excess: u128 = 0;
        let mut at = Some(from);
        while let Some(t) = at {
            let (mut sum, mut greatest): (FineShare, FineShare) = (0, 0);
            at = None;
            for row in rows.iter_mut().flatten() {
                let (share, until) = row.promise.seek(&mut row.cursor, t);
                sum += share;
                greatest = greatest.max(share);
                at = earlier(at, until);
            }
            let above = (sum + greatest * (cpus - 1)).saturating_sub(most);
            let length = at.map_or(u64::MAX, |next| next - t);
            if length >= SHORTEST {
                excess = excess.saturating_add(above.saturating_mul(length.into()));
            }
            assert!(
                excess >> 56 < u128::from(WORK_TOLERANCE),
                "promises add up to {} per mille of {cpus} CPUs at {t}, now {now}: {:#?}",
                (sum + greatest * (cpus - 1)) * 1000 / FULL_CPU,
                rows.iter().flatten().map(|r| &r.promise).collect::<Vec<_>>()
            );
        }
        rows.iter_mut().flatten().for_each(|row| row.cursor = 0);
    }
}
