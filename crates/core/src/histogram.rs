//! An integer histogram with bounded memory and bounded relative error.

extern crate alloc;
use alloc::{vec, vec::Vec};

/// Values below this are counted one by one.
const LINEAR: u64 = 128;
/// Buckets to each doubling above it: the relative width of a bucket is at most 1/64.
const SUB: u64 = 64;
const BUCKETS: usize = (LINEAR + (64 - 7) * SUB) as usize;

/// Counts of `u64` values (nanoseconds, usually); count, sum, minimum and maximum are exact,
/// percentiles are right to 1.6 % and never below the true value's bucket.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// As many as were needed so far; those beyond are empty.
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. Allocates once (about 30 KiB); recording never does.
    pub fn new() -> Histogram {
        Histogram { buckets: vec![0; BUCKETS], count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// An empty histogram that takes memory when values come, up to the bucket of the largest: for
    /// thousands of them of which few are used, where recording may allocate.
    pub fn on_demand() -> Histogram {
        Histogram { buckets: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    #[cold]
    fn grow(&mut self, bucket: usize) -> &mut u64 {
        let buckets = (bucket + 1).next_multiple_of(SUB as usize).min(BUCKETS);
        self.buckets.reserve_exact(buckets - self.buckets.len());
        self.buckets.resize(buckets, 0);
        &mut self.buckets[bucket]
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += 1,
            None => *self.grow(bucket) += 1,
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if let Some(last) = other.buckets.len().checked_sub(1) {
            if last >= self.buckets.len() {
                self.grow(last);
            }
        }
        for (a, b) in self.buckets.iter_mut().zip(&other.buckets) {
            *a += b;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean, or `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The least value, or `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The greatest value, or `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The least recorded bucket bound that at least `per_mille / 1000` of the values do not
    /// exceed (`500` is the median, `990` the 99th percentile); `None` when empty.
    pub fn quantile(&self, per_mille: u32) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000).max(1) as u64;
        let mut seen = 0;
        for (i, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Some(upper(i).min(self.max).max(self.min));
            }
        }
        Some(self.max)
    }

    /// The non-empty buckets in rising order, as (largest value of the bucket, count).
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (upper(i), *n))
    }
}

impl PartialEq for Histogram {
    /// The same values; how much memory was taken for them does not matter.
    fn eq(&self, other: &Histogram) -> bool {
        let key = |h: &Histogram| (h.count, h.sum, h.min, h.max);
        key(self) == key(other) && self.iter().eq(other.iter())
    }
}

impl Eq for Histogram {}

#[inline]
fn bucket(value: u64) -> usize {
    if value < LINEAR {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros() as u64; // >= 7
    let sub = (value >> (exponent - 6)) - SUB;
    (LINEAR + (exponent - 7) * SUB + sub) as usize
}

fn upper(index: usize) -> u64 {
    let index = index as u64;
    if index < LINEAR {
        return index;
    }
    let (exponent, sub) = ((index - LINEAR) / SUB + 7, (index - LINEAR) % SUB);
    // The subtraction comes first: the last bucket ends at u64::MAX.
    ((SUB + sub) << (exponent - 6)) + ((1 << (exponent - 6)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a grown histogram loses counts, or when empty buckets make two unequal.
    #[test]
    fn an_on_demand_histogram_counts_the_same() {
        let (mut all, mut some) = (Histogram::new(), Histogram::on_demand());
        assert_eq!(all, some);
        assert_eq!((some.quantile(500), some.iter().count()), (None, 0));
        for value in [3, 0, 1_000_000, 999_999, 127, 128, u64::MAX, 5] {
            all.record(value);
            some.record(value);
            assert_eq!(all, some, "after {value}");
            assert_eq!(all.quantile(500), some.quantile(500));
        }
        let mut merged = Histogram::on_demand();
        merged.record(7);
        merged.merge(&some);
        all.record(7);
        assert_eq!(merged, all);
        all.record(8);
        assert_ne!(merged, all);
    }

    /// Fails when memory is taken beyond the largest value's buckets.
    #[test]
    fn small_values_take_little_memory() {
        let mut h = Histogram::on_demand();
        assert_eq!(h.buckets.capacity(), 0);
        h.record(100);
        assert!(h.buckets.capacity() <= 128, "{}", h.buckets.capacity());
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for shift in 0..64 {
            for delta in [-1i64, 0, 1] {
                let v = (1u64 << shift).wrapping_add_signed(delta);
                let i = bucket(v);
                assert!(upper(i) >= v);
                assert!(i == 0 || upper(i - 1) < v, "{v} belongs lower than bucket {i}");
                assert!(upper(i) - v <= v / 64);
            }
        }
        assert_eq!(upper(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn percentiles_and_moments_are_correct() {
        let mut h = Histogram::new();
        assert_eq!((h.mean(), h.quantile(500)), (None, None));
        for v in 1..=100 {
            h.record(v);
        }
        assert_eq!(h.quantile(500), Some(50));
        assert_eq!(h.quantile(990), Some(99));
        assert_eq!(h.quantile(1000), Some(100));
        assert_eq!((h.min(), h.max(), h.sum()), (Some(1), Some(100), 5050));
        let mut twice = h.clone();
        twice.merge(&h);
        assert_eq!((twice.count(), twice.quantile(500)), (200, Some(50)));
    }
}
