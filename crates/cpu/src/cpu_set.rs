//! Sets of CPUs: affinities, and the CPUs of a cluster.

use core::fmt;

use crate::CpuId;

/// A set of CPUs, each below [`CpuSet::MOST`]. The default is all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet(u128);

impl CpuSet {
    /// CPUs are numbered below this.
    pub const MOST: u32 = 128;
    /// Every CPU.
    pub const ALL: CpuSet = CpuSet(u128::MAX);
    /// No CPU.
    pub const NONE: CpuSet = CpuSet(0);

    /// The CPUs from `first`, `count` of them; what lies beyond [`CpuSet::MOST`] is left out.
    pub const fn range(first: u32, count: u32) -> CpuSet {
        if first >= CpuSet::MOST || count == 0 {
            return CpuSet::NONE;
        }
        let ones = if count >= CpuSet::MOST { u128::MAX } else { (1 << count) - 1 };
        CpuSet(ones << first)
    }

    /// One CPU, or none if its number is too great.
    pub const fn one(cpu: CpuId) -> CpuSet {
        CpuSet::range(cpu.0, 1)
    }

    /// Whether it has this CPU.
    #[inline]
    pub const fn contains(self, cpu: CpuId) -> bool {
        cpu.0 < CpuSet::MOST && self.0 >> cpu.0 & 1 == 1
    }

    /// Whether it has all CPUs of `other`.
    #[inline]
    pub const fn includes(self, other: CpuSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// The intersection.
    #[inline]
    #[must_use]
    pub const fn and(self, other: CpuSet) -> CpuSet {
        CpuSet(self.0 & other.0)
    }

    /// The union.
    #[inline]
    #[must_use]
    pub const fn or(self, other: CpuSet) -> CpuSet {
        CpuSet(self.0 | other.0)
    }

    /// The difference: CPUs of this set that are not in `other`.
    #[inline]
    #[must_use]
    pub const fn without(self, other: CpuSet) -> CpuSet {
        CpuSet(self.0 & !other.0)
    }

    /// How many CPUs.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether it has none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The CPU of least number.
    #[inline]
    pub const fn first(self) -> Option<CpuId> {
        if self.0 == 0 { None } else { Some(CpuId(self.0.trailing_zeros())) }
    }

    /// The CPUs in order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = CpuId> {
        let mut rest = self;
        core::iter::from_fn(move || {
            let cpu = rest.first()?;
            rest = CpuSet(rest.0 & (rest.0 - 1));
            Some(cpu)
        })
    }
}

impl Default for CpuSet {
    fn default() -> CpuSet {
        CpuSet::ALL
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuSet {
        cpus.into_iter().fold(CpuSet::NONE, |set, cpu| set.or(CpuSet::one(cpu)))
    }
}

/// As Linux writes it: `0-3,7`; `all` and `none` by name.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == CpuSet::ALL {
            return f.write_str("all");
        }
        let mut rest = *self;
        let Some(_) = rest.first() else { return f.write_str("none") };
        let mut comma = "";
        while let Some(CpuId(first)) = rest.first() {
            let count = (rest.0 >> first).trailing_ones();
            write!(f, "{comma}{first}")?;
            if count > 1 {
                write!(f, "-{}", first + count - 1)?;
            }
            comma = ",";
            rest = rest.without(CpuSet::range(first, count));
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn cpu_sets_print_as_ranges() {
        let set: CpuSet = [0, 1, 2, 3, 7, 127].map(CpuId).into_iter().collect();
        assert_eq!(set.to_string(), "0-3,7,127");
        assert_eq!(set.iter().map(|c| c.0).collect::<std::vec::Vec<_>>(), [0, 1, 2, 3, 7, 127]);
        assert_eq!(
            (CpuSet::ALL.to_string(), CpuSet::NONE.to_string()),
            ("all".into(), "none".into())
        );
        assert_eq!(CpuSet::range(0, 128), CpuSet::ALL);
        assert_eq!(CpuSet::range(64, 200).len(), 64);
        assert!(CpuSet::one(CpuId(128)).is_empty() && !CpuSet::ALL.contains(CpuId(128)));
    }
}
