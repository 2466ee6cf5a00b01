//! The examples of the documents that need neither root nor a running part are run, page by page.

mod support;

use std::process::{Command, Stdio};

use support::{Folder, file};

#[path = "support/examples.rs"]
mod examples;

use examples::{Block, blocks, words};

/// Commands that read and write files in the folder of the test alone.
const SAFE: &[&str] = &[
    "certify",
    "check",
    "doctor",
    "fit",
    "init",
    "policies",
    "reproduce",
    "schema",
    "simulate",
    "sweep",
    "validate",
];

/// Pages with examples to run.
const PAGES: &[&str] = &[
    "README.md",
    "docs/README.md",
    "docs/tutorial",
    "docs/how-to",
    "docs/explanation",
    "docs/reference",
    "docs/results",
    "python/README.md",
    "packaging/README.md",
];

fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    for page in PAGES {
        if page.ends_with(".md") {
            pages.push((*page).to_owned());
        } else {
            let entries = std::fs::read_dir(file(page)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            pages.extend(
                names.filter(|name| name.ends_with(".md")).map(|name| format!("{page}/{name}")),
            );
        }
    }
    pages.sort();
    pages
}

/// Whether `shown` are lines of `output`, in order, with others between them.
fn is_part(shown: &[String], output: &str) -> bool {
    let mut lines = output.lines();
    shown.iter().all(|line| {
        line.trim().is_empty() || lines.any(|other| other.trim_end() == line.trim_end())
    })
}

/// Runs the examples of a page in a folder that has the scenarios and captures of the repository. Returns how many, and
/// what is wrong with each.
fn run(page: &str, blocks: &[Block], faults: &mut Vec<String>) -> usize {
    let folder = Folder::new(&format!("examples-{}", page.replace('/', "-")));
    for name in ["scenarios", "captures", "python"] {
        std::os::unix::fs::symlink(file(name), folder.path(name)).unwrap();
    }
    std::fs::create_dir(folder.path("target")).unwrap();
    let command = std::path::Path::new(env!("CARGO_BIN_EXE_laxity")).parent().unwrap().display();
    let path = format!("{command}:{}", std::env::var("PATH").unwrap());
    let (mut count, mut outputs) = (0, Vec::<String>::new());
    for block in blocks.iter().filter(|block| block.exempt.is_none()) {
        if let Some(name) = &block.file {
            std::fs::write(folder.path(name), block.text()).unwrap();
        }
        let examples = block.examples();
        for example in examples.iter().filter(|example| !example.root) {
            let words = words(&example.text);
            let safe = words[0] == "sed"
                || SAFE.contains(&words[1].as_str())
                || words[1..3] == ["link", "plan"];
            if !safe {
                faults.push(format!(
                    "{page}:{}: write <!-- not run: REASON --> above it",
                    example.line
                ));
                continue;
            }
            count += 1;
            // An example that goes on until it is stopped is not one to run.
            let mut shell = Command::new("timeout");
            shell
                .args(["30", "bash", "-c", &example.text])
                .current_dir(folder.path(""))
                .env("PATH", &path);
            let ran = shell.stdin(Stdio::null()).output().expect("timeout starts");
            let output =
                [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
            let place = format!("{page}:{}: {}", example.line, example.text);
            // A refusal is an example too, where the page shows it.
            let most = i32::from(example.shown || !example.output.is_empty());
            if ran.status.code().is_none_or(|code| code > most) {
                faults.push(format!("{place}\n{}: {output}", ran.status));
            } else if !is_part(&example.output, &output) {
                faults.push(format!("{place}\nthe page shows another output than\n{output}"));
            }
            outputs.push(output);
        }
        // A block without a language and a prompt is output of something before it.
        let is_output = block.language.as_deref() == Some("") && examples.is_empty();
        if is_output && !outputs.iter().any(|output| is_part(&block.lines, output)) {
            faults
                .push(format!("{page}:{}: not the output of an example of this page", block.line));
        }
    }
    count
}

// Fails when an example of a page ends with an error, or prints other lines than the page shows: tried with a digit of
// the tutorial's tables, with a file that is not there, and with a misspelt policy.
#[test]
fn examples_of_the_documents_run() {
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(file(&page)).unwrap();
        count += run(&page, &blocks(&page, &text), &mut faults);
    }
    assert!(count > 25, "only {count} examples found");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
