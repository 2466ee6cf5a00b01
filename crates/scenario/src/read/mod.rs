//! Reads a scenario file, one file here for each section there.

mod best_effort;
mod envelope;
pub(crate) mod flows;
mod link;
mod matches;
mod policy;
mod realtime;
mod rspec;
mod source;
mod trace;
pub(crate) mod walk;

use std::io::Read as _;
use std::path::Path;

use laxity_core::{Bytes, Time};
use toml::de::DeTable;

use crate::model::Scenario;
use crate::problem::{Cause, Problems, ScenarioError};
use flows::Names;
use walk::Section;

/// The largest scenario file: 16 MB.
const MAX_FILE: u64 = 16_000_000;

/// Gives the packets of one flow in a trace, in order of time, or says why it cannot.
pub type TraceLoader<'l> = dyn FnMut(&Path, &str) -> Result<Vec<(Time, Bytes)>, String> + 'l;

/// What every section needs beside its table.
struct Context<'c, 't> {
    out: &'c mut Problems<'t>,
    /// The folder of the scenario, to which paths are relative.
    folder: &'c Path,
    traces: &'c mut TraceLoader<'c>,
}

impl Scenario {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file cannot be read, or it has problems; all of them are reported, each with line,
    /// column, key and remedy.
    pub fn read(path: impl AsRef<Path>) -> Result<Scenario, ScenarioError> {
        let path = path.as_ref();
        let unreadable = |error| ScenarioError::Unreadable { path: path.to_owned(), error };
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(unreadable(std::io::Error::other(
                "it is larger than 16 MB; a scenario is a few kB of TOML",
            )));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Scenario::parse(text, path),
            Err(error) => Err(not_utf8(&bytes, error.valid_up_to(), path)),
        }
    }

    /// Checks a text as if it stood in the file `path`; other files that it names are read from
    /// that file's folder.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with(text, path, &mut trace::load)
    }

    /// As [`parse`](Self::parse), but traces come from `traces`, not from the file system.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse_with(
        text: &str,
        path: impl AsRef<Path>,
        traces: &mut TraceLoader<'_>,
    ) -> Result<Scenario, ScenarioError> {
        let path = path.as_ref();
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
        let root = Section::root(document.get_ref(), text.len(), context.out);
        let scenario = read_scenario(&root, path, &mut context);
        match scenario {
            Some(scenario) if out.is_empty() => Ok(scenario),
            _ => Err(ScenarioError::Invalid { path: path.to_owned(), problems: out.finish() }),
        }
    }
}

fn read_scenario(root: &Section<'_>, path: &Path, cx: &mut Context<'_, '_>) -> Option<Scenario> {
    let link = root.table("link", cx.out).and_then(|s| link::read(&s, cx));
    let policy = match root.has("policy") {
        true => root.table("policy", cx.out).and_then(|s| policy::read(&s, cx)),
        false => Some(crate::model::PolicyChoice::default()),
    };
    let mut names = Names::default();
    let realtime = realtime::read(root, &mut names, cx);
    let best_effort = best_effort::read(root, &mut names, cx);
    if !root.has("realtime") && !root.has("best_effort") {
        let what = "the scenario has no flow";
        let remedy = "add at least one section [[realtime]] or [[best_effort]]";
        cx.out.structure(root.span.clone(), "", what, remedy);
    }
    let name = path.file_stem().map_or("scenario".into(), |s| s.to_string_lossy().into_owned());
    Some(Scenario {
        name,
        path: path.to_owned(),
        link: link?,
        policy: policy?,
        realtime,
        best_effort,
    })
}

/// Splits a message of the TOML parser into what is wrong and what it expected.
fn syntax(message: &str) -> (String, String) {
    if message.starts_with("string values must be quoted") {
        let remedy = "write it in quotes, like \"10 Mbit/s\"";
        return ("a value that is not a number stands without quotes".into(), remedy.into());
    }
    match message.split_once(", expected ") {
        Some((what, expected)) => (what.to_owned(), format!("expected {expected}")),
        None if message.contains("duplicate key") => {
            (message.to_owned(), "a key may stand once in a table; remove one of the two".into())
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
