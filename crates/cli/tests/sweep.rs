//! `laxity sweep`: a dataset, whole or to be gone on with.
#![cfg(feature = "sweep")]

mod support;

use support::{Folder, file, laxity};

/// Fails when parts are missing or computed again, or the second run differs from one at once.
#[test]
fn sweeps_write_datasets_and_go_on() {
    let folder = Folder::new("sweep");
    let scenario = file("scenarios/greedy-harder.toml");
    let text = format!(
        "scenario = {scenario:?}\npolicies = [\"exact\", \"fifo\"]\nseeds = [1, 4]\nseeds_per_part = 2\n\
         duration = \"20 ms\"\n[vary]\n\"link.rate\" = [\"10 Mbit/s\", \"12 Mbit/s\"]\n"
    );
    let (grid, output) = (folder.write("sweep.toml", &text), folder.path("out"));
    let run = || laxity(&["sweep", &grid, "--output", &output]);
    assert!(run().succeeds().starts_with("16 simulations in 4 parts: "));
    let part = |number: u32| format!("{output}/part-{number}.parquet");
    let before: Vec<_> = (0..4).map(|n| std::fs::read(part(n)).expect("a part")).collect();
    std::fs::remove_file(part(2)).expect("removed");
    let again = run();
    assert_eq!(again.code, Some(0));
    assert!(again.err.contains("3 of 4 parts are there already"), "{}", again.err);
    let after: Vec<_> = (0..4).map(|n| std::fs::read(part(n)).expect("a part")).collect();
    assert!(before == after);
}

/// Fails when a fault is found only by a panic, or without its place.
#[test]
fn faults_of_sweeps_have_places() {
    let folder = Folder::new("sweep-faults");
    let scenario = file("scenarios/greedy-harder.toml");
    let output = folder.path("out");
    let grid = folder.write("sweep.toml", format!("scenario = {scenario:?}\nseed = 1\n"));
    laxity(&["sweep", &grid, "--output", &output]).fails(2, &["sweep.toml:2: unknown key `seed`"]);
    let grid = folder
        .write("vary.toml", format!("scenario = {scenario:?}\n[vary]\n\"link.speed\" = [1]\n"));
    laxity(&["sweep", &grid, "--output", &output])
        .fails(2, &["link.speed: the scenario has no `speed`"]);
    laxity(&["sweep", &folder.path("none.toml"), "--output", &output]).fails(4, &["none.toml"]);
}
