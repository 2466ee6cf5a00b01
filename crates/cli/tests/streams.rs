//! `laxity check` and `laxity simulate` of stream scenarios.

mod support;

use laxity_results::{StreamCheckResult, StreamSimulationResult, StreamSimulationRuns};
use support::{Folder, file, laxity};

fn media() -> String {
    file("scenarios/media-server.toml")
}

fn paper() -> String {
    file("scenarios/dwcs-paper.toml")
}

/// Fails when the verdict, what it promises or the exit status contradict each other.
#[test]
fn check_reports_the_guarantee() {
    let text = laxity(&["check", &paper()]).succeeds();
    assert!(text.starts_with("Admitted, and promised."), "{text}");
    let json = laxity(&["check", &paper(), "--json"]).succeeds();
    let check: StreamCheckResult = serde_json::from_str(&json).unwrap();
    assert!(check.admitted && check.guaranteed && check.obstacles.is_empty());
    assert!(check.utilisation > 0.998 && check.utilisation < 1.0);

    // Gaps and packets differ: it fits, and nothing is promised.
    let text = laxity(&["check", &media()]).succeeds();
    assert!(text.starts_with("Admitted without a promise."), "{text}");
    assert!(text.contains("- Gaps differ (10 ms to 20 ms)"), "{text}");

    let folder = Folder::new("stream-check");
    let more = std::fs::read_to_string(paper()).unwrap().replace("count = 63", "count = 70");
    let more = folder.write("more.toml", more);
    let ran = laxity(&["check", &more]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    assert!(ran.out.starts_with("Not admitted.") && ran.out.contains("110.98%"), "{}", ran.out);
    let page = folder.path("check.html");
    assert_eq!(laxity(&["check", &more, "--report", &page]).code, Some(1));
    assert!(std::fs::read_to_string(&page).unwrap().contains("Not admitted."));
}

/// Fails when JSON and table differ, or `--policy all` leaves a policy out.
#[test]
fn simulate_prints_tables_or_json() {
    let media = media();
    let arguments = ["simulate", &media, "--duration", "500ms", "--policy", "all"];
    let table = laxity(&arguments).succeeds();
    let json = laxity(&[&arguments[..], &["--json"]].concat()).succeeds();
    let result: StreamSimulationResult = serde_json::from_str(&json).unwrap();
    assert_eq!(result.policies.len(), 8);
    for (policy, result) in &result.policies {
        assert!(table.contains(policy.as_str()), "{policy}");
        assert_eq!((result.streams, result.classes.len()), (270, 4));
    }
    let own = &result.policies["dwcs-tolerance-first"].classes;
    assert!(own.values().all(|c| c.tumbling_violations == 0) && own["video"].deadline_misses > 0);
    assert!(result.policies["fifo"].classes["speech"].tumbling_violations > 0);
    assert!(table.contains("Every tolerance kept.") && !table.contains('\u{1b}'), "{table}");
}

#[test]
fn several_seeds_are_runs_and_a_summary() {
    let run = || {
        let media = media();
        laxity(&["simulate", &media, "--duration", "200ms", "--seeds", "3..5", "--json"]).succeeds()
    };
    let json = run();
    let runs: StreamSimulationRuns = serde_json::from_str(&json).unwrap();
    assert!(runs.runs.iter().map(|r| r.seed).eq([Some(3), Some(4), Some(5)]));
    let spread = runs.summary["fifo"].classes["speech"].deadline_misses.unwrap();
    assert!(spread.min <= spread.mean && spread.mean <= spread.max && spread.mean > 0.0);
    assert_eq!(json, run(), "the same seeds give the same bytes");
}

/// Fails when rows are lost, or a deadline differs from the definition of the column.
#[test]
fn packets_are_rows() {
    let folder = Folder::new("stream-packets");
    let rows = folder.path("rows.csv");
    let json = laxity(&[
        "simulate",
        &media(),
        "--duration",
        "200ms",
        "--policy",
        "dwcs,fifo",
        "--packets",
        &rows,
        "--json",
    ])
    .succeeds();
    let result: StreamSimulationResult = serde_json::from_str(&json).unwrap();
    let text = std::fs::read_to_string(&rows).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(header.ends_with(",deadline_kind,start_ns,stream"), "{header}");
    let mut served = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!((fields.len(), fields[10]), (13, "start"), "{line}");
        let number = |i: usize| fields[i].parse::<u64>().unwrap();
        match fields[7] {
            "sent" => {
                assert!(number(11) <= number(6) && number(11) < number(5), "{line}");
                served += 1;
            }
            "dropped" => assert_eq!((fields[5], fields[11]), ("", ""), "{line}"),
            other => panic!("{other} in {line}"),
        }
    }
    let all = result.policies.values().flat_map(|p| p.classes.values());
    assert_eq!(served, all.map(|c| c.served).sum::<u64>());
}

/// Fails when the page lacks a part, or its plots are not written.
#[test]
fn the_page_and_its_plots_are_written() {
    let folder = Folder::new("stream-page");
    let (page, plots) = (folder.path("page.html"), folder.path("plots"));
    let media = media();
    let arguments = ["simulate", &media, "--duration", "300ms", "--report", &page, "--svg", &plots];
    assert_eq!(laxity(&arguments).code, Some(0));
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["Deadlines missed", "Windows violated", "Runs of misses", "Delay in the queue"] {
        assert!(html.contains(&format!(">{part}</h2>")), "{part}");
    }
    for plot in ["missed.svg", "windows.svg", "runs.svg", "delay.svg"] {
        assert!(std::path::Path::new(&plots).join(plot).exists(), "{plot}");
    }
}

/// Fails when an option of links is ignored silently, or a problem lacks a remedy.
#[test]
fn options_of_other_kinds_are_refused_for_streams() {
    let media = media();
    for option in [["--trace", "x.csv"], ["--pcap-out", "x.pcapng"], ["--blocking", "paper"]] {
        let ran = laxity(&[&["simulate", &media][..], &option].concat());
        ran.fails(2, &[option[0], "no meaning for streams"]);
    }
    laxity(&["check", &media, "--blocking", "paper"]).fails(2, &["no meaning for streams"]);
    laxity(&["simulate", &media, "--policy", "exact"]).fails(2, &["exact", "dwcs", "fifo"]);
    let rows = ["simulate", &media, "--packets", "x.csv", "--seeds", "1..2"];
    laxity(&rows).fails(2, &["--packets"]);
    laxity(&["simulate", &media, "--packets", "/nowhere/x.csv"]).fails(4, &["/nowhere/x.csv"]);
}

/// Fails when a simulation passes off made-up packets as those of a file, or is silent about
/// overload.
#[test]
fn notes_go_to_standard_error() {
    let folder = Folder::new("stream-warnings");
    let path = folder.write(
        "live.toml",
        "[server]\nservice = \"15 ms\"\n[[stream]]\nname = \"music\"\ncount = 2\n\
         tolerance = \"1/10\"\ngap = \"20 ms\"\nsource = { file = \"a.opus\" }\n",
    );
    let ran = laxity(&["simulate", &path, "--duration", "1s"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("a packet each gap replaces") && ran.err.contains("music"));
    assert!(ran.err.contains("the streams need 135.0 % of the server"), "{}", ran.err);
}
