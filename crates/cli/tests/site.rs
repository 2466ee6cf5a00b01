//! The documentation is ready to be built as a site.

mod repository;

use std::process::Command;

use repository::root;

// Fails when docs/SUMMARY.md lacks a page of docs/ or names one that is not there, a link of its pages leads nowhere, one
// of them loads something from another host, or the page of the Rust library lacks a crate: tried with each.
#[test]
fn the_summary_names_every_page() {
    let mut script = Command::new("python3");
    script.arg(root().join("scripts/site.py")).arg("check");
    let output = script.output().expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
