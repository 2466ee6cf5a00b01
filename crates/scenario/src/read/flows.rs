//! Names and paths of real-time flows and best-effort classes.

use std::collections::HashMap;

use toml::de::DeValue;

use super::walk::{Section, Value, join, shown};
use crate::keys::Table;
use crate::problem::Problems;

/// The class of unmatched packets.
pub(crate) const OTHER: &str = "other";

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// The names so far.
pub(crate) struct Names {
    /// The kind of the named objects.
    of: &'static str,
    /// With the lines on which they stand.
    lines: HashMap<String, usize>,
}

impl Default for Names {
    fn default() -> Names {
        Names::of("flow")
    }
}

impl Names {
    /// None yet.
    pub(crate) fn of(of: &'static str) -> Names {
        Names { of, lines: HashMap::new() }
    }

    /// Reads and claims the name of a flow.
    pub(crate) fn claim(
        &mut self,
        section: &Section<'_>,
        out: &mut Problems<'_>,
    ) -> Option<String> {
        let name = section.text("name", out)?;
        if name.is_empty() {
            section.wrong("name", out, "the name is empty", "give a name such as \"voice\"");
            return None;
        }
        if name.chars().count() > MAX_NAME {
            let what = format!("the name has more than {MAX_NAME} characters");
            section.wrong("name", out, what, "give a name of at most 64 characters");
            return None;
        }
        if name.chars().any(char::is_control) || name.trim() != name {
            let what = "the name holds control characters, or space at an end";
            section.wrong("name", out, what, "use letters, digits and dashes");
            return None;
        }
        let line = out.line(section.span_of("name").start);
        if let Some(first) = self.lines.insert(name.to_owned(), line) {
            let what = format!("the name \"{}\" is already used on line {first}", shown(name));
            let remedy = format!("every {} needs a unique name", self.of);
            section.wrong("name", out, what, remedy);
            return None;
        }
        Some(name.to_owned())
    }
}

/// Opens one flow of a list; its path holds the name, or its place where it has none.
pub(crate) fn open<'a>(
    root: &Section<'a>,
    list: &str,
    place: usize,
    value: &'a Value<'a>,
    shape: &'static Table,
    out: &mut Problems<'_>,
) -> Option<Section<'a>> {
    let name = match value.get_ref() {
        DeValue::Table(table) => table.get("name").and_then(|v| v.get_ref().as_str()),
        _ => None,
    };
    let path = match name {
        Some(name) if !name.is_empty() => join(list, name),
        _ => format!("{list}[{place}]"),
    };
    root.below(value, path, shape, out)
}
