//! `laxity validate` on simulated runs, and on the same runs with one thing changed.

use std::path::{Path, PathBuf};
use std::process::Command;

fn laxity(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_laxity")).args(arguments).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("laxity-validate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("a name").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn scenario(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    path.to_str().expect("a name").to_owned()
}

/// The rows of a simulated run.
fn run(folder: &Folder, scenario: &str, policies: &str, duration: &str) -> String {
    let file = folder.write("run.csv", "");
    std::fs::remove_file(&file).expect("the file");
    let arguments =
        ["simulate", scenario, "--policy", policies, "--duration", duration, "--packets", &file];
    let (status, said) = laxity(&arguments);
    assert!(status == Some(0) || status == Some(1), "{said}");
    std::fs::read_to_string(&file).expect("rows")
}

/// The rows with one changed.
fn changed(
    rows: &str,
    chosen: impl Fn(&[&str]) -> bool,
    change: impl Fn(&mut Vec<String>),
) -> String {
    let mut done = false;
    let lines = rows.lines().map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        if done || !chosen(&fields) {
            return line.to_owned();
        }
        done = true;
        let mut fields: Vec<String> = fields.into_iter().map(str::to_owned).collect();
        change(&mut fields);
        fields.join(",")
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert!(done, "no such row");
    text
}

fn later(field: &mut String, by: i64) {
    *field = (field.parse::<i64>().expect("a time") + by).to_string();
}

// Fails when a legal run is refused: tried with deadlines of best effort compared also where `exact` lowers
// them, and where an upper limit holds a class back.
#[test]
fn simulated_runs_are_legal_and_premises_hold() {
    let folder = Folder::new("legal");
    for (name, policies) in [
        ("access-link.toml", "background,tbs,shifted-line,two-segment,algorithm-3,exact,slack"),
        ("home-router.toml", "background,tbs,exact,slack"),
        ("robot.toml", "exact,slack"),
        ("slow-link.toml", "slack"),
        ("service-curves.toml", "exact,slack"),
        ("link-sharing.toml", "tbs,exact,slack"),
    ] {
        let scenario = scenario(name);
        let rows = folder.write("rows.csv", &run(&folder, &scenario, policies, "2s"));
        let (status, said) = laxity(&["validate", &rows, &scenario]);
        assert_eq!(status, Some(0), "{name}: {said}");
        let good = said.matches("legal run and premises hold, so nothing is late").count();
        assert_eq!(good, policies.split(',').count(), "{name}: {said}");
    }
}

// Fails when packets that a policer delays count as released when they arrive: tried.
#[test]
fn delayed_packets_count_from_their_conformance() {
    let folder = Folder::new("delayed");
    let text = std::fs::read_to_string(scenario("access-link.toml")).expect("a scenario");
    let source =
        "source = { length = \"100 B\", on = [\"2 ms\", \"4 ms\"], off = [\"6 ms\", \"10 ms\"] }";
    // Twice as much as the envelope lets pass.
    let eager = text.replacen(source, "source = { period = \"300 us\", length = \"100 B\" }", 1);
    assert_ne!(text, eager);
    let eager = folder.write("eager.toml", &eager);
    let rows = folder.write("rows.csv", &run(&folder, &eager, "exact", "1s"));
    let (status, said) = laxity(&["validate", &rows, &eager]);
    assert_eq!(status, Some(0), "{said}");
}

// Fails when one of the breaks is not noticed, or named otherwise. Each is tried here.
#[test]
fn breaks_are_named_with_their_instant() {
    let folder = Folder::new("broken");
    let scenario = scenario("access-link.toml");
    let rows = run(&folder, &scenario, "exact", "2s");
    let judge = |rows: &str, scenario: &str| {
        let rows = folder.write("rows.csv", rows);
        laxity(&["validate", &rows, scenario])
    };
    let names = |rows: &str, scenario: &str, wanted: &[&str]| {
        let (status, said) = judge(rows, scenario);
        assert_eq!(status, Some(1), "{said}");
        for words in wanted {
            assert!(said.contains(words), "{words}: {said}");
        }
    };

    // In order of arrival.
    let fifo = run(&folder, &scenario, "fifo", "2s");
    names(&fifo, &scenario, &["not a legal run of EDF: at ", " the wrong packet went: "]);

    // A policer that lets more pass than the scenario says.
    let text = std::fs::read_to_string(&scenario).expect("a scenario");
    let strict = text.replacen("burst = \"15000 B\"", "burst = \"4000 B\"", 1);
    assert_ne!(text, strict);
    let strict = folder.write("strict.toml", &strict);
    names(&rows, &strict, &["a premise failed: the envelope of ", " was broken by packet "]);

    // Flows that do not fit.
    let full = text.replacen("burst = \"45000 B\"", "burst = \"90 MB\"", 1);
    let full = full.replacen("peak = \"150 kB/s\"", "peak = \"900 kB/s\"", 1);
    assert_ne!(text, full);
    let full = folder.write("full.toml", &full);
    names(&rows, &full, &["the flows are not admitted under this policy"]);

    // Everything from some packet on a millisecond later, also what had arrived before.
    let mut after = 0;
    let stalled: Vec<String> = rows
        .lines()
        .map(|line| {
            let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            after += 1;
            if after > 500 && !fields[5].is_empty() {
                later(&mut fields[5], 1_000_000);
            }
            fields.join(",")
        })
        .collect();
    names(&(stalled.join("\n") + "\n"), &scenario, &[" on the link idled while packet "]);

    let voice = |fields: &[&str]| {
        fields[2] == "voice" && fields[4].parse().is_ok_and(|ns: u64| ns > 100_000_000)
    };
    let early = changed(&rows, voice, |fields| later(&mut fields[5], -10_000_000));
    names(&early, &scenario, &["not a legal run of EDF: at "]);
    let other = changed(&rows, voice, |fields| later(&mut fields[6], -2_000_000));
    names(&other, &scenario, &["of voice has another deadline than its flow"]);
    let large = changed(&rows, voice, |fields| fields[3] = "1400".to_owned());
    names(&large, &scenario, &["of voice is larger than admission assumed"]);
}

/// The rows, of which those chosen have lost their departure as waiting ones have.
fn unsent(rows: &str, reason: &str, chosen: impl Fn(&[String]) -> bool) -> String {
    let lines = rows.lines().map(|line| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if chosen(&fields) {
            fields[5].clear();
            fields[6].clear();
            "dropped".clone_into(&mut fields[7]);
            reason.clone_into(&mut fields[9]);
        }
        fields.join(",")
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

// Fails when rows without a departure are skipped: tried.
#[test]
fn packets_that_were_not_sent_are_judged() {
    let folder = Folder::new("unsent");
    let scenario = scenario("access-link.toml");
    let rows = run(&folder, &scenario, "exact,background", "2s");
    let judge = |rows: &str| laxity(&["validate", &folder.write("rows.csv", rows), &scenario]);
    let names = |rows: &str, wanted: &[&str]| {
        let (status, said) = judge(rows);
        assert_eq!(status, Some(1), "{said}");
        for words in wanted {
            assert!(said.contains(words), "{words}: {said}");
        }
    };
    let voice = |fields: &[String]| fields[2] == "voice";
    let starved = unsent(&rows, "unserved", voice);
    names(&starved, &[" on the link idled while packet ", " packets were late, the first is "]);
    // Best effort that waits while the link idles; under `background` it has no deadline to be compared by.
    names(
        &unsent(&rows, "unserved", |fields| fields[2] == "mail"),
        &["on the link idled while packet ", "nothing was late all the same"],
    );
    let last = rows.lines().rfind(|line| line.contains(",voice,")).expect("a row");
    let last: Vec<&str> = last.split(',').collect();
    let dropped = unsent(&rows, "buffer-flow", |fields| fields[1] == last[1]);
    names(&dropped, &[&format!("packet {} of voice was dropped: buffer-flow", last[1])]);
    // The policer of voice delays.
    let dropped = unsent(&rows, "excess", |fields| fields[1] == last[1]);
    names(&dropped, &[&format!("packet {} of voice was dropped: excess", last[1])]);
    let demoted = changed(&rows, |fields| fields[1] == last[1], |f| f[8] = "true".to_owned());
    names(&demoted, &["of voice became best effort, which its flow did not allow"]);
    let without = changed(&rows, |f| f[2] == "voice", |f| f[5].clear());
    let (status, said) = judge(&without);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("expected departure_ns of what was sent"), "{said}");
}

// Fails when a policer that drops or demotes is believed whatever it does: tried without the question whether the
// packet exceeded its envelope.
#[test]
fn excess_is_dropped_or_demoted_where_the_flow_says_so() {
    let folder = Folder::new("excess");
    let text = std::fs::read_to_string(scenario("access-link.toml")).expect("a scenario");
    let source =
        "source = { length = \"100 B\", on = [\"2 ms\", \"4 ms\"], off = [\"6 ms\", \"10 ms\"] }";
    for excess in ["drop", "demote"] {
        let eager = text.replacen(
            source,
            &format!(
                "excess = \"{excess}\"\nsource = {{ period = \"300 us\", length = \"100 B\" }}"
            ),
            1,
        );
        let eager = folder.write("eager.toml", &eager);
        let rows = run(&folder, &eager, "exact", "1s");
        assert!(rows.contains(",excess"), "{excess}");
        let judge = |rows: &str| laxity(&["validate", &folder.write("rows.csv", rows), &eager]);
        let (status, said) = judge(&rows);
        assert_eq!(status, Some(0), "{excess}: {said}");
        // The first packet of all conforms.
        let first = rows.lines().find(|line| line.contains(",voice,")).expect("a row").to_owned();
        let number = first.split(',').nth(1).expect("a number").to_owned();
        let (bad, why) = match excess {
            "drop" => (unsent(&rows, "excess", |f| f[1] == number), "was dropped: excess"),
            _ => (
                changed(&rows, |f| f[1] == number, |f| f[8] = "true".to_owned()),
                "became best effort, which its flow did not allow",
            ),
        };
        let (status, said) = judge(&bad);
        assert_eq!(status, Some(1), "{excess}: {said}");
        assert!(said.contains(&format!("packet {number} of voice {why}")), "{said}");
    }
}

// Fails when the release of a delayed packet has no upper bound: tried.
#[test]
fn a_policer_delays_no_longer_than_to_conformance() {
    let folder = Folder::new("postponed");
    for (name, flow) in [("access-link.toml", "voice"), ("robot.toml", "drives")] {
        let scenario = scenario(name);
        let rows = run(&folder, &scenario, "slack", "2s");
        let chosen = |fields: &[&str]| {
            fields[2] == flow && fields[4].parse().is_ok_and(|ns: u64| ns > 1_000_000_000)
        };
        for by in [10_000_000_000, 10_000] {
            let later = changed(&rows, chosen, |fields| {
                later(&mut fields[5], by);
                later(&mut fields[6], by);
            });
            let (status, said) =
                laxity(&["validate", &folder.write("rows.csv", &later), &scenario]);
            assert_eq!(status, Some(1), "{name} {by}: {said}");
            let wanted = format!("of {flow} has another deadline than its flow");
            assert!(said.contains(&wanted), "{name} {by}: {said}");
        }
    }
}

// Fails when a row of an unknown flow counts as best effort: tried.
#[test]
fn rows_of_unknown_flows_are_bad_input() {
    let folder = Folder::new("unknown");
    let own = scenario("access-link.toml");
    let rows = run(&folder, &own, "exact", "1s");
    for (rows, scenario, wanted) in [
        (
            rows.replace(",voice,", ",vioce,"),
            own.clone(),
            "is of `vioce`, which is no flow or class",
        ),
        (rows.clone(), scenario("slow-link.toml"), "which is no flow or class of the scenario"),
    ] {
        let (status, said) = laxity(&["validate", &folder.write("rows.csv", &rows), &scenario]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(wanted) && said.contains("rows.csv: packet "), "{said}");
    }
}

// Fails when deadlines have no tolerance: tried.
#[test]
fn deadlines_within_the_tolerance_are_due_in_either_order() {
    let folder = Folder::new("order");
    let text = "[link]\nrate = \"8 Mbit/s\"\nmax_packet = \"100 B\"\n[policy]\nuse = \"exact\"\n\
        [[realtime]]\nname = \"a\"\ndeadline = \"5 ms\"\n\
        envelope = { period = \"20 ms\", size = \"100 B\", jitter = \"1 ms\" }\n\
        [[realtime]]\nname = \"b\"\ndeadline = \"5001 us\"\n\
        envelope = { period = \"20 ms\", size = \"100 B\", jitter = \"1 ms\" }\n";
    let scenario = folder.write("two.toml", text);
    // Both arrive at 0.1 ms while another is sent; `a` is due 1 us earlier, and its stamps are 2 us late.
    let header = "policy,seq,flow,bytes,arrival_ns,departure_ns,deadline_ns,outcome,demoted,reason";
    let rows = |b_deadline: u64| {
        format!(
            "{header}\nexact,0,other,100,50000,150000,,sent,false,\nexact,1,a,100,100000,250000,5102000,sent,false,\n\
             exact,2,b,100,100000,350000,{b_deadline},sent,false,\n"
        )
    };
    let judge = |rows: &str, tolerance: &str| {
        let rows = folder.write("rows.csv", rows);
        laxity(&["validate", &rows, &scenario, "--tolerance", tolerance])
    };
    let (status, said) = judge(&rows(5_101_000), "10 us");
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = judge(&rows(5_101_000), "1 ns");
    assert!(
        status == Some(1) && said.contains("the wrong packet went: 1, while 2 waited"),
        "{said}"
    );
    let (status, said) = judge(&rows(5_091_000), "10 us");
    assert!(
        status == Some(1) && said.contains("the wrong packet went: 1, while 2 waited"),
        "{said}"
    );
}

// Fails when the tolerance is not used: tried with none, which the test does itself.
#[test]
fn timestamps_may_be_off_by_the_tolerance() {
    let folder = Folder::new("tolerance");
    let scenario = scenario("access-link.toml");
    let rows = run(&folder, &scenario, "slack", "2s");
    // As a clock that reads microseconds would have stamped it.
    let blurred: Vec<String> = rows
        .lines()
        .map(|line| {
            let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            for column in [4, 5, 6] {
                if let Ok(ns) = fields[column].parse::<u64>() {
                    fields[column] = (ns / 5000 * 5000).to_string();
                }
            }
            fields.join(",")
        })
        .collect();
    let file = folder.write("rows.csv", &(blurred.join("\n") + "\n"));
    assert_eq!(laxity(&["validate", &file, &scenario]).0, Some(1));
    let (status, said) = laxity(&["validate", &file, &scenario, "--tolerance", "10 us"]);
    assert_eq!(status, Some(0), "{said}");
    let fifo = folder.write("fifo.csv", &run(&folder, &scenario, "fifo", "2s"));
    let (status, said) = laxity(&["validate", &fifo, &scenario, "--tolerance", "10 us", "--json"]);
    assert_eq!(status, Some(1));
    assert!(said.contains("\"legal\":false") || said.contains("\"legal\": false"), "{said}");
}
