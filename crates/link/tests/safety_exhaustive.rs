//! Theorem 2 in small: every conforming arrival pattern of tiny links, under every policy that
//! promises to keep deadlines.
//!
//! One byte takes one nanosecond, packets have one to three bytes, and deadlines are as short as
//! admission allows (or a little longer, so that best effort gets deadlines among them). Traces
//! share one scheduler, so each one also starts from what the one before left behind.

mod common;

use common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, Link, RELEASES, admitted, backlogs, conforming, flow, leaky,
    merge, periodic, safe_policies, setup, tighten, try_build, tspec,
};
use laxity_curve::{Blocking, Guarantee};
use laxity_link::setup::{Release, Setup};

const HALF: u64 = BYTE_PER_NS / 2;
const QUARTER: u64 = BYTE_PER_NS / 4;
const EIGHTH: u64 = BYTE_PER_NS / 8;

/// A link, and what each flow and best effort may send.
struct Scope {
    name: &'static str,
    setup: Setup,
    /// Time added to each deadline after all have been made as short as possible.
    room: &'static [u64],
    horizon: u64,
    packets: usize,
    best_effort: usize,
}

fn scopes() -> Vec<Scope> {
    let bucket = || flow(leaky(2, 3, QUARTER), 40);
    let spec = || flow(tspec(2, HALF, 4, QUARTER), 40);
    let clock = || flow(periodic(5, 2, 3), 40);
    let sparse = || flow(leaky(1, 1, EIGHTH), 40);
    let large = || flow(leaky(3, 3, EIGHTH), 40);
    let scope = |name, realtime: Vec<_>, room, packets, best_effort| {
        let horizon = if realtime.len() == 1 { 8 } else { 6 };
        let setup = setup(BYTE_PER_NS, 3, realtime);
        Scope { name, setup, room, horizon, packets, best_effort }
    };
    vec![
        scope("bucket, tight", vec![bucket()], &[0], 4, 2),
        scope("bucket", vec![bucket()], &[3], 3, 3),
        scope("tspec, tight", vec![spec()], &[0], 4, 2),
        scope("tspec", vec![spec()], &[2], 5, 2),
        scope("periodic", vec![clock()], &[2], 4, 3),
        scope("periodic and sparse", vec![clock(), sparse()], &[0, 0], 3, 2),
        scope("sparse and large", vec![sparse(), large()], &[0, 5], 2, 2),
        scope("large and bucket", vec![large(), bucket()], &[1, 2], 2, 2),
    ]
}

impl Scope {
    /// The setup with these options and the shortest deadlines that they admit.
    fn with(&self, change: impl Fn(&mut Setup)) -> Setup {
        let mut setup = self.setup.clone();
        change(&mut setup);
        assert!(tighten(&mut setup), "{}: not admitted", self.name);
        for (flow, more) in setup.realtime.iter_mut().zip(self.room) {
            flow.deadline.0 += more;
        }
        assert!(admitted(&setup));
        setup
    }

    /// Shows `visit` every conforming trace; returns how many there are.
    fn traces(&self, setup: &Setup, sizes: &[u32], mut visit: impl FnMut(&[Arrival])) -> usize {
        let flows: Vec<Vec<Vec<Arrival>>> = (0..)
            .zip(&setup.realtime)
            .map(|(k, f)| conforming(&f.envelope, self.horizon, self.packets, k))
            .collect();
        let nothing = vec![vec![]];
        let second = flows.get(1).unwrap_or(&nothing);
        let best = backlogs(sizes, self.horizon / 2 + 1, self.best_effort, flows.len() as u32);
        let mut trace = vec![];
        for a in &flows[0] {
            for b in second {
                for c in &best {
                    merge(&[a, b, c], &mut trace);
                    visit(&trace);
                }
            }
        }
        flows[0].len() * second.len() * best.len()
    }

    /// No real-time packet late, none dropped, everything sent; best effort within its own
    /// deadlines too where those are guaranteed.
    fn explore(&self, setup: &Setup, name: &str) -> usize {
        let Some(policy) = try_build(name, setup) else { return 0 };
        let mut link = Link::new(policy, setup);
        let all = setup.guarantee == Guarantee::All;
        self.traces(setup, &[1, 3], |trace| {
            link.run(trace);
            let what =
                || format!("{name} on {}: {setup:#?}\n{trace:?}\n{:?}", self.name, link.sent);
            assert!(link.late_realtime().is_none(), "late: {}", what());
            assert!(link.dropped.is_empty(), "dropped: {}", what());
            let waiting = link.policy.waiting();
            assert_eq!(link.sent.len() + waiting, trace.len(), "lost: {}", what());
            if all {
                assert!(link.late_best_effort().is_none(), "best effort late: {}", what());
            }
            if waiting > 0 {
                // `always-check` may leave best effort waiting on an idle link.
                assert!(setup.options.always_check, "stalled: {}", what());
                link = Link::new(try_build(name, setup).unwrap(), setup);
            }
            link.rest(64);
        })
    }
}

/// Fails when `exact`, `two-segment` or a line gives deadlines a few ns shorter, when the residual
/// leaves out blocking, when a tie or an overdue best-effort packet goes before an earlier
/// real-time deadline, when `background` ignores that real time waits.
fn every_policy(blocking: Blocking, guarantee: Guarantee, release: Release) {
    let mut count = 0;
    for scope in scopes() {
        let setup = scope.with(|s| {
            (s.blocking, s.guarantee, s.release) = (blocking, guarantee, release);
        });
        for name in safe_policies().filter(|name| *name != "slack") {
            count += scope.explore(&setup, name);
        }
    }
    println!("{blocking:?} {guarantee:?} {release:?}: {count} traces");
    assert!(count > 500_000);
}

#[test]
fn paper_blocking_realtime_guarantee() {
    for release in RELEASES {
        every_policy(Blocking::Paper, Guarantee::Realtime, release);
    }
}

#[test]
fn exact_blocking_realtime_guarantee() {
    for release in RELEASES {
        every_policy(Blocking::Exact, Guarantee::Realtime, release);
    }
}

#[test]
fn paper_blocking_all_deadlines() {
    for release in RELEASES {
        every_policy(Blocking::Paper, Guarantee::All, release);
    }
}

#[test]
fn exact_blocking_all_deadlines() {
    for release in RELEASES {
        every_policy(Blocking::Exact, Guarantee::All, release);
    }
}

/// Fails when the slack leaves out a byte of queued work, when the lower bound is not lowered, when
/// `always-check` sends unasked, when admission leaves out blocking.
#[test]
fn slack_keeps_every_deadline() {
    for always_check in [false, true] {
        for scope in scopes() {
            for blocking in BLOCKINGS {
                let setup = scope.with(|s| {
                    s.blocking = blocking;
                    s.options.always_check = always_check;
                });
                scope.explore(&setup, "slack");
            }
        }
    }
}

/// The scopes are worth exploring: without the promise, deadlines are missed. Fails when the
/// driver, the enumeration or the lateness test see nothing.
#[test]
fn policies_without_the_promise_miss_deadlines_here() {
    let mut scopes_with_misses = 0;
    for scope in scopes() {
        let setup = scope.with(|_| {});
        let policy = try_build("best-effort-first", &setup).unwrap();
        let mut link = Link::new(policy, &setup);
        let mut late = 0;
        let all = scope.traces(&setup, &[1, 3], |trace| {
            link.run(trace);
            late += usize::from(link.late_realtime().is_some());
            link.rest(64);
        });
        println!("{}: {late} of {all} traces late under best-effort-first", scope.name);
        scopes_with_misses += usize::from(late > 0);
    }
    assert!(scopes_with_misses >= 5, "{scopes_with_misses}");
}
