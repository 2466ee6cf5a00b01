//! `laxity cpu` where it must not touch the machine: bad usage is told before anything is tried.

mod support;

use support::laxity;

/// Fails when times are taken without units, when a reservation is not looked at before the kernel
/// is asked, or when the policies of the simulator are offered.
#[test]
fn bad_usage_is_told_first() {
    let run = |runtime: &'static str, period: &'static str| {
        laxity(&["cpu", "run", "--runtime", runtime, "--period", period, "--", "true"])
    };
    run("4", "10ms").fails(2, &["--runtime", "4"]);
    run("4ms", "10 parsecs").fails(2, &["--period", "10 parsecs"]);
    run("20ms", "10ms").fails(2, &["20 ms of CPU time by 10 ms", "up to the deadline"]);
    run("0ms", "10ms").fails(2, &["a budget of 0 ms"]);
    laxity(&["cpu", "up", "--policy", "eevdf"]).fails(2, &["eevdf", "bebs-credit"]);
    laxity(&["cpu", "run", "--runtime", "4ms", "--period", "10ms"]).fails(2, &["CMD"]);
    laxity(&["cpu", "reserve", "one", "--runtime", "4ms", "--period", "10ms"]).fails(2, &["one"]);
}

/// Without a scheduler there is nothing to ask: 3 where the machine or the build lacks something,
/// 1 where it could be up and is not.
#[test]
fn status_without_a_scheduler_says_what_to_do() {
    let ran = laxity(&["cpu", "status", "--json"]);
    match ran.code {
        // There is one.
        Some(0) => {}
        Some(1) => ran.fails(1, &["laxity cpu up"]),
        _ => ran.fails(3, &[]),
    }
}
