//! How a policy describes itself, once, for reader, printer, schema, help texts, docs and the
//! programs that run it live.

use core::fmt;

use crate::{Rate, Span};

/// The descriptor of a policy: name, summary, source, options, and the programs that run it live.
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
    /// Where it runs on live traffic or on live tasks; empty for a policy that is simulated only.
    pub live: &'static [Live],
    /// Its options, in the order in which help texts show them.
    pub options: &'static [OptionInfo],
    /// The table of a scenario that holds the options.
    pub table: OptionTable,
}

/// A program that runs a policy live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// The BPF queueing discipline, by the number of the rule in its `enum lx_policy`.
    Qdisc(u32),
    /// The link in user space.
    UserLink,
    /// The sched_ext scheduler, by the number under which it reports the policy.
    SchedExt(u32),
    /// The media server.
    MediaServer,
}

/// The table of `[policy]` that holds the options of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionTable {
    /// The policy takes no options.
    None,
    /// The table of another policy, which takes the same options.
    Of(&'static str),
    /// A table of the policy's own name.
    Own {
        /// Name of its definition in the JSON schema, unique but for tables of the same options.
        schema: &'static str,
        /// The definition, in a sentence.
        doc: &'static str,
        /// The key in `[policy]`, in a sentence.
        key: &'static str,
        /// The default without the table, in words.
        default: &'static str,
        /// A table as it would be written.
        example: &'static str,
    },
}

/// One option of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The key in the scenario's table for this policy.
    pub name: &'static str,
    /// Which values it takes.
    pub kind: OptionKind,
    /// Whether a table of the policy has to give it: options that mean something only together.
    pub required: bool,
    /// The default, in words.
    pub default: &'static str,
    /// A value as it would be written in a scenario.
    pub example: &'static str,
    /// One sentence for help texts.
    pub summary: &'static str,
    /// Text of schema and reference that is longer than the help text.
    pub reference: Option<Reference>,
}

/// Text of schema and reference about an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The default, in words.
    pub default: &'static str,
    /// One or two sentences.
    pub doc: &'static str,
}

/// The type and range of an option's values; ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// A rate above zero, with its unit.
    Rate,
    /// Two rates with their units, `[first, second]`.
    RatePair,
    /// A time with its unit, from the first to the second.
    Time(Span, Span),
    /// A whole number from the first to the second.
    Integer(u32, u32),
    /// A whole number from the first to the second, or one of the names given.
    IntegerOr(u32, u32, &'static [&'static str]),
    /// One of the names given.
    Choice(&'static [&'static str]),
}

/// A value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptionValue {
    /// Of [`OptionKind::Bool`].
    Bool(bool),
    /// Of [`OptionKind::Rate`].
    Rate(Rate),
    /// Of [`OptionKind::RatePair`].
    RatePair(Rate, Rate),
    /// Of [`OptionKind::Time`].
    Time(Span),
    /// Of [`OptionKind::Integer`] or [`OptionKind::IntegerOr`].
    Integer(u32),
    /// Of [`OptionKind::Choice`] or [`OptionKind::IntegerOr`], one of its names.
    Choice(&'static str),
}

/// Why a value of an option is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionFault {
    /// The policy has no such option, or there is no such policy.
    Unknown,
    /// The value is of the wrong kind, or is none of the choices.
    Kind {
        /// The expected kind.
        wanted: OptionKind,
    },
    /// The value is out of range.
    Range {
        /// The least value.
        least: OptionValue,
        /// The greatest value.
        most: OptionValue,
    },
    /// The option has an effect only beside this value of another one.
    Needs {
        /// The other option.
        option: &'static str,
        /// Its value.
        value: OptionValue,
    },
}

/// Options of a policy whose values contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionConflict {
    /// The options, the first to blame first.
    pub options: &'static [&'static str],
    /// The error: pieces of text with a value of `values` between each two.
    pub what: &'static [&'static str],
    /// The values that contradict each other.
    pub values: [OptionValue; 2],
    /// The remedy.
    pub remedy: &'static str,
}

/// The options of all policies of one kind, by policy and option name.
pub trait PolicyOptions: Clone {
    /// The policy of a name.
    fn policy(name: &str) -> Option<&'static PolicyInfo>;

    /// The present value of an option; `None` for one that is fitted or absent, or that the policy
    /// does not have.
    fn get(&self, policy: &str, option: &str) -> Option<OptionValue>;

    /// Stores a value that [`set`](Self::set) has checked.
    ///
    /// # Errors
    /// When the option is not stored, or has no effect beside the others; nothing is changed then.
    fn store(&mut self, policy: &str, option: &str, value: OptionValue) -> Result<(), OptionFault>;

    /// Checks that the options of a policy agree with each other.
    ///
    /// # Errors
    /// Names those that do not.
    fn check(&self, _policy: &str) -> Result<(), OptionConflict> {
        Ok(())
    }

    /// Sets an option of a policy. It also applies where the policy runs below another.
    ///
    /// # Errors
    /// When the policy has no such option, or the value is invalid; nothing is changed then.
    fn set(&mut self, policy: &str, option: &str, value: OptionValue) -> Result<(), OptionFault> {
        let info = Self::policy(policy).and_then(|p| p.option(option));
        self.store(policy, option, info.ok_or(OptionFault::Unknown)?.kind.check(value)?)
    }
}

/// A setting with one of several named values, such as an enum without data.
pub trait Choice: Copy + 'static {
    /// All names, in the order of the documents.
    const NAMES: &'static [&'static str];
    /// The name of the value.
    fn name(self) -> &'static str;
    /// The value of a name.
    fn by_name(name: &str) -> Option<Self>;
}

/// Implements [`Choice`]: for each type its names, each with its value.
#[macro_export]
macro_rules! choices {
    ($($type:ty { $($name:expr => $value:path),+ $(,)? })+) => { $(
        impl $crate::Choice for $type {
            const NAMES: &'static [&'static str] = &[$($name),+];
            fn name(self) -> &'static str {
                match self { $($value => $name),+ }
            }
            fn by_name(name: &str) -> Option<Self> {
                $(if name == $name {
                    return Some($value);
                })+
                None
            }
        }
    )+ };
}

impl PolicyInfo {
    /// The option of a name.
    pub fn option(&self, name: &str) -> Option<&'static OptionInfo> {
        self.options.iter().find(|o| o.name == name)
    }

    /// Whether that program runs it.
    pub fn runs_in(&self, program: Live) -> bool {
        self.live.contains(&program)
    }

    /// The number of its rule in the BPF queueing discipline, if that runs it.
    pub const fn qdisc(&self) -> Option<u32> {
        self.number(true)
    }

    /// Its number in the sched_ext scheduler, if that runs it.
    pub const fn sched_ext(&self) -> Option<u32> {
        self.number(false)
    }

    /// Its number in one of the two programs.
    const fn number(&self, in_qdisc: bool) -> Option<u32> {
        let mut i = 0;
        while i < self.live.len() {
            match self.live[i] {
                Live::Qdisc(number) if in_qdisc => return Some(number),
                Live::SchedExt(number) if !in_qdisc => return Some(number),
                _ => i += 1,
            }
        }
        None
    }
}

impl Live {
    /// The program's name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Live::Qdisc(_) => "qdisc",
            Live::UserLink => "user-link",
            Live::SchedExt(_) => "sched_ext",
            Live::MediaServer => "media-server",
        }
    }
}

impl OptionKind {
    /// Returns the value if it is of this kind and in range, with a name of this kind's.
    ///
    /// # Errors
    /// See [`OptionFault`].
    pub fn check(self, value: OptionValue) -> Result<OptionValue, OptionFault> {
        let within = |is: bool, least, most| match is {
            true => Ok(value),
            false => Err(OptionFault::Range { least, most }),
        };
        let integer = |n, least, most| {
            let is = (least..=most).contains(&n);
            within(is, OptionValue::Integer(least), OptionValue::Integer(most))
        };
        let fault = OptionFault::Kind { wanted: self };
        match (self, value) {
            (OptionKind::Bool, OptionValue::Bool(_))
            | (OptionKind::RatePair, OptionValue::RatePair(..)) => Ok(value),
            (OptionKind::Rate, OptionValue::Rate(rate)) => {
                within(rate.0 > 0, OptionValue::Rate(Rate(1)), OptionValue::Rate(Rate(u64::MAX)))
            }
            (OptionKind::Time(least, most), OptionValue::Time(time)) => {
                let is = (least..=most).contains(&time);
                within(is, OptionValue::Time(least), OptionValue::Time(most))
            }
            (OptionKind::Integer(least, most), OptionValue::Integer(n))
            | (OptionKind::IntegerOr(least, most, _), OptionValue::Integer(n)) => {
                integer(n, least, most)
            }
            (OptionKind::Choice(names), OptionValue::Choice(name))
            | (OptionKind::IntegerOr(_, _, names), OptionValue::Choice(name)) => {
                let known = names.iter().find(|n| **n == name);
                known.map(|n| OptionValue::Choice(n)).ok_or(fault)
            }
            _ => Err(fault),
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Bool(value) => value.fmt(f),
            OptionValue::Rate(value) => value.fmt(f),
            OptionValue::RatePair(first, second) => write!(f, "[{first}, {second}]"),
            OptionValue::Time(value) => value.fmt(f),
            OptionValue::Integer(value) => value.fmt(f),
            OptionValue::Choice(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for OptionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionFault::Unknown => write!(f, "the policy takes no such option"),
            OptionFault::Kind { wanted } => match wanted {
                OptionKind::Choice(names) => {
                    write!(f, "write one of")?;
                    names.iter().try_for_each(|name| write!(f, " {name}"))
                }
                OptionKind::Bool => write!(f, "write true or false"),
                OptionKind::Time(..) => write!(f, "write a time"),
                OptionKind::Rate => write!(f, "write a rate"),
                OptionKind::RatePair => write!(f, "write two rates"),
                OptionKind::Integer(..) => write!(f, "write a whole number"),
                OptionKind::IntegerOr(_, _, names) => {
                    write!(f, "write a whole number")?;
                    names.iter().try_for_each(|name| write!(f, " or {name}"))
                }
            },
            OptionFault::Range { least, most } => write!(f, "give from {least} to {most}"),
            OptionFault::Needs { option, value } => {
                write!(f, "it means something only with {option} = {value}")
            }
        }
    }
}

impl core::error::Error for OptionFault {}

impl fmt::Display for OptionConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, text) in self.what.iter().enumerate() {
            if let Some(value) = i.checked_sub(1).and_then(|i| self.values.get(i)) {
                value.fmt(f)?;
            }
            f.write_str(text)?;
        }
        Ok(())
    }
}

impl core::error::Error for OptionConflict {}
