//! Shared by all printers of scenarios: lines, keys, paths, quantities.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use laxity_core::{Bytes, Span, Weight};

use crate::quantity::{print_bytes, print_span};
use crate::value::Length;

/// A TOML file being written.
pub(crate) struct Printer {
    pub(crate) text: String,
    /// To which paths are relative.
    folder: PathBuf,
}

impl Printer {
    /// Begins `[policy]` with the policy that runs and those to compare.
    pub(crate) fn policies(&mut self, used: &str, compare: &[String]) {
        self.line("\n[policy]");
        self.key("use", &quoted(used));
        if !compare.is_empty() {
            let names: Vec<String> = compare.iter().map(|name| quoted(name)).collect();
            self.key("compare", &format!("[{}]", names.join(", ")));
        }
    }

    /// An empty file at `path`.
    pub(crate) fn new(path: &Path) -> Printer {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Printer { text: String::new(), folder }
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(crate) fn key(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "{name} = {value}");
    }

    /// A key that is left out at its default.
    pub(crate) fn unless<T: PartialEq>(
        &mut self,
        name: &str,
        value: T,
        default: T,
        print: fn(&T) -> String,
    ) {
        if value != default {
            self.key(name, &print(&value));
        }
    }

    /// A path as it is written in this file.
    pub(crate) fn path(&self, path: &Path) -> String {
        quoted(&relative(path, &self.folder).to_string_lossy())
    }
}

/// A path as it is written in a file of `folder`.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    if let Ok(inner) = path.strip_prefix(folder) {
        return inner.to_owned();
    }
    if path.is_absolute() {
        return path.to_owned();
    }
    // Out of the folder first; a scenario in memory may name any file.
    let up = folder.components().filter(|c| matches!(c, Component::Normal(_))).map(|_| "..");
    up.collect::<PathBuf>().join(path)
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub(crate) fn size(bytes: &Bytes) -> String {
    quoted(&print_bytes(*bytes))
}

pub(crate) fn time(span: &Span) -> String {
    quoted(&print_span(*span))
}

pub(crate) fn range((least, most): &(Span, Span)) -> String {
    format!("[{}, {}]", time(least), time(most))
}

/// A weight with as many decimals as it needs.
pub(crate) fn weight(weight: Weight) -> String {
    let (whole, part) = (weight.0 / 1_000_000, weight.0 % 1_000_000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:06}").trim_end_matches('0').to_owned()
}

pub(crate) fn length(length: &Length) -> String {
    match length {
        Length::Fixed(bytes) => size(bytes),
        Length::Normal { mean, deviation } => {
            format!("{{ normal = [{}, {}] }}", size(mean), size(deviation))
        }
        Length::Uniform { least, most } => {
            format!("{{ uniform = [{}, {}] }}", size(least), size(most))
        }
    }
}

/// `n / unit` with as many decimals as it needs; `unit` is a power of ten.
pub(crate) fn decimal(n: u64, unit: u64) -> String {
    let (whole, part) = (n / unit, n % unit);
    if part == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{part:0width$}").trim_end_matches('0').to_owned()
}
