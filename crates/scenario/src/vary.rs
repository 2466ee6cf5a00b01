//! A scenario with other values at some of its keys, for sweeps: the text is edited, so that everything else stays
//! as it was written.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Why a key cannot be varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VaryError {
    /// The text is no TOML.
    Syntax,
    /// The scenario does not have the key.
    Missing {
        /// The key.
        key: String,
        /// The part of it that is not there.
        part: String,
    },
    /// Two keys lie inside each other, or are the same.
    Overlap {
        /// One of them.
        key: String,
    },
}

impl fmt::Display for VaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VaryError::Syntax => write!(f, "the scenario is no TOML"),
            VaryError::Missing { key, part } => write!(
                f,
                "{key}: the scenario has no `{part}` there; write it into the scenario, with any value"
            ),
            VaryError::Overlap { key } => write!(f, "{key}: another varied key holds it"),
        }
    }
}

impl std::error::Error for VaryError {}

/// The text with each key of `changes` set to a value, written as TOML. A key is dotted, such as `link.rate`; an
/// entry of a list of tables is found by its `name`, as in `realtime.voice.deadline`.
///
/// # Errors
/// See [`VaryError`].
pub fn varied(text: &str, changes: &[(&str, &str)]) -> Result<String, VaryError> {
    let document = DeTable::parse(text).map_err(|_| VaryError::Syntax)?;
    let mut spans: Vec<(Range<usize>, &str, &str)> = Vec::with_capacity(changes.len());
    for (key, value) in changes {
        spans.push((place(document.get_ref(), key)?, key, value));
    }
    spans.sort_by_key(|(span, ..)| span.start);
    if let Some(pair) = spans.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
        return Err(VaryError::Overlap { key: pair[1].1.to_owned() });
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, _, value) in spans {
        out.push_str(&text[at..span.start]);
        out.push_str(value);
        at = span.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Where the value of a key stands.
fn place(root: &DeTable<'_>, key: &str) -> Result<Range<usize>, VaryError> {
    let missing = |part: &str| VaryError::Missing { key: key.to_owned(), part: part.to_owned() };
    let mut parts = key.split('.');
    let first = parts.next().unwrap_or_default();
    let mut at = root.get(first).ok_or_else(|| missing(first))?;
    for part in parts {
        at = inside(at.get_ref(), part).ok_or_else(|| missing(part))?;
    }
    Ok(at.span())
}

fn inside<'a>(value: &'a DeValue<'a>, part: &str) -> Option<&'a Spanned<DeValue<'a>>> {
    match value {
        DeValue::Table(table) => table.get(part),
        DeValue::Array(items) => items.iter().find(|item| match item.get_ref() {
            DeValue::Table(table) => {
                matches!(table.get("name").map(Spanned::get_ref), Some(DeValue::String(name)) if name == part)
            }
            _ => false,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[link]\nrate = \"10 Mbit/s\" # of the wire\n\n[[realtime]]\nname = \"voice\"\n\
                        envelope = { burst = \"300 B\", rate = \"150 kB/s\" }\n\n[[realtime]]\nname = \"video\"\n\
                        deadline = \"30 ms\"\n";

    // Fails when another key, or more than its value, is replaced.
    #[test]
    fn values_are_replaced_where_they_stand() {
        let changes = [
            ("realtime.video.deadline", "\"40 ms\""),
            ("link.rate", "\"8 Mbit/s\""),
            ("realtime.voice.envelope.rate", "\"1 kB/s\""),
        ];
        let wanted = TEXT
            .replace("10 Mbit/s", "8 Mbit/s")
            .replace("30 ms", "40 ms")
            .replace("150 kB/s", "1 kB/s");
        assert_eq!(varied(TEXT, &changes), Ok(wanted));
        assert_eq!(varied(TEXT, &[]), Ok(TEXT.to_owned()));
    }

    // Fails when a key that is not there is left out in silence, or one value overwrites part of another.
    #[test]
    fn faults() {
        let missing = |key: &str, part: &str| {
            Err(VaryError::Missing { key: key.to_owned(), part: part.to_owned() })
        };
        assert_eq!(varied(TEXT, &[("link.overhead", "1")]), missing("link.overhead", "overhead"));
        assert_eq!(
            varied(TEXT, &[("realtime.game.rate", "1")]),
            missing("realtime.game.rate", "game")
        );
        assert_eq!(varied(TEXT, &[("link.rate.x", "1")]), missing("link.rate.x", "x"));
        let key = "realtime.voice.envelope.rate";
        let inside = varied(TEXT, &[("realtime.voice.envelope", "{}"), (key, "1")]);
        assert_eq!(inside, Err(VaryError::Overlap { key: key.to_owned() }));
        assert_eq!(varied("[", &[]), Err(VaryError::Syntax));
    }
}
