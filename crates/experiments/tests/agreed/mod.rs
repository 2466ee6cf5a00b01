//! Files that must come out the same, byte for byte.

use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The file's text, rewritten first under `LAXITY_BLESS`.
fn agreed(path: &Path, now: &str) -> String {
    if std::env::var_os("LAXITY_BLESS").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, now).unwrap();
    }
    std::fs::read_to_string(path).unwrap_or_default()
}

pub fn assert_same(path: &Path, now: &str) {
    let then = agreed(path, now);
    let line = then.lines().zip(now.lines()).position(|(a, b)| a != b);
    let (a, b) = line.map_or(("", ""), |i| {
        (then.lines().nth(i).unwrap_or(""), now.lines().nth(i).unwrap_or(""))
    });
    assert!(
        then == now,
        "{} differs{}; LAXITY_BLESS=1 writes it again\n  then {a:.200}\n  now  {b:.200}",
        path.display(),
        line.map_or(String::new(), |i| format!(" in line {}", i + 1)),
    );
}
