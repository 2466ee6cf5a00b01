//! Which results stand beside which rows of the papers' experiments.

use std::fmt::Write as _;

use crate::{All, plan};

/// A row of an experiment that a test measures: with the policy's name before it, its label.
struct Twin {
    test: &'static str,
    metric: &'static str,
    experiment: &'static str,
    /// After the policy.
    label: String,
    unit: &'static str,
    /// How many of the metric's unit are one of that.
    per: f64,
    /// Names of policies there and of schedulers here.
    policies: &'static [(&'static str, &'static str)],
}

const TABLE_1: &[(&str, &str)] = &[
    ("berate", "laxity-berate"),
    ("bebs", "laxity-bebs"),
    ("bebs-credit", "laxity-bebs-credit"),
    ("eevdf", "eevdf"),
];
/// The paper's measurements on a kernel, of its own scheduler and that of the kernel.
const ON_A_KERNEL: &[(&str, &str)] = &[("berate", "laxity-berate"), ("linux-2.4-100hz", "eevdf")];
/// Tests that only run live.
const FILM: &[(&str, &str)] = &[("eevdf", "eevdf"), ("berate", "laxity-berate")];
const SHARING: &[(&str, &str)] = &[
    ("bebs", "laxity-bebs"),
    ("bebs-credit", "laxity-bebs-credit"),
    ("eevdf-below-fifo", "eevdf"),
];
const WITH_HARD_TASKS: &[(&str, &str)] = &[
    ("bebs", "laxity-bebs"),
    ("bebs-credit", "laxity-bebs-credit"),
    ("eevdf-below-fifo", "fifo"),
    ("sched-deadline", "deadline"),
];
/// Another test that only runs live: hackbench.
const HACKBENCH: &[(&str, &str)] = &[
    ("eevdf", "eevdf"),
    ("bebs", "laxity-bebs"),
    ("bebs-credit", "laxity-bebs-credit"),
    ("berate", "laxity-berate"),
];
/// Processes of a group of hackbench.
const GROUP: u32 = 40;
const BEBS: &[(&str, &str)] = &[("bebs", "laxity-bebs")];
const BOTH: &[(&str, &str)] = &[("bebs", "laxity-bebs"), ("bebs-credit", "laxity-bebs-credit")];
/// Settings of figure 4.
const ADAPTIVE: &[(&str, &str)] =
    &[("adaptive", "laxity-bebs"), ("adaptive-credit", "laxity-bebs-credit")];

fn table_1() -> Vec<Twin> {
    const TESTS: [(&str, u32); 6] = [
        ("berate-1", 1),
        ("berate-2", 2),
        ("berate-3", 2),
        ("berate-4", 1),
        ("berate-5", 1),
        ("berate-6", 2),
    ];
    let mut twins = Vec::new();
    for (number, (test, tasks)) in (1..).zip(TESTS) {
        for task in 1..=tasks {
            let metric = if task == 1 { "srtsim-1 missed" } else { "srtsim-2 missed" };
            for (policies, statistic) in
                [(TABLE_1, "missed"), (ON_A_KERNEL, "missed-beside-kernel")]
            {
                let label = format!("experiment-{number}-srtsim-{task}/{statistic}");
                let experiment = "berate.table1";
                twins.push(Twin { test, metric, experiment, label, unit: "%", per: 1.0, policies });
            }
        }
    }
    twins
}

fn responses() -> Vec<Twin> {
    type Policies = &'static [(&'static str, &'static str)];
    let mut twins = Vec::new();
    let mut add = |test, kind: &'static str, experiment, policies: Policies, system: String| {
        let metrics = match kind {
            "compute" => ["poll mean", "poll p99"],
            _ => ["await mean", "await p99"],
        };
        for (metric, statistic) in metrics.into_iter().zip(["mean-response", "p99-response"]) {
            let label = format!("{kind}-{system}/{statistic}");
            twins.push(Twin { test, metric, experiment, label, unit: "ms", per: 1000.0, policies });
        }
    };
    for (test, extra) in [("bebs-fig6a-2", 2), ("bebs-fig6a-8", 8)] {
        add(test, "compute", "bebs.fig6", SHARING, format!("{extra}-extra-0-hard"));
        add(test, "compute", "bebs.fig8", BEBS, format!("{extra}-extra-0-hard"));
    }
    add("bebs-fig6b-5", "interactive", "bebs.fig6", SHARING, "5-extra-0-hard".into());
    add("bebs-fig6b-5", "interactive", "bebs.fig8", BEBS, "5-extra-0-hard".into());
    add("bebs-fig7a-0", "compute", "bebs.fig7", SHARING, "1-extra-0-hard".into());
    for (test, hard) in [("bebs-fig7a-2", 2), ("bebs-fig7a-4", 4)] {
        add(test, "compute", "bebs.fig7", WITH_HARD_TASKS, format!("1-extra-{hard}-hard"));
    }
    for (test, hard) in [("bebs-fig7b-2", 2), ("bebs-fig7b-4", 4)] {
        add(test, "interactive", "bebs.fig7", WITH_HARD_TASKS, format!("1-extra-{hard}-hard"));
    }
    twins
}

/// The load of a player that scales pictures itself, and of one and the server to which it hands them.
fn film() -> Vec<Twin> {
    let mut twins = Vec::new();
    for test in plan::film() {
        let level = test.name.trim_start_matches("berate-fig1-");
        for (metric, task) in [
            ("alone load", "player-that-scales"),
            ("player load", "player"),
            ("server load", "its-server"),
        ] {
            let (label, experiment) = (format!("{level}-{task}/load"), "berate.fig1");
            let (test, policies) = (test.name, FILM);
            twins.push(Twin { test, metric, experiment, label, unit: "%", per: 1.0, policies });
        }
    }
    twins
}

fn others() -> Vec<Twin> {
    let mut twins = Vec::new();
    let mut add = |test, metric, experiment, label: String, unit, policies| {
        twins.push(Twin { test, metric, experiment, label, unit, per: 1.0, policies });
    };
    for (test, demand) in [("bebs-fig4", 90), ("bebs-fig4-80", 80)] {
        let fig4 = "bebs.fig4";
        add(test, "25-fps missed", fig4, format!("25-fps-{demand}/missed"), "%", ADAPTIVE);
        add(test, "12-fps missed", fig4, format!("12-fps-{demand}/missed"), "%", ADAPTIVE);
    }
    for (metric, label, unit) in [
        ("greedy least over most", "greedy/least-over-most", "times"),
        ("hard missed", "real-time/missed-share", "%"),
        ("soft missed", "soft/missed-share", "%"),
    ] {
        add("bebs-fig9", metric, "bebs.fig9", label.into(), unit, BOTH);
    }
    for (test, groups) in [("hackbench-1", 1), ("hackbench-5", 5), ("hackbench-10", 10)] {
        let label = format!("{}-processes/hackbench", groups * GROUP);
        add(test, "hackbench time", "bebs.fig5", label, "s", HACKBENCH);
    }
    twins
}

/// The data file that stands beside the published numbers.
pub fn sheet(all: &All, kernel: &str, date: &str) -> String {
    let mut text = format!(
        "# Measured on live CPUs by `make compare-cpu`, which writes this file: guest time of a virtual\n\
         # machine with one processor. `scheduler` is as in docs/results/cpu-compare.md.\n\n\
         kernel = \"{kernel}\"\nmeasured = \"{date}\"\n\nrows = [\n"
    );
    for twin in table_1().into_iter().chain(film()).chain(responses()).chain(others()) {
        for (policy, scheduler) in twin.policies {
            let row =
                all.rows.iter().find(|r| r.scheduler == *scheduler && r.test.name == twin.test);
            let Some(value) = row.and_then(|r| r.get(twin.metric)) else { continue };
            let value = (value / twin.per * 1000.0).round() / 1000.0;
            let _ = writeln!(
                text,
                "    {{ experiment = \"{}\", label = \"{policy}/{}\", unit = \"{}\", \
                 scheduler = \"{scheduler}\", value = {value:?} }},",
                twin.experiment, twin.label, twin.unit
            );
        }
    }
    text + "]\n"
}
