//! `laxity check` and `laxity simulate` of CPU scenarios.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use laxity_results::{CpuCheckResult, CpuSimulationResult, CpuSimulationRuns, TaskKind};
use serde_json::Value;
use support::{Folder, file, laxity};

fn desktop() -> String {
    file("scenarios/desktop.toml")
}

fn figure_2() -> String {
    file("scenarios/bebs-figure-2.toml")
}

/// 40 % at first; 60 % more do not fit from 1 s on, and fit when the first has left.
const CROWDED: &str = r#"
[cpu]

[[task]]
name = "first"
reservation = { budget = "40 ms", period = "100 ms" }
leave = "2 s"

[[task]]
name = "more"
reservation = { budget = "60 ms", period = "100 ms" }
join = "1 s"
leave = "2.5 s"

[[task]]
name = "short"
reservation = { budget = "2 ms", period = "10 ms", deadline = "3 ms" }
join = "3 s"

[[task]]
name = "bulk"
work = "cpu-bound"
"#;

/// Fails when the verdict, the exit status and what would fit contradict each other, when a
/// reservation that has ended still counts (tried: leaving forgotten), or a deadline shorter than its
/// period does not.
#[test]
fn check_reports_fitting_reservations() {
    let text = laxity(&["check", &desktop()]).succeeds();
    assert!(text.starts_with("Admitted, and promised."), "{text}");
    let json = laxity(&["check", &desktop(), "--json"]).succeeds();
    let check: CpuCheckResult = serde_json::from_str(&json).unwrap();
    assert!(check.admitted && check.guaranteed && check.obstacles.is_empty());
    assert_eq!((check.policy.as_str(), check.options["sample"].as_str()), ("bebs-credit", "job"));
    assert_eq!(check.requests.len(), 1);
    assert!(
        (check.best_effort_share.unwrap() - 0.8).abs() < 1e-6 && (check.demand - 0.2).abs() < 1e-6
    );

    let folder = Folder::new("cpu-check");
    let crowded = folder.write("crowded.toml", CROWDED);
    let ran = laxity(&["check", &crowded]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    assert!(ran.out.starts_with("Not admitted."), "{}", ran.out);
    let why = "5.000% more than the 55.000% that are free. What would fit: 55 ms in the same \
               period, or 60 ms in every 109.091 ms.";
    assert!(ran.out.contains(why), "{}", ran.out);
    let json = laxity(&["check", &crowded, "--json"]);
    let check: CpuCheckResult = serde_json::from_str(&json.out).unwrap();
    let admitted: Vec<bool> = check.requests.iter().map(|r| r.admitted).collect();
    assert_eq!(admitted, [true, false, true]);
    let more = &check.requests[1];
    assert_eq!(more.max_budget_ns, Some(55_000_000));
    assert!(more.available_share.is_some_and(|free| (free - 0.55).abs() < 1e-9));
    // 2 ms within 3 ms, whatever the period.
    assert!((check.demand - 2.0 / 3.0).abs() < 1e-6 && check.utilisation < 0.401, "{check:?}");

    // The suggested reservation fits, a slightly larger one does not.
    for (budget, period, code) in
        [("55 ms", "100 ms", 0), ("55.001 ms", "100 ms", 1), ("60 ms", "109.091 ms", 0)]
    {
        let text = CROWDED.replace(
            "budget = \"60 ms\", period = \"100 ms\"",
            &format!("budget = \"{budget}\", period = \"{period}\""),
        );
        let path = folder.write("other.toml", text);
        assert_eq!(laxity(&["check", &path]).code, Some(code), "{budget} in {period}");
    }
    let page = folder.path("check.html");
    assert_eq!(laxity(&["check", &crowded, "--report", &page]).code, Some(1));
    assert!(std::fs::read_to_string(&page).unwrap().contains("Not admitted."));
}

/// Fails when JSON and table differ, `--policy all` leaves a policy out, or a result does not say
/// which reading of its paper it is of (tried: without the first option).
#[test]
fn simulate_prints_tables_or_json() {
    let desktop = desktop();
    let arguments = ["simulate", &desktop, "--duration", "3s", "--policy", "all"];
    let table = laxity(&arguments).succeeds();
    let json = laxity(&[&arguments[..], &["--json"]].concat()).succeeds();
    let result: CpuSimulationResult = serde_json::from_str(&json).unwrap();
    assert_eq!((result.policies.len(), result.cpus), (laxity_cpu::registry::POLICIES.len(), 1));
    for (name, policy) in &result.policies {
        assert!(table.contains(name.as_str()), "{name}");
        assert_eq!(policy.tasks.len(), 10, "{name}");
        let known = laxity_cpu::registry::find(name).unwrap();
        assert!(policy.options.keys().eq(known.options.iter().map(|o| o.name)), "{name}");
        let total: f64 = policy.tasks.values().map(|t| t.cpu_ms).sum();
        assert!((total / 3000.0 - policy.utilisation).abs() < 1e-9 && policy.utilisation <= 1.0);
        // Promised deadlines are met.
        let sound = &policy.tasks["sound"];
        assert_eq!((sound.kind, sound.jobs), (TaskKind::Hard, 600), "{name}");
        assert!(!known.keeps_deadlines || sound.deadline_misses == 0, "{name}");
    }
    assert_eq!(result.policies["posix"].options["best-effort-policy"], "eevdf");
    assert!(table.contains("Every deadline met.") && !table.contains('\u{1b}'), "{table}");
}

#[test]
fn several_seeds_are_runs_and_a_summary() {
    let run = || {
        let desktop = desktop();
        let seeds = ["--duration", "2s", "--seeds", "3..5", "--json"];
        laxity(&[&["simulate", &desktop][..], &seeds].concat()).succeeds()
    };
    let json = run();
    let runs: CpuSimulationRuns = serde_json::from_str(&json).unwrap();
    assert!(runs.runs.iter().map(|r| r.seed).eq([Some(3), Some(4), Some(5)]));
    let spread = runs.summary["eevdf"].tasks["editor"].mean_response_ms.unwrap();
    assert!(spread.min < spread.mean && spread.mean < spread.max);
    assert_eq!(json, run(), "the same seeds give the same bytes");
}

/// The slices of figure 2 of the paper, in ms: (policy, task, from, to).
///
/// Fails when the scenario is not the paper's figure (tried: `until` as a sleep of that length), or
/// slices are lost or doubled.
#[test]
fn exported_slices_match_the_figure() {
    let folder = Folder::new("cpu-slices");
    let rows = folder.path("slices.csv");
    laxity(&["simulate", &figure_2(), "--duration", "55ms", "--slices", &rows]).succeeds();
    let text = std::fs::read_to_string(&rows).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("policy,cpu,task,from_ns,to_ns"));
    let slices = |policy: &str| -> Vec<(u64, u64, u64)> {
        let of = text.lines().filter(|l| l.starts_with(&format!("{policy},0,task ")));
        let ms = |field: &str| field.parse::<u64>().unwrap() / 1_000_000;
        of.map(|l| {
            let f: Vec<&str> = l.split(',').collect();
            (f[2].strip_prefix("task ").unwrap().parse().unwrap(), ms(f[3]), ms(f[4]))
        })
        .collect()
    };
    let begin = [(1, 0, 5), (2, 5, 15), (3, 15, 25)];
    let bebs = [(2, 25, 26), (1, 26, 36), (2, 36, 45), (3, 45, 55)];
    assert_eq!(slices("bebs"), [&begin[..], &bebs].concat());
    let iris = [(2, 25, 35), (3, 35, 45), (1, 45, 55)];
    assert_eq!(slices("iris"), [&begin[..], &iris].concat());
    assert_eq!(lines.count(), 7 + 6 + slices("cbs").len());
}

/// Fails when rows are lost (tried: the first job), or differ from the result.
#[test]
fn jobs_are_rows() {
    let folder = Folder::new("cpu-jobs");
    let rows = folder.path("jobs.csv");
    let desktop = desktop();
    let arguments = ["simulate", &desktop, "--duration", "5s", "--jobs", &rows, "--json"];
    let result: CpuSimulationResult = serde_json::from_str(&laxity(&arguments).succeeds()).unwrap();
    let text = std::fs::read_to_string(&rows).unwrap();
    let mut counts: BTreeMap<(String, String), (u64, u64, u64)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        assert_eq!(f.len(), 8, "{line}");
        let row = counts.entry((f[0].into(), f[1].into())).or_default();
        let number = |i: usize| f[i].parse::<u64>().unwrap();
        if f[7] == "unfinished" {
            assert_eq!((f[4], f[5]), ("", ""), "{line}");
            // Late already when the run ended: that counts, others do not.
            let late = u64::from(f[6].parse::<u64>().is_ok_and(|late| late > 0));
            (row.0, row.1) = (row.0 + late, row.1 + late);
            continue;
        }
        assert_eq!(number(4) - number(2), number(5), "{line}");
        assert_eq!(f[7] == "late", !f[6].is_empty() && number(6) > 0, "{line}");
        row.0 += 1;
        row.1 += u64::from(f[7] == "late");
        row.2 = row.2.max(number(5));
    }
    for (policy, of) in &result.policies {
        for (task, of) in of.tasks.iter().filter(|(_, t)| t.jobs > 0) {
            let (jobs, late, longest) = counts[&(policy.clone(), task.clone())];
            assert_eq!((of.jobs, of.deadline_misses), (jobs, late), "{policy} {task}");
            assert_eq!(of.max_response_ms, Some(longest as f64 / 1e6), "{policy} {task}");
        }
    }
}

/// Trace events as the format has them: beginnings and ends with times in us, of which a row has one
/// after the other, thread-scoped instants, names for every row; and as many as there are slices and
/// jobs.
///
/// Fails when a slice is cut off or doubled, a release (tried: those without deadlines) or miss is not
/// marked, a row has no name, or a row has a beginning before the end of what was there (tried:
/// waits written after all slices).
#[test]
fn trace_events_are_valid_for_viewers() {
    let folder = Folder::new("cpu-trace");
    let (trace, again) = (folder.path("trace.json"), folder.path("again.json"));
    let (slices, jobs) = (folder.path("slices.csv"), folder.path("jobs.csv"));
    let desktop = desktop();
    let run = |trace: &str| {
        let policies = ["--duration", "3s", "--policy", "linux-2.6,bebs"];
        let files = ["--trace-out", trace, "--slices", &slices, "--jobs", &jobs];
        laxity(&[&["simulate", &desktop][..], &policies, &files].concat()).succeeds()
    };
    run(&trace);
    run(&again);
    let bytes = std::fs::read(&trace).unwrap();
    assert!(bytes == std::fs::read(&again).unwrap(), "the same bytes each time");
    let trace: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(trace["displayTimeUnit"], "ms");
    let events = trace["traceEvents"].as_array().unwrap();
    let row = |e: &Value| (e["pid"].as_u64().unwrap(), e["tid"].as_u64().unwrap_or(0));
    let ns = |e: &Value, key: &str| (e[key].as_f64().unwrap() * 1000.0).round() as u64;
    let mut spans: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let mut begun: BTreeMap<(u64, u64), (u64, &str)> = BTreeMap::new();
    let mut named = BTreeSet::new();
    let (mut releases, mut missed) = (0, 0);
    for event in events {
        let name = event["name"].as_str().unwrap();
        match event["ph"].as_str().unwrap() {
            "B" => assert_eq!(begun.insert(row(event), (ns(event, "ts"), name)), None),
            "E" => {
                let (from, what) = begun.remove(&row(event)).expect("a beginning");
                let to = ns(event, "ts");
                assert!(what == name && from < to && to <= 3_000_000_000);
                spans.entry(row(event)).or_default().push((from, to));
            }
            "i" => {
                assert_eq!(event["s"], "t");
                releases += u64::from(name == "release");
                missed += u64::from(name == "deadline missed");
                assert_eq!(name == "deadline missed", event["args"]["lateness_us"].is_number());
            }
            "M" => {
                if name == "thread_name" {
                    assert!(event["args"]["name"].is_string());
                    named.insert(row(event));
                }
                assert!(
                    ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]
                        .contains(&name)
                );
            }
            other => panic!("phase {other}"),
        }
    }
    // Two policies of one CPU and ten tasks.
    assert_eq!(named.len(), 22);
    assert!(spans.keys().all(|row| named.contains(row)));
    assert_eq!(begun, BTreeMap::new());
    for spans in spans.values() {
        assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0));
    }
    let lines = |path: &str| std::fs::read_to_string(path).unwrap().lines().skip(1).count();
    let on_cpus: usize = [1, 3].iter().map(|pid| spans[&(*pid, 0)].len()).sum();
    assert_eq!(on_cpus, lines(&slices));
    assert_eq!(releases, lines(&jobs) as u64);
    let late = std::fs::read_to_string(&jobs).unwrap();
    let late = late.lines().filter(|l| l.ends_with(",late")).count() as u64;
    assert!(late > 0 && missed >= late, "{missed} {late}");
}

/// Fails when the page lacks a part, its plots are not written, or it differs from run to run.
#[test]
fn the_page_and_its_plots_are_written() {
    let folder = Folder::new("cpu-page");
    let (page, plots) = (folder.path("page.html"), folder.path("plots"));
    let desktop = desktop();
    let arguments = ["simulate", &desktop, "--duration", "4s", "--report", &page, "--svg", &plots];
    assert_eq!(laxity(&arguments).code, Some(0));
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["The schedule", "Progress", "Response and tardiness", "All numbers"] {
        assert!(html.contains(&format!(">{part}</h2>")), "{part}");
    }
    for plot in ["gantt.svg", "progress.svg", "response.svg", "tardiness.svg"] {
        assert!(std::path::Path::new(&plots).join(plot).exists(), "{plot}");
    }
    assert_eq!(laxity(&arguments).code, Some(0));
    assert!(html == std::fs::read_to_string(&page).unwrap());
}

/// Fails when work of several CPUs lands on one, a task runs where it may not (tried: affinity
/// dropped, and every slice written for CPU 0), or what a cluster refuses is lost.
#[test]
fn several_cpus_are_clusters() {
    let folder = Folder::new("cpu-several");
    let task = |name: &str, more: &str| {
        format!("[[task]]\nname = \"{name}\"\nwork = \"cpu-bound\"\n{more}\n")
    };
    let cpus = "[cpu]\ncpus = 4\ncluster = 2\n";
    let text = format!("{cpus}{}{}", task("a", "count = 3"), task("b", "affinity = \"2-3\""));
    let path = folder.write("four.toml", text);
    let slices = folder.path("slices.csv");
    let arguments = ["simulate", &path, "--duration", "2s", "--slices", &slices, "--json"];
    let result: CpuSimulationResult = serde_json::from_str(&laxity(&arguments).succeeds()).unwrap();
    let bebs = &result.policies["bebs"];
    assert_eq!((result.cpus, bebs.tasks.len()), (4, 4));
    assert!((bebs.utilisation - 1.0).abs() < 0.01, "{}", bebs.utilisation);
    assert!(bebs.tasks.values().all(|t| t.share > 0.95) && bebs.migrations.is_some());
    let rows = std::fs::read_to_string(&slices).unwrap();
    let mut of_b = rows.lines().filter(|l| l.split(',').nth(2) == Some("b"));
    assert!(of_b.all(|l| matches!(l.split(',').nth(1), Some("2" | "3"))), "{rows}");

    let reserve = |budget: &str| {
        let reservation = format!("{{ budget = \"{budget}\", period = \"10 ms\" }}");
        format!(
            "[cpu]\ncpus = 2\n{}",
            task("a", &format!("count = 3\nreservation = {reservation}"))
        )
    };
    // Two fit a CPU each; the third fits none, though in sum there is room.
    let path = folder.write("two.toml", reserve("6 ms"));
    let ran = laxity(&["check", &path]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("a-3 requests 6 ms") && ran.out.contains("3.5 ms"), "{}", ran.out);
    let path = folder.write("fits.toml", reserve("3 ms"));
    assert!(laxity(&["check", &path]).succeeds().starts_with("Admitted, and promised."));
    let narrow = format!("{cpus}{}", task("a", "affinity = \"1-2\""));
    let ran = laxity(&["check", &folder.write("narrow.toml", narrow)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("a is refused: no cluster of CPUs lies within"), "{}", ran.out);
}

/// Fails when an option of packets is ignored silently, or a problem lacks a remedy.
#[test]
fn options_of_other_kinds_are_refused_for_cpus() {
    let desktop = desktop();
    for option in [["--trace", "x.csv"], ["--pcap-out", "x.pcapng"], ["--packets", "x.csv"]] {
        let ran = laxity(&[&["simulate", &desktop][..], &option].concat());
        ran.fails(2, &[option[0], "no meaning for CPUs"]);
    }
    laxity(&["check", &desktop, "--blocking", "paper"]).fails(2, &["no meaning for CPUs"]);
    laxity(&["simulate", &desktop, "--policy", "tbs"]).fails(2, &["tbs", "bebs", "eevdf"]);
    let rows = ["simulate", &desktop, "--slices", "x.csv", "--seeds", "1..2"];
    laxity(&rows).fails(2, &["--slices", "single seed"]);
    laxity(&["simulate", &desktop, "--jobs", "/nowhere/x.csv"]).fails(4, &["/nowhere/x.csv"]);
    laxity(&["stream", "serve", &desktop]).fails(2, &["this is a CPU scenario"]);
    let (link, media) = (file("scenarios/robot.toml"), file("scenarios/media-server.toml"));
    for scenario in [&link, &media] {
        for option in ["--trace-out", "--slices", "--jobs"] {
            let ran = laxity(&["simulate", scenario, option, "x"]);
            ran.fails(2, &[option, "no meaning for packets"]);
        }
    }
}

/// Fails when a task that is refused is left out in silence.
#[test]
fn refused_reservations_are_reported() {
    let folder = Folder::new("cpu-refused");
    let path = folder.write("crowded.toml", CROWDED);
    let ran = laxity(&["simulate", &path, "--duration", "4s"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("bebs refuses the reservation of more"), "{}", ran.err);
    assert!(
        ran.out.contains("\u{2717} refused") && ran.out.contains("55 ms would fit"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("Refused. Under bebs 1 task was refused"), "{}", ran.out);
}

/// Fails when recorded threads are not tasks like others (tried: `only` passed over), or a file that cannot be played does not
/// say why and where.
#[test]
fn recordings_are_tasks() {
    let recorded = file("scenarios/recorded.toml");
    let arguments = ["simulate", &recorded, "--duration", "1s", "--policy", "bebs", "--json"];
    let result: CpuSimulationResult = serde_json::from_str(&laxity(&arguments).succeeds()).unwrap();
    let tasks = &result.policies["bebs"].tasks;
    assert!(tasks.len() > 20 && tasks.contains_key("video"), "{}", tasks.len());
    assert!(tasks["python3:104"].cpu_ms > 5.0 && !tasks.contains_key("other/0:1"));

    let folder = Folder::new("cpu-recordings");
    let scenario =
        |name: &str| folder.write("r.toml", format!("[cpu]\n[[recording]]\nfile = \"{name}\"\n"));
    let app = r#"{ "tasks": {
        "a": { "policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 10000, "loop": -1,
               "run": 1000, "timer": { "ref": "t", "period": 10000 } },
        "b": { "instance": 2, "loop": -1, "run": 5000, "sleep": 1000 } } }"#;
    folder.write("app.json", app);
    let path = scenario("app.json");
    let json = laxity(&["check", &path, "--json"]).succeeds();
    let check: CpuCheckResult = serde_json::from_str(&json).unwrap();
    assert_eq!((check.requests.len(), check.requests[0].budget_ns), (1, 2_000_000), "{json}");
    let table = laxity(&["simulate", &path, "--duration", "1s"]).succeeds();
    assert!(table.contains("a (hard)") && table.contains("b-1"), "{table}");

    folder.write("bad.json", app.replace("5000", "-5"));
    laxity(&["simulate", &scenario("bad.json")]).fails(2, &["bad.json", "line 4", "-5"]);
    folder.write("bad.txt", "nonsense\n");
    laxity(&["check", &scenario("bad.txt")]).fails(2, &["bad.txt", "line 1", "trace-cmd report"]);
    laxity(&["check", &scenario("none.txt")]).fails(2, &["none.txt", "cannot be read"]);
}

/// Fails when a budget without its interference is promised (tried without the obstacle), a run with locks differs from
/// one that holds none, or a record or a certificate says nothing of locks (tried without each refusal).
#[test]
fn locks_are_bounded() {
    let folder = Folder::new("cpu-locks");
    let locks = file("scenarios/locks.toml");
    let text = std::fs::read_to_string(&locks).unwrap();
    let with = |from: &str, to: &str| folder.write("other.toml", text.replace(from, to));
    let check = |path: &str| -> CpuCheckResult {
        serde_json::from_str(&laxity(&["check", path, "--json"]).succeeds()).unwrap()
    };
    let enough = check(&locks);
    assert!(enough.guaranteed && enough.locks[0].interference_ns == Some(4_000_000));
    assert!(!check(&with("\"6 ms\"", "\"5.9 ms\"")).guaranteed);

    let late = |path: &str| {
        let json = laxity(&["simulate", path, "--duration", "2s", "--json"]).succeeds();
        let result: CpuSimulationResult = serde_json::from_str(&json).unwrap();
        result.policies["bebs"].tasks["controller"].deadline_misses
    };
    assert_eq!(late(&locks), 0);
    assert!(late(&with("\"inherit\"", "\"none\"")) > 10);

    let record = folder.path("run.csv");
    let simulate = ["simulate", &locks, "--duration", "1s", "--record", &record];
    laxity(&simulate).fails(2, &["which task executes", "locks.toml"]);
    let lines = text.lines().filter(|line| !line.starts_with("lock ="));
    let none = folder.write("none.toml", lines.collect::<Vec<_>>().join("\n"));
    laxity(&["simulate", &none, "--duration", "1s", "--record", &record]).succeeds();
    laxity(&["validate", &record, &none]).succeeds();
    laxity(&["validate", &record, &locks]).fails(2, &["runs with locks have no records"]);
    let certificate = folder.path("certificate.txt");
    let refused = laxity(&["check", &locks, "--certificate", &certificate]);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.err.contains("certificates say nothing of locks"), "{}", refused.err);
}
