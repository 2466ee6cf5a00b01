//! Texts of tests, beside those that are recorded.

use std::path::Path;

/// Compares a text with file `name` of a folder of the crate; `LAXITY_BLESS=1` writes the file.
pub(crate) fn compare(folder: &str, name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
    if std::env::var_os("LAXITY_BLESS").is_some() {
        std::fs::write(&path, text).expect("a file");
    }
    let kept = std::fs::read_to_string(&path).expect("a file");
    assert_eq!(text, kept, "LAXITY_BLESS=1 writes {name}");
}
