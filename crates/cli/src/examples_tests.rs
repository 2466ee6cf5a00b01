//! The examples of the documents are understood: command lines by this command, TOML as scenarios.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::error::ErrorKind;
use laxity_scenario::Document;
use laxity_sweep::{Sweep, SweepError};

use crate::args::Laxity;

#[path = "../tests/support/examples.rs"]
mod examples;

use examples::{blocks, words};

/// The pages: all of docs, and those of other folders that the site has.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<PathBuf> = [
        "README.md",
        "CONTRIBUTING.md",
        "python/README.md",
        "packaging/README.md",
        "captures/README.md",
        "proofs/README.md",
    ]
    .map(|path| root.join(path))
    .into();
    for folder in std::fs::read_dir(root.join("docs")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            paths.extend(files.filter(|path| path.extension().is_some_and(|e| e == "md")));
        }
    }
    paths.sort();
    assert!(paths.len() > 60, "only {} pages found", paths.len());
    let read = |path: PathBuf| (std::fs::read_to_string(&path).unwrap(), path);
    paths.into_iter().map(read).map(|(text, path)| (path.display().to_string(), text)).collect()
}

/// What is wrong with a command line, if anything. Code in a sentence may leave arguments and the value of its last
/// option out, and words in capitals stand for values.
fn fault(command: &str, in_sentence: bool) -> Option<String> {
    let words = words(command);
    let error = Laxity::command().try_get_matches_from(&words).err()?;
    let capital = |c: char| c.is_ascii_uppercase() || "_.:-".contains(c);
    let open = words.last().is_some_and(|word| word.starts_with("--"))
        || words.iter().any(|word| word.chars().all(capital));
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if in_sentence =>
        {
            None
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue if in_sentence && open => None,
        _ => Some(error.to_string()),
    }
}

// Fails when a page shows a command or an option that the command does not have: tried with `--polices` in the tutorial,
// and with `laxity link rise` in a sentence.
#[test]
fn command_lines_of_the_documents_are_understood() {
    let (mut blocks_seen, mut sentences) = (0, 0);
    let mut faults = Vec::new();
    for (page, text) in pages() {
        for block in blocks(&page, &text) {
            for example in block.examples().iter().filter(|e| e.text.starts_with("laxity ")) {
                blocks_seen += 1;
                let fault = fault(&example.text, false);
                faults
                    .extend(fault.map(|fault| {
                        format!("{page}:{}: {}: {fault}", example.line, example.text)
                    }));
            }
        }
        let outside: String = text.split("\n```").step_by(2).collect();
        for code in outside.split('`').skip(1).step_by(2).filter(|code| code.starts_with("laxity "))
        {
            sentences += 1;
            let fault = fault(&code.replace('\n', " "), true);
            faults.extend(fault.map(|fault| format!("{page}: `{code}`: {fault}")));
        }
    }
    assert!(blocks_seen > 70 && sentences > 100, "only {blocks_seen} and {sentences} found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a part of a scenario needs beside it to be one, by kind; `Document::parse` of the first that fits decides.
const AROUND: [&str; 4] =
    ["", "[link]\nrate = \"1 Gbit/s\"\n", "[server]\nrate = \"1 Gbit/s\"\n", "[cpu]\n"];

// Fails when a page shows a key or a value that scenario files do not have: tried with `dead_line` in the tutorial.
#[test]
fn scenarios_of_the_documents_are_understood() {
    let mut seen = 0;
    let mut faults = Vec::new();
    // As if it stood in this folder, from which names of captures are relative.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/example.toml");
    for (page, text) in pages() {
        for block in blocks(&page, &text).iter().filter(|block| block.is_toml()) {
            seen += 1;
            let text = block.text();
            let sweep = path.with_file_name("../python/examples/sweep.toml");
            let read = |path: &Path| {
                std::fs::read_to_string(path)
                    .map_err(|error| SweepError::File { path: path.to_owned(), error })
            };
            if Sweep::parse(&text, sweep, read).is_ok() {
                continue;
            }
            let results = AROUND.map(|around| Document::parse(&format!("{around}{text}"), &path));
            if results.iter().all(Result::is_err) {
                let errors =
                    results.iter().filter_map(|r| r.as_ref().err()).map(ToString::to_string);
                faults.push(format!(
                    "{page}:{}:\n{}",
                    block.line,
                    errors.collect::<Vec<_>>().join("\n")
                ));
            }
        }
    }
    assert!(seen > 6, "only {seen} found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
