//! Queued real-time work by deadline, which the search for slack reads instead of packets.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use laxity_core::{NANOBITS_PER_BYTE, Rate, Span, Time};

/// Number of entries of one level in an entry of the next.
pub(super) const FAN: u64 = 32;
/// Minimum and maximum number of buckets.
const MIN_BUCKETS: u64 = 1 << 10;
const MAX_BUCKETS: u64 = 1 << 16;
/// Bytes that the link sends during one bucket, where the number of buckets permits: below a usual
/// packet, so that a bucket rarely has to be searched.
const BUCKET_BYTES: u128 = 256;

/// Wire bytes due in each bucket of absolute time, and sums over 32, 1024, ... buckets. Each level
/// is a ring; deadlines that are not past have distinct entries.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// A bucket is `1 << shift` nanoseconds.
    shift: u32,
    /// Buckets first.
    levels: Vec<Box<[u64]>>,
    /// Number of packets due in a bucket, and the exclusive or of their deadlines: the deadline
    /// itself if there is only one packet.
    single: Box<[(u32, u64)]>,
}

impl Calendar {
    pub(super) fn new(longest: Span, rate: Rate) -> Calendar {
        let sent = u128::from(rate.0) * u128::from(longest.0) / NANOBITS_PER_BYTE as u128;
        let buckets = u64::try_from(sent / BUCKET_BYTES)
            .unwrap_or(MAX_BUCKETS)
            .clamp(MIN_BUCKETS, MAX_BUCKETS);
        let mut levels = vec![vec![0; buckets.next_power_of_two() as usize].into_boxed_slice()];
        let mut top = levels[0].len();
        let single = vec![(0, 0); top].into_boxed_slice();
        while top > 64 {
            top /= FAN as usize;
            levels.push(vec![0; top].into_boxed_slice());
        }
        let mut calendar = Calendar { shift: 0, levels, single };
        // One entry of the top level to spare keeps both ends of the window apart in the ring.
        let window = |c: &Calendar| longest.0 >> (c.shift + c.width_log2(c.top()));
        while window(&calendar) + 2 > top as u64 {
            calendar.shift += 1;
        }
        calendar
    }

    /// The coarsest level.
    pub(super) fn top(&self) -> usize {
        self.levels.len() - 1
    }

    /// Binary logarithm of the width of an entry of `level`, in buckets.
    fn width_log2(&self, level: usize) -> u32 {
        level as u32 * FAN.trailing_zeros()
    }

    /// Number of the entry of `level` that holds an instant.
    #[inline]
    pub(super) fn entry_of(&self, level: usize, at: Time) -> u64 {
        at.0 >> (self.shift + self.width_log2(level))
    }

    /// First instant of an entry.
    #[inline]
    pub(super) fn start(&self, level: usize, entry: u64) -> u64 {
        entry << (self.shift + self.width_log2(level))
    }

    /// Work due in an entry, in wire bytes.
    #[inline]
    pub(super) fn due(&self, level: usize, entry: u64) -> u64 {
        let ring = &self.levels[level];
        ring[entry as usize & (ring.len() - 1)]
    }

    /// The deadline of the packet due in a bucket, if there is only one.
    #[inline]
    pub(super) fn single_deadline(&self, bucket: u64) -> Option<Time> {
        let (count, deadline) = self.single[bucket as usize & (self.single.len() - 1)];
        (count == 1).then_some(Time(deadline))
    }

    #[inline]
    pub(super) fn add(&mut self, deadline: Time, wire: u32) {
        self.change(deadline, |due| *due += u64::from(wire), |count| *count += 1);
    }

    #[inline]
    pub(super) fn remove(&mut self, deadline: Time, wire: u32) {
        self.change(deadline, |due| *due -= u64::from(wire), |count| *count -= 1);
    }

    #[inline]
    fn change(&mut self, deadline: Time, due: impl Fn(&mut u64), count: impl Fn(&mut u32)) {
        let mut entry = deadline.0 >> self.shift;
        let single = &mut self.single[entry as usize & (self.levels[0].len() - 1)];
        count(&mut single.0);
        single.1 ^= deadline.0;
        for ring in &mut self.levels {
            due(&mut ring[entry as usize & (ring.len() - 1)]);
            entry /= FAN;
        }
    }
}
