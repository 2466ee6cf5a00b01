//! All promises together are no more than there is.

use alloc::vec::Vec;

use super::super::super::Servers;
use super::super::promise::{ALL, Fine};
use super::{ROUNDED, earlier};

/// Steps that are shorter are between instants that only rounding tells apart.
const SHORTEST: u64 = 200;

impl Servers {
    /// 2. Sum, from `from` on. One pass over the steps of all, as there may be hundreds.
    pub(super) fn assert_sum(&mut self, now: u64, from: u64) {
        let cpus = u128::from(self.cpus);
        // Shares in the ledger and limits are rounded to 2^-40.
        let beyond = self.divided().minus(self.best_effort());
        let rows = &mut self.promises.rows;
        let count = rows.iter().flatten().count() as u128;
        let most = ALL * cpus + ((count + 2) << 17) + (u128::from(beyond.0) << 16);
        // Too much counts as work. A server that runs ahead gives shares back by its last period; as budgets
        // are whole, an earlier one may have had more by up to a nanosecond, which nobody waits for.
        let mut excess: u128 = 0;
        let mut at = Some(from);
        while let Some(t) = at {
            let (mut sum, mut greatest): (Fine, Fine) = (0, 0);
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
                excess >> 56 < u128::from(ROUNDED),
                "promises add up to {} per mille of {cpus} CPUs at {t}, now {now}: {:#?}",
                (sum + greatest * (cpus - 1)) * 1000 / ALL,
                rows.iter().flatten().map(|r| &r.promise).collect::<Vec<_>>()
            );
        }
        rows.iter_mut().flatten().for_each(|row| row.cursor = 0);
    }
}
