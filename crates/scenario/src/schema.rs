//! The JSON schema of scenarios for editors, and the reference page: both from the table of keys.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use crate::document::DocumentKind;
use crate::keys::{Forms, Key, Kind, Names, Need, Plain, Table};
use crate::names;
use crate::quantity::Dimension;

/// The schema (JSON Schema, draft 2020-12) of a scenario file of any kind.
///
/// It describes types, names and which keys go together; only the reader checks relations of values,
/// such as a peak rate below the long-term rate.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for (name, dimension) in
        [("rate", Dimension::Rate), ("size", Dimension::Size), ("time", Dimension::Time)]
    {
        let definition = json!({
            "type": "string",
            "description": dimension.usage(),
            "pattern": dimension.pattern(),
        });
        definitions.insert(name.into(), definition);
    }
    let kinds = DocumentKind::ALL.map(|kind| file(kind, &mut definitions));
    let mut root = Map::new();
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!("Laxity scenario"));
    root.insert("type".into(), json!("object"));
    root.insert("oneOf".into(), json!(kinds));
    root.insert("$defs".into(), Value::Object(definitions));
    Value::Object(root)
}

/// The schema as it is committed: indented, with a line break at its end.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Defines the files of one kind and refers to the definition.
fn file(kind: DocumentKind, definitions: &mut Map<String, Value>) -> Value {
    let table = kind.keys();
    let mut schema = object(table, definitions);
    if let Some([one, other]) = kind.info().some {
        let some = json!([{ "required": [one] }, { "required": [other] }]);
        schema.insert("anyOf".into(), some);
    }
    definitions.insert(table.name.into(), Value::Object(schema));
    defined(table.name)
}

fn defined(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "-")) })
}

fn object(table: &Table, definitions: &mut Map<String, Value>) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.into(), property(key, definitions));
    }
    let required: Vec<&str> =
        table.keys.iter().filter(|k| k.need == Need::Required).map(|k| k.name).collect();
    let mut out = Map::new();
    out.insert("type".into(), json!("object"));
    out.insert("description".into(), json!(table.doc));
    out.insert("properties".into(), Value::Object(properties));
    out.insert("additionalProperties".into(), json!(false));
    if !required.is_empty() {
        out.insert("required".into(), json!(required));
    }
    let mut either = DocumentKind::ALL.iter().flat_map(|kind| kind.info().either);
    if let Some((_, sets)) = either.find(|(t, _)| std::ptr::eq(*t, table)) {
        let sets: Vec<Value> = sets.iter().map(|keys| json!({ "required": keys })).collect();
        out.insert("oneOf".into(), json!(sets));
    }
    out
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut out = match kind(&key.kind, definitions) {
        Value::Object(map) => map,
        other => Map::from_iter([("const".to_owned(), other)]),
    };
    let doc = match key.need {
        Need::Required => key.doc.to_owned(),
        Need::Default(default) => format!("{} Default: {default}.", key.doc),
    };
    out.insert("description".into(), json!(doc));
    if let Some(example) = example(key.example) {
        out.insert("examples".into(), json!([example]));
    }
    Value::Object(out)
}

/// An example as JSON.
fn example(toml: &str) -> Option<Value> {
    fn convert(value: &DeValue<'_>) -> Option<Value> {
        Some(match value {
            DeValue::String(s) => json!(s),
            DeValue::Integer(n) => json!(n.as_str().parse::<i64>().ok()?),
            DeValue::Float(n) => json!(n.as_str().parse::<f64>().ok()?),
            DeValue::Boolean(b) => json!(b),
            DeValue::Datetime(_) => return None,
            DeValue::Array(array) => {
                Value::Array(array.iter().map(|v| convert(v.get_ref())).collect::<Option<_>>()?)
            }
            DeValue::Table(table) => {
                let mut map = Map::new();
                for (key, value) in table {
                    map.insert(key.get_ref().to_string(), convert(value.get_ref())?);
                }
                Value::Object(map)
            }
        })
    }
    convert(DeValue::parse(toml).ok()?.get_ref())
}

fn kind(kind: &Kind, definitions: &mut Map<String, Value>) -> Value {
    let pair = |name: &str| json!({ "type": "array", "items": defined(name), "minItems": 2, "maxItems": 2 });
    let between =
        |least: u32, most: u32| json!({ "type": "integer", "minimum": least, "maximum": most });
    let whole = |most: u32| between(0, most);
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    match kind {
        Kind::Rate => defined("rate"),
        Kind::Size => defined("size"),
        Kind::Time => defined("time"),
        Kind::RatePair => pair("rate"),
        Kind::SizePair => pair("size"),
        Kind::TimePair => pair("time"),
        Kind::Text => json!({ "type": "string", "minLength": 1, "maxLength": 64 }),
        Kind::Texts => {
            let name = json!({ "type": "string", "minLength": 1 });
            json!({ "type": "array", "items": name, "minItems": 1 })
        }
        Kind::Path => json!({ "type": "string", "minLength": 1 }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Weight => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 4294.967295 }),
        Kind::Choice(names) => json!({ "enum": names }),
        Kind::Policy(names) => policy_name(names, definitions),
        Kind::Policies(names) => {
            let name = policy_name(names, definitions);
            json!({ "type": "array", "items": name, "uniqueItems": true })
        }
        Kind::Dscp => json!({ "anyOf": [{ "enum": names::of("dscp") }, whole(63)] }),
        Kind::Protocol => json!({ "anyOf": [{ "enum": names::of("protocol") }, whole(255)] }),
        Kind::Prefix => json!({ "type": "string" }),
        Kind::Ports => json!({
            "anyOf": [whole(65535), { "type": "string", "pattern": r"^\s*[0-9]+\s*(-\s*[0-9]+\s*)?$" }]
        }),
        Kind::Whole(least, most) => between(*least, *most),
        Kind::WholeOr(least, most, names) => {
            json!({ "anyOf": [between(*least, *most), { "enum": names }] })
        }
        Kind::TimeOr(names) => json!({ "anyOf": [{ "enum": names }, defined("time")] }),
        Kind::Tolerance => text(r"^\s*[0-9]+\s*/\s*[0-9]+\s*$"),
        Kind::Frequency => text(r"^\s*[0-9]+(\.[0-9]+)?\s*/s\s*$"),
        Kind::Percent => text(r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$"),
        Kind::Nice => json!({ "type": "integer", "minimum": -20, "maximum": 19 }),
        Kind::Cpus => text(r"^\s*[0-9]+(-[0-9]+)?(\s*,\s*[0-9]+(-[0-9]+)?)*\s*$"),
        Kind::Steps => json!({
            "type": "array",
            "minItems": 1,
            "items": { "type": "string", "pattern": r"^\s*(run|sleep|until)\s" },
        }),
        Kind::Address => text(r"^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+):[0-9]+$"),
        Kind::Table(table) => {
            define(table.name, definitions, |d| Value::Object(object(table, d)));
            defined(table.name)
        }
        Kind::Tables(table) => {
            define(table.name, definitions, |d| Value::Object(object(table, d)));
            json!({ "type": "array", "items": defined(table.name) })
        }
        Kind::Forms(forms) => {
            define(forms.name, definitions, |d| any_form(forms, d));
            defined(forms.name)
        }
    }
}

fn any_form(forms: &Forms, definitions: &mut Map<String, Value>) -> Value {
    let mut any: Vec<Value> = Vec::new();
    match forms.plain {
        Plain::No => {}
        Plain::Size => any.push(defined("size")),
        Plain::Time => any.push(defined("time")),
        Plain::Text => any.push(json!({ "type": "string", "minLength": 1 })),
        Plain::Names(names) => any.push(json!({ "enum": names })),
    }
    for table in forms.tables {
        any.push(Value::Object(object(table, definitions)));
    }
    json!({ "description": forms.doc, "anyOf": any })
}

fn define(
    name: &str,
    definitions: &mut Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>) -> Value,
) {
    let name = name.replace(' ', "-");
    if !definitions.contains_key(&name) {
        let value = make(definitions);
        definitions.insert(name, value);
    }
}

fn policy_name(names: &Names, definitions: &mut Map<String, Value>) -> Value {
    let name = format!("{} policy name", names.of);
    define(&name, definitions, |_| json!({ "enum": names.list }));
    defined(&name)
}

/// The reference of all keys as Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Scenario reference\n\nEvery key of a scenario file. The table of keys in `crates/scenario` \
         writes this page and the [JSON schema](../../schema/scenario.schema.json): \
         `LAXITY_BLESS=1 cargo test -p laxity-scenario --test schema`.\n",
    );
    let quantities = [Dimension::Rate, Dimension::Size, Dimension::Time];
    let usage: Vec<&str> = quantities.iter().map(|d| d.usage()).collect();
    let _ =
        write!(out, "\nQuantities are strings with a unit and are exact: {}.\n", usage.join("; "));
    let mut seen: Vec<&str> = Vec::new();
    for kind in DocumentKind::ALL {
        let _ = write!(out, "\n# A file with `[{}]`: {}\n", kind.section(), kind.noun());
        let _ = write!(out, "\n{}\n", kind.keys().doc);
        rows(kind.keys(), &mut out);
        below(kind.keys(), "", &mut seen, &mut out);
    }
    out
}

/// Describes the tables below one, each once.
fn below(table: &'static Table, path: &str, seen: &mut Vec<&'static str>, out: &mut String) {
    for key in table.keys {
        let top = path.is_empty();
        let path = if top { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        match key.kind {
            Kind::Table(inner) | Kind::Tables(inner) if !seen.contains(&inner.name) => {
                seen.push(inner.name);
                let title = match (top, key.kind) {
                    (true, Kind::Tables(_)) => format!("`[[{path}]]`"),
                    (true, _) => format!("`[{path}]`"),
                    _ => format!("`{path}`"),
                };
                section(inner, &title, out);
                below(inner, &path, seen, out);
            }
            Kind::Forms(forms) if !seen.contains(&forms.name) => {
                seen.push(forms.name);
                let plain = match forms.plain {
                    Plain::No => String::new(),
                    Plain::Size => " A plain size, or:".into(),
                    Plain::Time => " A plain time, or:".into(),
                    Plain::Text => " A name, or:".into(),
                    Plain::Names(names) => format!(" {}, or:", crate::keys::strings(names)),
                };
                let _ = write!(out, "\n## `{}`\n\n{}{plain}\n", key.name, forms.doc);
                for form in forms.tables {
                    let _ = write!(out, "\n### {}\n\n{}\n", form.name, form.doc);
                    rows(form, out);
                }
                for form in forms.tables {
                    below(form, key.name, seen, out);
                }
            }
            _ => {}
        }
    }
}

fn section(table: &Table, title: &str, out: &mut String) {
    let _ = write!(out, "\n## {title}\n\n{}\n", table.doc);
    rows(table, out);
}

fn rows(table: &Table, out: &mut String) {
    out.push_str("\n| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in table.keys {
        let default = match key.need {
            Need::Required => "(required)",
            Need::Default(default) => default,
        };
        let cell = |text: &str| text.replace('|', "\\|");
        let value = format!("{}, like `{}`", value(&key.kind), key.example);
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            key.name,
            cell(&value),
            cell(default),
            cell(key.doc)
        );
    }
}

/// The values of a key, with their range or names.
fn value(kind: &Kind) -> String {
    match kind {
        Kind::Policy(names) => format!("a policy: {}", crate::keys::list(names.list)),
        Kind::Whole(least, most) => format!("{} from {least} to {most}", kind.noun()),
        Kind::WholeOr(least, most, names) => {
            format!("a whole number from {least} to {most}, or {}", crate::keys::strings(names))
        }
        Kind::Nice => "a nice value from -20 to 19".into(),
        Kind::Weight => "a positive number with at most six decimals".into(),
        Kind::Tables(_) => "a list of tables".into(),
        _ => kind.noun(),
    }
}
