//! Dictionaries as scenario files.
//!
//! A number at a key that holds a quantity is in SI units, which the table of keys tells; it is written
//! with the unit that the file needs.

use laxity_curve::Rational;
use laxity_scenario::DocumentKind;
use laxity_scenario::keys::{Kind, Plain, Table};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::{error, number};

/// Deeper values are refused: dictionaries may hold themselves.
const DEEPEST: usize = 16;

/// The TOML of a dictionary.
pub fn from_dict(root: &Bound<'_, PyDict>) -> PyResult<String> {
    let kind = DocumentKind::ALL.into_iter().find(|k| root.contains(k.section()).unwrap_or(false));
    let keys = kind.map(DocumentKind::keys);
    let mut plain = String::new();
    let mut sections = String::new();
    for (key, value) in root.iter() {
        let name = key_text(&key)?;
        let kind = keys.and_then(|keys| keys.key(&name)).map(|key| key.kind);
        if let Ok(table) = value.cast::<PyDict>() {
            sections.push_str(&format!("\n[{}]\n{}", quoted_key(&name), lines(table, kind)?));
            continue;
        }
        let rows = value.cast::<PyList>().ok().filter(|list| !list.is_empty());
        let rows = rows.map(|list| list.iter().map(|row| row.cast_into::<PyDict>()).collect());
        match rows {
            Some(Ok::<Vec<_>, _>(rows)) => {
                for row in rows {
                    let text = lines(&row, kind)?;
                    sections.push_str(&format!("\n[[{}]]\n{text}", quoted_key(&name)));
                }
            }
            _ => plain.push_str(&format!(
                "{} = {}\n",
                quoted_key(&name),
                self::value(&value, kind, 0)?
            )),
        }
    }
    Ok(plain + sections.trim_start_matches('\n'))
}

fn lines(table: &Bound<'_, PyDict>, kind: Option<Kind>) -> PyResult<String> {
    let mut out = String::new();
    for (key, value) in table.iter() {
        let name = key_text(&key)?;
        let value = self::value(&value, kind.and_then(|kind| below(kind, &name)), 0)?;
        out.push_str(&format!("{} = {value}\n", quoted_key(&name)));
    }
    Ok(out)
}

/// The kind of a key inside a table, in any of its forms.
fn below(kind: Kind, name: &str) -> Option<Kind> {
    let tables: &[Table] = match kind {
        Kind::Table(table) | Kind::Tables(table) => std::slice::from_ref(table),
        Kind::Forms(forms) => forms.tables,
        _ => return None,
    };
    tables.iter().find_map(|table| table.key(name)).map(|key| key.kind)
}

/// The unit of a bare number at a key of this kind.
fn unit(kind: Option<Kind>) -> Option<(i128, &'static str)> {
    match kind? {
        Kind::Rate | Kind::RatePair => Some((1, "bit/s")),
        Kind::Size | Kind::SizePair => Some((1, "B")),
        Kind::Time | Kind::TimePair | Kind::TimeOr(_) => Some((1_000_000_000, "ns")),
        Kind::Forms(forms) => match forms.plain {
            Plain::Size => Some((1, "B")),
            Plain::Time => Some((1_000_000_000, "ns")),
            _ => None,
        },
        _ => None,
    }
}

fn key_text(key: &Bound<'_, PyAny>) -> PyResult<String> {
    key.extract().map_err(|_| PyTypeError::new_err("the keys of a scenario are strings"))
}

fn value(value: &Bound<'_, PyAny>, kind: Option<Kind>, depth: usize) -> PyResult<String> {
    if depth > DEEPEST {
        return Err(error::input(format_args!("the values lie more than {DEEPEST} deep")));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(quoted(&text.to_cow()?));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut fields = Vec::new();
        for (key, inner) in table.iter() {
            let name = key_text(&key)?;
            let inner = self::value(&inner, kind.and_then(|kind| below(kind, &name)), depth + 1)?;
            fields.push(format!("{} = {inner}", quoted_key(&name)));
        }
        return Ok(format!("{{ {} }}", fields.join(", ")));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut items = Vec::new();
        for item in value.try_iter()? {
            items.push(self::value(&item?, kind, depth + 1)?);
        }
        return Ok(format!("[{}]", items.join(", ")));
    }
    if let Some((factor, unit)) = unit(kind) {
        let exact = number::rational(value)?
            .times(Rational::whole(factor))
            .map_err(|e| error::curve(&e))?;
        return Ok(quoted(&format!("{exact} {unit}")));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_string());
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        let float: f64 = float.extract()?;
        return match float.is_finite() {
            true => Ok(format!("{float:?}")),
            false => Err(error::input(format_args!("{float} is no finite number"))),
        };
    }
    // Whole numbers of numpy.
    if let Ok(whole) = value.call_method0("__index__") {
        return Ok(whole.str()?.to_string());
    }
    let path = value.call_method0("__fspath__").and_then(|path| path.extract::<String>());
    path.map(|path| quoted(&path)).map_err(|_| {
        let class = value.get_type();
        let name = class.name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
        error::input(format_args!(
            "a scenario cannot hold {name}: give texts, numbers, lists or dicts"
        ))
    })
}

fn quoted_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
