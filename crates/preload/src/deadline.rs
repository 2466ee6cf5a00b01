//! Requests to the server in place of `SCHED_DEADLINE`.

use std::time::Duration;

use laxity_reserve::{Client, Code, Error, Request, ReservationStatus, current_tid};
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::attributes::{DEADLINE, Parameters, SIZE, SchedAttr, is_size};
use crate::grants::{Grant, Grants, exists};
use crate::memory;

/// The threads that have a reservation by this library.
pub static GRANTS: Grants = Grants::new();

/// Policies of tasks that a scheduler of sched_ext has: `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`, `SCHED_EXT`.
const SCHED_EXT_POLICIES: [u32; 4] = [0, 3, 5, 7];

/// What becomes of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The kernel's own.
    Pass,
    /// The kernel's own; where it succeeds, the thread's reservation ends.
    PassAndRelease(u32),
    Done,
    Failed(Errno),
}

/// The thread id of an argument; 0 is the calling thread.
fn thread(task: i32) -> u32 {
    if task == 0 { current_tid() } else { task.unsigned_abs() }
}

fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default()
}

/// `sched_setattr(task, attributes, flags)`.
pub fn set(task: i32, attributes: usize, flags: u32) -> Answer {
    // The kernel refuses these.
    if task < 0 || attributes == 0 || flags != 0 {
        return Answer::Pass;
    }
    let size = memory::read(attributes).map(u32::from_ne_bytes);
    if !size.is_ok_and(is_size) {
        return Answer::Pass;
    }
    let Ok(bytes) = memory::read::<SIZE>(attributes) else { return Answer::Pass };
    let (attr, tid) = (SchedAttr::decode(&bytes), thread(task));
    if !attr.is_deadline() {
        let leaves = !attr.keeps_policy() && GRANTS.get(tid).is_some();
        return if leaves { Answer::PassAndRelease(tid) } else { Answer::Pass };
    }
    let client = Client::unconnected();
    let Some(parameters) = attr.parameters() else {
        // Where no server or no scheduler runs it is the kernel's to refuse.
        return match client.query(None) {
            Err(error) if refused(&error, tid) == Answer::Pass => Answer::Pass,
            _ => Answer::Failed(Errno::EINVAL),
        };
    };
    match reserve(&client, tid, parameters) {
        Ok(()) => {
            GRANTS.insert(tid, Grant { since: now(), period: parameters.period });
            Answer::Done
        }
        Err(error) => refused(&error, tid),
    }
}

/// Reserves, in place of another reservation if the thread has one: as for the kernel, the last request counts, and one
/// that is refused changes nothing.
fn reserve(client: &Client, tid: u32, parameters: Parameters) -> Result<(), Error> {
    let Parameters { runtime, period } = parameters;
    let request = Request::new(runtime, period).for_task(tid);
    let (known, already) = match client.reserve(&request) {
        Err(error) if error.code() == Some(Code::AlreadyReserved) => {
            (client.query(Some(tid))?.reservation, error)
        }
        result => return result.map(drop),
    };
    // Once it has left one that others share, it could not return.
    if known.as_ref().is_some_and(|known| known.inherit && known.tasks > 1) {
        return Err(already);
    }
    let ns = Duration::from_nanos;
    let again = known.map(|known: ReservationStatus| {
        let request = Request::new(ns(known.runtime_ns), ns(known.period_ns)).for_task(tid);
        if known.inherit { request.inherited() } else { request }
    });
    if again == Some(request) {
        return Ok(());
    }
    client.release(Some(tid))?;
    let result = client.reserve(&request);
    if let (Err(_), Some(again)) = (&result, again) {
        let _ = client.reserve(&again);
    }
    result.map(drop)
}

/// The error number that the kernel has for a refusal. Without a server or a scheduler it is asked itself.
fn refused(error: &Error, tid: u32) -> Answer {
    let code = match error {
        Error::Unreachable { .. } => return Answer::Pass,
        error => error.code(),
    };
    Answer::Failed(match code {
        Some(Code::NoScheduler | Code::Version) => return Answer::Pass,
        Some(Code::Invalid) => Errno::EINVAL,
        Some(Code::Affinity) => Errno::EPERM,
        // Another user's thread is one that does not exist for the server.
        Some(Code::NoTask) if exists(tid) => Errno::EPERM,
        Some(Code::NoTask) => Errno::ESRCH,
        _ => Errno::EBUSY,
    })
}

/// Ends the reservation of a thread that has left `SCHED_DEADLINE`.
pub fn release(tid: u32) {
    GRANTS.remove(tid);
    // It may have ended already.
    let _ = Client::unconnected().release(Some(tid));
}

/// Completes what `sched_getattr(task, attributes, size, 0)` has written: a thread with a reservation has the policy
/// and the times that it has asked for.
pub fn complete(task: i32, attributes: usize, size: u32) {
    let tid = thread(task);
    if GRANTS.get(tid).is_none() || (size as usize) < SIZE {
        return;
    }
    let Ok(bytes) = memory::read::<SIZE>(attributes) else { return };
    let attr = SchedAttr::decode(&bytes);
    if !SCHED_EXT_POLICIES.contains(&attr.policy) {
        return;
    }
    let Ok(state) = Client::unconnected().query(Some(tid)) else { return };
    let Some(known) = state.reservation else {
        // It was ended by another program, or with the scheduler.
        GRANTS.remove(tid);
        return;
    };
    let attr = SchedAttr {
        policy: DEADLINE,
        nice: 0,
        runtime_ns: known.runtime_ns,
        deadline_ns: known.period_ns,
        period_ns: known.period_ns,
        ..attr
    };
    // After the size.
    let _ = memory::write(attributes + 4, &attr.encode());
}

/// `sched_yield()`: the job of a thread with a reservation ends, and the next one begins with its next period. To the
/// scheduler it would mean that another task may run first.
pub fn end_job(policy_of_caller: fn() -> Option<u32>) -> Answer {
    let Some(grant) = GRANTS.get(current_tid()) else { return Answer::Pass };
    // It has left by `sched_setscheduler(2)`, which is not intercepted.
    if !policy_of_caller().is_some_and(|policy| SCHED_EXT_POLICIES.contains(&policy)) {
        return Answer::Pass;
    }
    let Some(next) = next_period(grant, now()) else { return Answer::Pass };
    let flags = ClockNanosleepFlags::TIMER_ABSTIME;
    let next = TimeSpec::from_duration(next);
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &next) == Err(Errno::EINTR) {}
    Answer::Done
}

fn next_period(grant: Grant, now: Duration) -> Option<Duration> {
    let past = now.checked_sub(grant.since)?.as_nanos();
    let periods = past.checked_div(grant.period.as_nanos())? + 1;
    let ns = periods.checked_mul(grant.period.as_nanos())?;
    grant.since.checked_add(Duration::from_nanos(u64::try_from(ns).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a job that ends with its period waits for nothing, or one that is late gets the period that has begun.
    #[test]
    fn jobs_begin_with_periods() {
        let ms = Duration::from_millis;
        let grant = Grant { since: ms(1003), period: ms(10) };
        let next = |now| next_period(grant, ms(now)).map(|t| t.as_millis());
        assert_eq!(
            [1003, 1004, 1012, 1013, 1025].map(next),
            [1013, 1013, 1013, 1023, 1033].map(Some)
        );
        assert_eq!(next(1000), None);
        assert_eq!(next_period(Grant { period: ms(0), ..grant }, ms(2000)), None);
    }
}
