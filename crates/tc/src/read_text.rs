//! The text form: a header line `qdisc KIND HANDLE ...`, lines that go on, lines of statistics.

use std::collections::BTreeMap;

use crate::keys::{self, Unit};
use crate::read_json::expected;
use crate::record::{Field, Record, Section};
use crate::{Handle, Place, Problem, TcError, units};

/// Whether a line begins a record.
pub fn begins(line: &str) -> Option<Section> {
    let word = line.split(' ').next()?;
    [Section::Qdisc, Section::Class, Section::Filter].into_iter().find(|s| s.name() == word)
}

/// Whether a line begins the statistics of a record.
fn statistics(line: &str) -> bool {
    let line = line.trim_start();
    ["Sent ", "(dropped ", "backlog ", "rate ", "period ", "lended:"]
        .iter()
        .any(|s| line.starts_with(s))
}

/// Whether a line is the size table below the header of a discipline (`stab`, printed with `-d`).
fn size_table(line: &str) -> bool {
    line.trim_start().starts_with("linklayer ")
}

/// Tokens of a header and its continuation, with glued ones taken apart: `1600b/1mpu`, `queues:(0:0)`.
fn tokens(lines: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in lines.iter().flat_map(|line| line.split_whitespace()) {
        if let Some((value, cell)) = word.split_once('/') {
            out.push(value.to_owned());
            if cell.ends_with("mpu") {
                out.push("mpu".to_owned());
            }
            continue;
        }
        match word.split_once(':') {
            Some((key, value)) if ["queues", "mode", "shaper", "fp"].contains(&key) => {
                out.push(key.to_owned());
                if !value.is_empty() {
                    out.push(value.to_owned());
                }
            }
            _ if word == "delay" && out.last().is_some_and(|last| last == "txtime") => {
                out.pop();
                out.push("txtime_delay".to_owned());
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}

/// Reads the lines of one record.
pub fn record(section: Section, lines: &[&str], place: &Place) -> Result<Record, TcError> {
    let fail = |problem| TcError { place: place.clone(), problem };
    let end = lines.iter().position(|line| statistics(line)).unwrap_or(lines.len());
    let size_table_at =
        lines[..end].iter().skip(1).position(|line| size_table(line)).map(|at| at + 1);
    let words = tokens(&lines[..size_table_at.unwrap_or(end)]);
    let mut at = 1;
    let mut record = Record {
        section,
        kind: String::new(),
        handle: None,
        parent: None,
        device: None,
        fields: BTreeMap::new(),
        place: place.clone(),
        known: true,
        from_text: true,
    };
    if section == Section::Filter {
        filter(&mut record, &words)?;
        return Ok(record);
    }
    let [_, kind, handle, ..] = words.as_slice() else {
        return Err(fail(Problem::Header("a header without kind and handle")));
    };
    record.kind.clone_from(kind);
    let Some(handle) = Handle::parse(handle) else {
        return Err(fail(Problem::Header("a header whose third word is not a handle")));
    };
    record.handle = Some(handle);
    at += 2;
    let table = match section {
        Section::Qdisc => keys::of_qdisc(kind),
        _ => keys::of_class(kind),
    };
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).map(String::as_str).unwrap_or_default();
        at += match word.as_str() {
            "dev" => {
                record.device = Some(next.to_owned());
                2
            }
            "root" | "ingress_block" | "offloaded" => 1,
            // A queue of the device that has no traffic class.
            "parent" if next == "none" => 2,
            "parent" | "leaf" => {
                let handle = Handle::parse(next);
                let problem = Problem::Value {
                    key: word.clone(),
                    value: next.to_owned(),
                    expected: "a handle",
                };
                let handle = handle.ok_or_else(|| fail(problem))?;
                if word == "parent" {
                    record.parent = Some(handle);
                }
                2
            }
            "refcnt" => 2,
            _ => match table {
                Some(table) => option(&mut record, table, &words, at)?,
                None => {
                    record.known = false;
                    break;
                }
            },
        };
    }
    record.known &= table.is_some();
    if let Some(at) = size_table_at {
        let words: Vec<String> =
            tokens(&lines[at..end]).iter().map(|word| format!("stab_{word}")).collect();
        for pair in words.chunks(2) {
            let [key, value] = pair else {
                return Err(fail(Problem::Header("a size table with an option without value")));
            };
            let value = value.strip_prefix("stab_").unwrap_or(value).to_owned();
            option(&mut record, keys::SIZE_TABLE, &[key.clone(), value], 0)?;
        }
    }
    let sent = lines[end..].iter().find_map(|line| line.split("dropped ").nth(1));
    let dropped = sent.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok());
    if let (Section::Qdisc, Some(dropped)) = (section, dropped) {
        record.set("drops", Field::Number(dropped.into()))?;
    }
    Ok(record)
}

/// `filter [parent H] protocol P pref N KIND ... flowid|classid H`; `*` before it: bound late.
fn filter(record: &mut Record, words: &[String]) -> Result<(), TcError> {
    for pair in words.windows(2) {
        let (key, value) = (pair[0].trim_start_matches('*'), &pair[1]);
        match key {
            "flowid" | "classid" => record.set("flowid", Field::Word(value.clone()))?,
            "dev" => record.device = Some(value.clone()),
            "parent" => record.parent = Handle::parse(value),
            _ => {}
        }
    }
    let pref = words.iter().position(|w| w == "pref");
    match pref.and_then(|at| words.get(at + 2)) {
        Some(kind) => record.kind.clone_from(kind),
        None => return Err(record.error(Problem::Header("a filter without `pref` and kind"))),
    }
    Ok(())
}

/// Reads the option at `at`; the number of words that it takes.
fn option(
    record: &mut Record,
    table: &'static [(&'static str, Unit)],
    words: &[String],
    at: usize,
) -> Result<usize, TcError> {
    let word = words[at].as_str();
    if record.kind == "cake" && keys::cake_word(word) {
        return Ok(1);
    }
    let name = word.replace('-', "_");
    let name = if name == "index" { "schedule" } else { name.as_str() };
    let Some((name, unit)) = table.iter().find(|(n, _)| *n == name) else {
        let of = record.of();
        return Err(record.error(Problem::UnknownKey { of, key: word.to_owned() }));
    };
    let rest = &words[at + 1..];
    let value = rest.first().map(String::as_str).unwrap_or_default();
    if *unit == Unit::Rate && value == "unlimited" {
        return Ok(2);
    }
    let bad = |record: &Record| {
        let key = word.to_owned();
        let expected = expected(*unit);
        record.error(Problem::Value { key, value: value.to_owned(), expected })
    };
    let (field, taken) = read(*unit, rest, table).ok_or_else(|| bad(record))?;
    match (*name, field, record.fields.get_mut(name)) {
        ("schedule", Field::Pairs(mut entry), Some(Field::Pairs(all))) => all.append(&mut entry),
        // Of rate and ceil alike, or of rate and peak rate: the larger one.
        ("mpu", Field::Number(n), Some(Field::Number(before))) => *before = n.max(*before),
        (name, field, _) => record.set(name, field)?,
    }
    Ok(taken + 1)
}

/// A value and the number of words that it takes.
fn read(unit: Unit, rest: &[String], table: &[(&'static str, Unit)]) -> Option<(Field, usize)> {
    let word = rest.first().map(String::as_str);
    let number = |n: Option<u64>| Some((Field::Number(n?.into()), 1));
    match unit {
        Unit::Rate => number(units::rate(word?)),
        Unit::Size => number(units::size(word?)),
        Unit::Micros => number(units::time(word?)),
        Unit::Count => {
            let digits = word?;
            let digits = digits.strip_suffix('p').unwrap_or(digits);
            match digits.strip_prefix("0x") {
                Some(hex) => number(units::hex(hex)),
                None => number(digits.parse().ok()),
            }
        }
        Unit::Signed => Some((Field::Number(word?.parse::<i64>().ok()?.into()), 1)),
        Unit::Hex => number(units::hex(word?)),
        Unit::Word => Some((Field::Word(word?.to_owned()), 1)),
        Unit::Flag => Some((Field::Present, 0)),
        Unit::List => {
            let list: Vec<u64> = rest.iter().map_while(|w| w.parse().ok()).collect();
            let taken = list.len();
            Some((Field::List(list), taken))
        }
        Unit::Curve => {
            let value = |at: usize, key: &str| {
                (rest.get(at)? == key).then(|| rest.get(at + 1)).flatten().map(String::as_str)
            };
            let (m1, d, m2) = (value(0, "m1")?, value(2, "d")?, value(4, "m2")?);
            Some((Field::Curve([units::rate(m1)?, units::time(d)?, units::rate(m2)?]), 6))
        }
        Unit::Queues => queues(rest),
        Unit::Gates => {
            let [_, cmd, set, mask, gate, interval, length, ..] = rest else { return None };
            if [cmd, set, mask, interval] != ["cmd", "S", "gatemask", "interval"] {
                return None;
            }
            Some((Field::Pairs(vec![(units::hex(gate)?, length.parse().ok()?)]), 7))
        }
        Unit::Any => {
            let key = |w: &String| {
                let name = w.replace('-', "_");
                table.iter().any(|(n, _)| *n == name)
            };
            Some((Field::Present, rest.iter().take_while(|w| !key(w)).count()))
        }
    }
}

/// `(first:last) ...` of mqprio, `offset N count M ...` of taprio.
fn queues(rest: &[String]) -> Option<(Field, usize)> {
    let mut pairs = Vec::new();
    let mut taken = 0;
    loop {
        match &rest[taken..] {
            [offset, first, count, n, ..] if offset == "offset" && count == "count" => {
                pairs.push((first.parse().ok()?, n.parse().ok()?));
                taken += 4;
            }
            [ends, ..] if ends.starts_with('(') => {
                let inner = ends.strip_prefix('(')?.strip_suffix(')')?;
                let (first, last) = inner.split_once(':')?;
                let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
                pairs.push((first, last.checked_sub(first)?.checked_add(1)?));
                taken += 1;
            }
            _ => break,
        }
    }
    (!pairs.is_empty()).then_some((Field::Pairs(pairs), taken))
}
