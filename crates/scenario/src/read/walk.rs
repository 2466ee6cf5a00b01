//! Walks TOML tables along the [table of keys](crate::shape), collecting problems.

use std::ops::Range;

use laxity_core::{Bytes, OptionTable, Rate, Span};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::keys::{Forms, Key, Kind, Need, Table, list, nearest};
use crate::options;
use crate::problem::Problems;
use crate::quantity::{self, QuantityError};

pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// The highest rate of a scenario: 1 Pbit/s.
pub const MAX_RATE: Rate = Rate(1_000_000_000_000_000);
/// The longest time of a scenario: 1000 h.
pub const MAX_SPAN: Span = Span(3_600_000_000_000_000);
/// The largest size of a scenario: 1 TB.
pub const MAX_BYTES: Bytes = Bytes(1_000_000_000_000);
/// The largest packet: 1 MB.
pub const MAX_PACKET: Bytes = Bytes(1_000_000);

/// A table being read: only keys of its shape are in it once it is open.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    /// The tables of the whole file, for keys that belong elsewhere.
    file: &'static Table,
    shape: &'static Table,
    table: &'a DeTable<'a>,
    pub(crate) span: Range<usize>,
    pub(crate) path: String,
    /// Keys that are absent because they are misspelt, which has been reported.
    meant: Vec<&'static str>,
}

/// TOML's name of a value's type, with its article.
fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A text as part of a message: short, and without characters that move the cursor.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(48).collect::<String>().escape_debug().to_string();
    if text.chars().nth(48).is_some() {
        out.push_str("...");
    }
    out
}

/// A key as part of a path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { shown(key) } else { format!("{path}.{}", shown(key)) }
}

/// A value of the wrong type.
fn mistyped(value: &Value<'_>, path: &str, key: &Key, out: &mut Problems<'_>) {
    let what = format!("{} is not {}", found(value.get_ref()), key.kind.noun());
    let remedy = format!("write it like {} = {}", key.name, key.example);
    out.value(value.span(), path, what, remedy);
}

impl<'a> Section<'a> {
    /// Opens the whole file; `explain` has a better message than the usual one for some of the
    /// keys that do not belong there.
    pub(crate) fn root(
        table: &'a DeTable<'a>,
        file: &'static Table,
        end: usize,
        explain: &dyn Fn(&str) -> Option<(String, String)>,
        out: &mut Problems<'_>,
    ) -> Section<'a> {
        let (span, path) = (end..end, String::new());
        let mut section = Section { file, shape: file, table, span, path, meant: Vec::new() };
        section.check(out, explain);
        section
    }

    /// Opens a table below this one: unknown keys and missing ones are reported here, once.
    pub(crate) fn below(
        &self,
        value: &'a Value<'a>,
        path: String,
        shape: &'static Table,
        out: &mut Problems<'_>,
    ) -> Option<Section<'a>> {
        let DeValue::Table(table) = value.get_ref() else {
            let what = format!("{} is not a table", found(value.get_ref()));
            out.value(value.span(), &path, what, format!("a table holds {}", keys_of(shape)));
            return None;
        };
        let (file, span) = (self.file, value.span());
        let mut section = Section { file, shape, table, span, path, meant: Vec::new() };
        section.check(out, &|name| {
            with_a_dot(shape, name).or_else(|| without_parameters(shape, name))
        });
        Some(section)
    }

    /// Opens a table below this one that has one of several forms and returns the form's place in
    /// `forms`.
    ///
    /// The form is the one with the most of the keys given, less its keys that are missing; so a
    /// slip in one key still leads to messages about the form that was meant.
    pub(crate) fn below_form(
        &self,
        value: &'a Value<'a>,
        path: String,
        forms: &'static Forms,
        out: &mut Problems<'_>,
    ) -> Option<(usize, Section<'a>)> {
        let DeValue::Table(table) = value.get_ref() else {
            let what =
                format!("{} is not {} {}", found(value.get_ref()), forms.article, forms.name);
            out.value(value.span(), &path, what, forms.usage());
            return None;
        };
        let all: Vec<&Key> = forms.tables.iter().flat_map(|t| t.keys).collect();
        let known = |name: &str| all.iter().any(|k| k.name == name);
        // A misspelt key counts as the key that was meant.
        let names: Vec<&str> = table.keys().map(|k| k.get_ref().as_ref()).collect();
        let score = |form: &Table| {
            let absent = || form.keys.iter().map(|k| k.name).filter(|k| !table.contains_key(*k));
            let near = |name: &str| if known(name) { None } else { nearest(name, absent()) };
            let meant: Vec<&str> = names.iter().filter_map(|n| near(n)).collect();
            let given = names.iter().filter(|n| form.key(n).is_some()).count() + meant.len();
            let required = form.keys.iter().filter(|k| k.need == Need::Required);
            let missing =
                required.filter(|k| !table.contains_key(k.name) && !meant.contains(&k.name));
            (given as i64 - missing.count() as i64, given)
        };
        let mut best: Option<((i64, usize), usize)> = None;
        for (i, form) in forms.tables.iter().enumerate() {
            let score = score(form);
            if best.is_none_or(|(top, _)| score.0 > top.0) {
                best = Some((score, i));
            }
        }
        let ((score, given), index) = best?;
        if given == 0 && !names.iter().any(|n| known(n)) {
            for name in table.keys() {
                let text = name.get_ref().as_ref();
                let what = format!("unknown key `{}`", shown(text));
                out.structure(name.span(), &join(&path, text), what, forms.usage());
            }
        }
        if score <= 0 {
            if names.is_empty() || names.iter().any(|n| known(n)) {
                let what = match names.is_empty() {
                    true => format!("{} {} must not be empty", forms.article, forms.name),
                    false => format!(
                        "only {} does not make {} {}",
                        shown(&names.join(" and ")),
                        forms.article,
                        forms.name
                    ),
                };
                out.structure(value.span(), &path, what, forms.usage());
            }
            return None;
        }
        let shape = &forms.tables[index];
        let (file, span) = (self.file, value.span());
        let mut section = Section { file, shape, table, span, path, meant: Vec::new() };
        let mark = shape.keys.iter().find(|k| table.contains_key(k.name));
        section.check(out, &|name| {
            let mark = mark.map_or(shape.name, |k| k.name);
            known(name).then(|| (format!("`{name}` does not go with `{mark}`"), forms.usage()))
        });
        section.complete().then_some((index, section))
    }

    /// Reports unknown keys, with `explain` for a better message than the usual one, and missing
    /// keys, except those for which a misspelt one was found.
    fn check(
        &mut self,
        out: &mut Problems<'_>,
        explain: &dyn Fn(&str) -> Option<(String, String)>,
    ) {
        for name in self.table.keys() {
            let text = name.get_ref().as_ref();
            if self.shape.key(text).is_some() {
                continue;
            }
            let path = join(&self.path, text);
            if let Some(present) = options::present(self.shape, text) {
                if self.table.contains_key(present) {
                    let what = format!("`{text}` is the former name of `{present}`, also given");
                    out.structure(name.span(), &path, what, format!("remove `{text}`"));
                }
                continue;
            }
            if let Some((what, remedy)) = explain(text) {
                out.structure(name.span(), &path, what, remedy);
                continue;
            }
            let absent = self.shape.keys.iter().map(|k| k.name).filter(|k| !self.has(k));
            let near = nearest(text, absent);
            self.meant.extend(near);
            let what = format!("unknown key `{}`", shown(text));
            out.structure(name.span(), &path, what, self.suggestion(text, near));
        }
        for key in self.shape.keys {
            if key.need == Need::Required && !self.has(key.name) && !self.misspelt(key.name) {
                let what = format!("`{}` is missing", key.name);
                let remedy = addition(key, self.path.is_empty());
                out.structure(self.span.clone(), &self.key_path(key.name), what, remedy);
            }
        }
    }

    /// Whether a key is absent because it is misspelt.
    pub(crate) fn misspelt(&self, name: &str) -> bool {
        self.meant.contains(&name)
    }

    fn suggestion(&self, name: &str, near: Option<&str>) -> String {
        if let Some(near) = near {
            return format!("did you mean `{near}`?");
        }
        if let Some(inner) = self.shape.find(name) {
            return format!("it belongs in an inner table: `{}`", join(&self.path, &inner));
        }
        let keys = format!("the keys here are {}", keys_of(self.shape));
        match self.file.find(name) {
            Some(path) => format!("it belongs elsewhere, `{path}`; {keys}"),
            None => keys,
        }
    }

    /// Whether no required key is missing.
    fn complete(&self) -> bool {
        let required = self.shape.keys.iter().filter(|k| k.need == Need::Required);
        required.into_iter().all(|k| self.table.contains_key(k.name))
    }

    /// The path of a key of this table.
    pub(crate) fn key_path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Whether this table has a key of that name at all.
    pub(crate) fn known(&self, name: &str) -> bool {
        self.shape.key(name).is_some()
    }

    /// Whether the key is given, right or wrong.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of a key, also under its former name.
    fn value(&self, name: &str) -> Option<&'a Value<'a>> {
        let former = || self.table.get(options::former(name)?);
        self.table.get(name).or_else(former)
    }

    /// Where the value of a key stands; the table itself when it is absent.
    pub(crate) fn span_of(&self, name: &str) -> Range<usize> {
        self.value(name).map_or(self.span.clone(), |v| v.span())
    }

    /// The value of a key with its description. The name must be one of this table's keys.
    pub(crate) fn get(&self, name: &str) -> Option<(&'static Key, &'a Value<'a>)> {
        let key = self.shape.key(name);
        debug_assert!(key.is_some(), "`{name}` is not in the table of keys");
        Some((key?, self.value(name)?))
    }

    /// Reports a problem with the value of a key.
    pub(crate) fn wrong(
        &self,
        name: &str,
        out: &mut Problems<'_>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        out.value(self.span_of(name), &self.key_path(name), what, remedy);
    }

    /// A string.
    pub(crate) fn text(&self, name: &str, out: &mut Problems<'_>) -> Option<&'a str> {
        let (key, value) = self.get(name)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            mistyped(value, &self.key_path(name), key, out);
        }
        text
    }

    /// The name of a file.
    pub(crate) fn file(&self, name: &str, out: &mut Problems<'_>) -> Option<&'a str> {
        let text = self.text(name, out)?;
        if text.is_empty() || text.contains('\0') {
            let what = format!("\"{}\" is not the name of a file", shown(text));
            self.wrong(name, out, what, "name a file, relative to the folder of this one");
            return None;
        }
        Some(text)
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self, name: &str, out: &mut Problems<'_>) -> Option<bool> {
        let (key, value) = self.get(name)?;
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            mistyped(value, &self.key_path(name), key, out);
        }
        boolean
    }

    /// One of the names of a [`Kind::Choice`], by its place among them.
    pub(crate) fn choice(&self, name: &str, out: &mut Problems<'_>) -> Option<usize> {
        let (key, _) = self.get(name)?;
        let text = self.text(name, out)?;
        let Kind::Choice(names) = key.kind else { return None };
        let place = names.iter().position(|n| *n == text);
        if place.is_none() {
            let remedy = match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"? It is one of {}", list(names)),
                None => format!("write one of {}", list(names)),
            };
            self.wrong(name, out, format!("unknown {name} \"{}\"", shown(text)), remedy);
        }
        place
    }

    /// A rate.
    pub(crate) fn rate(&self, name: &str, out: &mut Problems<'_>) -> Option<Rate> {
        let (key, value) = self.get(name)?;
        rate(value, &self.key_path(name), key, out)
    }

    /// A rate above zero.
    pub(crate) fn positive_rate(&self, name: &str, out: &mut Problems<'_>) -> Option<Rate> {
        let rate = self.rate(name, out)?;
        self.positive(name, rate.0, out).then_some(rate)
    }

    /// A size.
    pub(crate) fn size(&self, name: &str, out: &mut Problems<'_>) -> Option<Bytes> {
        let (key, value) = self.get(name)?;
        size(value, &self.key_path(name), key, out)
    }

    /// A size above zero.
    pub(crate) fn positive_size(&self, name: &str, out: &mut Problems<'_>) -> Option<Bytes> {
        let size = self.size(name, out)?;
        self.positive(name, size.0, out).then_some(size)
    }

    /// A size above zero that is one packet's.
    pub(crate) fn packet(&self, name: &str, out: &mut Problems<'_>) -> Option<Bytes> {
        let size = self.positive_size(name, out)?;
        if size > MAX_PACKET {
            let what = format!("a packet of {} is too large", quantity::print_bytes(size));
            self.wrong(name, out, what, "packets may have up to 1 MB");
            return None;
        }
        Some(size)
    }

    /// A time.
    pub(crate) fn time(&self, name: &str, out: &mut Problems<'_>) -> Option<Span> {
        let (key, value) = self.get(name)?;
        time(value, &self.key_path(name), key, out)
    }

    /// A time above zero.
    pub(crate) fn positive_time(&self, name: &str, out: &mut Problems<'_>) -> Option<Span> {
        let time = self.time(name, out)?;
        self.positive(name, time.0, out).then_some(time)
    }

    fn positive(&self, name: &str, value: u64, out: &mut Problems<'_>) -> bool {
        if value == 0 {
            let example = self.shape.key(name).map_or("", |k| k.example);
            let remedy = format!("give it more than zero, like {name} = {example}");
            self.wrong(name, out, format!("`{name}` is zero"), remedy);
        }
        value != 0
    }

    /// Two quantities in a list, read one by one by `read`.
    pub(crate) fn pair<T>(
        &self,
        name: &str,
        out: &mut Problems<'_>,
        read: fn(&Value<'_>, &str, &Key, &mut Problems<'_>) -> Option<T>,
    ) -> Option<(T, T)> {
        let (key, value) = self.get(name)?;
        let path = self.key_path(name);
        let array: &DeArray<'_> = match value.get_ref() {
            DeValue::Array(array) if array.len() == 2 => array,
            _ => {
                mistyped_pair(value, &path, key, out);
                return None;
            }
        };
        let first = read(array.first()?, &path, key, out);
        let second = read(array.get(1)?, &path, key, out);
        Some((first?, second?))
    }

    /// A table below this one.
    pub(crate) fn table(&self, name: &str, out: &mut Problems<'_>) -> Option<Section<'a>> {
        let (key, value) = self.get(name)?;
        let Kind::Table(shape) = key.kind else { return None };
        self.below(value, self.key_path(name), shape, out)
    }

    /// The elements of a list of tables, not yet opened, and the shape of each.
    pub(crate) fn tables(
        &self,
        name: &str,
        out: &mut Problems<'_>,
    ) -> (&'a [Value<'a>], Option<&'static Table>) {
        let Some((key, value)) = self.get(name) else { return (&[], None) };
        let Kind::Tables(shape) = key.kind else { return (&[], None) };
        match value.get_ref() {
            DeValue::Array(array) => (array, Some(shape)),
            DeValue::Table(_) if self.path.is_empty() => {
                let what = format!("`[{name}]` is one table, and there may be several");
                out.value(
                    value.span(),
                    name,
                    what,
                    format!("write [[{name}]], in double brackets"),
                );
                (&[], None)
            }
            _ => {
                mistyped(value, &self.key_path(name), key, out);
                (&[], None)
            }
        }
    }

    /// The value of a key that has one of several forms.
    pub(crate) fn form(&self, name: &str, out: &mut Problems<'_>) -> Option<(usize, Section<'a>)> {
        let (key, value) = self.get(name)?;
        let Kind::Forms(forms) = key.kind else { return None };
        self.below_form(value, self.key_path(name), forms, out)
    }
}

fn mistyped_pair(value: &Value<'_>, path: &str, key: &Key, out: &mut Problems<'_>) {
    let what = match value.get_ref() {
        DeValue::Array(array) => format!("a list of {} is not {}", array.len(), key.kind.noun()),
        other => format!("{} is not {}", found(other), key.kind.noun()),
    };
    let remedy = format!("write it like {} = {}", key.name, key.example);
    out.value(value.span(), path, what, remedy);
}

/// The remedy for a missing key: a section, where it is one of the whole file.
fn addition(key: &Key, top: bool) -> String {
    let keys = key.example.trim_matches(['[', ']', '{', '}']).trim();
    match key.kind {
        Kind::Table(_) if top => format!("add a section [{}] with {keys}", key.name),
        Kind::Tables(_) if top => format!("add a section [[{}]] with {keys}", key.name),
        _ => format!("add {} = {}", key.name, key.example),
    }
}

/// The message for a name with a dot that is not quoted.
fn with_a_dot(shape: &Table, name: &str) -> Option<(String, String)> {
    let first = |k: &&Key| k.name.split_once('.').is_some_and(|(first, _)| first == name);
    let key = shape.keys.iter().find(first)?.name;
    let what = format!("`{key}` without quotes is two keys");
    Some((what, format!("write \"{key}\" = {{ ... }}, in quotes")))
}

/// The message for a table of a policy without parameters, where policies are chosen.
fn without_parameters(shape: &Table, name: &str) -> Option<(String, String)> {
    let policies = shape.keys.iter().find_map(|k| match k.kind {
        Kind::Policy(names) => Some(names.policies),
        _ => None,
    })?;
    let policy = policies.iter().find(|p| p.name == name && shape.key(name).is_none())?;
    let what = format!("the policy `{name}` has no parameters");
    let remedy = match policy.table {
        OptionTable::Of(owner) => format!("it uses those of `{owner}`"),
        _ => format!("remove the line; write use = \"{name}\" to choose it"),
    };
    Some((what, remedy))
}

fn keys_of(shape: &Table) -> String {
    let names: Vec<&str> = shape.keys.iter().map(|k| k.name).collect();
    match names.is_empty() {
        true => "no keys".into(),
        false => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" "),
    }
}

fn quantity_of<T: PartialOrd>(
    value: &Value<'_>,
    path: &str,
    key: &Key,
    parse: fn(&str) -> Result<T, QuantityError>,
    (most, printed, noun): (T, &str, &str),
    out: &mut Problems<'_>,
) -> Option<T> {
    let Some(text) = value.get_ref().as_str() else {
        let what = match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => "a number without a unit",
            other => found(other),
        };
        let remedy = format!("write it like {} = {}", key.name, key.example);
        out.value(value.span(), path, format!("{what} is not {noun}"), remedy);
        return None;
    };
    match parse(text) {
        Ok(x) if x <= most => Some(x),
        Ok(_) => {
            let what = format!("\"{}\" is more than {printed}", shown(text));
            out.value(value.span(), path, what, "check the prefix of the unit");
            None
        }
        Err(error) => {
            let noun = error.dimension.noun();
            let what = format!("\"{}\" is not {noun}: {}", shown(text), error.reason());
            out.value(value.span(), path, what, error.remedy());
            None
        }
    }
}

pub(crate) fn rate(v: &Value<'_>, path: &str, key: &Key, out: &mut Problems<'_>) -> Option<Rate> {
    quantity_of(v, path, key, quantity::rate, (MAX_RATE, "1 Pbit/s", "a rate"), out)
}

pub(crate) fn size(v: &Value<'_>, path: &str, key: &Key, out: &mut Problems<'_>) -> Option<Bytes> {
    quantity_of(v, path, key, quantity::bytes, (MAX_BYTES, "1 TB", "a size"), out)
}

pub(crate) fn time(v: &Value<'_>, path: &str, key: &Key, out: &mut Problems<'_>) -> Option<Span> {
    quantity_of(v, path, key, quantity::span, (MAX_SPAN, "1000 h", "a time"), out)
}
