//! Manners of the files in this repository.

mod repository;

use repository::{files, root, text};

/// The crates that may say `unsafe`, and where: see ARCHITECTURE.md.
const MAY_BE_UNSAFE: &[&str] =
    &["crates/ring", "crates/userlink", "crates/reserve-c", "crates/rtkit", "crates/preload"];

/// Text files, by path and contents.
fn texts() -> Vec<(String, String)> {
    let texts: Vec<_> = files()
        .into_iter()
        // Found by fuzzing or made to be odd: any bytes.
        .filter(|path| !path.contains("/corpus/"))
        .filter_map(|path| Some((std::fs::read_to_string(root().join(&path)).ok()?, path)))
        .map(|(text, path)| (path, text))
        .collect();
    assert!(texts.iter().any(|(path, _)| path == "README.md"));
    texts
}

// Fails when the attribute is removed from a library or a program: tried in crates/sim and for
// `traffic` of tools/kernel.
#[test]
fn every_other_crate_forbids_unsafe_code() {
    let mut crates = 0;
    let files = files();
    for path in &files {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else { continue };
        let sources = files.iter().filter(|path| {
            let parts = path.strip_prefix(&format!("{folder}/src/")).unwrap_or_default();
            let parts: Vec<&str> = parts.split('/').collect();
            matches!(parts[..], ["lib.rs" | "main.rs"] | ["bin", _] | ["bin", _, "main.rs"])
        });
        for source in sources {
            crates += 1;
            let forbids = text(source).contains("\n#![forbid(unsafe_code)]\n");
            let may = MAY_BE_UNSAFE.contains(&folder);
            assert!(
                forbids != may,
                "{source}: write #![forbid(unsafe_code)] after its heading, or move code that must be \
                 unsafe to {MAY_BE_UNSAFE:?}"
            );
        }
    }
    assert!(crates >= 10, "only {crates} crates found");
}

// Fails when a path of a user's machine or a private package registry is written down: tried
// with a line in CONTRIBUTING.md, and with a mirror as the source of a package in Cargo.lock.
#[test]
fn no_file_names_a_private_path_or_registry() {
    let folders = ["home", "Users", "root", "work", "workspace", "mnt"].map(|f| format!("/{f}/"));
    let registries = ["sparse+http", "replace-with", "extra-index-url", "index-url", "localhost:"];
    let mut faults = Vec::new();
    for (path, text) in texts() {
        if path == "crates/cli/tests/tree.rs" {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let folders = folders.iter().filter(|f| absolute(line, f));
            faults
                .extend(folders.map(|f| format!("{path}:{number}: `{f}` is on one machine only")));
            let registries = registries.iter().filter(|r| line.contains(**r));
            faults.extend(registries.map(|r| format!("{path}:{number}: `{r}` is of one set-up")));
            if let Some(source) = line.strip_prefix("source = \"registry+") {
                assert_eq!(fnv_1a(source), PUBLIC_INDEX, "{path}:{number}: from where is that?");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The name of the public index in `Cargo.lock`, as a number: names of registries are not to be written.
const PUBLIC_INDEX: u64 = 0xf3c6_0224_709c_2486;

fn fnv_1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Whether a line holds `folder` at the start of a path.
fn absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~}*$".contains(c))
    })
}

// Fails when a file outgrows one idea: tried with a limit of 500.
#[test]
fn no_source_file_is_longer_than_700_lines() {
    for (path, text) in texts() {
        let lines = text.lines().count();
        assert!(
            !path.ends_with(".rs") || lines <= 700,
            "{path} has {lines} lines: split it by idea"
        );
    }
}

// Fails when something is left for later inside the source: tried in crates/core.
#[test]
fn no_open_markers_remain() {
    let later = ["TO\u{44}O", "FIX\u{4d}E", "to\u{64}o!(", "unimplemente\u{64}!(", "#[ignor\u{65}"];
    let mut faults = Vec::new();
    for (path, text) in texts().iter().filter(|(p, _)| p.ends_with(".rs") || p.ends_with(".sh")) {
        for (number, line) in (1..).zip(text.lines()) {
            let words = later.iter().filter(|w| line.contains(**w));
            faults.extend(words.map(|w| format!("{path}:{number}: {w}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

// Fails when a merge was left half done: one once was, in docs/how-to/cpu-live.md.
#[test]
fn no_conflict_markers_remain() {
    let marks = ["<<<<<<\u{3c} ", "||||||\u{7c} ", ">>>>>>\u{3e} "];
    let mut faults = Vec::new();
    for (path, text) in texts() {
        let lines = (1..).zip(text.lines());
        let marked = lines.filter(|(_, line)| marks.iter().any(|mark| line.starts_with(mark)));
        faults.extend(marked.map(|(number, line)| format!("{path}:{number}: {line}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

// Fails when a version is released without an entry.
#[test]
fn the_changelog_has_this_version() {
    let changelog = text("CHANGELOG.md");
    let version = env!("CARGO_PKG_VERSION");
    let heading = |name: &str| changelog.lines().any(|l| l.starts_with(&format!("## [{name}]")));
    assert!(heading("Unreleased") || heading(version), "no section for {version}");
}

/// The anchor that GitHub gives to a heading.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    text.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

// Fails when README or the documentation points at a file or a heading that is not there: tried by
// renaming a link of README.md, and a heading that one points at.
#[test]
fn links_between_documents_resolve() {
    let mut links = 0;
    for (path, text) in texts().iter().filter(|(p, _)| p.ends_with(".md")) {
        let folder = root().join(path).parent().expect("a folder").to_path_buf();
        for (start, _) in text.match_indices("](") {
            let rest = &text[start + 2..];
            let link = &rest[..rest.find(')').unwrap_or(rest.len())];
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if link.is_empty() || link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            links += 1;
            let target = if file.is_empty() { root().join(path) } else { folder.join(file) };
            assert!(target.exists(), "{path} points at {file}, which is not there");
            if !anchor.is_empty() && target.extension().is_some_and(|e| e == "md") {
                let page = std::fs::read_to_string(&target).expect("a page");
                let found = page.lines().any(|line| line.starts_with('#') && slug(line) == anchor);
                let found = found || page.contains(&format!("id=\"{anchor}\""));
                assert!(found, "{path} points at {link}: no such heading");
            }
        }
    }
    assert!(links >= 10, "only {links} links found");
}

// Fails when README shows library code that is not, line for line, in the example that compiles:
// tried with a misspelt method.
#[test]
fn readme_code_matches_a_compiled_example() {
    let (readme, example) = (text("README.md"), text("crates/link/examples/pipeline.rs"));
    let blocks: Vec<&str> = readme.split("```rust\n").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let code = block.split("```").next().unwrap_or_default();
        assert!(example.contains(code), "not in the example:\n{code}");
    }
}

// Fails when a policy is added, renamed or described differently and README is not.
#[test]
fn the_readme_lists_the_policies() {
    let readme = text("README.md");
    for p in laxity_link::registry::POLICIES {
        let keeps = if p.keeps_deadlines { "yes" } else { "no" };
        let row = format!("| `{}` | {} | {keeps} |", p.name, p.summary);
        assert!(readme.contains(&row), "README.md lacks the row\n{row}");
    }
}

// Fails when a file of a suite is not part of it, so that its tests never run: tried without `mod engine;` in
// crates/sim/tests/suite.rs.
#[test]
fn every_file_beside_a_suite_belongs_to_it() {
    let files = files();
    let mut parts = 0;
    for folder in files.iter().filter_map(|path| path.strip_suffix("/suite.rs")) {
        let suite = text(&format!("{folder}/suite.rs"));
        for file in files.iter().filter_map(|path| path.strip_prefix(&format!("{folder}/"))) {
            let Some(name) = file.strip_suffix(".rs").filter(|name| !name.contains('/')) else {
                continue;
            };
            let alone = format!("name = \"{name}\"");
            let manifest = text(&format!("{}/Cargo.toml", folder.trim_end_matches("/tests")));
            assert!(
                manifest.contains(&alone) || suite.contains(&format!("\nmod {name};\n")),
                "{folder}/{file}: write `mod {name};` in suite.rs"
            );
            parts += 1;
        }
    }
    assert!(parts > 10, "only {parts} files found");
}
