//! From a file to its tables: size, encoding, syntax.

use std::io::Read as _;
use std::path::Path;

use toml::de::DeTable;

use super::{Context, TraceLoader};
use crate::problem::{Cause, Problems, ScenarioError};

/// The largest scenario file: 16 MB.
const MAX_FILE: u64 = 16_000_000;

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, ScenarioError> {
    let unreadable = |error| ScenarioError::Unreadable { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(unreadable(std::io::Error::other(
            "it is a directory; name a scenario file in it",
        )));
    }
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if is_capture(&bytes) {
        return Err(unreadable(std::io::Error::other(
            "it is a capture, not a scenario; `laxity fit` makes a scenario of it, and `laxity \
             simulate SCENARIO --trace` replays it",
        )));
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(unreadable(std::io::Error::other(
            "it is larger than 16 MB; a scenario is a few kB of TOML",
        )));
    }
    String::from_utf8(bytes).map_err(|e| not_utf8(e.as_bytes(), e.utf8_error().valid_up_to(), path))
}

/// Whether a file begins as pcap or pcapng do, in either order of bytes.
fn is_capture(bytes: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    bytes.first_chunk().is_some_and(|first| MAGIC.contains(first))
}

/// Parses a text and has `read` make something of its tables. A text with
/// problems gives an error, whatever `read` returns.
pub(crate) fn parse<T>(
    text: &str,
    path: &Path,
    traces: &mut TraceLoader<'_>,
    read: impl FnOnce(&DeTable<'_>, &mut Context<'_, '_>) -> Option<T>,
) -> Result<T, ScenarioError> {
    let mut out = Problems::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        let (what, remedy) = syntax(error.message());
        out.add(Cause::Syntax, span, "", what, remedy);
    }
    let mut load = |file: &Path, flow: &str| traces(file, flow);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut context = Context { out: &mut out, folder, traces: &mut load };
    match read(document.get_ref(), &mut context) {
        Some(scenario) if out.is_empty() => Ok(scenario),
        _ => Err(ScenarioError::Invalid { path: path.to_owned(), problems: out.finish() }),
    }
}

/// The name of a scenario: its file's stem.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or("scenario".into(), |s| s.to_string_lossy().into_owned())
}

/// Splits a message of the TOML parser into the problem and the expectation.
fn syntax(message: &str) -> (String, String) {
    if message.starts_with("string values must be quoted") {
        let remedy = "write it in quotes, like \"10 Mbit/s\"";
        return ("an unquoted value is not a number".into(), remedy.into());
    }
    match message.split_once(", expected ") {
        Some((what, expected)) => (what.to_owned(), format!("expected {expected}")),
        None if message.contains("duplicate key") => {
            (message.to_owned(), "a key may occur once in a table; remove one of the two".into())
        }
        None => (message.to_owned(), String::new()),
    }
}

fn not_utf8(bytes: &[u8], at: usize, path: &Path) -> ScenarioError {
    let text = String::from_utf8_lossy(&bytes[..at]);
    let mut out = Problems::new(&text);
    let what = format!("byte {:#04x} is not UTF-8", bytes.get(at).copied().unwrap_or(0));
    out.add(Cause::Syntax, at..at, "", what, "save the file as UTF-8");
    ScenarioError::Invalid { path: path.to_owned(), problems: out.finish() }
}
