//! `laxity reproduce` as a user meets it.

use std::process::{Command, Output};

fn laxity(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laxity")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// Fails when a verdict becomes an exit status, or anything but the result goes to standard output:
// tried with the announcement there.
#[test]
fn numbers_that_differ_are_a_result_and_alone_on_standard_output() {
    let out = laxity(&["reproduce", "low-delay", "--only", "fig8", "--json"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let result: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(result["paper"], "low-delay");
    let experiments = result["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 1);
    let rows = experiments[0]["rows"].as_array().unwrap();
    assert!(rows.iter().any(|r| r["verdict"] == "differs"));
    for row in rows {
        assert!(row["verdict"] != "differs" || row["why"] != "", "{row}");
        assert!(row["label"].as_str().is_some_and(|l| l.split('/').count() == 3), "{row}");
    }
    let all = laxity(&["reproduce", "all", "--only", "low-delay.fig8", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    assert_eq!(all.as_array().map(Vec::len), Some(1));
}

// Fails when an unknown name is taken for all, or its message does not say what there is.
#[test]
fn unknown_names_exit_2_and_name_the_known_ones() {
    for (arguments, known) in [
        (&["reproduce", "high-delay"][..], "low-delay"),
        (&["reproduce", "low-delay", "--only", "table9"], "low-delay.table1"),
        (&["reproduce", "low-delay", "--seeds", "0"], "1 to"),
    ] {
        let out = laxity(arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        assert!(text(&out.stderr).contains(known), "{}", text(&out.stderr));
        assert!(out.stdout.is_empty());
    }
}
