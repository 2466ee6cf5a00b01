//! The rule that keeps hard deadlines, asserted after every event in debug builds.
//!
//! Each server or reservation `e` has a *promise* `P_e`, its share at each instant from now on, as
//! known now, and a *zero-lag time* `Z_e`, up to which execution has used the promise up. The rule:
//!
//! 1. **Only later.** A change alters `P_e` from `max(now, Z_e)` on, never before.
//! 2. **Sum.** At every instant from now on all `P_e` add up to at most one CPU; on `m` CPUs that share
//!    a queue, their sum and `m - 1` times the greatest to at most `m` (`gfb`).
//! 3. **Keys.** The deadline of a ready server is no earlier than the instant at which `P_e` has given,
//!    from `Z_e` on, what is left of its budget, and never moves back while it is ready; an expired
//!    server is released no earlier than at `Z_e`; on becoming ready `Z_e` becomes at least that instant.
//! 4. **Clean instants.** While no hard job is pending all `P_e` and `Z_e` may be reset, such that
//!    `Z_e >= now` for every ready server, the release of an expired one moves with its period's end and
//!    not before now, and 2 holds.
//!
//! Why no hard job is late then: between two changes a server that keeps 3 executes, of what is due by
//! `D`, at most the integral of `P_e` from the instant at which it became ready to `D`. By 1 what it
//! has executed already is charged to a part of `P_e` that no longer changes, so the same holds for the
//! promise in force in the end. By 2 these integrals fit into the time that there is, so EDF, which
//! executes nothing due later while something due by `D` is pending, has done all of it by `D`. At a
//! clean instant no interval that a hard deadline asks about reaches back beyond it, and each ready
//! server asks for no more from it on than a fresh one.
//!
//! # How long a task may wait
//!
//! The same argument holds for every server, not only for hard ones: what is left of a ready server's
//! budget is executed by its deadline, which is asserted too. So a task that can run gets the rest of
//! its server's budget by the deadline if the server is ready. If it is expired, it is released by the
//! end of its period (idle time makes that earlier), and gets a whole budget by the deadline of that
//! release, one period after its end. With budgets `b` and a share `u` that is at most `2 b / u` after a wake-up under
//! `bebs` and `iris`. Where budgets come back at once (`cbs`, `bebs-credit`) no best-effort server is ever expired
//! on one CPU, and deadlines are at most one period beyond the zero-lag time, which is at most `ahead`
//! (and a sixteenth, as that is looked at no more often) from now when a task wakes. On several CPUs a
//! server that is more than `ahead` before its time is expired until its period ends.
//!
//! # What is asserted
//!
//! The promises here are computed beside the servers from what was executed, not from budgets, periods
//! and ends, which are what is checked.
//!
//! Soft reservations are checked like hard ones: each is a row of the ledger with its share, and changes in
//! the same way. They differ in rule 4, where they are like best effort: idle time may release them early,
//! and all deadlines may move back, only while no hard job is pending; a soft job may be.
//!
//! Not checked are readings that are known to be unsafe, loads at which periods saturate, and servers that
//! run more than 128 periods ahead on several CPUs.
//!
//! The sum is not checked while some deadline is shorter than its period. Such a reservation demands its
//! whole budget within its deadline, and nothing for the rest of its period: as a share that is the
//! budget over the deadline at some instants, and at which ones depends on when its jobs come. Rule 2 with
//! the greatest of these shares would refuse what `admission` admits, as the peaks of several need not
//! meet; with the budgets over the periods it would say nothing about deadlines. What holds in its place is
//! a bound on the demand in every interval, which looks at all reservations at once. Rules 1, 3 and 4 are
//! checked there too, but that nobody is late.

#[cfg(not(debug_assertions))]
mod disabled;
#[cfg(debug_assertions)]
mod enabled;
#[cfg(debug_assertions)]
mod promise;

#[cfg(not(debug_assertions))]
pub(super) use disabled::Promises;
#[cfg(debug_assertions)]
pub(super) use enabled::Promises;
