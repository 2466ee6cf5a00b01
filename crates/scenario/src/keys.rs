//! The table of keys, which drives the reader's suggestions, the JSON schema
//! for editors and the reference page.

use laxity_core::PolicyInfo;

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name in the file.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// Whether it can be left out.
    pub need: Need,
    /// A value as it would be written, for remedies and the reference.
    pub example: &'static str,
    /// One or two sentences.
    pub doc: &'static str,
}

/// A key that cannot be left out.
pub(crate) const fn required(
    name: &'static str,
    kind: Kind,
    example: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, need: Need::Required, example, doc }
}

/// A key that can be left out; `default` says in words what holds then.
pub(crate) const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    example: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, need: Need::Default(default), example, doc }
}

/// Whether a key can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It cannot.
    Required,
    /// It can; the text describes the default.
    Default(&'static str),
}

/// The kind of a key's values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A rate with its unit.
    Rate,
    /// A size with its unit.
    Size,
    /// A time with its unit.
    Time,
    /// `[first, second]`.
    RatePair,
    /// `[first, second]`.
    SizePair,
    /// `[least, most]`.
    TimePair,
    /// A name.
    Text,
    /// A list of names.
    Texts,
    /// A file, relative to the scenario's folder.
    Path,
    /// `true` or `false`.
    Bool,
    /// A positive number with at most six decimals.
    Weight,
    /// One of the names given.
    Choice(&'static [&'static str]),
    /// The name of a policy.
    Policy(&'static Names),
    /// A list of names of policies.
    Policies(&'static Names),
    /// A code point by name or number.
    Dscp,
    /// An IP protocol by name or number.
    Protocol,
    /// An address with an optional prefix length.
    Prefix,
    /// A port, or a range of ports.
    Ports,
    /// A whole number between two, both included.
    Whole(u32, u32),
    /// A whole number between two, both included, or one of the names given.
    WholeOr(u32, u32, &'static [&'static str]),
    /// A time with its unit, or one of the names given.
    TimeOr(&'static [&'static str]),
    /// Losses and packets, `x/y`.
    Tolerance,
    /// A frequency, such as `25/s`.
    Frequency,
    /// A share of a hundred, such as `1 %`.
    Percent,
    /// A nice value, from -20 to 19.
    Nice,
    /// Numbers of CPUs and ranges of them, such as `0,2-3`.
    Cpus,
    /// A list of steps of a script, such as `run 5 ms`.
    Steps,
    /// A host and a port, `host:port`.
    Address,
    /// A table.
    Table(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// One of several tables.
    Forms(&'static Forms),
}

/// A table and its keys.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name in messages and the reference.
    pub name: &'static str,
    /// One or two sentences.
    pub doc: &'static str,
    /// In the order of the reference.
    pub keys: &'static [Key],
}

/// A value that is one of several tables, distinguished by its keys.
#[derive(Debug)]
pub struct Forms {
    /// As messages and the reference call it.
    pub name: &'static str,
    /// Its article: "a" or "an".
    pub article: &'static str,
    /// One or two sentences.
    pub doc: &'static str,
    /// The values allowed in place of a table.
    pub plain: Plain,
    /// The forms, the most usual first.
    pub tables: &'static [Table],
}

/// The values allowed in place of a table that has several forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// Nothing.
    No,
    /// A size.
    Size,
    /// A time.
    Time,
    /// A name.
    Text,
    /// One of the names given.
    Names(&'static [&'static str]),
}

/// The names of the policies of one kind of scenario.
#[derive(Debug)]
pub struct Names {
    /// The kind of policies, as the schema calls it.
    pub of: &'static str,
    /// The policies.
    pub policies: &'static [PolicyInfo],
    /// Their names.
    pub list: &'static [&'static str],
}

/// `length` of a source
pub static LENGTHS: Forms = Forms {
    name: "length",
    article: "a",
    doc: "Packet lengths of a source.",
    plain: Plain::Size,
    tables: &[
        Table {
            name: "normal",
            doc: "Normally distributed.",
            keys: &[required(
                "normal",
                Kind::SizePair,
                "[\"1700 B\", \"200 B\"]",
                "Mean and standard deviation.",
            )],
        },
        Table {
            name: "uniform",
            doc: "Uniformly distributed.",
            keys: &[required(
                "uniform",
                Kind::SizePair,
                "[\"64 B\", \"1536 B\"]",
                "Least and most, both included.",
            )],
        },
    ],
};

impl Plain {
    /// How many alternatives that is in a schema.
    pub fn alternatives(self) -> usize {
        usize::from(self != Plain::No)
    }
}

impl Kind {
    /// A description of a valid value, with its article, for messages.
    pub fn noun(&self) -> String {
        match self {
            Kind::Rate => "a rate".into(),
            Kind::Size => "a size".into(),
            Kind::Time => "a time".into(),
            Kind::RatePair => "a list of two rates".into(),
            Kind::SizePair => "a list of two sizes".into(),
            Kind::TimePair => "a list of two times".into(),
            Kind::Text => "a name".into(),
            Kind::Texts => "a list of names".into(),
            Kind::Path => "the name of a file".into(),
            Kind::Bool => "`true` or `false`".into(),
            Kind::Weight => "a positive number".into(),
            Kind::Choice(names) => format!("one of {}", list(names)),
            Kind::Policy(_) => "the name of a policy".into(),
            Kind::Policies(_) => "a list of names of policies".into(),
            Kind::Dscp => "a code point".into(),
            Kind::Protocol => "an IP protocol".into(),
            Kind::Prefix => "an address".into(),
            Kind::Ports => "a port or a range of ports".into(),
            Kind::Whole(..) => "a whole number".into(),
            Kind::WholeOr(_, _, names) => format!("a whole number or {}", strings(names)),
            Kind::TimeOr(names) => format!("a time or {}", strings(names)),
            Kind::Tolerance => "a tolerance x/y".into(),
            Kind::Frequency => "a frequency".into(),
            Kind::Percent => "a percentage".into(),
            Kind::Nice => "a nice value".into(),
            Kind::Cpus => "a list of CPUs".into(),
            Kind::Steps => "a list of steps".into(),
            Kind::Address => "a host and port".into(),
            Kind::Table(_) => "a table".into(),
            Kind::Tables(table) => format!("a list of tables [[{}]]", table.name),
            Kind::Forms(forms) => format!("{} {}", forms.article, forms.name),
        }
    }
}

impl Table {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }

    /// Where a key of this name stands below this table, such as `policy.slack.always-check`.
    pub fn find(&self, name: &str) -> Option<String> {
        for key in self.keys {
            let tables: &[Table] = match key.kind {
                Kind::Table(table) | Kind::Tables(table) => std::slice::from_ref(table),
                Kind::Forms(forms) => forms.tables,
                _ => continue,
            };
            for table in tables {
                if table.key(name).is_some() {
                    return Some(format!("{}.{name}", key.name));
                }
                if let Some(path) = table.find(name) {
                    return Some(format!("{}.{path}", key.name));
                }
            }
        }
        None
    }
}

impl Forms {
    /// The forms as written, with the required keys of each.
    pub fn usage(&self) -> String {
        let mut forms: Vec<String> = Vec::new();
        match self.plain {
            Plain::No => {}
            Plain::Size => forms.push("\"1536 B\"".into()),
            Plain::Time => forms.push("\"10 ms\"".into()),
            Plain::Text => forms.push("\"a name\"".into()),
            Plain::Names(names) => forms.extend(names.iter().map(|n| format!("\"{n}\""))),
        }
        for table in self.tables {
            let required = table.keys.iter().filter(|k| k.need == Need::Required);
            let names: Vec<&str> = required.map(|k| k.name).collect();
            forms.push(format!("{{ {} }}", names.join(", ")));
        }
        format!("{} {} is one of {}", self.article, self.name, forms.join(" | "))
    }
}

/// Names as they are written in a file, with an "or".
pub(crate) fn strings(names: &[&str]) -> String {
    names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(" or ")
}

/// Names in backquotes, with commas and an "or".
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => "nothing".into(),
    }
}

/// The nearest of `known` to `name`, if one is near enough to have been meant: case and the two
/// dashes do not count, then at most one slip for each three letters; of two equally near, the
/// one that begins alike.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |s: &str| -> Vec<char> {
        s.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
    };
    if name.len() > 64 {
        return None;
    }
    let wanted = fold(name);
    let limit = (wanted.len() / 3).max(1);
    let shared = |k: &[char]| wanted.iter().zip(k).take_while(|(a, b)| a == b).count();
    known
        .into_iter()
        .map(|k| (fold(k), k))
        .map(|(folded, k)| (slips(&wanted, &folded), usize::MAX - shared(&folded), k))
        .filter(|(n, _, k)| *n <= limit && *n < k.len())
        .min_by_key(|(n, shared, _)| (*n, *shared))
        .map(|(_, _, k)| k)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names (optimal string
/// alignment).
fn slips(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// The names of all policies of a registry; `N` is their number.
pub(crate) const fn names<const N: usize>(policies: &[PolicyInfo]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = policies[i].name;
        i += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_are_counted() {
        let count = |a: &str, b: &str| {
            slips(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("deadline", "deadlin"), 1);
        assert_eq!(count("ratio", "rate"), 2);
        assert_eq!(count("biast", "baist"), 1);
    }

    #[test]
    fn only_plausible_suggestions_are_made() {
        let keys = ["rate", "max_packet", "overhead"];
        assert_eq!(nearest("max-packet", keys), Some("max_packet"));
        assert_eq!(nearest("Rate", keys), Some("rate"));
        assert_eq!(nearest("raet", keys), Some("rate"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("wf2q", ["wfq", "scfq", "wf2q+"]), Some("wf2q+"));
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest(&"x".repeat(100_000), keys), None);
    }
}
