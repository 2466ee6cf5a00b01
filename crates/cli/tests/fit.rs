//! `laxity fit`: what it prints is a scenario that the other commands take.

mod support;

use laxity_results::CheckResult;
use laxity_scenario::link::model::Scenario;
use support::{Folder, file, laxity};

/// Fails when the printed scenario is refused at the rate that it guesses, or loses packets.
#[test]
fn fitted_scenarios_are_admitted_and_replay() {
    let folder = Folder::new("fit");
    for name in ["access-link", "cooked-sll", "cooked-sll2", "tunnel-raw"] {
        let capture = file(&format!("captures/{name}.pcap"));
        for by in ["dscp", "flow", "port"] {
            let text = laxity(&["fit", &capture, "--flow-key", by]).succeeds();
            Scenario::parse(&text, "printed.toml").unwrap_or_else(|e| panic!("{name} {by}: {e}"));
            let path = folder.write("printed.toml", &text);
            let checked = laxity(&["check", &path, "--json"]).succeeds();
            let checked: CheckResult = serde_json::from_str(&checked).unwrap();
            assert!(checked.admitted && !checked.flows.is_empty(), "{name} {by}");
            let ran = laxity(&["simulate", &path, "--trace", &capture, "--policy", "exact"]);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name} {by}");
        }
    }
}

/// Fails when the table and the scenario go to the same place, or what is guessed is not marked.
#[test]
fn with_an_output_the_table_is_printed() {
    let folder = Folder::new("fit-output");
    let (capture, path) = (file("captures/access-link.pcap"), folder.path("out.toml"));
    let table = laxity(&["fit", &capture, "-o", &path]).succeeds();
    for fragment in ["af41", "ef", "be", "6 017 565", "1242 B", "deadline", "30 ms", "of link"] {
        assert!(table.contains(fragment), "{fragment} is not in {table}");
    }
    assert!(!table.contains("[link]"));
    let text = std::fs::read_to_string(&path).unwrap();
    for fragment in
        ["# Guess: the rate", "# Guess: the deadline", "# Guess: the weight", "Measured"]
    {
        assert!(text.contains(fragment), "{fragment} is not in {text}");
    }
    let scenario = Scenario::parse(&text, "out.toml").unwrap();
    assert_eq!(scenario.flow_names().collect::<Vec<_>>(), ["af41", "ef", "be", "other"]);
    // Standard output alone is the same scenario, but for its name.
    let printed = laxity(&["fit", &capture]).succeeds();
    assert_eq!(printed, text);
}

/// Fails when a rate at which deadlines break is not spoken of.
#[test]
fn a_rate_below_the_traffic_is_reported() {
    let capture = file("captures/access-link.pcap");
    let ran = laxity(&["fit", &capture, "--rate", "10 Mbit/s"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("not all deadlines") && ran.err.contains("laxity check"));
    assert!(ran.out.contains("rate = \"10 Mbit/s\"") && !ran.out.contains("Guess: the rate"));
}

/// A CSV trace names its flows; none is real-time by itself.
///
/// Fails when the trace is not found from the scenario's folder.
#[test]
fn a_trace_is_fitted_and_runs_by_itself() {
    let folder = Folder::new("fit-trace");
    let rows: Vec<String> = (0..100u64)
        .map(|i| format!("{},{},{}", i * 1_000_000, 100 + i, ["a", "b c"][(i % 2) as usize]))
        .collect();
    let trace = folder.write("t.csv", format!("time_ns,bytes,flow\n{}\n", rows.join("\n")));
    let path = folder.path("t.toml");
    let ran = laxity(&["fit", &trace, "-o", &path]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("--deadline a=10ms"), "{}", ran.err);

    laxity(&["fit", &trace, "-o", &path, "--deadline", "b c=5ms"]).succeeds();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("{ trace = \"t.csv\" }") && text.contains("deadline = \"5 ms\""),
        "{text}"
    );
    let ran = laxity(&["simulate", &path, "--duration", "1s", "--json"]).succeeds();
    let json: serde_json::Value = serde_json::from_str(&ran).unwrap();
    assert_eq!(json["policies"]["exact"]["flows"]["b c"]["packets"], 50);
}
