//! The limits on a user's reservations. Pure functions of the reservations and the request.

use laxity_core::Span;
use laxity_cpu::{Refusal as AdmissionRefusal, Reservation, Share};
use laxity_kernel::cpu::{CpuError, PlacedReservation, ReservationTable, check, place};
use laxity_reserve::protocol::{self, Code, Refusal};

/// The limits of each user except root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserLimits {
    /// The share of all CPUs together: a quarter of four CPUs is one CPU.
    pub share: Share,
    /// The number of reservations. The table of the scheduler has 256 entries for all users.
    pub max_reservations: usize,
    /// The shortest runtime. Each period costs the scheduler some microseconds that no reservation
    /// accounts for; this bounds them.
    pub min_runtime: Span,
    /// The longest period. A task that has exhausted its runtime waits for the next period, and may hold a
    /// lock in the kernel meanwhile.
    pub max_period: Span,
}

impl UserLimits {
    /// The default limits, with this share.
    pub fn new(share: Share) -> UserLimits {
        let (min_runtime, max_period) = (Span(100_000), Span::from_millis(1000));
        UserLimits { share, max_reservations: 32, min_runtime, max_period }
    }

    /// The bandwidth limit of a user.
    fn bandwidth_limit(&self, table: &ReservationTable) -> Share {
        Share(self.share.0.saturating_mul(u64::from(table.cpus)))
    }

    /// The reserved bandwidth of a user and its limit; `None` for root, which has none.
    pub fn usage(&self, table: &ReservationTable, user: u32) -> Option<protocol::Share> {
        let millionths = |share: Share| {
            let product = u128::from(share.0) * 1_000_000 + u128::from(Share::ONE.0 / 2);
            u64::try_from(product / u128::from(Share::ONE.0)).unwrap_or(u64::MAX)
        };
        (user != 0).then(|| protocol::Share {
            reserved_ppm: millionths(reserved_by(table, user)),
            limit_ppm: millionths(self.bandwidth_limit(table)),
        })
    }

    /// Checks one more reservation against the limits of a user. The scheduler may still refuse it for lack
    /// of bandwidth.
    ///
    /// # Errors
    /// The refusal, with the largest runtime that both this and the scheduler would admit.
    pub fn admit(
        &self,
        table: &ReservationTable,
        user: u32,
        reservation: Reservation,
        allowed: &[u32],
    ) -> Result<(), Refusal> {
        check(reservation).map_err(|error| scheduler_refusal(&error))?;
        if user == 0 {
            return Ok(());
        }
        let Reservation { budget, period, .. } = reservation;
        if budget < self.min_runtime {
            let text = format!("a runtime of {budget} is too short; give {}", self.min_runtime);
            return Err(Refusal::new(Code::Invalid, text));
        }
        if period > self.max_period {
            let text = format!("a period of {period} is too long; give {}", self.max_period);
            return Err(Refusal::new(Code::Invalid, text));
        }
        let count = count_of(table, user);
        if count >= self.max_reservations {
            let text =
                format!("your user has {count} reservations, which is the limit; release one");
            return Err(Refusal::new(Code::TooMany, text));
        }
        let (limit, reserved) = (self.bandwidth_limit(table), reserved_by(table, user));
        // Each share is rounded up by less than one unit, so that the parts of a share may exceed it.
        let left = limit.plus(Share(count as u64 + 1)).minus(reserved);
        let overhead = table.policy.overheads().per_job();
        let needs = Share::up(budget + overhead, period);
        if needs <= left {
            return Ok(());
        }
        let max_runtime = self.max_runtime(table, left, period, allowed);
        let included = match overhead {
            Span::ZERO => String::new(),
            overhead => format!(" with the {overhead} of overheads added to each runtime"),
        };
        let text = format!(
            "{reservation} needs {needs} of a CPU{included}; your user has {reserved} of the {limit} that it may \
             have; {}",
            suggestion(max_runtime)
        );
        Err(Refusal { code: Code::Share, text, max_runtime_ns: Some(max_runtime.0) })
    }

    /// Whether the reservations of a user are within the limits.
    pub fn hold(&self, table: &ReservationTable, user: u32) -> bool {
        let count = count_of(table, user);
        let limit = self.bandwidth_limit(table).plus(Share(count as u64));
        user == 0 || count <= self.max_reservations && reserved_by(table, user) <= limit
    }

    /// The largest runtime that fits both into the rest of a share and on a CPU.
    fn max_runtime(
        &self,
        table: &ReservationTable,
        left: Share,
        period: Span,
        allowed: &[u32],
    ) -> Span {
        let overhead = table.policy.overheads().per_job();
        let budget = Span(left.of(period).0.saturating_sub(overhead.0)).min(period);
        let placed: Vec<PlacedReservation> =
            table.placed.iter().map(|(placed, _)| *placed).collect();
        match place(&table.policy, &placed, Reservation::new(budget, period), allowed) {
            Ok(_) => self.at_least_minimum(budget),
            Err(error) => self.at_least_minimum(max_admitted_runtime(&error).unwrap_or_default()),
        }
    }

    /// A runtime, or zero if it is below the minimum.
    fn at_least_minimum(&self, budget: Span) -> Span {
        if budget < self.min_runtime { Span::ZERO } else { budget }
    }

    /// The refusal for an error of the scheduler. It offers no runtime below the minimum of the user.
    pub fn refusal(&self, error: &CpuError, user: u32) -> Refusal {
        let refusal = scheduler_refusal(error);
        let minimum = if user == 0 { Span::ZERO } else { self.min_runtime };
        match refusal.max_runtime_ns {
            Some(ns) if ns > 0 && ns < minimum.0 => {
                let text = format!("{}, less than your minimum of {minimum}", refusal.text);
                Refusal { max_runtime_ns: Some(0), text, ..refusal }
            }
            _ => refusal,
        }
    }
}

/// The number of reservations of a user.
fn count_of(table: &ReservationTable, user: u32) -> usize {
    table.placed.iter().filter(|(_, owner)| *owner == user).count()
}

/// The sum of the reservations of a user.
fn reserved_by(table: &ReservationTable, user: u32) -> Share {
    let own = table.placed.iter().filter(|(_, owner)| *owner == user);
    own.map(|(placed, _)| Share::up(placed.reservation.budget, placed.reservation.period))
        .fold(Share::ZERO, Share::plus)
}

fn suggestion(max_runtime: Span) -> String {
    match max_runtime {
        Span::ZERO => "no runtime would fit this period".to_owned(),
        runtime => format!("a runtime of {runtime} would fit"),
    }
}

/// The largest runtime that the scheduler would admit, according to its refusal.
fn max_admitted_runtime(error: &CpuError) -> Option<Span> {
    match error {
        CpuError::Refused { refusal: AdmissionRefusal::Overload { fits, .. }, .. } => Some(*fits),
        CpuError::Refused { refusal: AdmissionRefusal::NothingLeft, .. } => Some(Span::ZERO),
        CpuError::Quota { reservation, quota } => Some(quota.max_runtime(reservation.period)),
        _ => None,
    }
}

/// The refusal for an error of the scheduler.
fn scheduler_refusal(error: &CpuError) -> Refusal {
    let code = match error {
        CpuError::Refused { refusal: AdmissionRefusal::Fault(_), .. } | CpuError::Invalid(_) => {
            Code::Invalid
        }
        CpuError::Refused { .. } => Code::NoRoom,
        CpuError::Affinity(_) => Code::Affinity,
        CpuError::Quota { .. } => Code::Share,
        CpuError::AlreadyReserved => Code::AlreadyReserved,
        CpuError::NotReserved => Code::NotReserved,
        CpuError::TableFull => Code::TooMany,
        CpuError::NoTask { .. } => Code::NoTask,
        CpuError::Pending | CpuError::Draining => Code::Busy,
        CpuError::NotRunning
        | CpuError::Ejected { .. }
        | CpuError::OtherVersion
        | CpuError::NoKernel
        | CpuError::OtherScheduler { .. } => Code::NoScheduler,
        _ => Code::Internal,
    };
    let max_runtime_ns = max_admitted_runtime(error).map(|runtime| runtime.0);
    Refusal { code, text: error.to_string(), max_runtime_ns }
}

#[cfg(test)]
mod tests {
    use laxity_kernel::cpu::{Overheads, Policy};
    use proptest::prelude::*;

    use super::*;

    const QUARTER: Share = Share::per_mille(250);

    fn of(budget_us: u64, period_us: u64) -> Reservation {
        Reservation::new(Span(budget_us * 1000), Span(period_us * 1000))
    }

    fn table(cpus: u32, placed: &[(u32, Reservation, u32)]) -> ReservationTable {
        let placed = placed.iter().map(|&(cpu, reservation, owner)| {
            (PlacedReservation { cpu, reservation, overhead: Span::ZERO }, owner)
        });
        let policy = Policy::named("bebs").expect("a policy");
        ReservationTable { policy, cpus, placed: placed.collect() }
    }

    fn max_runtime_us(refusal: &Refusal) -> u64 {
        refusal.max_runtime_ns.expect("a runtime") / 1000
    }

    /// Fails when another user's reservations are counted, root is limited, the number of CPUs is ignored,
    /// or parts of a share exceed it by rounding (tried without `count + 1`).
    #[test]
    fn each_user_has_a_share() {
        let limits = UserLimits::new(QUARTER);
        let one = table(1, &[(0, of(2_000, 10_000), 1000), (0, of(4_000, 10_000), 0)]);
        let admit = |table: &ReservationTable, user, reservation| {
            limits.admit(table, user, reservation, &[0])
        };
        assert_eq!(admit(&one, 1000, of(500, 10_000)), Ok(()));
        assert_eq!(admit(&one, 1001, of(2_500, 10_000)), Ok(()));
        assert_eq!(admit(&one, 0, of(3_000, 10_000)), Ok(()));
        let refused = admit(&one, 1000, of(501, 10_000)).expect_err("beyond the share");
        assert_eq!((refused.code, max_runtime_us(&refused)), (Code::Share, 500));
        for part in ["5.010 %", "20.000 % of the 25.000 %", "a runtime of 0.5 ms"] {
            assert!(refused.text.contains(part), "no {part} in {}", refused.text);
        }
        // A quarter of four CPUs is one CPU.
        let four = table(4, &[(0, of(2_000, 10_000), 1000)]);
        assert_eq!(admit(&four, 1000, of(8_000, 10_000)), Ok(()));
        assert_eq!(
            limits.usage(&four, 1000),
            Some(protocol::Share { reserved_ppm: 200_000, limit_ppm: 1_000_000 })
        );
        assert_eq!(limits.usage(&four, 0), None);
    }

    /// Fails when a refusal offers the rest of a share that no CPU has left, or a runtime below the minimum.
    #[test]
    fn offered_runtimes_are_admitted() {
        let limits = UserLimits::new(QUARTER);
        let full = table(1, &[(0, of(90_000, 100_000), 0)]);
        let refused = limits.admit(&full, 1000, of(30_000, 100_000), &[0]).expect_err("too much");
        assert_eq!((refused.code, max_runtime_us(&refused)), (Code::Share, 5_000));
        let full = table(1, &[(0, of(949_950, 1_000_000), 0)]);
        let refused =
            limits.admit(&full, 1000, of(300_000, 1_000_000), &[0]).expect_err("too much");
        assert_eq!(max_runtime_us(&refused), 0);
        assert!(refused.text.ends_with("no runtime would fit this period"), "{}", refused.text);
    }

    /// Fails when the text of a refusal offers a runtime below the user's minimum.
    #[test]
    fn runtimes_below_the_minimum_are_not_offered() {
        let limits = UserLimits::new(QUARTER);
        let policy = Policy::named("bebs").expect("a policy");
        let placed = [PlacedReservation {
            cpu: 0,
            reservation: of(940_000, 1_000_000),
            overhead: Span::ZERO,
        }];
        let error = place(&policy, &placed, of(1_000, 1_000), &[0]).expect_err("no room");
        assert_eq!(max_runtime_us(&limits.refusal(&error, 0)), 10);
        let refused = limits.refusal(&error, 1000);
        assert_eq!(max_runtime_us(&refused), 0);
        assert!(refused.text.ends_with("less than your minimum of 0.1 ms"), "{refused:?}");
    }

    /// Fails when reservations that are too many, too short, invalid or too long are admitted.
    #[test]
    fn limits_are_enforced() {
        let limits = UserLimits::new(QUARTER);
        let code = |table: &ReservationTable, user, reservation| {
            limits.admit(table, user, reservation, &[0]).map_err(|refusal| refusal.code)
        };
        let none = table(1, &[]);
        assert_eq!(code(&none, 1000, of(99, 10_000)), Err(Code::Invalid));
        assert_eq!(code(&none, 1000, of(1_000, 1_000_000)), Ok(()));
        assert_eq!(code(&none, 1000, of(1_000, 1_000_001)), Err(Code::Invalid));
        assert_eq!(code(&none, 0, of(1_000, 1_000_001)), Ok(()));
        assert_eq!(code(&none, 0, of(99, 10_000)), Ok(()));
        assert_eq!(code(&none, 0, of(11_000, 10_000)), Err(Code::Invalid));
        assert_eq!(code(&none, 0, of(0, 10_000)), Err(Code::Invalid));
        assert_eq!(code(&none, 0, of(1_000, 11_000_000)), Err(Code::Invalid));
        let many = table(1, &[(0, of(100, 1_000_000), 1000); 32]);
        assert_eq!(code(&many, 1000, of(100, 1_000_000)), Err(Code::TooMany));
        assert_eq!(code(&many, 1001, of(100, 1_000_000)), Ok(()));
    }

    proptest! {
        /// For any sequence of requests, no user exceeds the share, and the runtime that a refusal offers
        /// is admitted; one nanosecond more is not.
        ///
        /// Fails when a refusal offers more than a CPU has left: tried with an empty `placed` in
        /// `max_runtime`; or a runtime and its overhead together: tried without `saturating_sub` there.
        #[test]
        fn shares_hold_and_offers_are_exact(
            cpus in 1..5u32,
            per_mille in 1..1000u32,
            switch in prop_oneof![Just(0), 0..2_000_000u64],
            requests in prop::collection::vec((1000..1003u32, 100_000..2_000_000_000u64,
                1_000_000..=1_000_000_000u64), 1..40),
        ) {
            let limits = UserLimits::new(Share::per_mille(per_mille));
            let mut table = table(cpus, &[]);
            let overheads = Overheads { switch: Span(switch), ..Overheads::default() };
            table.policy = table.policy.with_overheads(overheads);
            let overhead = table.policy.overheads().per_job();
            let allowed: Vec<u32> = (0..cpus).collect();
            for (user, budget, period) in requests {
                let reservation = Reservation::new(Span(budget.min(period)), Span(period));
                let grant = |table: &ReservationTable, reservation: Reservation| {
                    let placed: Vec<PlacedReservation> =
                        table.placed.iter().map(|(placed, _)| *placed).collect();
                    limits.admit(table, user, reservation, &allowed).and_then(|()| {
                        place(&table.policy, &placed, reservation, &allowed)
                            .map_err(|error| limits.refusal(&error, user))
                    })
                };
                match grant(&table, reservation) {
                    Ok(cpu) => {
                        let reservation =
                            Reservation { budget: reservation.budget + overhead, ..reservation };
                        let placed = PlacedReservation { cpu, reservation, overhead };
                        table.placed.push((placed, user));
                        let share = limits.usage(&table, user).expect("a share");
                        let rounding = Share(limits.max_reservations as u64);
                        let limit = limits.bandwidth_limit(&table).plus(rounding);
                        prop_assert!(reserved_by(&table, user) <= limit);
                        prop_assert!(share.reserved_ppm <= share.limit_ppm + 1);
                    }
                    Err(refusal) if refusal.code == Code::TooMany => {}
                    Err(refusal) => {
                        let runtime = refusal.max_runtime_ns.expect("a runtime");
                        prop_assert!(runtime < reservation.budget.0);
                        if runtime > 0 {
                            let offered = Reservation::new(Span(runtime), reservation.period);
                            prop_assert!(grant(&table, offered).is_ok(), "{}", refusal.text);
                        }
                        if runtime + 1 >= limits.min_runtime.0 {
                            let more = Reservation::new(Span(runtime + 1), reservation.period);
                            prop_assert!(grant(&table, more).is_err(), "{}", refusal.text);
                        }
                    }
                }
            }
        }
    }
}
