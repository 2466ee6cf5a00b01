//! The tables of proofs/README.md, the theorems, the code and the documents agree.

mod repository;

use std::collections::BTreeSet;

use repository::{files, root, text};

/// One row of a table.
struct Row {
    theorems: Vec<String>,
    /// Paths below `proofs/`.
    files: Vec<String>,
    code: Vec<String>,
    /// Sentences and the documents that they are in.
    quotes: Vec<(String, String)>,
}

/// The rows of both tables.
fn rows() -> Vec<Row> {
    let readme = text("proofs/README.md");
    let lines = readme.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<Row> = lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            assert_eq!(cells.len(), 5, "proofs/README.md: not five cells: {line}");
            let row = Row {
                theorems: code_words(cells[0]),
                files: targets(cells[1]),
                code: code_words(cells[3]),
                quotes: quotes(cells[4]),
            };
            let complete = [&row.theorems, &row.files, &row.code].iter().all(|c| !c.is_empty());
            assert!(complete && !row.quotes.is_empty(), "proofs/README.md: an empty cell: {line}");
            row
        })
        .collect();
    assert!(rows.len() > 20, "only {} rows found", rows.len());
    rows
}

/// What is in backquotes.
fn code_words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Targets of links.
fn targets(cell: &str) -> Vec<String> {
    let parts = cell.split("](").skip(1);
    parts.filter_map(|part| Some(part.split_once(')')?.0.to_owned())).collect()
}

/// Each sentence in curled quotation marks, with the target of the link behind it.
fn quotes(cell: &str) -> Vec<(String, String)> {
    let parts = cell.split('\u{201c}').skip(1);
    parts
        .map(|part| {
            let (sentence, rest) = part.split_once('\u{201d}').expect("a closing quotation mark");
            let target = targets(rest).into_iter().next();
            let target = target.unwrap_or_else(|| panic!("no document after: {sentence}"));
            (sentence.to_owned(), target.trim_start_matches("../").to_owned())
        })
        .collect()
}

/// The names that Coq declares with one of these words at the start of a line.
fn declared(source: &str, kinds: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in source.lines() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'');
        if words.next().is_some_and(|word| kinds.contains(&word)) {
            names.extend(words.next().map(str::to_owned));
        }
    }
    names
}

/// The text without line breaks and markers of comments.
fn flowing(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).unwrap_or(line)
    });
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

// Fails when a theorem is renamed, removed or not asked for its assumptions, or is not in the table:
// tried with a name changed in the table, in Assumptions.v and in a file, and with a new theorem.
#[test]
fn every_theorem_is_in_the_table_and_among_the_assumptions() {
    let assumptions = text("proofs/Assumptions.v");
    let asked = assumptions.lines().filter_map(|line| {
        line.strip_prefix("Print Assumptions ")?.strip_suffix('.').map(str::to_owned)
    });
    let asked: BTreeSet<String> = asked.collect();
    let mut listed = BTreeSet::new();
    for row in rows() {
        let sources: Vec<String> =
            row.files.iter().map(|file| text(&format!("proofs/{file}"))).collect();
        for theorem in row.theorems {
            let kinds = ["Theorem", "Corollary", "Example", "Lemma"];
            assert!(
                sources.iter().any(|source| declared(source, &kinds).contains(&theorem)),
                "proofs/README.md: {theorem} is in none of {:?}",
                row.files
            );
            assert!(listed.insert(theorem.clone()), "proofs/README.md: {theorem} stands twice");
        }
    }
    assert_eq!(listed, asked, "left: proofs/README.md, right: proofs/Assumptions.v");
    for path in files().iter().filter(|path| path.starts_with("proofs/") && path.ends_with(".v")) {
        for theorem in declared(&text(path), &["Theorem", "Corollary", "Example"]) {
            assert!(listed.contains(&theorem), "{path}: {theorem} is not in proofs/README.md");
        }
    }
}

// Fails when code that a theorem is about is moved, in the table or in a comment of the proofs: tried
// with a misspelt path in each.
#[test]
fn proofs_name_existing_code() {
    let mut paths: Vec<(String, String)> = Vec::new();
    for row in rows() {
        paths.extend(row.code.into_iter().map(|path| ("proofs/README.md".to_owned(), path)));
    }
    for file in files().into_iter().filter(|p| p.starts_with("proofs/") && p.ends_with(".v")) {
        let words = text(&file);
        let words = words.split(|c: char| c.is_whitespace() || "(),;:".contains(c));
        let named =
            words.filter(|word| ["crates/", "scripts/"].iter().any(|top| word.starts_with(top)));
        paths.extend(named.map(|path| (file.clone(), path.trim_end_matches('.').to_owned())));
    }
    assert!(paths.len() > 60, "only {} paths found", paths.len());
    for (file, path) in paths {
        assert!(root().join(&path).exists(), "{file} names {path}, which does not exist");
    }
}

// Fails when a sentence that rests on a theorem is reworded, so that its author looks whether the
// theorem still says as much. Tried with a word changed in a page, in a comment and in the table.
#[test]
fn sentences_that_rest_on_theorems_stand_in_the_documents() {
    for row in rows() {
        for (sentence, document) in row.quotes {
            assert!(
                flowing(&text(&document)).contains(&flowing(&sentence)),
                "{document} does not say \"{sentence}\", which proofs/README.md quotes for {:?}: see \
                 whether these theorems support the new wording, and quote it",
                row.theorems
            );
        }
    }
}

// Fails when the page about guarantees names a theorem that does not exist: tried with a misspelt one.
#[test]
fn the_page_about_guarantees_names_existing_theorems() {
    let page = text("docs/explanation/guarantees.md");
    let theorems: BTreeSet<String> = rows().into_iter().flat_map(|row| row.theorems).collect();
    let named: Vec<String> = code_words(&page)
        .into_iter()
        .filter(|word| word.matches('_').count() >= 2)
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c)))
        .collect();
    assert!(named.len() > 15, "only {} theorems found", named.len());
    for name in named {
        assert!(theorems.contains(&name), "docs/explanation/guarantees.md: no theorem {name}");
    }
}
