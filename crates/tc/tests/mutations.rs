//! Changed dumps: an error or a configuration, never a panic, in memory of the order of the input.

use std::fs;
use std::path::Path;

use laxity_tc::{MAX_INPUT, Problem, Reader};
use proptest::prelude::*;

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps");
    let mut all = Vec::new();
    for version in ["iproute2-6.1", "iproute2-7.1"] {
        for entry in fs::read_dir(folder.join(version)).expect("dumps") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(path).expect("UTF-8");
            if text.len() < 8000 {
                all.push(text);
            }
        }
    }
    all.sort();
    all
}

/// Reads it; a reader keeps at most a record for each line or object.
fn read(text: &str) -> Result<usize, String> {
    let mut reader = Reader::default();
    reader.text("mutation", text).map_err(|e| e.to_string())?;
    let config = reader.finish().map_err(|e| e.to_string())?;
    Ok(config.qdiscs.len() + config.classes.len() + config.filters.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    // Fails when a cut, changed, doubled or foreign piece makes the reader panic, as an
    // index in place of `get` in the reading of gates would.
    #[test]
    fn changed_dumps_are_read_or_refused(
        seed in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        changes in prop::collection::vec(
            (0u8..5, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u64>()), 1..6
        ),
    ) {
        let corpus = corpus();
        let other = seed_words(&corpus[other.index(corpus.len())]);
        let mut text = corpus[seed.index(corpus.len())].clone();
        for (what, at, to, value) in changes {
            let mut words: Vec<String> =
                text.split_inclusive([' ', ',', ':', '\n', '"']).map(str::to_owned).collect();
            if words.is_empty() {
                break;
            }
            let (i, j) = (at.index(words.len()), to.index(words.len()));
            match what {
                0 => { words.remove(i); }
                1 => words.swap(i, j),
                2 => words[i] = format!("{value} "),
                3 => words.truncate(i + 1),
                _ => words[i] = other[j % other.len()].clone(),
            }
            text = words.concat();
        }
        let records = read(&text);
        let bound = text.lines().count() + text.matches('{').count();
        prop_assert!(records.is_err() || records.is_ok_and(|n| n <= bound));
    }
}

fn seed_words(text: &str) -> Vec<String> {
    let words: Vec<_> = text.split_inclusive([' ', ',', ':', '"']).map(str::to_owned).collect();
    if words.is_empty() { vec![" ".to_owned()] } else { words }
}

// Fails when input without end is collected, or nesting overflows the stack.
#[test]
fn size_and_depth_are_bounded() {
    let mut reader = Reader::default();
    let line = "qdisc pfifo 1: root limit 3p\n";
    let error =
        reader.text("big", &line.repeat(MAX_INPUT / line.len() + 1)).expect_err("too large");
    assert_eq!(error.problem, Problem::TooLarge);
    assert!(Reader::default().text("deep", &"[{\"options\":".repeat(100_000)).is_err());
}
