//! The live CPU policies beside other schedulers of Linux: what `scripts/compare-cpu.sh` needs
//! before and after its runs in the virtual machine.
//!
//! ```text
//! laxity-compare-cpu plan full|short BEGINNINGS     what each machine runs: FOLDER SCHEDULER BEGINNING CALL...
//! laxity-compare-cpu read full|short BEGINNINGS RESULTS    all results: JSON, tables, page
//! laxity-compare-cpu live BEGINNINGS RESULTS KERNEL DATE   what goes beside the papers' experiments
//! laxity-compare-cpu simulate     rows of docs/results/cpu-compare.md, simulated beside live, as Markdown
//! ```
//!
//! A machine with another beginning waits for longer before its first test, so that all that follows comes at other
//! times. Results are medians over so many beginnings, or over those that there are.
//!
//! Exit status of `read`: 1 when a task with a reservation of Laxity was late, the kernel complained, or
//! a policy of Laxity did not run.
#![forbid(unsafe_code)]

mod live;
mod plan;
mod report;
mod runs;
mod simulated;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::plan::{Group, Test, is_laxity};
use crate::runs::{Metric, Output, Run};

const USAGE: &str = "\
usage: laxity-compare-cpu plan full|short BEGINNINGS
       laxity-compare-cpu read full|short BEGINNINGS RESULTS
       laxity-compare-cpu live BEGINNINGS RESULTS KERNEL DATE
       laxity-compare-cpu simulate";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["plan", which, count] => groups(which).and_then(|groups| {
            print_plan(&groups, beginnings(count)?);
            Ok(true)
        }),
        ["read", which, count, results] => {
            groups(which).and_then(|g| read(which, &g, beginnings(count)?, Path::new(results)))
        }
        ["live", count, results, kernel, date] => beginnings(count)
            .and_then(|count| collect(&plan::full(), count, Path::new(results)))
            .map(|all| {
                print!("{}", live::sheet(&all, kernel, date));
                true
            }),
        ["simulate"] => simulated::rows(|_, _| true).map(|rows| {
            print!("{}", simulated::markdown(&rows));
            true
        }),
        ["--help"] => {
            println!("{USAGE}");
            Ok(true)
        }
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("laxity-compare-cpu: {error}");
            ExitCode::from(2)
        }
    }
}

fn groups(which: &str) -> Result<Vec<Group>, String> {
    match which {
        "full" => Ok(plan::full()),
        "short" => Ok(plan::short()),
        _ => Err(format!("`{which}` is neither full nor short")),
    }
}

fn beginnings(count: &str) -> Result<u32, String> {
    let count = count.parse().ok().filter(|count| (1..=9).contains(count));
    count.ok_or_else(|| "give a number of beginnings from 1 to 9".to_owned())
}

/// The folder of a machine's results.
fn folder(group: &Group, scheduler: &str, beginning: u32) -> String {
    let name = format!("{}-{scheduler}", group.name);
    if beginning == 1 { name } else { format!("{name}-{beginning}") }
}

fn print_plan(groups: &[Group], beginnings: u32) {
    for scheduler in plan::SCHEDULERS {
        for group in groups.iter().filter(|g| g.schedulers.contains(&scheduler)) {
            let calls: Vec<&str> =
                group.of(scheduler).flat_map(|t| &t.calls).map(String::as_str).collect();
            let calls = calls.join(" ");
            for beginning in (1..=beginnings).filter(|_| !calls.is_empty()) {
                println!("{} {scheduler} {beginning} {calls}", folder(group, scheduler, beginning));
            }
        }
    }
}

/// A test under a scheduler, over its seeds.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its scheduler.
    pub scheduler: &'static str,
    /// The test.
    pub test: Test,
    /// Medians over beginnings of means over seeds.
    pub metrics: Vec<Metric>,
    /// The number of beginnings.
    pub beginnings: usize,
    /// Late jobs of tasks that are declared where that is possible, and all of them.
    pub hard: (u64, u64),
    /// Periods of reservations in which what was promised came later, as the scheduler itself counts.
    pub late_periods: u64,
}

impl Row {
    /// The value of a metric.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).map(|m| m.value)
    }
}

/// All that was measured, and what was not.
#[derive(Clone, Debug, Default)]
pub struct All {
    /// In the order of the plan.
    pub rows: Vec<Row>,
    /// Schedulers and tests that could not run, with the reason.
    pub lacking: Vec<(String, String)>,
    /// Kernel messages, by scheduler.
    pub complaints: Vec<(String, String)>,
}

/// Why a test is left out that was not refused; how often the machine switched tasks is no result.
const NO_RESULT: &str = "it printed no result";

/// The mean over seeds of each metric that all of them have; of maxima, the maximum.
fn means(runs: &[&Run]) -> Vec<Metric> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mean = |metric: &Metric| {
        let values: Option<Vec<f64>> = runs.iter().map(|r| r.get(&metric.name)).collect();
        let values = values?;
        let value = match runs::WORST.contains(&metric.name.as_str()) {
            true => values.iter().copied().fold(0.0, f64::max),
            false => values.iter().sum::<f64>() / values.len() as f64,
        };
        Some(Metric { value, ..metric.clone() })
    };
    first.metrics.iter().filter_map(mean).collect()
}

/// The median over beginnings of each metric that all of them have; of maxima, the maximum.
fn medians(beginnings: &[Vec<Metric>]) -> Vec<Metric> {
    let Some(first) = beginnings.first() else { return Vec::new() };
    let median = |metric: &Metric| {
        let of =
            |metrics: &Vec<Metric>| metrics.iter().find(|m| m.name == metric.name).map(|m| m.value);
        let mut values: Vec<f64> = beginnings.iter().map(of).collect::<Option<_>>()?;
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let value = match (runs::WORST.contains(&metric.name.as_str()), values.len() % 2) {
            (true, _) => values[values.len() - 1],
            (false, 1) => values[middle],
            (false, _) => (values[middle - 1] + values[middle]) / 2.0,
        };
        Some(Metric { value, ..metric.clone() })
    };
    first.iter().filter_map(median).collect()
}

/// The outputs of machines, each read once.
struct Outputs<'a> {
    results: &'a Path,
    read: BTreeMap<String, Output>,
}

impl Outputs<'_> {
    /// The output in a folder; `None` if there is none. What it lacks as a whole goes to `all`.
    fn of(&mut self, folder: String, scheduler: &str, all: &mut All) -> Option<&Output> {
        if !self.read.contains_key(&folder) {
            let text = fs::read_to_string(self.results.join(&folder).join("output")).ok()?;
            let output = runs::read(&text);
            all.lacking.extend(output.refused.clone().map(|why| (scheduler.to_owned(), why)));
            all.complaints
                .extend(output.complaint.clone().map(|what| (scheduler.to_owned(), what)));
            self.read.insert(folder.clone(), output);
        }
        self.read.get(&folder)
    }
}

/// Metrics; late reserved jobs, reserved jobs, and late periods of reservations.
type Measured = (Vec<Metric>, [u64; 3]);

/// The results of a test with one beginning, or why there are none; `None` if it was not run.
fn measured(test: &Test, output: &Output) -> Option<Result<Measured, String>> {
    let runs: Vec<&Run> =
        test.calls.iter().map(|call| output.runs.get(call)).collect::<Option<_>>()?;
    if let Some(why) = runs.iter().find_map(|run| run.lacks.clone()) {
        return Some(Err(why));
    }
    let metrics = means(&runs);
    if !metrics.iter().any(|m| m.name == test.drawn) {
        return Some(Err(NO_RESULT.to_owned()));
    }
    let sum = |of: fn(&Run) -> u64| runs.iter().map(|run| of(run)).sum();
    Some(Ok((metrics, [sum(|r| r.hard_missed), sum(|r| r.hard_jobs), sum(|r| r.late_periods)])))
}

fn collect(groups: &[Group], beginnings: u32, results: &Path) -> Result<All, String> {
    let mut all = All::default();
    let mut outputs = Outputs { results, read: BTreeMap::new() };
    for group in groups {
        for test in &group.tests {
            for scheduler in group.schedulers.iter().copied() {
                if !group.of(scheduler).any(|t| t.name == test.name) {
                    continue;
                }
                let (mut metrics, mut sums, mut lacks) = (Vec::new(), [0; 3], None);
                for beginning in 1..=beginnings {
                    let folder = folder(group, scheduler, beginning);
                    let output = outputs.of(folder, scheduler, &mut all);
                    match output.and_then(|output| measured(test, output)) {
                        Some(Ok((found, counts))) => {
                            metrics.push(found);
                            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
                        }
                        Some(Err(why)) => lacks = Some(why),
                        None => {}
                    }
                }
                let name = format!("{scheduler}, {}", test.name);
                all.lacking.extend(lacks.map(|why| (name, why)));
                if metrics.is_empty() {
                    continue;
                }
                let [hard_missed, hard_jobs, late_periods] = sums;
                all.rows.push(Row {
                    scheduler,
                    test: test.clone(),
                    beginnings: metrics.len(),
                    metrics: medians(&metrics),
                    hard: (hard_missed, hard_jobs),
                    late_periods,
                });
            }
        }
    }
    if all.rows.is_empty() {
        return Err(format!("{}: no results", results.display()));
    }
    Ok(all)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn read(which: &str, groups: &[Group], beginnings: u32, results: &Path) -> Result<bool, String> {
    let all = collect(groups, beginnings, results)?;
    let (page, tables) = report::page(&all);
    print!("{tables}");
    let json = serde_json::to_string_pretty(&report::json(&all)).map_err(|e| e.to_string())?;
    write(&results.with_extension("json"), &(json + "\n"))?;
    write(&results.with_extension("html"), &page.html())?;
    for (name, svg) in page.svgs() {
        write(&results.join(name), &svg)?;
    }
    // Short runs end before answers are quick.
    let bounds = which == "short" || bounds_hold(&all);
    Ok(promises_hold(groups, &all) && bounds)
}

/// Upper bounds of figures under a scheduler: the test, the metric, and how much, or which part of
/// what another scheduler has.
const BOUNDS: [(&str, &str, &str, f64, Option<&str>); 9] = [
    ("laxity-bebs", "switch", "pass instructions a switch", 1.15, Some("eevdf")),
    // A message through a pipe is a block and a wake-up as well (docs/results/cpu-compare.md).
    ("laxity-bebs-credit", "switch", "pass instructions a switch", 1.45, Some("eevdf")),
    ("laxity-berate", "switch", "pass instructions a switch", 1.1, Some("eevdf")),
    ("laxity-bebs-credit", "interactive", "respond mean", 0.1, Some("fifo")),
    ("laxity-berate", "berate-1", "srtsim-1 missed", 0.5, None),
    ("laxity-berate", "berate-2", "srtsim-1 missed", 0.5, None),
    ("laxity-berate", "berate-2", "srtsim-2 missed", 0.5, None),
    ("laxity-berate", "berate-3", "srtsim-1 missed", 0.5, None),
    ("laxity-berate", "berate-3", "srtsim-2 missed", 0.5, None),
];

/// Whether no figure is beyond its bound, where it was measured in full.
fn bounds_hold(all: &All) -> bool {
    let value = |scheduler: &str, test: &str, metric: &str| {
        let row = all.rows.iter().find(|r| r.scheduler == scheduler && r.test.name == test);
        row.and_then(|r| r.get(metric))
    };
    let mut good = true;
    for (scheduler, test, metric, bound, over) in BOUNDS {
        let whole = over.map_or(Some(1.0), |other| value(other, test, metric));
        let (Some(is), Some(whole)) = (value(scheduler, test, metric), whole) else { continue };
        if is > bound * whole {
            eprintln!("{scheduler}, {test}: {metric} is {is}, more than {}", bound * whole);
            good = false;
        }
    }
    good
}

/// No reserved deadline missed, as tasks and as the scheduler count; no kernel warning, no policy of Laxity skipped.
fn promises_hold(groups: &[Group], all: &All) -> bool {
    let mut good = true;
    let mut broken = |what: String| {
        eprintln!("{what}");
        good = false;
    };
    for row in all.rows.iter().filter(|r| is_laxity(r.scheduler)) {
        // Undeclared audio and video have no reservation.
        if row.hard.0 > 0 && !row.test.name.ends_with("-undeclared") {
            let (late, jobs) = row.hard;
            broken(format!(
                "{}, {}: {late} of {jobs} reserved jobs late",
                row.scheduler, row.test.name
            ));
        }
    }
    for row in all.rows.iter().filter(|r| r.late_periods > 0) {
        let (scheduler, name, periods) = (row.scheduler, row.test.name, row.late_periods);
        broken(format!("{scheduler}, {name}: {periods} periods of reservations late"));
    }
    for (scheduler, what) in all.complaints.iter().filter(|(s, _)| is_laxity(s)) {
        broken(format!("{scheduler}: kernel message: {what}"));
    }
    for group in groups {
        let own = group.schedulers.iter().filter(|s| is_laxity(s));
        for (scheduler, test) in own.flat_map(|s| group.of(s).map(move |t| (*s, t))) {
            let measured =
                all.rows.iter().any(|r| r.scheduler == scheduler && r.test.name == test.name);
            let name = format!("{scheduler}, {}", test.name);
            let why = all.lacking.iter().any(|(subject, why)| *subject == name && why != NO_RESULT);
            if !measured && !why {
                broken(format!("{scheduler} did not run {}", test.name));
            }
        }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when two tests have one name or one call, of which the results would be one.
    #[test]
    fn tests_are_distinct() {
        for groups in [plan::full(), plan::short()] {
            let tests: Vec<&Test> = groups.iter().flat_map(|g| &g.tests).collect();
            let names: std::collections::BTreeSet<_> = tests.iter().map(|t| t.name).collect();
            let calls: Vec<_> = tests.iter().flat_map(|t| &t.calls).collect();
            let distinct: std::collections::BTreeSet<_> = calls.iter().collect();
            assert_eq!((names.len(), distinct.len()), (tests.len(), calls.len()));
        }
    }

    /// Fails when a median is a mean, or that of maxima is not their maximum; or when a metric is taken that a beginning
    /// lacks.
    #[test]
    fn rows_are_medians_over_beginnings() {
        let of = |value: f64, worst: f64| {
            let metric = |name: &str, value| Metric { name: name.into(), unit: "us", value };
            let mut metrics = vec![metric("poll mean", value), metric(runs::WORST[0], worst)];
            if value < 5.0 {
                metrics.push(metric("rare", 1.0));
            }
            metrics
        };
        let values =
            |runs: &[Vec<Metric>]| -> Vec<f64> { medians(runs).iter().map(|m| m.value).collect() };
        assert_eq!(values(&[of(3.0, 7.0)]), [3.0, 7.0, 1.0]);
        assert_eq!(values(&[of(3.0, 7.0), of(9.0, 1.0), of(1.0, 2.0)]), [3.0, 7.0]);
        assert_eq!(values(&[of(3.0, 1.0), of(1.0, 2.0)]), [2.0, 2.0, 1.0]);
        let group = &plan::full()[0];
        let folders = [1, 2].map(|beginning| folder(group, "eevdf", beginning));
        assert_eq!(folders, ["cost-eevdf", "cost-eevdf-2"]);
        assert!(beginnings("0").is_err() && beginnings("10").is_err() && beginnings("3") == Ok(3));
    }

    /// Fails when a missed deadline of a reserved task passes, also one that only the scheduler counted, when
    /// that of a task without a reservation does not, or when answers may take more than a tenth of their
    /// time below `SCHED_FIFO`.
    #[test]
    fn a_late_reserved_job_fails_the_comparison() {
        let groups = plan::short();
        let of = |late| {
            let mut all = All::default();
            for scheduler in groups[0].schedulers.iter().copied() {
                for test in groups[0].of(scheduler) {
                    let (test, metrics) = (test.clone(), Vec::new());
                    let hard = (if is_laxity(scheduler) { late } else { 9 }, 10);
                    let beginnings = 1;
                    all.rows.push(Row {
                        scheduler,
                        test,
                        metrics,
                        beginnings,
                        hard,
                        late_periods: 0,
                    });
                }
            }
            all
        };
        let answers = |mean| {
            let mut all = of(0);
            for row in all.rows.iter_mut().filter(|r| r.test.name == "interactive") {
                let value = if row.scheduler == "fifo" { 10.0 } else { mean };
                let (name, unit) = ("respond mean".to_owned(), "us");
                row.metrics.push(Metric { name, unit, value });
            }
            all
        };
        let first = &report::json(&answers(1.0))["rows"][0];
        let row = [("scheduler", "eevdf"), ("test", "interactive"), ("metric", "respond mean")];
        assert!(row.iter().all(|(key, value)| first[key] == *value), "{first}");
        assert_eq!((&first["unit"], &first["value"]), (&"us".into(), &1.0.into()));
        assert!(bounds_hold(&answers(1.0)));
        assert!(!bounds_hold(&answers(1.1)));
        assert!(promises_hold(&groups, &of(0)));
        assert!(!promises_hold(&groups, &of(1)));
        let mut late = of(0);
        late.rows.iter_mut().filter(|r| is_laxity(r.scheduler)).for_each(|r| r.late_periods = 1);
        assert!(!promises_hold(&groups, &late));
        let mut fewer = of(0);
        let last = fewer.rows.pop().expect("a row");
        assert!(!promises_hold(&groups, &fewer));
        let subject = format!("{}, {}", last.scheduler, last.test.name);
        fewer.lacking.push((subject, NO_RESULT.to_owned()));
        assert!(!promises_hold(&groups, &fewer));
        fewer.lacking[0].1 = "there is no ffmpeg".into();
        assert!(promises_hold(&groups, &fewer));
    }
}
