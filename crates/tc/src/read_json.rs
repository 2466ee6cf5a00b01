//! The JSON form.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::keys::{self, Unit};
use crate::record::{Field, Record, Section};
use crate::{Handle, Place, Problem, TcError, units};

/// Keys beside the options of a class.
const CLASS_HEADER: &[&str] = &["class", "handle", "parent", "root", "leaf", "stats", "dev"];

/// Reads one object of an array.
pub fn record(object: &Json, place: &Place) -> Result<Record, TcError> {
    let fail = |problem| TcError { place: place.clone(), problem };
    let Json::Object(pairs) = object else {
        return Err(fail(Problem::JsonShape { key: "array".into(), expected: "of objects" }));
    };
    let text = |key: &str| object.get(key).and_then(Json::string);
    let (section, kind) = match (text("class"), text("kind"), object.get("protocol")) {
        (Some(kind), _, _) => (Section::Class, kind),
        (_, Some(kind), None) => (Section::Qdisc, kind),
        (_, Some(kind), Some(_)) => (Section::Filter, kind),
        _ => return Err(fail(Problem::Header("an object without `kind` or `class`"))),
    };
    let handle = |key: &str| match object.get(key) {
        None => Ok(None),
        // A queue of the device that has no traffic class.
        Some(value) if value.string() == Some("none") => Ok(None),
        Some(value) => match value.string().and_then(Handle::parse) {
            Some(handle) => Ok(Some(handle)),
            None => Err(fail(Problem::JsonShape { key: key.into(), expected: "a handle" })),
        },
    };
    let mut record = Record {
        section,
        kind: kind.to_owned(),
        handle: if section == Section::Filter { None } else { handle("handle")? },
        parent: handle("parent")?,
        device: text("dev").map(str::to_owned),
        fields: BTreeMap::new(),
        place: place.clone(),
        known: true,
        from_text: false,
    };
    match section {
        Section::Filter => {
            let options = object.get("options");
            let target = ["flowid", "classid"].iter().find_map(|k| options?.get(k));
            if let Some(target) = target {
                let value = target.string().unwrap_or_default().to_owned();
                record.set("flowid", Field::Word(value))?;
            }
        }
        Section::Qdisc => {
            if record.handle.is_none() {
                return Err(fail(Problem::Header("a qdisc without `handle`")));
            }
            if let Some(drops) = object.get("drops").and_then(Json::number) {
                record.set("drops", Field::Number(drops))?;
            }
            let table = keys::of_qdisc(kind);
            match (table, object.get("options")) {
                (Some(table), Some(Json::Object(options))) => set_all(&mut record, table, options)?,
                (Some(_), Some(_)) => {
                    let key = "options".into();
                    return Err(fail(Problem::JsonShape { key, expected: "an object" }));
                }
                (Some(_), None) => {}
                (None, _) => record.known = false,
            }
            if let Some(Json::Object(pairs)) = object.get("stab") {
                let named = pairs.iter().map(|(key, value)| (format!("stab_{key}"), value.clone()));
                set_all(&mut record, keys::SIZE_TABLE, &named.collect::<Vec<_>>())?;
            }
        }
        Section::Class => {
            if record.handle.is_none() {
                return Err(fail(Problem::Header("a class without `handle`")));
            }
            match keys::of_class(kind) {
                Some(table) => {
                    let rest = pairs.iter().filter(|(k, _)| !CLASS_HEADER.contains(&k.as_str()));
                    set_all(&mut record, table, &rest.cloned().collect::<Vec<_>>())?;
                }
                None => record.known = false,
            }
        }
    }
    Ok(record)
}

fn set_all(
    record: &mut Record,
    table: &'static [(&'static str, Unit)],
    pairs: &[(String, Json)],
) -> Result<(), TcError> {
    for (key, value) in pairs {
        let name = key.trim().replace('-', "_");
        let Some((name, unit)) = table.iter().find(|(n, _)| *n == name) else {
            let of = record.of();
            return Err(record.error(Problem::UnknownKey { of, key: key.trim().to_owned() }));
        };
        if *unit == Unit::Rate && value.string() == Some("unlimited") {
            continue;
        }
        let field = field(*unit, value).ok_or_else(|| {
            let expected = expected(*unit);
            record.error(Problem::JsonShape { key: key.clone(), expected })
        })?;
        record.set(name, field)?;
    }
    Ok(())
}

/// The expected form of a value of a unit, for messages.
pub fn expected(unit: Unit) -> &'static str {
    match unit {
        Unit::Rate => "a rate",
        Unit::Size => "a size",
        Unit::Micros => "a time",
        Unit::Count | Unit::Signed => "a whole number",
        Unit::Hex => "a hexadecimal number",
        Unit::Word => "a word",
        Unit::Flag | Unit::Any => "an option",
        Unit::List => "a list of whole numbers",
        Unit::Curve => "a curve of m1, d and m2",
        Unit::Queues => "queues of traffic classes",
        Unit::Gates => "gate entries",
    }
}

fn natural(value: &Json) -> Option<u64> {
    u64::try_from(value.number()?).ok()
}

fn field(unit: Unit, value: &Json) -> Option<Field> {
    Some(match unit {
        Unit::Rate => Field::Number(natural(value)?.checked_mul(8)?.into()),
        Unit::Size | Unit::Count => Field::Number(natural(value)?.into()),
        Unit::Micros => Field::Number(natural(value)?.checked_mul(1000)?.into()),
        Unit::Signed => Field::Number(value.number()?),
        Unit::Hex => Field::Number(units::hex(value.string()?)?.into()),
        Unit::Word => Field::Word(value.string()?.to_owned()),
        Unit::Flag => match value {
            Json::Bool(false) => Field::Number(0),
            _ => Field::Present,
        },
        Unit::Any => Field::Present,
        Unit::List => Field::List(value.array()?.iter().map(natural).collect::<Option<Vec<_>>>()?),
        Unit::Curve => {
            let part = |key: &str| natural(value.get(key)?);
            Field::Curve([
                part("m1")?.checked_mul(8)?,
                part("d")?.checked_mul(1000)?,
                part("m2")?.checked_mul(8)?,
            ])
        }
        Unit::Queues => Field::Pairs(value.array()?.iter().map(queues).collect::<Option<_>>()?),
        Unit::Gates => Field::Pairs(value.array()?.iter().map(gate).collect::<Option<_>>()?),
    })
}

/// `[first, last]` of mqprio, `{offset, count}` of taprio.
fn queues(value: &Json) -> Option<(u64, u64)> {
    match value {
        Json::Array(ends) => match ends.as_slice() {
            [first, last] => {
                let (first, last) = (natural(first)?, natural(last)?);
                Some((first, last.checked_sub(first)?.checked_add(1)?))
            }
            _ => None,
        },
        _ => Some((natural(value.get("offset")?)?, natural(value.get("count")?)?)),
    }
}

/// Only `S` (set gates) is a gate entry without frame preemption.
fn gate(value: &Json) -> Option<(u64, u64)> {
    if value.get("cmd")?.string()? != "S" {
        return None;
    }
    Some((units::hex(value.get("gatemask")?.string()?)?, natural(value.get("interval")?)?))
}
