//! The threads that have a reservation by this library. Without a lock, since a program may fork while a thread has
//! it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// As many reservations as there may be at a time.
const SLOTS: usize = 256;

/// When the periods of a thread begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The begin of the first period, by the monotonic clock.
    pub since: Duration,
    pub period: Duration,
}

/// Whether there is such a thread.
pub fn exists(tid: u32) -> bool {
    Path::new("/proc").join(tid.to_string()).exists()
}

struct Slot {
    /// The thread; 0 in a free slot.
    tid: AtomicU32,
    since_ns: AtomicU64,
    period_ns: AtomicU64,
}

/// A table of threads. A thread that ends stays in it, and its id may become that of another thread: an entry says
/// that the server may be asked, not that there is a reservation.
pub struct Grants {
    slots: [Slot; SLOTS],
    /// Whether there has been any: most programs have none.
    any: AtomicBool,
}

impl Slot {
    const fn new() -> Slot {
        Slot { tid: AtomicU32::new(0), since_ns: AtomicU64::new(0), period_ns: AtomicU64::new(0) }
    }

    fn claim(&self) -> bool {
        let known = self.tid.load(Ordering::Relaxed);
        let is_free = known == 0 || !exists(known);
        // The owner is known once all is written.
        is_free
            && self
                .tid
                .compare_exchange(known, u32::MAX, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }
}

impl Grants {
    pub const fn new() -> Grants {
        Grants { slots: [const { Slot::new() }; SLOTS], any: AtomicBool::new(false) }
    }

    /// Whether a thread may have been recorded.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    fn slot(&self, tid: u32) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.tid.load(Ordering::Acquire) == tid)
    }

    /// Records a thread. One for which there is no slot is not recorded.
    pub fn insert(&self, tid: u32, grant: Grant) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let slot = self.slot(tid).or_else(|| self.slots.iter().find(|slot| slot.claim()));
        let Some(slot) = slot else { return };
        slot.since_ns.store(ns(grant.since), Ordering::Relaxed);
        slot.period_ns.store(ns(grant.period), Ordering::Relaxed);
        slot.tid.store(tid, Ordering::Release);
        self.any.store(true, Ordering::Relaxed);
    }

    /// The grant of a thread.
    pub fn get(&self, tid: u32) -> Option<Grant> {
        let slot = self.slot(tid)?;
        let ns = |time: &AtomicU64| Duration::from_nanos(time.load(Ordering::Relaxed));
        Some(Grant { since: ns(&slot.since_ns), period: ns(&slot.period_ns) })
    }

    /// Forgets a thread.
    pub fn remove(&self, tid: u32) {
        if let Some(slot) = self.slot(tid) {
            slot.tid.store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a thread has the grant of another one, or threads that have ended keep all slots (tried: `claim` of
    /// free slots only).
    #[test]
    fn slots_of_ended_threads_are_used_again() {
        let grants = Grants::new();
        let grant = |n: u32| Grant {
            since: Duration::from_secs(n.into()),
            period: Duration::from_millis(n.into()),
        };
        let own = std::process::id();
        grants.insert(own, grant(1));
        // No such threads: the kernel's ids end at 2^22.
        let others = (1 << 23)..(1 << 23) + 2 * SLOTS as u32;
        for tid in others.clone() {
            grants.insert(tid, grant(tid));
        }
        assert_eq!(grants.get(own), Some(grant(1)));
        let last = others.end - 1;
        assert_eq!((grants.get(last), grants.get(others.start)), (Some(grant(last)), None));
        grants.insert(own, grant(2));
        assert_eq!(grants.get(own), Some(grant(2)));
        grants.remove(own);
        assert_eq!(grants.get(own), None);
    }
}
