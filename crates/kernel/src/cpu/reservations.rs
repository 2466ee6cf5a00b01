//! Whether a reservation fits, and on which CPU: asked of the policies themselves.

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, Nice, Policy as _, Refusal, Reservation, Share, TaskId};

use super::{CpuError, Policy};

/// A reservation in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where.
    pub cpu: u32,
    /// What.
    pub reservation: Reservation,
}

/// A task that has used its budget waits for its next period, and the kernel takes the scheduler
/// away when a task waits for 30 s.
const LONGEST: Span = Span::from_millis(10_000);

/// What is asked for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The task.
    pub pid: u32,
    /// What it shall have.
    pub reservation: Reservation,
    /// Children that it will have share it.
    pub inherit: bool,
    /// The user to whose share it counts.
    pub owner: u32,
}

impl Wish {
    /// For requests that name a task only.
    #[cfg(feature = "kernel")]
    pub(super) fn nothing(pid: u32) -> Wish {
        let reservation = Reservation::new(Span::ZERO, Span::ZERO);
        Wish { pid, reservation, inherit: false, owner: 0 }
    }
}

/// Whether a reservation makes sense on live CPUs.
///
/// # Errors
/// What is wrong with it.
pub fn check(asked: Reservation) -> Result<(), CpuError> {
    asked.check().map_err(Refusal::from)?;
    if asked.is_constrained() {
        return Err(CpuError::Unusable("live reservations have deadlines equal to their periods"));
    }
    if asked.period > LONGEST {
        return Err(CpuError::Unusable("live reservations have periods of at most 10 s"));
    }
    Ok(())
}

/// The CPU for one more reservation: of those in `allowed` that have room, the one with the most
/// left.
///
/// # Errors
/// The refusal of the CPU that comes closest.
pub fn place(
    policy: &Policy,
    held: &[Held],
    asked: Reservation,
    allowed: &[u32],
) -> Result<u32, CpuError> {
    let mut best: Option<(Share, u32)> = None;
    let mut closest: Option<(Share, u32, Refusal)> = None;
    for &cpu in allowed {
        let mut servers = policy.servers();
        let mut others = held.iter().filter(|h| h.cpu == cpu);
        let now = Time(0);
        let mut next = 0..u32::MAX;
        let mut task = || TaskId(next.next().unwrap_or_default());
        // The best effort that must be left something.
        let _ = servers.join(now, task(), &Attributes::best_effort(Nice::default()));
        let joined = others
            .try_for_each(|h| {
                servers.join(now, task(), &Attributes::hard(h.reservation)).map(|_| ())
            })
            .and_then(|()| servers.join(now, task(), &Attributes::hard(asked)).map(|_| ()));
        let left = servers.best_effort();
        match joined {
            Ok(()) => best = best.max(Some((left, cpu))),
            // It makes no sense on any CPU.
            Err(refusal @ Refusal::Fault(_)) => return Err(refusal.into()),
            Err(refusal) => {
                if closest.is_none_or(|(most, ..)| left > most) {
                    closest = Some((left, cpu, refusal));
                }
            }
        }
    }
    match (best, closest) {
        (Some((_, cpu)), _) => Ok(cpu),
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

    /// Fails when the CPU with the least left is taken, or the share for best effort is forgotten.
    #[test]
    fn placement_picks_the_emptiest_cpu() {
        let policy = Policy::named("bebs").expect("a policy");
        let held =
            [Held { cpu: 0, reservation: of(5, 10) }, Held { cpu: 1, reservation: of(60, 100) }];
        assert_eq!(place(&policy, &held, of(3, 10), &[0, 1]).ok(), Some(0));
        assert_eq!(place(&policy, &held, of(3, 10), &[0, 1, 2]).ok(), Some(2));
        assert_eq!(place(&policy, &held, of(3, 10), &[1]).ok(), Some(1));
        let refused = place(&policy, &held, of(46, 100), &[0, 1]).expect_err("too much");
        assert_eq!(
            refused.to_string(),
            "CPU 0: 46 ms in every 100 ms needs 46.000 % of the CPU, 1.000 % more than the \
             45.000 % left; a budget of 45 ms would fit"
        );
        assert!(place(&policy, &held, of(20, 10), &[0]).is_err());
        assert!(place(&policy, &held, of(2, 10), &[]).is_err());
    }

    /// Fails when a task could wait so long that the kernel ends the scheduler.
    #[test]
    fn periods_are_short_enough_for_the_kernel() {
        assert!(check(of(1, 10_000)).is_ok());
        assert!(check(of(1, 10_001)).is_err());
        assert!(check(of(0, 10)).is_err());
        let early = Reservation { deadline: Span::from_millis(5), ..of(1, 10) };
        assert!(check(early).is_err());
    }
}
