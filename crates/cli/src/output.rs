//! Destinations of results.

use std::io::{IsTerminal, Write};
use std::path::Path;

use laxity_report::text::Style;
use laxity_results::Versioned;
use serde::Serialize;

use crate::failure::Failure;
use crate::files::Pending;

/// Prints a result to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") })
        .and_then(|()| out.flush())
        .map_err(|e| Failure::write("standard output", &e))
}

/// Prints a result as JSON.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::Internal(e.to_string()))?;
    print(&text)
}

/// Prints a result of a scenario, a paper or benchmarks as JSON, with its version.
pub fn result(result: &impl Serialize) -> Result<(), Failure> {
    json(&Versioned::new(result))
}

/// Writes a file as a whole, or leaves it as it was.
pub fn file(path: &Path, contents: &str) -> Result<(), Failure> {
    let (mut file, pending) = Pending::create(path)?;
    file.write_all(contents.as_bytes())
        .map_err(|e| Failure::write(&path.display().to_string(), &e))?;
    pending.complete()
}

/// Colour only on a terminal, and never against the user's will (`NO_COLOR`).
pub fn style() -> Style {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Style { colour, width: 0 }
}

/// The command line, as a page's footer shows it.
pub fn command_line() -> String {
    let quote = |a: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
        if !a.is_empty() && a.chars().all(plain) { a } else { format!("'{a}'") }
    };
    let arguments = std::env::args_os().skip(1).map(|a| quote(a.to_string_lossy().into_owned()));
    std::iter::once("laxity".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
