//! The tests of the default and of EEVDF in the simulator, beside what was measured live: a change of a policy can be
//! tried in seconds.

mod models;
mod programs;

// The programs draw from it too.
#[path = "../../../../crates/kernel/tests/support/random.rs"]
#[allow(dead_code)] // others draw more kinds of numbers
mod random;

use models::{films, hackbench, interactive, poll, schbench};

/// A scheduler of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Of Linux 6.18.
    Eevdf,
    /// With the options of live CPUs.
    BebsCredit,
}

impl Scheduler {
    /// In the order of the table.
    pub const ALL: [Scheduler; 2] = [Scheduler::Eevdf, Scheduler::BebsCredit];

    /// As in the table.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Eevdf => "eevdf",
            Scheduler::BebsCredit => "bebs-credit",
        }
    }
}

/// A metric of a test under a scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Test and metric.
    pub name: &'static str,
    /// Under which scheduler.
    pub scheduler: Scheduler,
    /// What the simulator says.
    pub simulated: f64,
    /// What was measured.
    pub live: f64,
}

/// The row to which a parameter of the model was fitted: no prediction.
const CALIBRATION: (&str, Scheduler) = ("hackbench, 1 group (ms)", Scheduler::Eevdf);

impl Row {
    /// Whether the two differ by at most a fifth; of late frames in per cent also by at most one point, as five frames of
    /// 500 are.
    pub fn is_near(&self) -> bool {
        let difference = (self.simulated - self.live).abs();
        difference <= 0.2 * self.live || self.name.starts_with("late frames") && difference <= 1.0
    }

    /// Whether the model was fitted to it.
    pub fn is_calibration(&self) -> bool {
        (self.name, self.scheduler) == CALIBRATION
    }
}

type Simulation = Box<dyn Fn(Scheduler) -> Result<Vec<f64>, String> + Sync>;

/// A test: its rows, with live values under each scheduler.
struct Test {
    rows: Vec<(&'static str, [f64; 2])>,
    simulate: Simulation,
}

fn test(
    rows: impl IntoIterator<Item = (&'static str, [f64; 2])>,
    simulate: impl Fn(Scheduler) -> Result<Vec<f64>, String> + Sync + 'static,
) -> Test {
    Test { rows: rows.into_iter().collect(), simulate: Box::new(simulate) }
}

/// All tests. Live values: docs/results/cpu-compare.md, Linux 6.18.15, medians of three beginnings.
fn tests() -> Vec<Test> {
    vec![
        test([("hackbench, 1 group (ms)", [476.0, 515.0])], |s| hackbench(s, 1, 100)),
        test([("hackbench, 5 groups (ms)", [951.0, 1045.0])], |s| hackbench(s, 5, 40)),
        test([("hackbench, 10 groups (ms)", [1067.0, 1156.0])], |s| hackbench(s, 10, 20)),
        test(
            [
                ("polling beside 2 that compute, mean (ms)", [3.26, 1.96]),
                ("polling beside 2, 99th (ms)", [7.4, 5.9]),
            ],
            |s| poll(s, 2, 0, 6000),
        ),
        test(
            [
                ("polling beside 8 that compute, mean (ms)", [15.3, 10.2]),
                ("polling beside 8, 99th (ms)", [31.7, 25.7]),
            ],
            |s| poll(s, 8, 0, 10_000),
        ),
        test(
            [
                ("polling beside 1 and 0 hard, mean (ms)", [1.30, 0.52]),
                ("polling beside 1 and 0 hard, 99th (ms)", [3.9, 3.3]),
            ],
            |s| poll(s, 1, 0, 6000),
        ),
        test(
            [
                ("polling beside 1 and 2 hard, mean (ms)", [1.66, 1.40]),
                ("polling beside 1 and 2 hard, 99th (ms)", [8.4, 8.5]),
            ],
            |s| poll(s, 1, 2, 6000),
        ),
        test(
            [
                ("polling beside 1 and 4 hard, mean (ms)", [4.76, 4.43]),
                ("polling beside 1 and 4 hard, 99th (ms)", [17.4, 19.4]),
            ],
            |s| poll(s, 1, 4, 6000),
        ),
        test(
            [
                ("schbench wake-up, median (us)", [321.0, 31.0]),
                ("schbench wake-up, 99th (us)", [2324.0, 394.0]),
                ("schbench wake-up, 99.9th (us)", [3484.0, 1478.0]),
                ("schbench request, median (us)", [1330.0, 1450.0]),
                ("schbench request, 99th (us)", [4968.0, 4744.0]),
                ("schbench request, 99.9th (us)", [20_512.0, 7512.0]),
                ("requests a second", [1071.0, 1099.0]),
                ("processes compiled beside it", [174.0, 170.0]),
            ],
            schbench,
        ),
        test([("answers beside 60 %, 99th (ms)", [4.0, 6.0])], interactive),
        test([("late frames, experiment 1 (%)", [51.2, 1.6])], |s| films(s, 1, &[(25, 20_000)])),
        test(
            [
                ("late frames, experiment 2 (%)", [46.0, 1.0]),
                ("late frames, experiment 2, second (%)", [45.6, 0.2]),
            ],
            |s| films(s, 2, &[(25, 10_000), (25, 10_000)]),
        ),
        test(
            [
                ("late frames, experiment 3 (%)", [45.8, 0.2]),
                ("late frames, experiment 3, second (%)", [45.0, 0.0]),
            ],
            |s| films(s, 2, &[(25, 10_000), (33, 7576)]),
        ),
    ]
}

/// Rows, simulated: of the schedulers and tests that are chosen, by the test's first row.
///
/// # Errors
/// When a task or policy stops making progress.
pub fn rows(chosen: impl Fn(&str, Scheduler) -> bool) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for test in tests() {
        let mut of_test = Vec::new();
        for (i, scheduler) in Scheduler::ALL.into_iter().enumerate() {
            if !chosen(test.rows[0].0, scheduler) {
                continue;
            }
            let simulated = (test.simulate)(scheduler)?;
            for (place, ((name, live), simulated)) in test.rows.iter().zip(simulated).enumerate() {
                of_test.push((place, Row { name, scheduler, simulated, live: live[i] }));
            }
        }
        of_test.sort_by_key(|(place, _)| *place);
        rows.extend(of_test.into_iter().map(|(_, row)| row));
    }
    Ok(rows)
}

fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The table. Ratios of rows that are not near are bold.
pub fn markdown(rows: &[Row]) -> String {
    let mut text =
        "| | scheduler | simulated | live | ratio |\n|---|---|---:|---:|---:|\n".to_owned();
    for row in rows {
        let ratio = match row.simulated / row.live {
            ratio if !ratio.is_finite() => "–".to_owned(),
            ratio if row.is_near() => format!("{ratio:.2}"),
            ratio => format!("**{ratio:.2}**"),
        };
        let note = if row.is_calibration() { ", calibration" } else { "" };
        let (scheduler, simulated, live) = (row.scheduler.name(), digits(row.simulated), row.live);
        text +=
            &format!("| {} | `{scheduler}` | {simulated} | {live} | {ratio}{note} |\n", row.name);
    }
    text
}

#[cfg(test)]
mod checks {
    use super::*;

    /// Rows that are further away, of which docs/results/cpu-compare.md says why.
    const FAR: &[(&str, Scheduler)] = &[
        ("polling beside 1 and 2 hard, mean (ms)", Scheduler::Eevdf),
        ("polling beside 1 and 2 hard, 99th (ms)", Scheduler::Eevdf),
        ("polling beside 1 and 4 hard, 99th (ms)", Scheduler::BebsCredit),
        ("schbench wake-up, median (us)", Scheduler::Eevdf),
        ("schbench wake-up, 99.9th (us)", Scheduler::BebsCredit),
        ("schbench request, median (us)", Scheduler::Eevdf),
        ("schbench request, 99th (us)", Scheduler::BebsCredit),
        ("schbench request, 99.9th (us)", Scheduler::BebsCredit),
    ];

    /// Servers check their promises at each event where debug assertions are on: minutes for hundreds of tasks.
    fn is_quick(test: &str, scheduler: Scheduler) -> bool {
        scheduler == Scheduler::Eevdf
            || !cfg!(debug_assertions)
            || test.starts_with("polling beside 1")
    }

    /// Fails when a row is near that was not, or the other way round, or is not as in the table: then section
    /// "Simulated" of docs/results/cpu-compare.md is out of date. All rows of `bebs-credit` need `--release`.
    #[test]
    fn rows_are_as_near_as_documented() {
        let quick = rows(is_quick).expect("all tests run");
        let far = quick.iter().filter(|row| !row.is_near());
        let far: Vec<_> = far.map(|row| (row.name, row.scheduler)).collect();
        let known = FAR.iter().filter(|(name, scheduler)| {
            quick.iter().any(|row| (row.name, row.scheduler) == (*name, *scheduler))
        });
        assert_eq!(far, known.copied().collect::<Vec<_>>());
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/cpu-compare.md");
        let page = std::fs::read_to_string(page).expect("the page");
        for line in markdown(&quick).lines() {
            assert!(page.contains(line), "not in docs/results/cpu-compare.md: {line}");
        }
    }

    /// Fails when two runs of one build differ.
    #[test]
    fn rows_are_the_same_each_time() {
        let some =
            || rows(|test, scheduler| test.contains("1 and 4 hard") && is_quick(test, scheduler));
        assert_eq!(some().expect("runs").len(), 4);
        assert_eq!(some(), some());
    }
}
