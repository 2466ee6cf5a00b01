//! Options of policies in scenarios: their keys, their reading and their printing, from the
//! descriptors of the policies.

use laxity_core::{
    OptionFault, OptionInfo, OptionKind, OptionTable, OptionValue, PolicyInfo, PolicyOptions, Span,
};

use crate::keys::{Key, Kind, Need, Table, optional};
use crate::printer::{Printer, quoted, time};
use crate::problem::Problems;
use crate::quantity::{print_rate, print_span};
use crate::read::values::{self, Or};
use crate::read::walk::{self, Section};

/// Former names of options, each with the present one. Files with former names are still read.
const RENAMED: &[(&str, &str)] = &[
    ("release-idle", "idle-timeout"),
    ("pass-refused", "allow-overtaking"),
    ("check", "check-interval"),
    ("check-most", "max-check-interval"),
    ("budget", "decision-budget"),
    ("settle", "check-before-service"),
    ("ahead", "max-ahead"),
    ("align", "align-deadlines"),
    ("first", "initial-average"),
    ("least", "min-budget"),
    ("most", "max-budget"),
    ("lazy", "hysteresis"),
    ("least-best-effort", "min-best-effort-bw"),
    ("period", "period-basis"),
    ("base", "deadline-base"),
    ("below", "best-effort-policy"),
];

/// Former names of values of options, likewise.
const RENAMED_VALUES: &[(&str, &str)] = &[("old-deadline", "previous-deadline")];

/// The present name of an option of this table, given its former one.
pub(crate) fn present(table: &Table, name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, new)| *old == name && table.key(new).is_some()).map(|(_, new)| *new)
}

/// The former name of an option, given its present one.
pub(crate) fn former(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(_, new)| *new == name).map(|(old, _)| *old)
}

const NO_KEY: Key = optional("", Kind::Bool, "", "", "");

/// Whether a policy has a table of its own.
const fn has_table(policy: &PolicyInfo) -> bool {
    matches!(policy.table, OptionTable::Own { .. })
}

/// The number of keys in the tables of all policies.
pub(crate) const fn key_count(policies: &[PolicyInfo]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < policies.len() {
        if has_table(&policies[i]) {
            count += policies[i].options.len();
        }
        i += 1;
    }
    count
}

/// The number of policies with a table.
pub(crate) const fn table_count(policies: &[PolicyInfo]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < policies.len() {
        count += has_table(&policies[i]) as usize;
        i += 1;
    }
    count
}

const fn key(option: &OptionInfo) -> Key {
    let kind = match option.kind {
        OptionKind::Bool => Kind::Bool,
        OptionKind::Rate => Kind::Rate,
        OptionKind::RatePair => Kind::RatePair,
        OptionKind::Time(..) => Kind::Time,
        OptionKind::Integer(least, most) => Kind::Whole(least, most),
        OptionKind::IntegerOr(least, most, names) => Kind::WholeOr(least, most, names),
        OptionKind::Choice(names) => Kind::Choice(names),
    };
    let (default, doc) = match option.reference {
        Some(reference) => (reference.default, reference.doc),
        None => (option.default, option.summary),
    };
    let need = if option.required { Need::Required } else { Need::Default(default) };
    Key { name: option.name, kind, need, example: option.example, doc }
}

/// The keys of all tables, policy by policy; `N` is their [`key_count`].
pub(crate) const fn keys<const N: usize>(policies: &[PolicyInfo]) -> [Key; N] {
    let mut keys = [NO_KEY; N];
    let (mut next, mut i) = (0, 0);
    while i < policies.len() {
        let mut k = 0;
        while has_table(&policies[i]) && k < policies[i].options.len() {
            keys[next] = key(&policies[i].options[k]);
            (next, k) = (next + 1, k + 1);
        }
        i += 1;
    }
    keys
}

/// The table of each policy that has one; `keys` are those of [`keys`].
pub(crate) const fn tables<const N: usize>(
    policies: &[PolicyInfo],
    mut keys: &'static [Key],
) -> [Table; N] {
    let mut tables = [const { Table { name: "", doc: "", keys: &[] } }; N];
    let (mut next, mut i) = (0, 0);
    while i < policies.len() {
        if let OptionTable::Own { schema, doc, .. } = policies[i].table {
            let (own, rest) = keys.split_at(policies[i].options.len());
            tables[next] = Table { name: schema, doc, keys: own };
            (keys, next) = (rest, next + 1);
        }
        i += 1;
    }
    tables
}

/// The keys of `[policy]`: `first`, then the tables of the policies.
pub(crate) const fn policy_keys<const N: usize>(
    first: &[Key],
    policies: &[PolicyInfo],
    tables: &'static [Table],
) -> [Key; N] {
    let mut keys = [NO_KEY; N];
    let mut next = 0;
    while next < first.len() {
        keys[next] = first[next];
        next += 1;
    }
    let mut i = 0;
    while i < policies.len() {
        if let OptionTable::Own { key, default, example, .. } = policies[i].table {
            let table = &tables[next - first.len()];
            keys[next] = optional(policies[i].name, Kind::Table(table), default, example, key);
            next += 1;
        }
        i += 1;
    }
    keys
}

/// Defines the keys of `[policy]` as a static slice: those given, then a table for each policy of
/// a registry that takes options.
macro_rules! policy_section {
    ($name:ident: $policies:expr, $first:expr) => {
        static $name: &[$crate::keys::Key] = {
            use $crate::{keys, options};
            const POLICIES: &[laxity_core::PolicyInfo] = $policies;
            const FIRST: &[keys::Key] = $first;
            const TABLES: usize = options::table_count(POLICIES);
            static OPTION_KEYS: [keys::Key; options::key_count(POLICIES)] = options::keys(POLICIES);
            static OPTION_TABLES: [keys::Table; TABLES] = options::tables(POLICIES, &OPTION_KEYS);
            static ALL: [keys::Key; FIRST.len() + TABLES] =
                options::policy_keys(FIRST, POLICIES, &OPTION_TABLES);
            &ALL
        };
    };
}
pub(crate) use policy_section;

/// Reads the tables of all policies.
pub(crate) fn read<O: PolicyOptions>(
    section: &Section<'_>,
    policies: &[PolicyInfo],
    options: &mut O,
    out: &mut Problems<'_>,
) {
    for policy in policies.iter().filter(|p| section.known(p.name)) {
        if let Some(section) = section.table(policy.name, out) {
            read_table(&section, policy, options, out);
        }
    }
}

fn read_table<O: PolicyOptions>(
    section: &Section<'_>,
    policy: &PolicyInfo,
    options: &mut O,
    out: &mut Problems<'_>,
) {
    let mut read = options.clone();
    // Given, but not as they should be.
    let mut wrong: Vec<&str> = Vec::new();
    for option in policy.options {
        let Some(value) = value(section, option, out) else {
            wrong.extend(section.has(option.name).then_some(option.name));
            continue;
        };
        if let Err(fault) = read.set(policy.name, option.name, value) {
            let known = match fault {
                OptionFault::Needs { option, .. } => !wrong.contains(&option),
                _ => true,
            };
            if known {
                report(section, option, value, fault, out);
            }
            wrong.push(option.name);
        }
    }
    // Options that mean something only together are as they were unless all are right.
    let lacks = |o: &OptionInfo| o.required && (wrong.contains(&o.name) || !section.has(o.name));
    if policy.options.iter().any(lacks) {
        return;
    }
    if let Err(conflict) = read.check(policy.name) {
        let blamed = conflict.options.iter().find(|o| section.has(o)).or(conflict.options.first());
        let mut what = String::new();
        for (i, text) in conflict.what.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| conflict.values.get(i));
            what += &before.map_or(String::new(), |value| shown(*value));
            what += text;
        }
        section.wrong(blamed.copied().unwrap_or_default(), out, what, conflict.remedy);
        return;
    }
    *options = read;
}

fn value(
    section: &Section<'_>,
    option: &OptionInfo,
    out: &mut Problems<'_>,
) -> Option<OptionValue> {
    let name = option.name;
    match option.kind {
        OptionKind::Bool => section.boolean(name, out).map(OptionValue::Bool),
        OptionKind::Rate => section.positive_rate(name, out).map(OptionValue::Rate),
        OptionKind::RatePair => {
            let pair = section.pair(name, out, walk::rate);
            pair.map(|(first, second)| OptionValue::RatePair(first, second))
        }
        OptionKind::Time(Span(1), _) => section.positive_time(name, out).map(OptionValue::Time),
        OptionKind::Time(..) => section.time(name, out).map(OptionValue::Time),
        OptionKind::Integer(..) => values::whole(section, name, out).map(OptionValue::Integer),
        OptionKind::IntegerOr(_, _, names) => match values::whole_or(section, name, out)? {
            Or::Value(number) => Some(OptionValue::Integer(number)),
            Or::Name(place) => names.get(place).map(|name| OptionValue::Choice(name)),
        },
        OptionKind::Choice(names) => {
            let given = section.get(name).and_then(|(_, value)| value.get_ref().as_str());
            let renamed = RENAMED_VALUES.iter().find(|(old, _)| given == Some(old));
            let present = renamed.and_then(|(_, new)| names.iter().find(|name| *name == new));
            if let Some(name) = present {
                return Some(OptionValue::Choice(name));
            }
            let place = section.choice(name, out);
            place.and_then(|i| names.get(i)).map(|name| OptionValue::Choice(name))
        }
    }
}

fn report(
    section: &Section<'_>,
    option: &OptionInfo,
    value: OptionValue,
    fault: OptionFault,
    out: &mut Problems<'_>,
) {
    let name = option.name;
    let (what, remedy) = match fault {
        OptionFault::Range { least, most } => (
            format!("{} is out of range", shown(value)),
            format!("give from {} to {}", shown(least), shown(most)),
        ),
        OptionFault::Needs { option, value } => {
            let needed = format!("{option} = {}", written(value));
            (
                format!("`{name}` means something only with {needed}"),
                format!("remove it, or write {needed}"),
            )
        }
        fault => (format!("{} is no value of it", shown(value)), fault.to_string()),
    };
    section.wrong(name, out, what, remedy);
}

/// A value in a message.
fn shown(value: OptionValue) -> String {
    match value {
        OptionValue::Time(span) => print_span(span),
        OptionValue::Rate(rate) => print_rate(rate),
        other => other.to_string(),
    }
}

/// A value as a scenario has it.
fn written(value: OptionValue) -> String {
    match value {
        OptionValue::Bool(value) => value.to_string(),
        OptionValue::Rate(rate) => quoted(&print_rate(rate)),
        OptionValue::RatePair(first, second) => {
            format!("[{}, {}]", quoted(&print_rate(first)), quoted(&print_rate(second)))
        }
        OptionValue::Time(span) => time(&span),
        OptionValue::Integer(value) => value.to_string(),
        OptionValue::Choice(name) => quoted(name),
    }
}

impl Printer {
    /// Prints the tables of policies whose options differ from `own`, what holds without tables.
    pub(crate) fn options<O: PolicyOptions>(
        &mut self,
        policies: &[PolicyInfo],
        options: &O,
        own: &O,
    ) {
        for policy in policies.iter().filter(|p| has_table(p)) {
            let set = policy.options.iter().filter_map(|option| {
                let value = options.get(policy.name, option.name)?;
                let changed = own.get(policy.name, option.name) != Some(value);
                changed.then(|| format!("{} = {}", option.name, written(value)))
            });
            let set: Vec<String> = set.collect();
            if !set.is_empty() {
                // A dot in a bare key would make it two.
                let dotted = policy.name.contains('.');
                let name = if dotted { quoted(policy.name) } else { policy.name.into() };
                self.key(&name, &format!("{{ {} }}", set.join(", ")));
            }
        }
    }
}
