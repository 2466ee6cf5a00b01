//! How a policy describes itself, once, for parser, schema, completions, docs and Python.

/// What a policy is called, what it does, and which options it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// The one name: in code, scenario, command line, Python, plots and docs.
    pub name: &'static str,
    /// One sentence for help texts.
    pub summary: &'static str,
    /// Where it comes from: paper and section.
    pub source: &'static str,
    /// Whether admitted real-time flows never miss a deadline under it.
    pub keeps_deadlines: bool,
    /// Its options, in the order in which help texts show them.
    pub options: &'static [OptionInfo],
}

/// One option of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The key in the scenario's table for this policy.
    pub name: &'static str,
    /// What values it takes.
    pub kind: OptionKind,
    /// What happens when it is absent, in words.
    pub default: &'static str,
    /// One sentence for help texts.
    pub summary: &'static str,
}

/// The type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// A rate with its unit.
    Rate,
    /// Two rates with their units, `[first, second]`.
    RatePair,
    /// A time with its unit.
    Time,
    /// A whole number.
    Integer,
    /// One of the names given.
    Choice(&'static [&'static str]),
}
