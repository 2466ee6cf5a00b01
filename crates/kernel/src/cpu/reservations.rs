//! Admission and placement of reservations, by the admission tests of the policies.

use std::cmp::Reverse;

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, Nice, Policy as _, Refusal, Reservation, Share, TaskId};

use super::{Cores, CpuError, Policy};

/// A reservation on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedReservation {
    /// The CPU.
    pub cpu: u32,
    /// Budget, with the overhead, and period.
    pub reservation: Reservation,
    /// The part of the budget that was added for switches and the release.
    pub overhead: Span,
}

impl PlacedReservation {
    /// Budget and period as they were requested.
    pub fn requested(&self) -> Reservation {
        let budget = Span(self.reservation.budget.0.saturating_sub(self.overhead.0));
        Reservation { budget, ..self.reservation }
    }
}

/// The longest period: a task that has exhausted its budget waits for its next period, and the kernel
/// ends a scheduler under which a task waits for 30 s.
const MAX_PERIOD: Span = Span::from_millis(10_000);

/// A request for CPU time for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationRequest {
    /// The task.
    pub pid: u32,
    /// Budget and period.
    pub reservation: Reservation,
    /// Whether future children share it.
    pub inherit: bool,
    /// The user to whose share it counts.
    pub owner: u32,
}

impl ReservationRequest {
    /// A request without a reservation, which only names a task.
    #[cfg(feature = "kernel")]
    pub(super) fn empty(pid: u32) -> ReservationRequest {
        let reservation = Reservation::new(Span::ZERO, Span::ZERO);
        ReservationRequest { pid, reservation, inherit: false, owner: 0 }
    }
}

/// Checks whether a reservation is valid on live CPUs.
///
/// # Errors
/// The reason why it is not.
pub fn check(reservation: Reservation) -> Result<(), CpuError> {
    reservation.check().map_err(Refusal::from)?;
    if reservation.is_constrained() {
        return Err(CpuError::Invalid("live reservations have deadlines equal to their periods"));
    }
    if reservation.period > MAX_PERIOD {
        return Err(CpuError::Invalid("live reservations have periods of at most 10 s"));
    }
    Ok(())
}

/// The CPU for one more reservation: worst fit, the CPU of `allowed` with the most bandwidth left among
/// those that admit its budget and the overheads of the policy.
///
/// # Errors
/// The refusal of the CPU with the most bandwidth left.
pub fn place(
    policy: &Policy,
    placed: &[PlacedReservation],
    reservation: Reservation,
    allowed: &[u32],
) -> Result<u32, CpuError> {
    place_on_cores(policy, placed, reservation, allowed, &Cores::default())
}

/// As [`place`], on the core of which the least is reserved, since CPUs of one core slow each other down.
///
/// # Errors
/// As [`place`].
pub fn place_on_cores(
    policy: &Policy,
    placed: &[PlacedReservation],
    reservation: Reservation,
    allowed: &[u32],
    cores: &Cores,
) -> Result<u32, CpuError> {
    let overhead = policy.overheads().per_job();
    let mut charged = reservation;
    if reservation.check().is_ok() {
        // A whole period is more than best effort leaves, so a longer budget is refused by the same words.
        charged.budget = (reservation.budget + overhead).min(reservation.period);
    }
    let reserved_of_core = |cpu| {
        let on_core = placed.iter().filter(|p| cores.share(p.cpu, cpu)).map(|p| p.reservation);
        on_core.fold(Share::ZERO, |sum, r| sum.plus(Share::up(r.budget, r.period)))
    };
    let mut best: Option<(Reverse<Share>, Share, u32)> = None;
    let mut closest: Option<(Share, u32, Refusal)> = None;
    for &cpu in allowed {
        let mut servers = policy.servers();
        let mut others = placed.iter().filter(|p| p.cpu == cpu).map(|p| p.reservation);
        let now = Time(0);
        let mut next = 0..u32::MAX;
        let mut task = || TaskId(next.next().unwrap_or_default());
        // Best effort, which keeps a minimum share.
        let _ = servers.join(now, task(), &Attributes::best_effort(Nice::default()));
        let mut join = |r| servers.join(now, task(), &Attributes::hard(r)).map(|_| ());
        // Those that are there may have more than a minimum of best effort leaves that was raised after them.
        let (joined, is_full) = match others.try_for_each(&mut join) {
            Ok(()) => (join(charged), false),
            Err(_) => {
                (charged.check().map_err(Refusal::from).and_then(|()| Err(no_room(charged))), true)
            }
        };
        let left = if is_full { Share::ZERO } else { servers.best_effort() };
        match joined {
            Ok(()) => best = best.max(Some((Reverse(reserved_of_core(cpu)), left, cpu))),
            // It is invalid on every CPU.
            Err(refusal @ Refusal::Fault(_)) => return Err(refusal.into()),
            Err(refusal) => {
                if closest.is_none_or(|(most, ..)| left > most) {
                    closest = Some((left, cpu, refusal));
                }
            }
        }
    }
    match (best, closest) {
        (Some((.., cpu)), _) => Ok(cpu),
        (None, Some((_, cpu, refusal))) => {
            let refusal = as_requested(refusal, reservation, overhead);
            Err(CpuError::Refused { cpu, refusal, overhead })
        }
        (None, None) => Err(CpuError::Affinity("the task may run on none of the scheduler's CPUs")),
    }
}

/// The refusal of a CPU without any room.
fn no_room(asked: Reservation) -> Refusal {
    let needs = Share::up(asked.budget, asked.period);
    Refusal::Overload { asked, needs, free: Share::ZERO, fits: Span::ZERO }
}

/// States a refusal by budgets without overhead.
fn as_requested(refusal: Refusal, asked: Reservation, overhead: Span) -> Refusal {
    match refusal {
        Refusal::Overload { needs, free, fits, .. } => {
            let fits = Span(fits.0.saturating_sub(overhead.0));
            Refusal::Overload { asked, needs, free, fits }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use laxity_core::OptionValue;

    use super::*;
    use crate::cpu::Overheads;

    fn of(budget: u64, period: u64) -> Reservation {
        Reservation::new(Span::from_millis(budget), Span::from_millis(period))
    }

    /// Fails when the CPU with the least bandwidth left is chosen, or the share of best effort is ignored.
    #[test]
    fn placement_is_worst_fit() {
        let policy = Policy::named("bebs").expect("a policy");
        let on = |cpu, reservation| PlacedReservation { cpu, reservation, overhead: Span::ZERO };
        let placed = [on(0, of(5, 10)), on(1, of(60, 100))];
        assert_eq!(place(&policy, &placed, of(3, 10), &[0, 1]).ok(), Some(0));
        assert_eq!(place(&policy, &placed, of(3, 10), &[0, 1, 2]).ok(), Some(2));
        assert_eq!(place(&policy, &placed, of(3, 10), &[1]).ok(), Some(1));
        let refused = place(&policy, &placed, of(46, 100), &[0, 1]).expect_err("too much");
        assert_eq!(
            refused.to_string(),
            "CPU 0: 46 ms in every 100 ms needs 46.000 % of the CPU, 1.000 % more than the \
             45.000 % left; a budget of 45 ms would fit"
        );
        assert!(place(&policy, &placed, of(20, 10), &[0]).is_err());
        assert!(place(&policy, &placed, of(2, 10), &[]).is_err());
    }

    /// One CPU has more than a minimum of best effort leaves that was raised later, another one almost as much.
    ///
    /// Fails when the refusal is that of a reservation which is there already (it offers 8 ms), or such a CPU counts as
    /// the one with the most left.
    #[test]
    fn a_raised_minimum_leaves_no_room() {
        let minimum = ("min-best-effort-bw".to_owned(), OptionValue::Integer(200));
        let policy = Policy::configured("bebs", &[minimum]).expect("a policy");
        let on = |cpu, budget| PlacedReservation {
            cpu,
            reservation: of(budget, 10),
            overhead: Span::ZERO,
        };
        let refused = |allowed: &[u32], budget| {
            let placed = [on(0, 9), on(1, 7)];
            place(&policy, &placed, of(budget, 100), allowed).expect_err("no room").to_string()
        };
        assert_eq!(
            refused(&[0], 1),
            "CPU 0: 1 ms in every 100 ms needs 1.000 % of the CPU, 1.000 % more than the 0.000 % left; \
             no budget fits this period and deadline"
        );
        assert!(refused(&[0, 1], 20).starts_with("CPU 1: "));
        assert!(refused(&[0], 101).ends_with("give a budget up to the deadline"));
    }

    /// Fails when overheads are not charged, are charged twice, or are part of the budget that a refusal offers.
    #[test]
    fn overheads_are_charged_and_not_offered() {
        let us = |us: u64| Span(us * 1000);
        let overheads = Overheads { switch: us(6), release: us(4), migration: us(900) };
        let policy = Policy::named("bebs-credit").expect("a policy").with_overheads(overheads);
        let overhead = policy.overheads().per_job();
        assert_eq!(overhead, us(16));
        let asked = |budget| Reservation::new(us(budget), us(10_000));
        let placed = [PlacedReservation { cpu: 0, reservation: asked(5_016), overhead }];
        assert_eq!(placed[0].requested(), asked(5_000));
        let find = |budget| place(&policy, &placed, asked(budget), &[0]);
        // 95 % are 9500 us, less 5016 and 16.
        assert_eq!(find(4_468).ok(), Some(0));
        let refused = find(4_469).expect_err("one more").to_string();
        assert_eq!(
            refused,
            "CPU 0: 4.469 ms in every 10 ms needs 44.850 % of the CPU, 0.010 % more than the 44.840 % \
             left; a budget of 4.468 ms would fit; overheads add 0.016 ms to each budget"
        );
        // Longer than the period only by its overhead.
        for budget in [9_500, 9_990, 10_000] {
            let refused = place(&policy, &[], asked(budget), &[0]).expect_err("no room");
            assert!(refused.to_string().contains("a budget of 9.484 ms would fit"), "{refused}");
        }
        let invalid = place(&policy, &[], asked(10_001), &[0]).expect_err("longer than its period");
        assert!(!invalid.to_string().contains("would fit"), "{invalid}");
    }

    /// Fails when a CPU beside a reserved one of its core is preferred to one of a free core, or a core without
    /// room to one with room.
    #[test]
    fn reservations_spread_over_cores() {
        let policy = Policy::named("bebs").expect("a policy");
        let cores = Cores::new([vec![0, 1], vec![2, 3], vec![0, 1]]);
        let on = |cpu, budget| PlacedReservation {
            cpu,
            reservation: of(budget, 100),
            overhead: Span::ZERO,
        };
        let find = |placed: &[PlacedReservation], budget| {
            place_on_cores(&policy, placed, of(budget, 100), &[0, 1, 2, 3], &cores).ok()
        };
        assert_eq!(find(&[on(3, 10)], 10), Some(1));
        assert_eq!(find(&[on(3, 10), on(1, 20)], 10), Some(2));
        assert_eq!(find(&[on(3, 30), on(2, 30), on(1, 50)], 10), Some(0));
        assert_eq!(find(&[on(3, 30), on(2, 30), on(1, 50)], 70), Some(0));
        assert_eq!(find(&[on(3, 60), on(1, 50), on(0, 50)], 60), Some(2));
    }

    /// Fails when a task may wait for so long that the kernel ends the scheduler.
    #[test]
    fn periods_are_short_enough_for_the_kernel() {
        assert!(check(of(1, 10_000)).is_ok());
        assert!(check(of(1, 10_001)).is_err());
        assert!(check(of(0, 10)).is_err());
        let early = Reservation { deadline: Span::from_millis(5), ..of(1, 10) };
        assert!(check(early).is_err());
    }
}
