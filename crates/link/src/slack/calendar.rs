//! Queued real-time work by deadline, coarsely: what the search for slack looks at first.

use alloc::boxed::Box;
use alloc::vec;

use laxity_core::{Span, Time};

/// Buckets of time in the ring.
const BUCKETS: usize = 1024;
/// Buckets to a group.
pub(super) const GROUP: u64 = 32;

/// Wire bytes due in each bucket of absolute time and in each group of buckets. The buckets are as
/// fine as the longest relative deadline permits, so a deadline that is not past has its own.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    shift: u32,
    buckets: Box<[u64]>,
    groups: Box<[u64]>,
}

impl Calendar {
    pub(super) fn new(longest_deadline: Span) -> Calendar {
        // One group of spare keeps both ends of the window from sharing a group of the ring.
        let most = BUCKETS as u64 - GROUP - 2;
        let mut shift = 0;
        while (longest_deadline.0 >> shift) > most {
            shift += 1;
        }
        Calendar {
            shift,
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            groups: vec![0; BUCKETS / GROUP as usize].into_boxed_slice(),
        }
    }

    /// Number of the bucket of an instant.
    #[inline]
    pub(super) fn bucket_of(&self, at: Time) -> u64 {
        at.0 >> self.shift
    }

    /// First instant of a bucket.
    #[inline]
    pub(super) fn start(&self, bucket: u64) -> u64 {
        bucket << self.shift
    }

    #[inline]
    pub(super) fn add(&mut self, deadline: Time, wire: u32) {
        let bucket = self.bucket_of(deadline) as usize;
        self.buckets[bucket % BUCKETS] += u64::from(wire);
        self.groups[bucket / GROUP as usize % self.groups.len()] += u64::from(wire);
    }

    #[inline]
    pub(super) fn remove(&mut self, deadline: Time, wire: u32) {
        let bucket = self.bucket_of(deadline) as usize;
        self.buckets[bucket % BUCKETS] -= u64::from(wire);
        self.groups[bucket / GROUP as usize % self.groups.len()] -= u64::from(wire);
    }

    #[inline]
    pub(super) fn in_bucket(&self, bucket: u64) -> u64 {
        self.buckets[bucket as usize % BUCKETS]
    }

    #[inline]
    pub(super) fn in_group(&self, group: u64) -> u64 {
        self.groups[group as usize % self.groups.len()]
    }
}
