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
fn differing_numbers_exit_zero_with_results_on_stdout() {
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

// Fails when a paper is not on the list, a verdict becomes an exit status, or the page lacks a drawing:
// tried with `bebs` left out of the papers.
#[test]
fn task_papers_are_reproduced_with_figures() {
    let folder = std::env::temp_dir().join(format!("laxity-{}-tasks", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (paper, only, drawn) in [("bebs", "fig2,fig7", 2), ("berate", "fig4,accounting", 2)] {
        let page = folder.join(format!("{paper}.html"));
        let report = page.to_str().unwrap();
        let arguments = ["reproduce", paper, "--quick", "--only", only, "--json"];
        let out = laxity(&[&arguments[..], &["--report", report]].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert!(text(&out.stderr).contains("at most 10 seeds"), "{}", text(&out.stderr));
        let result: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let experiments = result["experiments"].as_array().unwrap();
        assert_eq!((&result["paper"], experiments.len()), (&paper.into(), 2));
        for row in experiments.iter().flat_map(|e| e["rows"].as_array().unwrap()) {
            assert!(row["verdict"] != "differs" || row["why"] != "", "{row}");
            assert!(row["label"].as_str().is_some_and(|l| l.split('/').count() == 3), "{row}");
        }
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.matches("<figure ").count() >= drawn);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

// Fails when an unknown name counts as all, or its message does not list the known ones.
#[test]
fn unknown_names_exit_2_and_list_the_known_ones() {
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
