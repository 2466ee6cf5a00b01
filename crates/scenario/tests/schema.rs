//! The committed JSON schema and reference page are those that the table of keys gives, and the schema
//! agrees with the reader on valid scenarios.
//!
//! Set `LAXITY_BLESS=1` to write them.

use std::path::{Path, PathBuf};

use laxity_scenario::keys::{Kind, Table};
use laxity_scenario::{DocumentKind, schema};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths
}

fn assert_committed(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("LAXITY_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "run the tests of laxity-scenario with LAXITY_BLESS=1 to write {}",
        path.display()
    );
}

// Fails when a key is added or changed and the schema for editors is not.
#[test]
fn the_committed_schema_is_up_to_date() {
    assert_committed("schema/scenario.schema.json", &schema::schema_text());
}

// Fails when a key is added or changed and the reference page is not.
#[test]
fn the_committed_reference_is_up_to_date() {
    assert_committed("docs/reference/scenario.md", &schema::reference());
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(s) => Value::from(s.as_ref()),
        DeValue::Integer(n) => {
            Value::from(i64::from_str_radix(n.as_str(), n.radix()).unwrap_or(i64::MAX))
        }
        DeValue::Float(n) => Value::from(n.as_str().parse::<f64>().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::from(*b),
        DeValue::Datetime(d) => serde_json::json!([d.to_string()]),
        DeValue::Array(a) => a.iter().map(|v| json(v.get_ref())).collect(),
        DeValue::Table(t) => {
            let pairs = t.iter().map(|(k, v)| (k.get_ref().to_string(), json(v.get_ref())));
            Value::Object(pairs.collect())
        }
    }
}

/// As much of JSON Schema as ours uses, but for patterns.
fn valid(schema: &Value, value: &Value, root: &Value) -> bool {
    let Value::Object(schema) = schema else { return schema.as_bool().unwrap_or(false) };
    schema.iter().all(|(keyword, rule)| {
        let list = || rule.as_array().unwrap().iter();
        let number = |v: &Value| v.as_f64();
        match keyword.as_str() {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "examples"
            | "pattern"
            | "additionalProperties" => true,
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                valid(root.pointer(pointer).unwrap(), value, root)
            }
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("type {other}"),
            },
            "enum" => list().any(|v| v == value),
            "anyOf" => list().any(|s| valid(s, value, root)),
            "oneOf" => list().filter(|s| valid(s, value, root)).count() == 1,
            "required" => list().all(|k| value.get(k.as_str().unwrap()).is_some()),
            "properties" => value.as_object().is_none_or(|object| {
                object.iter().all(|(k, v)| match rule.get(k) {
                    Some(property) => valid(property, v, root),
                    None => schema.get("additionalProperties") != Some(&Value::Bool(false)),
                })
            }),
            "items" => value.as_array().is_none_or(|a| a.iter().all(|v| valid(rule, v, root))),
            "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
            "uniqueItems" => value
                .as_array()
                .is_none_or(|a| a.iter().enumerate().all(|(i, v)| !a[..i].contains(v))),
            "minLength" => value.as_str().is_none_or(|s| s.len() as u64 >= rule.as_u64().unwrap()),
            "maxLength" => {
                value.as_str().is_none_or(|s| s.chars().count() as u64 <= rule.as_u64().unwrap())
            }
            "minimum" => number(value).is_none_or(|n| n >= number(rule).unwrap()),
            "maximum" => number(value).is_none_or(|n| n <= number(rule).unwrap()),
            "exclusiveMinimum" => number(value).is_none_or(|n| n > number(rule).unwrap()),
            other => panic!("keyword {other}"),
        }
    })
}

fn document(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let table = DeTable::parse(&text).ok()?;
    Some(json(&DeValue::Table(table.into_inner())))
}

// Fails when the schema forbids what the reader accepts.
#[test]
fn committed_scenarios_are_valid() {
    let schema = schema::schema();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut paths = toml_files(&root().join("scenarios"));
    let files = [
        "least.toml",
        "streams-least.toml",
        "streams-full.toml",
        "cpus-least.toml",
        "cpus-full.toml",
    ];
    paths.extend(files.map(|f| corpus.join(f)));
    assert!(paths.len() > 6);
    for path in paths {
        assert!(valid(&schema, &document(&path).unwrap(), &schema), "{}", path.display());
    }
}

// Fails when the schema admits wrong types, unknown keys or names, or missing keys.
#[test]
fn malformed_scenarios_are_not_valid() {
    let schema = schema::schema();
    // Patterns of quantities and addresses (08 to 11, 33, 45) are not tried; only the reader
    // checks relations of values (12 to 15, 21, 23, 28, 46, 73, 75, 77, 82, 85, 94, 95, 97 to 99).
    let beyond = [
        "08", "09", "10", "11", "12", "13", "14", "15", "21", "23", "28", "33", "45", "46", "61",
        "73", "75", "77", "82", "85", "94", "95", "97", "98", "99",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let accepted = toml_files(&folder).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy()[..2].to_owned();
        document(&path).filter(|v| valid(&schema, v, &schema)).map(|_| name)
    });
    assert_eq!(accepted.collect::<Vec<_>>(), beyond);
}

fn defined<'a>(name: &str, root: &'a Value) -> &'a Value {
    &root["$defs"][name.replace(' ', "-")]
}

// Fails when an example of the table is not a value of its key.
#[test]
fn every_example_is_valid() {
    fn visit(table: &Table, schema: &Value, root: &Value) {
        for key in table.keys {
            let property = &schema["properties"][key.name];
            let example = &property["examples"][0];
            assert!(!example.is_null(), "{}.{} has no example", table.name, key.name);
            assert!(valid(property, example, root), "{}.{}: {example}", table.name, key.name);
            match key.kind {
                Kind::Table(inner) | Kind::Tables(inner) => {
                    visit(inner, defined(inner.name, root), root);
                }
                Kind::Forms(forms) => {
                    let any = defined(forms.name, root)["anyOf"].as_array().unwrap();
                    let any = &any[forms.plain.alternatives()..];
                    for (form, schema) in forms.tables.iter().zip(any) {
                        visit(form, schema, root);
                    }
                }
                _ => {}
            }
        }
    }
    let schema = schema::schema();
    for kind in DocumentKind::ALL {
        visit(kind.keys(), defined(kind.keys().name, &schema), &schema);
    }
}

#[test]
fn the_reference_names_every_table() {
    let page = schema::reference();
    for title in ["## `[link]`", "## `[policy]`", "## `[[realtime]]`", "## `envelope`", "### TSpec"]
    {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.contains("| `deadline` | a time, like `\"30 ms\"` |"));
    // One of links, one of streams.
    assert_eq!(page.matches("## `source`").count(), 2);
    for title in ["# A file with `[server]`", "## `[server]`", "## `[[stream]]`", "### bursts"] {
        assert!(page.contains(title), "{title}");
    }
}
