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
    /// Budget and period.
    pub reservation: Reservation,
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
/// those that admit it.
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
    let reserved_of_core = |cpu| {
        let on_core = placed.iter().filter(|p| cores.share(p.cpu, cpu)).map(|p| p.reservation);
        on_core.fold(Share::ZERO, |sum, r| sum.plus(Share::up(r.budget, r.period)))
    };
    let mut best: Option<(Reverse<Share>, Share, u32)> = None;
    let mut closest: Option<(Share, u32, Refusal)> = None;
    for &cpu in allowed {
        let mut servers = policy.servers();
        let mut others = placed.iter().filter(|p| p.cpu == cpu);
        let now = Time(0);
        let mut next = 0..u32::MAX;
        let mut task = || TaskId(next.next().unwrap_or_default());
        // Best effort, which keeps a minimum share.
        let _ = servers.join(now, task(), &Attributes::best_effort(Nice::default()));
        let joined = others
            .try_for_each(|p| {
                servers.join(now, task(), &Attributes::hard(p.reservation)).map(|_| ())
            })
            .and_then(|()| servers.join(now, task(), &Attributes::hard(reservation)).map(|_| ()));
        let left = servers.best_effort();
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
        (None, Some((_, cpu, refusal))) => Err(CpuError::Refused { cpu, refusal }),
        (None, None) => Err(CpuError::Affinity("the task may run on none of the scheduler's CPUs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(budget: u64, period: u64) -> Reservation {
        Reservation::new(Span::from_millis(budget), Span::from_millis(period))
    }

    /// Fails when the CPU with the least bandwidth left is chosen, or the share of best effort is ignored.
    #[test]
    fn placement_is_worst_fit() {
        let policy = Policy::named("bebs").expect("a policy");
        let on = |cpu, reservation| PlacedReservation { cpu, reservation };
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

    /// Fails when a CPU beside a reserved one of its core is preferred to one of a free core, or a core without
    /// room to one with room.
    #[test]
    fn reservations_spread_over_cores() {
        let policy = Policy::named("bebs").expect("a policy");
        let cores = Cores::new([vec![0, 1], vec![2, 3], vec![0, 1]]);
        let on = |cpu, budget| PlacedReservation { cpu, reservation: of(budget, 100) };
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
