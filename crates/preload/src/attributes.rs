//! `struct sched_attr` of `sched_setattr(2)`.

use std::time::Duration;

/// `SCHED_DEADLINE`.
pub const DEADLINE: u32 = 6;
/// `SCHED_FLAG_RESET_ON_FORK`: children do not inherit. Those of a reservation do not.
pub const RESET_ON_FORK: u64 = 0x01;
/// `SCHED_FLAG_RECLAIM`: the thread may have more than its runtime, if others leave it. It need not get it.
const RECLAIM: u64 = 0x02;
/// `SCHED_FLAG_KEEP_POLICY`: the policy of the structure has no meaning.
const KEEP_POLICY: u64 = 0x08;
/// The kernel does not accept a shorter runtime (`DL_SCALE`).
const MIN_RUNTIME_NS: u64 = 1024;
/// The size of the structure's first version, all of which later versions have.
pub const SIZE: usize = 48;
/// The largest size that the kernel accepts.
const MAX_SIZE: u32 = 4096;

/// The first version of `struct sched_attr`, but for its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedAttr {
    /// The policy.
    pub policy: u32,
    /// Flags.
    pub flags: u64,
    /// The nice value, of policies that have one.
    pub nice: i32,
    /// The priority, of policies that have one.
    pub priority: u32,
    /// CPU time in every period, in nanoseconds.
    pub runtime_ns: u64,
    /// The relative deadline, in nanoseconds.
    pub deadline_ns: u64,
    /// The period, in nanoseconds; 0 is the deadline.
    pub period_ns: u64,
}

/// A runtime in every period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub runtime: Duration,
    pub period: Duration,
}

/// Whether the kernel accepts a structure of this size.
pub fn is_size(size: u32) -> bool {
    // 0 is the first version.
    size == 0 || (SIZE as u32..=MAX_SIZE).contains(&size)
}

impl SchedAttr {
    pub fn decode(bytes: &[u8; SIZE]) -> SchedAttr {
        fn at<const N: usize>(bytes: &[u8; SIZE], place: usize) -> [u8; N] {
            std::array::from_fn(|i| bytes[place + i])
        }
        SchedAttr {
            policy: u32::from_ne_bytes(at(bytes, 4)),
            flags: u64::from_ne_bytes(at(bytes, 8)),
            nice: i32::from_ne_bytes(at(bytes, 16)),
            priority: u32::from_ne_bytes(at(bytes, 20)),
            runtime_ns: u64::from_ne_bytes(at(bytes, 24)),
            deadline_ns: u64::from_ne_bytes(at(bytes, 32)),
            period_ns: u64::from_ne_bytes(at(bytes, 40)),
        }
    }

    /// All but the size, which is the first field.
    pub fn encode(&self) -> [u8; SIZE - 4] {
        let mut bytes = [0; SIZE - 4];
        let fields = [
            &self.policy.to_ne_bytes()[..],
            &self.flags.to_ne_bytes(),
            &self.nice.to_ne_bytes(),
            &self.priority.to_ne_bytes(),
            &self.runtime_ns.to_ne_bytes(),
            &self.deadline_ns.to_ne_bytes(),
            &self.period_ns.to_ne_bytes(),
        ];
        for (to, from) in bytes.iter_mut().zip(fields.concat()) {
            *to = from;
        }
        bytes
    }

    /// Whether the policy stays.
    pub fn keeps_policy(&self) -> bool {
        self.flags & KEEP_POLICY != 0
    }

    /// Whether this asks for `SCHED_DEADLINE`.
    pub fn is_deadline(&self) -> bool {
        self.policy == DEADLINE && !self.keeps_policy()
    }

    /// The reservation that is as good as what is asked for; `None` for parameters that the kernel refuses, and flags
    /// that a reservation cannot keep.
    ///
    /// A reservation's deadline is the end of its period. So a deadline before that makes the period shorter: a
    /// runtime in every such period is there by the deadline of every longer one.
    pub fn parameters(&self) -> Option<Parameters> {
        let SchedAttr { runtime_ns, deadline_ns, .. } = *self;
        let period_ns = if self.period_ns == 0 { deadline_ns } else { self.period_ns };
        let valid = self.flags & !(RESET_ON_FORK | RECLAIM) == 0
            && self.priority == 0
            && runtime_ns >= MIN_RUNTIME_NS
            && runtime_ns <= deadline_ns
            && deadline_ns <= period_ns
            && period_ns >> 63 == 0;
        let ns = Duration::from_nanos;
        valid.then(|| Parameters { runtime: ns(runtime_ns), period: ns(deadline_ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn attr(runtime_ns: u64, deadline_ns: u64, period_ns: u64) -> SchedAttr {
        SchedAttr { policy: DEADLINE, runtime_ns, deadline_ns, period_ns, ..SchedAttr::default() }
    }

    /// Fails when a field has another place than in the kernel's structure (tried: `nice` and `priority` swapped).
    #[test]
    fn structures_are_the_kernels() {
        let mut bytes = [0; SIZE];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = place as u8;
        }
        let attr = SchedAttr::decode(&bytes);
        assert_eq!((attr.policy & 0xff, attr.priority & 0xff, attr.nice & 0xff), (4, 20, 16));
        let ends = [attr.flags, attr.runtime_ns, attr.deadline_ns, attr.period_ns];
        assert_eq!(ends.map(|n| n & 0xff), [8, 24, 32, 40]);
        assert_eq!(attr.encode(), bytes[4..]);
        assert!([0, 48, 56, 4096].into_iter().all(is_size));
        assert!(![1, 47, 4097].into_iter().any(is_size));
    }

    /// Fails when parameters are accepted that the kernel refuses, or a deadline before the end of the period is
    /// forgotten.
    #[test]
    fn parameters_are_checked_as_by_the_kernel() {
        let is = |attr: SchedAttr| {
            attr.parameters().map(|p| (p.runtime.as_micros(), p.period.as_micros()))
        };
        assert_eq!(is(attr(2 * MS, 10 * MS, 10 * MS)), Some((2000, 10_000)));
        assert_eq!(is(attr(2 * MS, 10 * MS, 0)), Some((2000, 10_000)));
        assert_eq!(is(attr(2 * MS, 5 * MS, 10 * MS)), Some((2000, 5000)));
        let of = |flags| SchedAttr { flags, ..attr(2 * MS, 10 * MS, 0) };
        assert_eq!(is(of(RESET_ON_FORK | RECLAIM)), Some((2000, 10_000)));
        for wrong in [
            attr(2 * MS, 0, 10 * MS),
            attr(1023, MS, MS),
            attr(2 * MS, MS, 10 * MS),
            attr(2 * MS, 10 * MS, 5 * MS),
            attr(2 * MS, 1 << 63, 1 << 63),
            SchedAttr { priority: 1, ..attr(2 * MS, 10 * MS, 0) },
            // A signal at an overrun, and limits of the frequency.
            of(0x04),
            of(0x20),
            of(1 << 40),
        ] {
            assert_eq!(wrong.parameters(), None, "{wrong:?}");
        }
        assert!(attr(0, 0, 0).is_deadline() && !of(KEEP_POLICY).is_deadline());
        assert!(!SchedAttr { policy: 1, ..attr(0, 0, 0) }.is_deadline());
    }
}
