//! How much a user may reserve. Pure: what is held and asked for comes in, an answer goes out.

use laxity_core::Span;
use laxity_cpu::{Refusal as Unfit, Reservation, Share};
use laxity_kernel::cpu::{CpuError, Held, Table, check, place};
use laxity_reserve::protocol::{self, Code, Refusal};

/// What each user but root may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The share of all CPUs together, so that on four CPUs a quarter is as much as one CPU.
    pub share: Share,
    /// Reservations at a time. The scheduler has 256 places for all.
    pub reservations: usize,
    /// The shortest runtime: each period costs the scheduler some microseconds that no reservation
    /// counts, so these bound what they come to.
    pub least: Span,
    /// The longest period: a task that has used its runtime waits for the next one, and may hold a lock
    /// of the kernel's that others want meanwhile.
    pub longest: Span,
}

impl Rules {
    /// The usual ones, with this share.
    pub fn new(share: Share) -> Rules {
        let (least, longest) = (Span(100_000), Span::from_millis(1000));
        Rules { share, reservations: 32, least, longest }
    }

    /// What a user may have at most.
    fn most(&self, table: &Table) -> Share {
        Share(self.share.0.saturating_mul(u64::from(table.cpus)))
    }

    /// What a user has and may have; `None` for root, who has no share.
    pub fn of(&self, table: &Table, user: u32) -> Option<protocol::Share> {
        let millionths = |share: Share| {
            let product = u128::from(share.0) * 1_000_000 + u128::from(Share::ONE.0 / 2);
            u64::try_from(product / u128::from(Share::ONE.0)).unwrap_or(u64::MAX)
        };
        (user != 0).then(|| protocol::Share {
            held_ppm: millionths(held(table, user)),
            most_ppm: millionths(self.most(table)),
        })
    }

    /// Whether a user may have one more reservation, whatever room the CPUs have. What is granted
    /// here the scheduler may still refuse.
    ///
    /// # Errors
    /// Why not, with the largest runtime for which both would say yes.
    pub fn decide(
        &self,
        table: &Table,
        user: u32,
        asked: Reservation,
        allowed: &[u32],
    ) -> Result<(), Refusal> {
        check(asked).map_err(|error| refusal(&error))?;
        if user == 0 {
            return Ok(());
        }
        if asked.budget < self.least {
            let text = format!("a runtime of {} is too short; give {}", asked.budget, self.least);
            return Err(Refusal::new(Code::Unusable, text));
        }
        if asked.period > self.longest {
            let text = format!("a period of {} is too long; give {}", asked.period, self.longest);
            return Err(Refusal::new(Code::Unusable, text));
        }
        let ours = table.held.iter().filter(|(_, owner)| *owner == user).count();
        if ours >= self.reservations {
            let text = format!("your user has {ours} reservations, as many as may be; release one");
            return Err(Refusal::new(Code::TooMany, text));
        }
        let (most, held) = (self.most(table), held(table, user));
        // Each was rounded up by less than one unit, so that parts of a share would exceed it.
        let left = most.plus(Share(ours as u64 + 1)).minus(held);
        let needs = Share::up(asked.budget, asked.period);
        if needs <= left {
            return Ok(());
        }
        let fits = self.fitting(table, left, asked.period, allowed);
        let text = format!(
            "{asked} needs {needs} of a CPU; your user has {held} of the {most} that it may have; {}",
            would(fits)
        );
        Err(Refusal { code: Code::Share, text, fits_ns: Some(fits.0) })
    }

    /// The largest runtime that a share has room for, and a CPU too.
    fn fitting(&self, table: &Table, left: Share, period: Span, allowed: &[u32]) -> Span {
        let budget = left.of(period).min(period);
        let held: Vec<Held> = table.held.iter().map(|(held, _)| *held).collect();
        match place(&table.policy, &held, Reservation::new(budget, period), allowed) {
            Ok(_) => self.worthwhile(budget),
            Err(error) => self.worthwhile(largest(&error).unwrap_or_default()),
        }
    }

    /// Nothing instead of less than would be granted.
    fn worthwhile(&self, budget: Span) -> Span {
        if budget < self.least { Span::ZERO } else { budget }
    }

    /// What the scheduler said, for a user: a runtime that fits there may be too short here.
    pub fn explain(&self, error: &CpuError, user: u32) -> Refusal {
        let refusal = refusal(error);
        let least = if user == 0 { Span::ZERO } else { self.least };
        match refusal.fits_ns {
            Some(ns) if ns > 0 && ns < least.0 => {
                let text = format!("{}, less than the {least} that you may ask for", refusal.text);
                Refusal { fits_ns: Some(0), text, ..refusal }
            }
            _ => refusal,
        }
    }
}

/// The sum of what a user holds.
fn held(table: &Table, user: u32) -> Share {
    let ours = table.held.iter().filter(|(_, owner)| *owner == user);
    ours.map(|(held, _)| Share::up(held.reservation.budget, held.reservation.period))
        .fold(Share::ZERO, Share::plus)
}

fn would(fits: Span) -> String {
    match fits {
        Span::ZERO => "no runtime would fit this period".to_owned(),
        fits => format!("a runtime of {fits} would fit"),
    }
}

/// The largest runtime that fits, by a refusal of the scheduler.
fn largest(error: &CpuError) -> Option<Span> {
    match error {
        CpuError::Refused { refusal: Unfit::Overload { fits, .. }, .. } => Some(*fits),
        CpuError::Refused { refusal: Unfit::NothingLeft, .. } => Some(Span::ZERO),
        _ => None,
    }
}

/// What the scheduler said, for programs.
fn refusal(error: &CpuError) -> Refusal {
    let code = match error {
        CpuError::Refused { refusal: Unfit::Fault(_), .. } | CpuError::Unusable(_) => {
            Code::Unusable
        }
        CpuError::Refused { .. } => Code::NoRoom,
        CpuError::Affinity(_) => Code::Affinity,
        CpuError::HasOne => Code::HasOne,
        CpuError::HasNone => Code::HasNone,
        CpuError::NoPlace => Code::TooMany,
        CpuError::NoTask { .. } => Code::NoTask,
        CpuError::Pending | CpuError::Settling => Code::Busy,
        CpuError::Down
        | CpuError::Ended { .. }
        | CpuError::Other
        | CpuError::NoKernel
        | CpuError::Occupied { .. } => Code::Down,
        _ => Code::Internal,
    };
    Refusal { code, text: error.to_string(), fits_ns: largest(error).map(|fits| fits.0) }
}

#[cfg(test)]
mod tests {
    use laxity_kernel::cpu::Policy;
    use proptest::prelude::*;

    use super::*;

    const QUARTER: Share = Share::per_mille(250);

    fn of(budget_us: u64, period_us: u64) -> Reservation {
        Reservation::new(Span(budget_us * 1000), Span(period_us * 1000))
    }

    fn table(cpus: u32, held: &[(u32, Reservation, u32)]) -> Table {
        let held = held.iter().map(|&(cpu, reservation, owner)| (Held { cpu, reservation }, owner));
        Table { policy: Policy::named("bebs").expect("a policy"), cpus, held: held.collect() }
    }

    fn fits(refusal: &Refusal) -> u64 {
        refusal.fits_ns.expect("a runtime") / 1000
    }

    /// Fails when another user's reservations are counted, root is bound, the machine's CPUs are not
    /// counted, or parts of a share exceed it by how they are rounded (tried without `ours + 1`).
    #[test]
    fn each_user_has_a_share() {
        let rules = Rules::new(QUARTER);
        let one = table(1, &[(0, of(2_000, 10_000), 1000), (0, of(4_000, 10_000), 0)]);
        let decide = |table: &Table, user, asked| rules.decide(table, user, asked, &[0]);
        assert_eq!(decide(&one, 1000, of(500, 10_000)), Ok(()));
        assert_eq!(decide(&one, 1001, of(2_500, 10_000)), Ok(()));
        assert_eq!(decide(&one, 0, of(3_000, 10_000)), Ok(()));
        let refused = decide(&one, 1000, of(501, 10_000)).expect_err("beyond the share");
        assert_eq!((refused.code, fits(&refused)), (Code::Share, 500));
        for said in ["5.010 %", "20.000 % of the 25.000 %", "a runtime of 0.5 ms"] {
            assert!(refused.text.contains(said), "no {said} in {}", refused.text);
        }
        // On four CPUs a quarter is one.
        let four = table(4, &[(0, of(2_000, 10_000), 1000)]);
        assert_eq!(decide(&four, 1000, of(8_000, 10_000)), Ok(()));
        assert_eq!(
            rules.of(&four, 1000),
            Some(protocol::Share { held_ppm: 200_000, most_ppm: 1_000_000 })
        );
        assert_eq!(rules.of(&four, 0), None);
    }

    /// Fails when the share's rest is offered where the CPUs have no room for it, or a runtime that
    /// would be refused for being too short.
    #[test]
    fn what_is_offered_would_be_granted() {
        let rules = Rules::new(QUARTER);
        let full = table(1, &[(0, of(90_000, 100_000), 0)]);
        let refused = rules.decide(&full, 1000, of(30_000, 100_000), &[0]).expect_err("too much");
        assert_eq!((refused.code, fits(&refused)), (Code::Share, 5_000));
        let full = table(1, &[(0, of(949_950, 1_000_000), 0)]);
        let refused =
            rules.decide(&full, 1000, of(300_000, 1_000_000), &[0]).expect_err("too much");
        assert_eq!(fits(&refused), 0);
        assert!(refused.text.ends_with("no runtime would fit this period"), "{}", refused.text);
    }

    /// Fails when the text of a refusal still offers what would be refused here.
    #[test]
    fn what_the_scheduler_offers_may_be_too_short() {
        let rules = Rules::new(QUARTER);
        let policy = Policy::named("bebs").expect("a policy");
        let held = [Held { cpu: 0, reservation: of(940_000, 1_000_000) }];
        let error = place(&policy, &held, of(1_000, 1_000), &[0]).expect_err("no room");
        assert_eq!(fits(&rules.explain(&error, 0)), 10);
        let refused = rules.explain(&error, 1000);
        assert_eq!(fits(&refused), 0);
        assert!(refused.text.ends_with("less than the 0.1 ms that you may ask for"), "{refused:?}");
    }

    /// Fails when many small ones, useless ones or such that the kernel cannot keep get through, or one
    /// whose task would wait for long.
    #[test]
    fn reservations_are_few_and_useful() {
        let rules = Rules::new(QUARTER);
        let code = |table: &Table, user, asked| {
            rules.decide(table, user, asked, &[0]).map_err(|refusal| refusal.code)
        };
        let none = table(1, &[]);
        assert_eq!(code(&none, 1000, of(99, 10_000)), Err(Code::Unusable));
        assert_eq!(code(&none, 1000, of(1_000, 1_000_000)), Ok(()));
        assert_eq!(code(&none, 1000, of(1_000, 1_000_001)), Err(Code::Unusable));
        assert_eq!(code(&none, 0, of(1_000, 1_000_001)), Ok(()));
        assert_eq!(code(&none, 0, of(99, 10_000)), Ok(()));
        assert_eq!(code(&none, 0, of(11_000, 10_000)), Err(Code::Unusable));
        assert_eq!(code(&none, 0, of(0, 10_000)), Err(Code::Unusable));
        assert_eq!(code(&none, 0, of(1_000, 11_000_000)), Err(Code::Unusable));
        let many = table(1, &[(0, of(100, 1_000_000), 1000); 32]);
        assert_eq!(code(&many, 1000, of(100, 1_000_000)), Err(Code::TooMany));
        assert_eq!(code(&many, 1001, of(100, 1_000_000)), Ok(()));
    }

    proptest! {
        /// Whatever is asked in whatever order, nobody gets beyond the share, and what a refusal
        /// offers is granted; one nanosecond more is not.
        ///
        /// Fails when a refusal offers more than CPUs have room for: tried with nothing held in `fitting`.
        #[test]
        fn shares_hold_and_offers_are_exact(
            cpus in 1..5u32,
            per_mille in 1..1000u32,
            asked in prop::collection::vec((1000..1003u32, 100_000..2_000_000_000u64,
                1_000_000..=1_000_000_000u64), 1..40),
        ) {
            let rules = Rules::new(Share::per_mille(per_mille));
            let mut table = table(cpus, &[]);
            let allowed: Vec<u32> = (0..cpus).collect();
            for (user, budget, period) in asked {
                let asked = Reservation::new(Span(budget.min(period)), Span(period));
                let grant = |table: &Table, asked: Reservation| {
                    let held: Vec<Held> = table.held.iter().map(|(held, _)| *held).collect();
                    rules.decide(table, user, asked, &allowed).and_then(|()| {
                        place(&table.policy, &held, asked, &allowed)
                            .map_err(|error| rules.explain(&error, user))
                    })
                };
                match grant(&table, asked) {
                    Ok(cpu) => {
                        table.held.push((Held { cpu, reservation: asked }, user));
                        let share = rules.of(&table, user).expect("a share");
                        let rounded = Share(rules.reservations as u64);
                        prop_assert!(held(&table, user) <= rules.most(&table).plus(rounded));
                        prop_assert!(share.held_ppm <= share.most_ppm + 1);
                    }
                    Err(refusal) if refusal.code == Code::TooMany => {}
                    Err(refusal) => {
                        let fits = refusal.fits_ns.expect("a runtime");
                        prop_assert!(fits < asked.budget.0);
                        if fits > 0 {
                            let offered = Reservation::new(Span(fits), asked.period);
                            prop_assert!(grant(&table, offered).is_ok(), "{}", refusal.text);
                        }
                        if fits + 1 >= rules.least.0 {
                            let more = Reservation::new(Span(fits + 1), asked.period);
                            prop_assert!(grant(&table, more).is_err(), "{}", refusal.text);
                        }
                    }
                }
            }
        }
    }
}
