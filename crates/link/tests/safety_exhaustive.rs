//! Theorem 2 in small: every conforming arrival pattern of tiny links, under every policy that
//! promises to keep deadlines.
//!
//! One byte takes one nanosecond, packets have one to three bytes, and deadlines are as short as
//! admission allows (or a little longer, so that best effort gets deadlines among them). Traces
//! share one scheduler, so each one also starts from what the one before left behind.

use crate::common::scopes::{Scope, scopes};
use crate::common::{BLOCKINGS, Link, RELEASES, safe_policies, try_build};
use laxity_curve::{Blocking, Guarantee};
use laxity_link::config::{LinkConfig, Release};

/// No real-time packet late, none dropped, everything sent; best effort within its own deadlines
/// too where those are guaranteed.
fn explore(scope: &Scope, config: &LinkConfig, name: &str) -> usize {
    let Some(policy) = try_build(name, config) else { return 0 };
    let mut link = Link::new(policy, config);
    let all = config.guarantee == Guarantee::All;
    scope.traces(config, &[1, 3], |trace| {
        link.run(trace);
        let what = || format!("{name} on {}: {config:#?}\n{trace:?}\n{:?}", scope.name, link.sent);
        assert!(link.late_realtime().is_none(), "late: {}", what());
        assert!(link.dropped.is_empty(), "dropped: {}", what());
        let waiting = link.policy.waiting();
        assert_eq!(link.sent.len() + waiting, trace.len(), "lost: {}", what());
        if all {
            assert!(link.late_best_effort().is_none(), "best effort late: {}", what());
        }
        if waiting > 0 {
            // `always-check` may leave best effort waiting on an idle link.
            assert!(config.options.always_check, "stalled: {}", what());
            link = Link::new(try_build(name, config).unwrap(), config);
        }
        link.rest(64);
    })
}

/// Fails when `exact`, `two-segment` or a line gives deadlines a few ns shorter, when the residual
/// leaves out blocking, when a tie or an overdue best-effort packet goes before an earlier
/// real-time deadline, when `background` ignores that real time waits; when deadlines restart while
/// a real-time packet waits, or without the packet in flight where blocking is counted exactly.
fn every_policy(blocking: Blocking, guarantee: Guarantee, release: Release) {
    let mut count = 0;
    for scope in scopes() {
        let config = scope.with(|s| {
            (s.blocking, s.guarantee, s.release) = (blocking, guarantee, release);
        });
        for name in safe_policies().filter(|name| *name != "slack") {
            count += explore(&scope, &config, name);
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
                let config = scope.with(|s| {
                    s.blocking = blocking;
                    s.options.always_check = always_check;
                    s.options.release_idle = laxity_core::Span::ZERO;
                });
                explore(&scope, &config, "slack");
            }
        }
    }
}

/// The scopes are worth exploring: without the promise, deadlines are missed. Fails when the
/// driver, the enumeration or the lateness test see nothing.
#[test]
fn unsafe_policies_miss_deadlines_in_these_scopes() {
    let mut scopes_with_misses = 0;
    for scope in scopes() {
        let config = scope.with(|_| {});
        let policy = try_build("best-effort-first", &config).unwrap();
        let mut link = Link::new(policy, &config);
        let mut late = 0;
        let all = scope.traces(&config, &[1, 3], |trace| {
            link.run(trace);
            late += usize::from(link.late_realtime().is_some());
            link.rest(64);
        });
        println!("{}: {late} of {all} traces late under best-effort-first", scope.name);
        scopes_with_misses += usize::from(late > 0);
    }
    assert!(scopes_with_misses >= 5, "{scopes_with_misses}");
}
