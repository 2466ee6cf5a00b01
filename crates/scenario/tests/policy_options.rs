//! Every option that a policy describes can be written, read and printed, and stands in schema and
//! reference.

use std::fmt::{Debug, Display};

use laxity_core::{
    OptionFault, OptionInfo, OptionKind, OptionTable, OptionValue, PolicyInfo, PolicyOptions, Rate,
    Span,
};
use laxity_scenario::Document;
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::link::model::Scenario;
use laxity_scenario::schema::{reference, schema};
use laxity_scenario::stream::StreamScenario;

/// A scenario of one kind around a table of options.
trait Kind: PartialEq + Debug + Sized {
    /// The rest of a file.
    const REST: &'static str;
    /// The definition of `[policy]` in the schema.
    const POLICY: &'static str;
    type Options: PolicyOptions;

    fn parse(text: &str) -> Result<Self, impl Display>;
    fn to_toml(&self) -> String;
    fn options(&self) -> &Self::Options;
}

impl Kind for Scenario {
    const REST: &'static str =
        "[link]\nrate = \"10 Mbit/s\"\n[[best_effort]]\nname = \"a\"\n[policy]\n";
    const POLICY: &'static str = "policy";
    type Options = laxity_link::config::Options;

    fn parse(text: &str) -> Result<Self, impl Display> {
        Scenario::parse(text, "link.toml")
    }
    fn to_toml(&self) -> String {
        self.to_toml()
    }
    fn options(&self) -> &Self::Options {
        &self.policy.options
    }
}

impl Kind for StreamScenario {
    const REST: &'static str = "[server]\nrate = \"1 Gbit/s\"\n[[stream]]\nname = \"a\"\n\
                                tolerance = \"1/8\"\ngap = \"20 ms\"\npacket = \"1 kB\"\n\
                                source = \"backlogged\"\n[policy]\n";
    const POLICY: &'static str = "stream-policy";
    type Options = laxity_scenario::stream::model::StreamPolicyChoice;

    fn parse(text: &str) -> Result<Self, impl Display> {
        StreamScenario::parse(text, "streams.toml")
    }
    fn to_toml(&self) -> String {
        self.to_toml()
    }
    fn options(&self) -> &Self::Options {
        &self.policy
    }
}

impl Kind for CpuScenario {
    const REST: &'static str = "[cpu]\n[[task]]\nname = \"a\"\nwork = \"cpu-bound\"\n[policy]\n";
    const POLICY: &'static str = "cpu-policy";
    type Options = laxity_cpu::registry::Options;

    fn parse(text: &str) -> Result<Self, impl Display> {
        CpuScenario::parse(text, "cpus.toml")
    }
    fn to_toml(&self) -> String {
        self.to_toml()
    }
    fn options(&self) -> &Self::Options {
        &self.policy.options
    }
}

/// Values of an option, with those at the ends of a range of whole numbers.
fn values(option: &OptionInfo) -> Vec<OptionValue> {
    let (slow, fast) = (Rate(88_000), Rate(104_000));
    let integers = |least, most: u32| [least, 11.min(most), most].map(OptionValue::Integer);
    let choices = |names: &[&'static str]| names.iter().copied().map(OptionValue::Choice).collect();
    match option.kind {
        OptionKind::Bool => [true, false].map(OptionValue::Bool).into(),
        OptionKind::Rate => [slow, fast].map(OptionValue::Rate).into(),
        OptionKind::RatePair => vec![OptionValue::RatePair(slow, fast)],
        OptionKind::Time(..) => [11, 13].map(|n| OptionValue::Time(Span::from_millis(n))).into(),
        OptionKind::Integer(least, most) => integers(least, most).into(),
        OptionKind::IntegerOr(least, most, names) => {
            let names: Vec<OptionValue> = choices(names);
            integers(least, most).into_iter().chain(names).collect()
        }
        OptionKind::Choice(names) => choices(names),
    }
}

fn written(value: OptionValue) -> String {
    match value {
        OptionValue::Bool(_) | OptionValue::Integer(_) => value.to_string(),
        OptionValue::RatePair(first, second) => format!("[\"{first}\", \"{second}\"]"),
        _ => format!("\"{value}\""),
    }
}

/// The name of a policy in a key.
fn table_of(policy: &PolicyInfo) -> &str {
    match policy.table {
        OptionTable::Of(owner) => owner,
        _ => policy.name,
    }
}

/// A scenario with one option of a policy, and those without which it means nothing.
fn with_option<K: Kind>(policy: &PolicyInfo, option: &OptionInfo, value: OptionValue) -> K {
    let mut set = vec![(option.name, value)];
    let required = policy.options.iter().filter(|o| o.required && o.name != option.name);
    set.extend(required.map(|o| (o.name, values(o)[0])));
    let none = K::parse(K::REST).unwrap_or_else(|e| panic!("{e}"));
    if let Err(OptionFault::Needs { option, value }) =
        none.options().clone().set(policy.name, option.name, value)
    {
        set.push((option, value));
    }
    let set: Vec<String> = set.iter().map(|(o, v)| format!("{o} = {}", written(*v))).collect();
    let text = format!("{}\"{}\" = {{ {} }}\n", K::REST, table_of(policy), set.join(", "));
    K::parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// Returns the number of values that were written, read and printed.
fn every_option_survives<K: Kind>(policies: &[PolicyInfo]) -> usize {
    let none = K::parse(K::REST).unwrap_or_else(|e| panic!("{e}"));
    let mut count = 0;
    for policy in policies {
        for option in policy.options {
            let own = none.options().get(policy.name, option.name);
            let mut differ = 0;
            for value in values(option) {
                let mut alone = none.options().clone();
                let is_set = alone.set(policy.name, option.name, value).is_ok();
                if is_set && alone.check(policy.name).is_err() && !option.required {
                    // Only beside other options, such as a structure for one order.
                    continue;
                }
                let place = format!("{} {} {value}", policy.name, option.name);
                let read: K = with_option(policy, option, value);
                let got = read.options().get(policy.name, option.name);
                assert_eq!(got, Some(value), "read: {place}");
                let printed = read.to_toml();
                let again = K::parse(&printed).unwrap_or_else(|e| panic!("{printed}\n{e}"));
                assert_eq!(again.options().get(policy.name, option.name), got, "printed: {place}");
                assert_eq!(again.to_toml(), printed, "{place}");
                differ += usize::from(own != got);
                count += 1;
            }
            assert!(differ > 0, "{} {}: only its default was tried", policy.name, option.name);
        }
    }
    count
}

// Fails when a policy describes an option that the reader does not read or the printer does not
// print, or that either takes for another one.
#[test]
fn every_option_is_read_and_printed() {
    assert!(every_option_survives::<Scenario>(laxity_link::registry::POLICIES) > 15);
    assert!(every_option_survives::<StreamScenario>(laxity_dwcs::registry::POLICIES) > 60);
    assert!(every_option_survives::<CpuScenario>(laxity_cpu::registry::POLICIES) > 60);
}

fn every_option_is_documented<K: Kind>(policies: &[PolicyInfo]) {
    let (schema, reference) = (schema(), reference());
    for policy in policies.iter().filter(|p| !p.options.is_empty()) {
        let table = &schema["$defs"][K::POLICY]["properties"][table_of(policy)];
        let definition = table["$ref"].as_str().unwrap_or_default();
        let definition = definition.rsplit('/').next().unwrap_or_default();
        for option in policy.options {
            let place = format!("{} {}", policy.name, option.name);
            let key = &schema["$defs"][definition]["properties"][option.name];
            let doc = option.reference.map_or(option.summary, |r| r.doc);
            let default = option.reference.map_or(option.default, |r| r.default);
            let text = key["description"].as_str().unwrap_or_default();
            assert!(text.starts_with(doc), "schema: {place}");
            assert!(option.required || text.contains(default), "schema: {place}");
            let row = reference.lines().find(|line| {
                line.starts_with(&format!("| `{}` |", option.name)) && line.contains(doc)
            });
            assert!(row.is_some(), "reference: {place}");
        }
    }
}

// Fails when an option that a policy describes is missing from the schema or the reference.
#[test]
fn every_option_is_documented_where_scenarios_are() {
    every_option_is_documented::<Scenario>(laxity_link::registry::POLICIES);
    every_option_is_documented::<StreamScenario>(laxity_dwcs::registry::POLICIES);
    every_option_is_documented::<CpuScenario>(laxity_cpu::registry::POLICIES);
}

/// Fails when a former name of an option, or of a value, is refused or read as another option.
#[test]
fn former_names_are_read() {
    let names = [
        ("idle-timeout", "release-idle"),
        ("allow-overtaking", "pass-refused"),
        ("max-check-interval", "check-most"),
        ("check-interval", "check"),
        ("decision-budget", "budget"),
        ("check-before-service", "settle"),
        ("max-ahead", "ahead"),
        ("align-deadlines", "align"),
        ("initial-average", "first"),
        ("min-budget", "least"),
        ("max-budget", "most"),
        ("hysteresis", "lazy"),
        ("min-best-effort-bw", "least-best-effort"),
        ("period-basis", "period"),
        ("deadline-base = \"previous-deadline\"", "base = \"old-deadline\""),
        ("best-effort-policy", "below"),
    ];
    let mut found = 0;
    for text in [
        "[link]\nrate = \"1 Mbit/s\"\n[policy]\n\
         slack = { always-check = true, idle-timeout = \"200 ms\", allow-overtaking = true }\n\
         [[best_effort]]\nname = \"a\"\n",
        "[server]\nservice = \"1 us\"\n[policy]\n\
         dwcs = { check-interval = \"adaptive\", decision-budget = \"1 us\", \
         max-check-interval = 256, check-before-service = true, max-ahead = 1, \
         align-deadlines = true }\n\
         [[stream]]\nname = \"a\"\ntolerance = \"1/2\"\ngap = \"20 ms\"\n",
        "[cpu]\n[policy]\nbebs = { initial-average = \"10 ms\", min-budget = \"10 us\", \
         max-budget = \"50 ms\", hysteresis = 1, period-basis = \"average\", \
         min-best-effort-bw = 50 }\n\
         berate = { deadline-base = \"previous-deadline\" }\n\
         posix = { best-effort-policy = \"eevdf\" }\n[[task]]\nname = \"a\"\nwork = \"cpu-bound\"\n",
    ] {
        let mut former = text.to_owned();
        for (present, old) in names {
            found += usize::from(former.contains(present));
            former = former.replace(present, old);
        }
        let read = |text: &str| {
            Document::parse(text, std::path::Path::new("a.toml")).unwrap_or_else(|e| panic!("{e}"))
        };
        assert_eq!(read(&former), read(text), "{former}");
    }
    assert_eq!(found, names.len());
}
