//! Every malformed scenario under `tests/errors` gives exactly the committed messages.
//!
//! Set `LAXITY_BLESS=1` to write the messages, then review them.

use std::path::{Path, PathBuf};

use laxity_cpu::registry;
use laxity_scenario::Document;
use laxity_scenario::link::policies::POLICIES;
use laxity_scenario::stream::policies;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new("tests/errors");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    cases.sort();
    cases
}

// Fails when a check is dropped, a place moves, or a message or remedy changes.
#[test]
fn messages_match_the_committed_ones() {
    let stream_policies: Vec<&str> = policies::POLICIES.iter().map(|p| p.name).collect();
    let cpu_policies: Vec<&str> = registry::POLICIES.iter().map(|p| p.name).collect();
    let bless = std::env::var_os("LAXITY_BLESS").is_some();
    let cases = cases();
    assert!(cases.len() >= 30);
    let mut wrong = Vec::new();
    for path in cases {
        let error = match Document::read(&path) {
            Ok(_) => panic!("{} has no problem", path.display()),
            // A new policy changes no committed message.
            Err(error) => format!("{error}\n")
                .replace(&POLICIES.join(" "), "{policies}")
                .replace(&stream_policies.join(" "), "{stream policies}")
                .replace(&cpu_policies.join(" "), "{cpu policies}"),
        };
        let expected = path.with_extension("txt");
        if bless {
            std::fs::write(&expected, &error).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != error {
            wrong.push(format!("{}:\n{error}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "messages differ from\n{}", wrong.join("\n"));
}

#[test]
fn missing_files_are_named() {
    let error = Document::read("tests/errors/none").unwrap_err();
    assert!(error.problems().is_empty());
    let text = error.to_string();
    assert!(text.starts_with("tests/errors/none: cannot be read: "), "{text}");
}

// Fails when bytes are replaced in silence.
#[test]
fn invalid_utf8_is_located() {
    let path = std::env::temp_dir().join(format!("laxity-latin1-{}.toml", std::process::id()));
    std::fs::write(&path, b"[link]\nrate = \"1\xb5\"\n").unwrap();
    let error = Document::read(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    let problem = &error.problems()[0];
    assert_eq!((problem.line, problem.column), (2, 10));
    assert_eq!(problem.what, "byte 0xb5 is not UTF-8");
}
