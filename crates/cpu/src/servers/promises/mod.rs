//! The rule that keeps hard deadlines, asserted after every event in debug builds.
//!
//! Each server or reservation `e` has a *promise* `P_e`, its share at each instant from now on, as
//! known now, and a *zero-lag time* `Z_e`, up to which execution has used the promise up. The rule:
//!
//! 1. **Only later.** A change alters `P_e` from `max(now, Z_e)` on, never before.
//! 2. **Sum.** At every instant from now on all `P_e` add up to at most one CPU; on `m` CPUs that share
//!    a queue, their sum and `m - 1` times the greatest to at most `m` (`gfb`).
//! 3. **Keys.** The deadline of a ready server is no earlier than the instant at which `P_e` has given,
//!    from `Z_e` on, its remaining budget, and never moves back while it is ready; an expired
//!    server is released no earlier than at `Z_e`; on becoming ready `Z_e` becomes at least that instant.
//! 4. **Clean instants.** While no hard job is pending all `P_e` and `Z_e` may be reset, such that
//!    `Z_e >= now` for every ready server, the release of an expired one moves with its period's end and
//!    not before now, and 2 holds.
//!
//! Why no hard job is late then: between two changes, a server that satisfies 3 demands, due by `D`, at
//! most the integral of `P_e` from the instant at which it became ready to `D`. By 1, its past execution
//! is charged to a part of `P_e` that no longer changes, so the same bound holds for the promise finally
//! in force. By 2 these integrals fit into the available time, so EDF, which executes nothing due later
//! while something due by `D` is pending, has completed all of it by `D`. The busy interval of a hard
//! deadline does not extend back beyond a clean instant, and from that instant on each ready server
//! demands no more than one released then. Machine-checked: `proofs/cpu/Changes.v`, event by event
//! `proofs/cpu/Machine.v`.
//!
//! # How long a task may wait
//!
//! The same argument holds for every server, not only for hard ones: the remaining budget of a ready
//! server is executed by its deadline, which is asserted too, except while nothing is reserved and the
//! running task is protected from preemption. So a runnable task gets the remaining
//! budget of its server by the deadline if the server is ready. If the server is expired, it is released
//! by the end of its period (earlier in idle time), and gets a whole budget by the deadline of that
//! release, one period after its end. With budgets `b` and a share `u` that is at most `2 b / u` after a
//! wake-up under `bebs` and `iris`. Where budgets are recharged at once (`cbs`, `bebs-credit`), no
//! best-effort server is ever expired on one CPU, and deadlines are at most one period beyond the zero-lag
//! time, which is at most `ahead` from now when a task wakes (and a sixteenth more, the interval of the
//! check). On several CPUs a server that is more than `ahead` early is expired until its period ends.
//!
//! # Assertions
//!
//! The promises are computed from execution, independently of the budgets, periods and period ends of the
//! servers, which are checked.
//!
//! Soft reservations are checked like hard ones: each is a row of the ledger with its share, and changes in
//! the same way. They differ in rule 4, where they count as best effort: idle time may release them early,
//! and all deadlines may move back, while no hard job is pending, even if a soft job is.
//!
//! Interpretations known to be unsafe are not checked, nor loads at which periods saturate, nor servers that
//! run more than 128 periods ahead on several CPUs.
//!
//! The sum is not checked while some deadline is shorter than its period. Such a reservation demands its
//! whole budget within its deadline, and nothing for the rest of its period: its share is the budget over
//! the deadline at some instants, which depend on its job arrivals. Rule 2 with the greatest of these
//! shares would reject systems that `admission` admits, as the peaks of several reservations need not
//! coincide; with budgets over periods it would imply nothing about deadlines. The property that holds
//! instead is a bound on the demand of all reservations together in every interval. Rules 1, 3 and 4 are
//! still checked then, but lateness is not.

#[cfg(not(debug_assertions))]
mod disabled;
#[cfg(debug_assertions)]
mod enabled;
#[cfg(debug_assertions)]
mod promise;
mod tail;

#[cfg(not(debug_assertions))]
pub(super) use disabled::Promises;
#[cfg(debug_assertions)]
pub(super) use enabled::Promises;
