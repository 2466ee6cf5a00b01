//! Replays recorded events of one CPU in a policy of [`laxity_cpu`], which then decides as the kernel did.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use laxity_core::Span;
use laxity_cpu::{Attributes, CpuId, GroupId, Nice, Pick, Policy, Refusal, Reservation, TaskId};

use super::record::{Event, EventKind};

/// The first of the ids that stand for reservations whose task is not there yet: more than the kernel has tasks.
pub const FIRST_PLACE: u32 = 20_000;

/// Best effort of a weight; `None` where no nice value has it.
pub fn weighing(weight: u32) -> Option<Attributes> {
    let nice = i8::try_from(20 - i64::from(weight)).ok().and_then(Nice::new);
    nice.map(Attributes::best_effort)
}

/// Why events cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// An event lacks its task.
    NoTask(Event),
    /// A weight that no nice value has.
    Weight(Event),
    /// A reservation that was not recorded.
    Unknown(Event),
    /// The policy refuses what the kernel granted.
    Refused(Event, Refusal),
    /// The policy picks another task, or the same with another budget.
    Differs(Event, Option<Pick>),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::NoTask(event) => write!(f, "the event `{event}` has no task"),
            ReplayError::Weight(event) => write!(f, "the event `{event}` has no known weight"),
            ReplayError::Unknown(event) => {
                write!(f, "the event `{event}` is of a reservation that was not recorded")
            }
            ReplayError::Refused(event, why) => {
                write!(f, "the policy refuses the event `{event}`: {why}")
            }
            ReplayError::Differs(event, None) => {
                write!(f, "the policy leaves the CPU idle at the event `{event}`")
            }
            ReplayError::Differs(event, Some(pick)) => {
                let left = pick.until.since(event.at);
                write!(f, "the policy picks task {} for {left} at the event `{event}`", pick.task.0)
            }
        }
    }
}

impl Error for ReplayError {}

/// The state of a replay beside the policy.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Reservations by number.
    pub reservations: HashMap<u32, Reservation>,
    /// Decisions, and how many of them chose a task.
    pub decisions: [u64; 2],
}

impl Replay {
    fn of_reservation(&self, event: &Event, number: u32) -> Result<Attributes, ReplayError> {
        let reservation = self.reservations.get(&number).ok_or(ReplayError::Unknown(*event))?;
        Ok(Attributes::hard(*reservation).in_group(GroupId(number)))
    }

    /// Replays an event; the policy's tasks are the kernel's slots. Answers the pick of a decision, which is of the
    /// kernel's task and ends with its budget.
    ///
    /// # Errors
    /// The events before this one were not all recorded, or the policy is another one than the kernel's.
    pub fn apply<P: Policy + ?Sized>(
        &mut self,
        policy: &mut P,
        event: &Event,
    ) -> Result<Option<Pick>, ReplayError> {
        let (at, task) = (event.at, event.slot.map(TaskId));
        let of = || task.ok_or(ReplayError::NoTask(*event));
        let best_effort = |weight| weighing(weight).ok_or(ReplayError::Weight(*event));
        let refused = |why| ReplayError::Refused(*event, why);
        match event.kind {
            EventKind::Joined { weight, learnt } => {
                policy.join(at, of()?, &best_effort(weight)?).map_err(refused)?;
                if learnt > Span::ZERO {
                    policy.set_execution_estimate(of()?, learnt);
                }
            }
            EventKind::Reserved { number, reservation } => {
                self.reservations.insert(number, reservation);
                let attributes = self.of_reservation(event, number)?;
                policy.join(at, TaskId(FIRST_PLACE + number), &attributes).map_err(refused)?;
            }
            EventKind::Bound { number } => {
                let attributes = self.of_reservation(event, number)?;
                policy.join(at, of()?, &attributes).map_err(refused)?;
                policy.leave(at, TaskId(FIRST_PLACE + number), Span::ZERO);
            }
            EventKind::ReservationEnded { number } => {
                policy.leave(at, TaskId(FIRST_PLACE + number), Span::ZERO);
            }
            EventKind::Left => policy.leave(at, of()?, Span::ZERO),
            EventKind::Weighed { weight } => {
                policy.change(at, of()?, &best_effort(weight)?).map_err(refused)?;
            }
            EventKind::Woke { by_current: false } => policy.wake(at, of()?),
            EventKind::Woke { by_current: true } => policy.wake_by_running(at, of()?),
            EventKind::Blocked => policy.block(at, of()?, Span::ZERO),
            EventKind::Ran { length } => policy.ran(at, of()?, length),
            EventKind::Resumed => policy.resume(at, of()?),
            EventKind::Timer => policy.timer(at),
            EventKind::Chosen { left, reserved_first, .. } => {
                let pick = match reserved_first {
                    false => policy.pick(at, CpuId::FIRST),
                    true => policy.pick_reserved_first(at, CpuId::FIRST),
                };
                let replayed = pick.map(|pick| (pick.task, pick.until.since(at)));
                if replayed != task.map(|task| (task, left)) {
                    return Err(ReplayError::Differs(*event, pick));
                }
                self.decisions[0] += 1;
                self.decisions[1] += u64::from(pick.is_some());
                return Ok(pick);
            }
            EventKind::Started { .. } | EventKind::Stopped => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Policy as Kernel;

    fn replayed(lines: &str) -> Result<[u64; 2], String> {
        let mut policy = Kernel::named("bebs-credit").expect("a policy").servers();
        let mut replay = Replay::default();
        for line in lines.lines() {
            let event = Event::parse(line).expect("an event");
            replay.apply(&mut policy, &event).map_err(|error| error.to_string())?;
        }
        Ok(replay.decisions)
    }

    /// Fails when a decision is not compared with the kernel's, an event of an unrecorded reservation is skipped, or a
    /// weight is taken as another.
    #[test]
    fn what_cannot_be_replayed_is_an_error() {
        // A reservation of 2 in 10 ms for slot 1, which wakes; a task of weight 20 at slot 2.
        let begin =
            "0 5 0 2 12 20 0\n2 10 0 0 0 2000000 10000000\n1 10 0 1 11 0 0\n5 20 0 1 11 0 0\n";
        let chosen = format!("{begin}9 20 0 1 11 2000000 10000020\n");
        assert_eq!(replayed(&chosen), Ok([1, 1]));
        let fails = |line: &str, why: &str| {
            let error = replayed(&format!("{begin}{line}\n")).expect_err(line);
            assert!(error.contains(why), "{error}");
        };
        fails("9 20 0 2 12 2000000 10000020", "the policy picks task 1 for 2 ms");
        fails("9 20 0 1 11 1000000 10000020", "the policy picks task 1 for 2 ms");
        fails("9 20 0 4294967295 0 0 0", "the policy picks task 1");
        fails("1 20 0 3 11 7 0", "a reservation that was not recorded");
        fails("0 20 0 3 11 90 0", "no known weight");
        fails("2 20 0 1 0 9000000 10000000", "the policy refuses the event");
        fails("6 20 0 4294967295 0 0 0", "has no task");
        let idle = "9 5 0 2 12 1000000 50000000";
        assert!(replayed(idle).expect_err("idle").contains("leaves the CPU idle"));
    }

    /// Two reservations of 6 in 10 ms, the second after the end of the first, whose task slept all the time.
    ///
    /// Fails when the end is not replayed, or takes a reservation that a task has joined.
    #[test]
    fn a_reservation_may_end_before_its_task_wakes() {
        let reserved = |at: u64| format!("2 {at} 0 1 0 6000000 10000000\n");
        let (first, second) = (reserved(10), reserved(30));
        assert_eq!(replayed(&format!("{first}15 20 0 1 0 0 0\n{second}")), Ok([0, 0]));
        let error = replayed(&format!("{first}{second}")).expect_err("no end");
        assert!(error.contains("the policy refuses the event"), "{error}");
        let joined =
            "1 20 0 7 11 1 0\n15 30 0 1 0 0 0\n5 40 0 7 11 0 0\n9 40 0 7 11 6000000 10000040\n";
        assert_eq!(replayed(&format!("{first}{joined}")), Ok([1, 1]));
    }

    /// A task with a short budget preempts another one and blocks, and the kernel resumes that one without a decision:
    /// its turn has begun, so a third task with an earlier deadline waits.
    ///
    /// Fails when the resumption is not replayed.
    #[test]
    fn resumed_tasks_have_their_turn() {
        let joined = "0 5 0 2 12 20 0\n0 5 0 3 13 40 100000\n0 5 0 4 14 40 0\n";
        let preempted = "5 10 0 2 12 0 0\n9 10 0 2 12 1000000 0\n7 20 0 2 12 10 0\n\
             5 20 0 3 13 0 0\n9 20 0 3 13 100000 0\n";
        let blocked = "7 50020 0 3 13 50000 0\n6 50020 0 3 13 0 0\n";
        let woken = "7 60020 0 2 12 10000 0\n5 60020 0 4 14 0 0\n9 60020 0 2 12 989990 0\n";
        let before = format!("{joined}{preempted}{blocked}");
        assert_eq!(replayed(&format!("{before}13 50020 0 2 12 0 0\n{woken}")), Ok([3, 3]));
        let error = replayed(&format!("{before}{woken}")).expect_err("another decision");
        assert!(error.contains("the policy picks task 4"), "{error}");
    }
}
