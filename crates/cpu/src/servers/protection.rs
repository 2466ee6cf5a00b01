//! The running best-effort task is spared preemptions that would not pay.

use super::Servers;
use crate::Share;

impl Servers {
    /// The running best-effort server and the end of its protection, while another server has an earlier
    /// deadline. It goes on until it has had the CPU for the wake-up granularity, since
    /// - a pipe fills before its reader runs, and a task that hands over its work sleeps by itself;
    /// - two jobs one after the other end earlier on average than two that interrupt each other, and a task
    ///   that is interrupted may hold a lock for which others wait.
    ///
    /// Short jobs are excepted: a task whose budget is at most an eighth of the granularity delays the
    /// running one by little, and preempts at once, unless the running one has woken it.
    ///
    /// Without reservations on the CPU any order of best effort keeps all guarantees. With one, a waiting
    /// server would demand later what it did not get in time, so the order is strictly that of deadlines.
    pub(super) fn protected_until(&self, now: u64) -> Option<(u32, u64)> {
        let granularity = self.rules.wakeup_granularity.0;
        if granularity == 0 || self.cpus > 1 || self.ledger.reserved_bw() > Share::ZERO {
            return None;
        }
        let s = self.ready.running()?;
        let first = self.ready.first().filter(|first| *first != s)?;
        let waiting = &self.servers[first as usize];
        let until = self.turn_began_at.saturating_add(granularity);
        let waits = waiting.defers || waiting.budget > granularity / 8;
        (now < until && waits).then_some((s, until))
    }
}
