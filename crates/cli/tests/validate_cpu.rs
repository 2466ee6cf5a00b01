//! `laxity validate` on records of simulated CPUs.

mod support;

use support::{Folder, file, laxity};

fn record(folder: &Folder, scenario: &str, policies: &str) -> String {
    let path = folder.path("run.csv");
    let _ = std::fs::remove_file(&path);
    laxity(&["simulate", scenario, "--policy", policies, "--duration", "2s", "--record", &path])
        .succeeds();
    path
}

/// The lines of a record, with the first chosen one changed.
fn changed(path: &str, change: impl Fn(&mut Vec<String>) -> bool) -> String {
    let text = std::fs::read_to_string(path).expect("a record");
    let mut done = false;
    let lines = text.lines().map(|line| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        done = done || change(&mut fields);
        fields.join(",")
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert!(done, "no such line");
    text
}

/// Fails when a legal run of a shipped scenario is refused: tried with early releases judged as changes before the
/// zero-lag time.
#[test]
fn simulated_runs_are_legal_and_premises_hold() {
    let folder = Folder::new("validate-cpu");
    let policies = "bebs,bebs-credit,edf,cbs,iris,iris-naive";
    for name in ["desktop", "bebs-figure-2", "recorded"] {
        let scenario = file(&format!("scenarios/{name}.toml"));
        let run = record(&folder, &scenario, policies);
        let said = laxity(&["validate", &run, &scenario]).succeeds();
        let good = said.matches("legal run and premises hold, so nothing is late").count();
        assert_eq!(good, policies.split(',').count(), "{name}: {said}");
    }
}

/// Fails when requests with the overheads of scheduling are taken for those of another scenario: tried without
/// `with_overheads` in `validate`.
#[test]
fn runs_with_overheads_are_legal_and_premises_hold() {
    let folder = Folder::new("validate-cpu-overheads");
    let text = std::fs::read_to_string(file("scenarios/desktop.toml")).expect("a scenario");
    let overheads = "[overheads]\nswitch = \"6 us\"\nrelease = \"4 us\"\n\n[[task]]";
    let scenario = folder.write("overheads.toml", text.replacen("[[task]]", overheads, 1));
    let run = record(&folder, &scenario, "bebs,bebs-credit,edf");
    let said = laxity(&["validate", &run, &scenario]).succeeds();
    let good = said.matches("legal run and premises hold, so nothing is late").count();
    assert_eq!(good, 3, "{said}");
}

/// Fails when a record in the place of the scenario is read as one, with an error for each line.
#[test]
fn a_record_in_the_place_of_the_scenario_is_named() {
    let folder = Folder::new("validate-swapped");
    let scenario = file("scenarios/bebs-figure-2.toml");
    let run = record(&folder, &scenario, "bebs");
    let first = "run.csv is a record: give the record first, then its scenario";
    laxity(&["validate", &scenario, &run]).fails(2, &[first]);
}

/// Fails when a break is not noticed, or named otherwise; each is tried here.
#[test]
fn breaks_are_named_with_their_instant() {
    let folder = Folder::new("validate-cpu-broken");
    let scenario = file("scenarios/desktop.toml");
    let run = record(&folder, &scenario, "bebs-credit");
    let names = |text: &str, scenario: &str, wanted: &str| {
        let path = folder.write("changed.csv", text);
        let ran = laxity(&["validate", &path, scenario]);
        assert!(ran.code == Some(1) && ran.out.contains(wanted), "{wanted}: {ran:#?}");
    };
    let late =
        |fields: &[String], i: usize| fields[i].parse().is_ok_and(|t: u64| t > 1_000_000_000);

    // Sound has the place 0.
    let slice = |f: &[String]| f[0] == "slice" && late(f, 1) && f[5] == "0.0";
    let moved = changed(&run, |f| {
        let found = slice(f);
        if found {
            f[5] = "0.1".to_owned();
        }
        found
    });
    names(&moved, &scenario, "at 1005 ms sound ran although its server was not ready");
    let due = changed(&run, |f| {
        let found = f[0] == "server" && late(f, 1) && f[3] == "wake" && f[5] == "0";
        if found {
            f[10] = (f[10].parse::<u64>().expect("a deadline") + 1_000_000).to_string();
        }
        found
    });
    names(&due, &scenario, "a job of sound was released that was due at ");
    let share = changed(&run, |f| {
        let found =
            f[0] == "server" && late(f, 1) && f[6] == "ready" && f[7] == "shared" && f[12] == f[1];
        if found {
            f[14] = (1u64 << 56).to_string();
            f[17] = f[14].clone();
        }
        found
    });
    names(&share, &scenario, " on the shares added up to ");

    // Jobs that need more than was reserved.
    let text = std::fs::read_to_string(&scenario).expect("a scenario");
    let hungry = text.replacen("\"0.9 ms\"", "\"1.2 ms\"", 1);
    assert_ne!(text, hungry);
    let hungry = folder.write("hungry.toml", &hungry);
    let run = record(&folder, &hungry, "bebs");
    let text = std::fs::read_to_string(&run).expect("a record");
    names(&text, &hungry, "a premise failed: the job of sound released at ");
    names(&text, &hungry, ", declared 1 ms");

    // A policy without servers.
    let run = record(&folder, &scenario, "eevdf");
    let text = std::fs::read_to_string(&run).expect("a record");
    names(&text, &scenario, "the policy has no servers with deadlines");
}

/// A live record on CPU 2: in 10 ms periods 2 ms are reserved for a task, which wakes twice and needs 1 ms, beside one
/// that nothing is reserved for.
const LIVE: &str = "\
laxity-cpu-run,1
policy,bebs-credit,0
live,2,0,1000000
task,0,audio (7)
task,1,hog (8)
server,1000,1,join,0,0,blocked,hard,0,2000000,0,,1000,0,0,0,0,14411518807585587
request,1000,0,hard,2000000,10000000,10000000,1000
server,1000000,2,wake,0,0,ready,hard,1,2000000,11000000,,1000000,0,0,0,0,14411518807585587
slice,1050000,2050000,0,0,0.0
job,0,1000000,11000000,2050000,ended
server,2050000,3,block,0,0,blocked,hard,1,1000000,11000000,,6000000,0,0,0,0,14411518807585587
slice,2100000,10900000,0,1,unserved
server,10950000,4,wake,0,0,ready,hard,2,2000000,21000000,,10950000,0,0,0,0,14411518807585587
slice,10990000,11990000,0,0,0.0
job,0,10950000,20950000,11990000,ended
server,11990000,5,block,0,0,blocked,hard,2,1000000,21000000,,16000000,0,0,0,0,14411518807585587
end,30000000
";

/// Fails when a live record is not judged, when a departure within the tolerance is refused or one beyond it is not (of
/// the order, of a budget, of slices that overlap, of a release), when a gap is taken for a legal run, and when the
/// JSON of a record with a gap says that the run was not legal.
#[test]
fn live_records_are_judged_with_a_tolerance() {
    let folder = Folder::new("validate-cpu-live");
    let judged = |text: &str, options: &[&str]| {
        let path = folder.write("live.csv", text);
        laxity(&[&["validate", &path], options].concat())
    };
    let said = judged(LIVE, &[]).succeeds();
    assert!(said.starts_with("bebs-credit on CPU 2, 3 slices, 2 jobs:\n"), "{said}");
    assert!(said.contains("legal run and premises hold, so nothing is late"), "{said}");
    let no = |from: &str, to: &str, options: &[&str], wanted: &str| {
        let text = LIVE.replacen(from, to, 1);
        let ran = judged(&text, options);
        assert!(ran.code == Some(1) && ran.out.contains(wanted), "{wanted}: {ran:#?}");
    };
    // It starts 40 us after its wake-up.
    let idle = "from 1 ms on a CPU idled while audio (7) waited";
    no("", "", &["--tolerance", "45 us"], idle);
    no("0,0.0\njob,0,1", "1,unserved\njob,0,1", &[], "hog (8) ran although audio (7) had");
    no("slice,1050000,2050000", "slice,1450000,2450000", &[], idle);
    no("slice,2100000,", "slice,1800000,", &[], "at 1.8 ms hog (8) began beside another slice");
    // The clock is read again between two tasks.
    let cut = LIVE.replacen("slice,2100000,", "slice,1950000,", 1);
    judged(&cut, &[]).succeeds();
    let beyond = "at 1.75 ms the server of audio (7) had no budget left";
    no("hard,1,2000000,11", "hard,1,700000,11", &[], beyond);
    no(
        "wake,0,0,ready,hard,2,2000000,21000000",
        "wake,0,0,ready,hard,2,2000000,31000000",
        &[],
        "its server at 31 ms",
    );
    no(
        "job,0,1000000,11000000",
        "job,0,1000000,9000000",
        &[],
        "a premise failed: the job of audio (7)",
    );
    // It has executed half of its budget, so its server serves the next job in time after half of a period.
    no("job,0,10950000,", "job,0,5700000,", &[], "a premise failed: the job of audio (7)");
    let unserved = "at 5.9 ms a job of audio (7) was released, and its server was not ready";
    no("job,0,10950000,", "job,0,5900000,", &[], unserved);
    no("live,2,0", "live,2,17", &[], "not judged: the record has a gap, 17 events were lost");
    let ran = judged(&LIVE.replacen("live,2,0", "live,2,17", 1), &["--json"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let answer: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let run = &answer["policies"][0];
    assert_eq!((&run["lost_events"], &run["sum_judged"]), (&17.into(), &false.into()), "{run}");
    for key in ["legal", "illegal", "illegal_at_ns", "premises_hold", "late"] {
        assert!(run.get(key).is_some_and(serde_json::Value::is_null), "{key}: {run}");
    }
    // The scheduler forgives what a task executes until the timer ends its budget: its next release stays.
    let (head, _) = LIVE.split_once("slice,1050000").expect("a slice");
    let overrun = |end: u64| {
        let expired =
            "ran,0,0,expired,hard,1,0,11000000,11000000,11000000,0,0,0,0,14411518807585587";
        format!("{head}slice,1050000,{end},0,0,0.0\nserver,{end},3,{expired}\nend,{end}\n")
    };
    judged(&overrun(3_150_000), &[]).succeeds();
    let ran = judged(&overrun(3_350_000), &[]);
    assert!(ran.code == Some(1) && ran.out.contains("had no budget left"), "{ran:#?}");
    // The timer of that release is 60 us late, the deadline is none the later for it; one beyond the tolerance is judged
    // as a release of then.
    let late = |at: u64| {
        let released = "ready,hard,2,2000000,21000000";
        let row = format!("server,{at},4,timer,0,0,{released},,{at},0,0,0,0,14411518807585587\n");
        overrun(3_150_000).replace("end,3150000\n", &(row + "end,21000000\n"))
    };
    let kept = judged(&late(11_060_000), &[]);
    assert!(!kept.out.contains("gives its budget by"), "{kept:#?}");
    let ran = judged(&late(11_260_000), &[]);
    assert!(ran.code == Some(1) && ran.out.contains("gives its budget by"), "{ran:#?}");
    let berate = LIVE.replacen("bebs-credit", "berate", 1);
    judged(&berate, &[]).fails(2, &["berate has no servers with deadlines"]);
    judged(LIVE, &[&file("scenarios/desktop.toml")]).fails(2, &["without a scenario"]);
    let scenario = file("scenarios/desktop.toml");
    let run = record(&folder, &scenario, "bebs");
    laxity(&["validate", &run]).fails(2, &["give the scenario of this run"]);
    laxity(&["validate", &scenario]).fails(2, &["only records of live CPUs"]);
    let up = ["cpu", "up", "--policy", "berate", "--record", &folder.path("none.csv")];
    laxity(&up).fails(2, &["--record: best effort under berate"]);
}

/// Fails when a record is judged by a scenario of other tasks, CPUs or reservations, or a record that was cut off is.
#[test]
fn records_of_something_else_are_bad_input() {
    let folder = Folder::new("validate-cpu-other");
    let scenario = file("scenarios/desktop.toml");
    let run = record(&folder, &scenario, "bebs");
    let text = std::fs::read_to_string(&scenario).expect("a scenario");
    let bad = |run: &str, scenario: &str, wanted: &str| {
        laxity(&["validate", run, scenario]).fails(2, &[wanted]);
    };
    let other = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed);
        folder.write("other.toml", &changed)
    };
    bad(&run, &other("name = \"editor\"", "name = \"writer\""), "the scenario has other tasks");
    bad(&run, &other("[cpu]", "[cpu]\ncpus = 2"), "the scenario has other CPUs");
    let less = other("budget = \"1 ms\"", "budget = \"2 ms\"");
    bad(&run, &less, "sound asks at 0 ms for what the scenario has not");
    let whole = std::fs::read_to_string(&run).expect("a record");
    let cut = folder.write("cut.csv", whole.rsplit_once("end,").expect("an end").0);
    bad(&cut, &scenario, "expected end of the run");
    bad(
        &file("scenarios/desktop.toml"),
        &scenario,
        "line 1: expected laxity-cpu-run,1; `laxity simulate",
    );
    bad(&run, &file("scenarios/access-link.toml"), "a record of CPUs");
    laxity(&["validate", &run, &scenario, "--tolerance", "1 us"])
        .fails(2, &["--tolerance has no meaning for simulated CPUs"]);
    let seeds = ["simulate", &scenario, "--seeds", "1..2", "--record", &folder.path("two.csv")];
    laxity(&seeds).fails(2, &["--record needs a single seed"]);
}
