//! What fits on several CPUs that share one deadline queue.
//!
//! # The test
//!
//! Let each server be entitled to a share `u`, a hard one with a deadline `d` shorter than its
//! period to its density `b/d`. On `m` CPUs under global EDF no deadline is missed while at every
//! instant
//!
//! `sum u + (m - 1) max u <= m`.
//!
//! For sporadic tasks of constant `u` that is the test of Goossens, Funk and Baruah ("Priority-driven
//! scheduling of periodic task systems on multiprocessors", 2003). Here shares change with time, and
//! best effort has servers too, so:
//!
//! # Why it is enough
//!
//! Call the budgets that servers were given jobs, with the instants at which they could first run,
//! the work that was done on them and their deadlines. One server has one of them at a time, and those
//! of one server that arrive and are due within an interval ask for no more than the integral of its
//! share over it (`servers`). On a CPU of its own whose speed at each instant is that share, a server
//! would therefore be in time for all of them. Call that schedule, with a CPU for each server, `A`.
//!
//! Suppose a deadline was missed, the first one at `D`, and look at jobs due by `D` only; others never
//! delay them. EDF must have done less of them by `D` than `A`. So there is a job `j`, let it be the one
//! that arrived first, and an instant `t`, such that by `t` EDF has done less altogether than `A`, and
//! less of `j`. When `j` arrived, at `a`, EDF was not behind. Between `a` and `t` let all `m` CPUs be
//! busy for `x` and not all for `y`; in `y`, `j` runs. Then `y` is less than what `A` did of `j`, which
//! is at most the integral of `max u`, and `m x + y` less than what `A` did altogether, at most the
//! integral of `sum u`. The second plus `m - 1` times the first: `m (x + y)` is less than the integral
//! of `sum u + (m - 1) max u` from `a` to `t`, which is at most `m (x + y)`. So there is no such `D`.
//!
//! # Best effort
//!
//! With `U` reserved, greatest reserved share `h`, weights that add up to `L` and heaviest `q`, best
//! effort divides
//!
//! `U_BE = min(m - U - (m - 1) h,  (m - U) L / (L + (m - 1) q))`:
//!
//! the first term keeps the test where `h` is the greatest share, the second where it is the heaviest
//! best-effort one, `q U_BE / L`. Alone on a cluster without reservations a task has one CPU; `n` equal
//! ones have `m / (n + m - 1)` each. What this leaves is not lost: it is background time
//! ([`crate::clusters`]).
//!
//! # Shares that change hands
//!
//! As on one CPU (`servers`) those that shrink keep the old share until their zero-lag times, and
//! newcomers and those that grow wait until all have shrunk, without a part of what is free at once.
//! Then each share in use was computed with at least the reservations, the load and the heaviest
//! weight of those that are in use beside it; more of any of these makes a share no greater, so the sum
//! above is at most that of the shares computed together.

use laxity_core::Span;

use crate::{Reservation, Share};

/// The share that a reservation counts with, rounded up.
pub(crate) fn density(r: &Reservation) -> Share {
    Share::up(r.budget, r.deadline)
}

/// Reservations on `cpus` CPUs, by what matters of them.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Reserved {
    /// Their densities together.
    pub sum: Share,
    /// The greatest of them.
    pub densest: Share,
}

impl Reserved {
    pub(crate) fn of<'a>(reservations: impl Iterator<Item = &'a Reservation>) -> Reserved {
        reservations.fold(Reserved::default(), |reserved, r| reserved.with(density(r)))
    }

    pub(crate) fn with(self, share: Share) -> Reserved {
        Reserved { sum: self.sum.plus(share), densest: self.densest.max(share) }
    }

    /// What is left when the test holds, nothing when it does not.
    fn beside(self, cpus: u32) -> Share {
        all(cpus).minus(self.sum).minus(times(self.densest, cpus - 1))
    }

    /// Whether one more fits while `kept` is left for best effort.
    pub(crate) fn fits(self, share: Share, kept: Share, cpus: u32) -> bool {
        let after = self.with(share);
        let taken = after.sum.plus(times(after.densest, cpus - 1)).plus(kept);
        taken <= all(cpus)
    }

    /// The greatest share that fits.
    pub(crate) fn room(self, kept: Share, cpus: u32) -> Share {
        let left = self.beside(cpus).minus(kept);
        if left <= self.densest {
            return left;
        }
        // It becomes the densest itself.
        let own = Share(all(cpus).minus(self.sum).minus(kept).0 / u64::from(cpus));
        own.max(self.densest).min(Share::ONE)
    }

    /// What best-effort servers divide, of weights `load` together and `heaviest` alone.
    pub(crate) fn best_effort(self, cpus: u32, load: u64, heaviest: u32) -> Share {
        let free = all(cpus).minus(self.sum);
        let most = u128::from(load) + u128::from(cpus - 1) * u128::from(heaviest);
        let even = match most {
            0 => free,
            _ => Share((u128::from(free.0) * u128::from(load) / most) as u64),
        };
        even.min(self.beside(cpus))
    }
}

fn all(cpus: u32) -> Share {
    times(Share::ONE, cpus)
}

/// `share` for each of so many CPUs.
pub(crate) fn times(share: Share, cpus: u32) -> Share {
    Share(share.0.saturating_mul(u64::from(cpus)))
}

/// The budget that is `share` of a deadline, rounded down.
pub(crate) fn budget(share: Share, deadline: Span) -> Span {
    share.of(deadline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn room_is_exactly_what_fits(
            shares in proptest::collection::vec(0..1000u32, 0..6),
            cpus in 2..9u32,
            kept in 0..200u32,
        ) {
            let reserved = shares.iter().fold(Reserved::default(), |r, s| r.with(Share::per_mille(*s)));
            let kept = times(Share::per_mille(kept), cpus);
            let room = reserved.room(kept, cpus);
            if room > Share::ZERO {
                prop_assert!(reserved.fits(room, kept, cpus));
            }
            let over = Share(room.0 + u64::from(cpus));
            prop_assert!(over > Share::ONE || !reserved.fits(over, kept, cpus));
        }

        // Fails when the heaviest weight is left out: tried.
        #[test]
        fn best_effort_passes_the_test_itself(
            shares in proptest::collection::vec(0..400u32, 0..6),
            weights in proptest::collection::vec(1..41u32, 1..9),
            cpus in 2..9u32,
        ) {
            let mut reserved =
                shares.iter().fold(Reserved::default(), |r, s| r.with(Share::per_mille(*s)));
            prop_assume!(reserved.fits(Share::ZERO, Share::ZERO, cpus));
            let load: u64 = weights.iter().map(|w| u64::from(*w)).sum();
            let heaviest = *weights.iter().max().expect("one at least");
            let best_effort = reserved.best_effort(cpus, load, heaviest);
            for w in &weights {
                let share = u128::from(best_effort.0) * u128::from(*w) / u128::from(load);
                prop_assert!(share <= u128::from(Share::ONE.0));
                reserved = reserved.with(Share(share as u64));
            }
            prop_assert!(reserved.fits(Share::ZERO, Share::ZERO, cpus));
        }
    }

    #[test]
    fn one_task_has_one_cpu() {
        assert_eq!(Reserved::default().best_effort(4, 20, 20), Share::ONE);
        let four = Reserved::default().best_effort(2, 80, 20);
        assert_eq!(four.0, Share::ONE.0 * 2 * 80 / 100);
    }
}
