//! The kernel's deadline server for sched_ext: CPU time that tasks of this scheduler have on a CPU although tasks of a
//! real-time class would take all of it. Linux 6.18 has none, 7.3 has.

use std::fmt;

use laxity_core::Span;
use laxity_cpu::{Reservation, Share};

/// What the kernel grants: a runtime in every period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineServer {
    /// CPU time.
    pub runtime: Span,
    /// In every such time.
    pub period: Span,
}

/// The kernel's own, for CPUs without reservations.
const DEFAULT: DeadlineServer =
    DeadlineServer { runtime: Span::from_millis(50), period: Span::from_millis(1_000) };
/// The greatest share, in thousandths: beyond it the kernel refuses, and real-time tasks need some time, too.
const MAX_PER_MILLE: u64 = 950;
/// The shortest period: each one may preempt a real-time task.
const MIN_PERIOD: Span = Span(500_000);
/// Periods of the server within the shortest one of a reservation. A job may be released just when best effort has
/// used the runtime of a period, and the server begins as late as it can in the next: what it then lacks has to
/// fit into the share that best effort keeps.
const PERIODS: u64 = 10;

impl DeadlineServer {
    /// The server for reservations of one CPU and the least share of best effort, which waits in the same queue.
    /// Its period is a tenth of the shortest one of a reservation.
    pub fn sized(reservations: &[Reservation], best_effort_min: Share) -> DeadlineServer {
        let Some(shortest) = reservations.iter().map(|r| r.period).min() else { return DEFAULT };
        let period = Span(shortest.0 / PERIODS).clamp(MIN_PERIOD, DEFAULT.period);
        let shares = reservations.iter().map(|r| Share::up(r.budget, r.period));
        let share = shares.fold(best_effort_min, Share::plus);
        // Whole microseconds, rounded up, as a share is a binary fraction, but for the greatest share.
        let runtime = share.of(period).0.div_ceil(1000) * 1000;
        let most = period.0 * MAX_PER_MILLE / 1_000_000 * 1000;
        DeadlineServer { runtime: Span(runtime.min(most)), period }
    }
}

/// Changes a server by two writes, to `period` and `runtime`. The kernel checks the share at each: in between it exceeds
/// neither the old nor the new one. If the second is refused the first is taken back, as a short runtime in a long
/// period is less than either.
#[cfg(any(feature = "kernel", test))]
fn change<E>(
    old: DeadlineServer,
    new: DeadlineServer,
    mut write: impl FnMut(&'static str, Span) -> Result<(), E>,
) -> Result<(), E> {
    let period = ("period", old.period, new.period);
    let runtime = ("runtime", old.runtime, new.runtime);
    let (first, second) =
        if new.period >= old.period { (period, runtime) } else { (runtime, period) };
    write(first.0, first.2)?;
    let done = write(second.0, second.2);
    if done.is_err() {
        let _ = write(first.0, first.1);
    }
    done
}

impl fmt::Display for DeadlineServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in every {}", self.runtime, self.period)
    }
}

#[cfg(feature = "kernel")]
pub use kernel::deadline_server;
#[cfg(feature = "kernel")]
pub(super) use kernel::{reset, size};

#[cfg(feature = "kernel")]
mod kernel {
    use std::fs;
    use std::io;

    use super::*;
    use crate::cpu::system;

    const FOLDER: &str = "/sys/kernel/debug/sched/ext_server";

    /// The server of a CPU; `None` where the kernel has none, or debugfs is not mounted.
    pub fn deadline_server(cpu: u32) -> Option<DeadlineServer> {
        let read = |file: &str| {
            let text = fs::read_to_string(format!("{FOLDER}/cpu{cpu}/{file}")).ok()?;
            text.trim().parse().ok().map(Span)
        };
        Some(DeadlineServer { runtime: read("runtime")?, period: read("period")? })
    }

    /// Sizes the server of a CPU, where there is one. A kernel that refuses keeps the one before, which `status` shows.
    pub(in crate::cpu) fn size(cpu: u32, reservations: &[Reservation], best_effort_min: Share) {
        let _ = set(cpu, DeadlineServer::sized(reservations, best_effort_min));
    }

    fn set(cpu: u32, new: DeadlineServer) -> io::Result<()> {
        let Some(old) = deadline_server(cpu).filter(|old| *old != new) else { return Ok(()) };
        change(old, new, |file, span| {
            fs::write(format!("{FOLDER}/cpu{cpu}/{file}"), span.0.to_string())
        })
    }

    /// Returns the servers of online CPUs to what the kernel starts with. Those of offline CPUs, which a kernel may refuse
    /// to change, keep their size until the next reservation there or the next start.
    pub(in crate::cpu) fn reset() {
        for cpu in system::online().unwrap_or_default() {
            size(cpu, &[], Share::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when the server has less than the reservations need, or a period in which it may begin too late.
    #[test]
    fn servers_cover_reservations_and_the_least_best_effort() {
        let of =
            |budget, period| Reservation::new(Span::from_millis(budget), Span::from_millis(period));
        let sized =
            |all: &[Reservation]| DeadlineServer::sized(all, Share::per_mille(50)).to_string();
        assert_eq!(sized(&[]), "50 ms in every 1000 ms");
        assert_eq!(sized(&[of(4, 20)]), "0.5 ms in every 2 ms");
        assert_eq!(sized(&[of(4, 20), of(50, 100)]), "1.5 ms in every 2 ms");
        assert_eq!(sized(&[of(95, 100)]), "9.5 ms in every 10 ms");
        assert_eq!(sized(&[of(1, 2)]), "0.275 ms in every 0.5 ms");
        assert_eq!(sized(&[of(1000, 10_000)]), "150 ms in every 1000 ms");
        let odd = Reservation::new(Span(12_034_000), Span(13_370_000));
        assert_eq!(sized(&[odd]), "1.27 ms in every 1.337 ms");
    }

    // Fails when the kernel sees a greater share in between than before and after, or a server keeps half a change.
    #[test]
    fn refused_changes_are_taken_back() {
        let of = |runtime, period| DeadlineServer { runtime: Span(runtime), period: Span(period) };
        let default = (50, 1000);
        for (old, new) in [(default, (950, 1000)), (default, (9, 10)), ((9, 10), default)] {
            let (old, new) = (of(old.0, old.1), of(new.0, new.1));
            for refused in 0..3 {
                let (mut now, mut writes) = (old, 0);
                let done = change(old, new, |file, span| {
                    writes += 1;
                    if writes == refused {
                        return Err(());
                    }
                    match file {
                        "period" => now.period = span,
                        _ => now.runtime = span,
                    }
                    let greatest =
                        [old, new].map(|s| Share::up(s.runtime, s.period)).into_iter().max();
                    assert!(Some(Share::up(now.runtime, now.period)) <= greatest, "{now}");
                    Ok(())
                });
                assert_eq!(
                    (done.is_ok(), now),
                    if refused == 0 { (true, new) } else { (false, old) }
                );
            }
        }
    }
}
