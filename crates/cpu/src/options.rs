//! Policy options by name, for scenarios, results and help texts.

use core::fmt;

use laxity_core::{OptionKind, Span};

use crate::berate::{Base, LoadOf};
use crate::linux_2_4::Goodness;
use crate::quantum::Clock;
use crate::registry::{Below, Options, find};
use crate::servers::{Adaptation, Basis, Load, Sample, Transition};
use crate::{LONGEST_PERIOD, Share};

/// An option value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Of [`OptionKind::Bool`].
    Bool(bool),
    /// Of [`OptionKind::Time`].
    Time(Span),
    /// Of [`OptionKind::Integer`].
    Integer(u32),
    /// Of [`OptionKind::Choice`], one of its names.
    Choice(&'static str),
}

/// Why an option value is refused.
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
        least: Value,
        /// The greatest value.
        most: Value,
    },
    /// The least budget of servers is above the greatest.
    LeastAboveMost {
        /// The least.
        least: Span,
        /// The greatest.
        most: Span,
    },
}

/// The least budget, slice or tick; shorter ones would make policies decide excessively often.
const MIN_TIME: Span = Span(10_000);
/// The greatest margin or hysteresis, in thousandths.
const MAX_THOUSANDTHS: u32 = 100_000;

impl Options {
    /// Sets an option of a policy. It also applies where the policy runs below another.
    ///
    /// # Errors
    /// When the policy has no such option, or the value is invalid; nothing is changed then.
    pub fn set(&mut self, policy: &str, option: &str, value: Value) -> Result<(), OptionFault> {
        let info = find(policy).and_then(|p| p.options.iter().find(|o| o.name == option));
        let wanted = info.ok_or(OptionFault::Unknown)?.kind;
        let kind = OptionFault::Kind { wanted };
        match (self.field(policy, option).ok_or(OptionFault::Unknown)?, value) {
            (Field::Bool(field), Value::Bool(value)) => *field = value,
            (Field::Time(field, (least, most)), Value::Time(value)) => {
                if value < least || value > most {
                    let (least, most) = (Value::Time(least), Value::Time(most));
                    return Err(OptionFault::Range { least, most });
                }
                *field = value;
            }
            (Field::Integer(field, most), Value::Integer(value)) => {
                within(value, most)?;
                *field = value;
            }
            (Field::PerMille(field), Value::Integer(value)) => {
                within(value, 1000)?;
                *field = Share::per_mille(value);
            }
            (Field::Choice(field), Value::Choice(name)) => field.choose(name).ok_or(kind)?,
            _ => return Err(kind),
        }
        Ok(())
    }

    /// The present value of an option.
    pub fn get(&self, policy: &str, option: &str) -> Option<Value> {
        let mut copy = *self;
        Some(match copy.field(policy, option)? {
            Field::Bool(field) => Value::Bool(*field),
            Field::Time(field, _) => Value::Time(*field),
            Field::Integer(field, _) => Value::Integer(*field),
            Field::PerMille(share) => {
                let thousandths = (u128::from(share.0) * 1000).div_ceil(Share::ONE.0.into());
                Value::Integer(u32::try_from(thousandths).unwrap_or(u32::MAX))
            }
            Field::Choice(field) => Value::Choice(field.name()),
        })
    }

    /// Checks that the options of a policy are consistent.
    ///
    /// # Errors
    /// Names the inconsistent ones.
    pub fn check(&self, policy: &str) -> Result<(), OptionFault> {
        let how = match policy {
            "bebs" => &self.bebs.adaptation,
            "bebs-credit" => &self.bebs_credit.adaptation,
            _ => return Ok(()),
        };
        let Adaptation { min_budget: least, max_budget: most, .. } = *how;
        if least > most { Err(OptionFault::LeastAboveMost { least, most }) } else { Ok(()) }
    }

    fn field(&mut self, policy: &str, option: &str) -> Option<Field<'_>> {
        match (policy, option) {
            ("bebs", "load") => Some(Field::Choice(&mut self.bebs.load)),
            ("bebs", "transition") => Some(Field::Choice(&mut self.bebs.transition)),
            ("bebs", "least-best-effort") => {
                Some(Field::PerMille(&mut self.bebs.best_effort_bw_min))
            }
            ("bebs", _) => adaptation(&mut self.bebs.adaptation, option),
            ("bebs-credit", "ahead") => {
                Some(Field::Time(&mut self.bebs_credit.ahead, (Span::ZERO, LONGEST_PERIOD)))
            }
            ("bebs-credit", "least-best-effort") => {
                Some(Field::PerMille(&mut self.bebs_credit.best_effort_bw_min))
            }
            ("bebs-credit", _) => adaptation(&mut self.bebs_credit.adaptation, option),
            ("edf", _) => equal(&mut self.edf, option),
            ("cbs", _) => equal(&mut self.cbs, option),
            ("iris", _) => equal(&mut self.iris, option),
            ("iris-naive", _) => equal(&mut self.iris_naive, option),
            ("berate", "base") => Some(Field::Choice(&mut self.berate.base)),
            ("berate", "load") => Some(Field::Choice(&mut self.berate.load)),
            ("berate", "clock") => Some(Field::Choice(&mut self.berate.clock)),
            ("best", "clock") => Some(Field::Choice(&mut self.best)),
            ("linux-2.4", "clock") => Some(Field::Choice(&mut self.linux_2_4.clock)),
            ("linux-2.4", "goodness") => Some(Field::Choice(&mut self.linux_2_4.goodness)),
            ("eevdf", "slice") => Some(time(&mut self.eevdf.slice)),
            ("eevdf", "tick") => Some(time(&mut self.eevdf.tick)),
            ("posix", "below") => Some(Field::Choice(&mut self.below_posix)),
            ("sched-deadline", "reclaim") => Some(Field::Bool(&mut self.reclaim)),
            ("sched-deadline", "below") => Some(Field::Choice(&mut self.below_sched_deadline)),
            _ => None,
        }
    }
}

fn within(value: u32, most: u32) -> Result<(), OptionFault> {
    let (least, greatest) = (Value::Integer(0), Value::Integer(most));
    if value > most { Err(OptionFault::Range { least, most: greatest }) } else { Ok(()) }
}

fn adaptation<'a>(how: &'a mut Adaptation, option: &str) -> Option<Field<'a>> {
    Some(match option {
        "sample" => Field::Choice(&mut how.sample),
        "first" => time(&mut how.initial_average),
        "margin" => Field::Integer(&mut how.margin, MAX_THOUSANDTHS),
        "least" => time(&mut how.min_budget),
        "most" => time(&mut how.max_budget),
        "period" => Field::Choice(&mut how.basis),
        "lazy" => Field::Integer(&mut how.hysteresis, MAX_THOUSANDTHS),
        _ => return None,
    })
}

fn equal<'a>(options: &'a mut crate::cbs::Options, option: &str) -> Option<Field<'a>> {
    Some(match option {
        "period" => time(&mut options.period),
        "least-best-effort" => Field::PerMille(&mut options.best_effort_bw_min),
        _ => return None,
    })
}

fn time(field: &mut Span) -> Field<'_> {
    Field::Time(field, (MIN_TIME, LONGEST_PERIOD))
}

/// Where an option is kept, with the bounds of its values.
enum Field<'a> {
    Bool(&'a mut bool),
    Time(&'a mut Span, (Span, Span)),
    Integer(&'a mut u32, u32),
    /// In thousandths.
    PerMille(&'a mut Share),
    Choice(&'a mut dyn Chosen),
}

/// One of several readings, by its name.
trait Chosen {
    fn name(&self) -> &'static str;
    fn choose(&mut self, name: &str) -> Option<()>;
}

macro_rules! chosen {
    ($($type:ty { $($name:literal => $value:path),+ $(,)? })+) => { $(
        impl Chosen for $type {
            fn name(&self) -> &'static str {
                match self { $($value => $name),+ }
            }
            fn choose(&mut self, name: &str) -> Option<()> {
                *self = match name {
                    $($name => $value,)+
                    _ => return None,
                };
                Some(())
            }
        }
    )+ };
}

chosen! {
    Sample { "state" => Sample::State, "switch" => Sample::Switch, "job" => Sample::Job }
    Basis { "budget" => Basis::Budget, "average" => Basis::Average }
    Load { "live" => Load::Live, "unblocked" => Load::Unblocked }
    Transition {
        "zero-lag" => Transition::ZeroLag,
        "stretch" => Transition::Stretch,
        "wait" => Transition::Wait,
        "stretch-and-wait" => Transition::StretchAndWait,
        "neither" => Transition::Neither,
    }
    Base { "old-deadline" => Base::OldDeadline, "now" => Base::Now }
    LoadOf { "live" => LoadOf::Live, "runnable" => LoadOf::Runnable }
    Clock {
        "100-hz" => Clock::Hz100,
        "800-hz" => Clock::Hz800,
        "800-hz-x8" => Clock::Hz800Times8,
    }
    Goodness {
        "kernel" => Goodness::Kernel,
        "counter" => Goodness::Counter,
        "same-memory" => Goodness::SameMemory,
    }
    Below {
        "linux-2.4" => Below::Linux24,
        "linux-2.6" => Below::Linux26,
        "eevdf" => Below::Eevdf,
        "berate" => Below::BeRate,
        "best" => Below::Best,
    }
}

impl Below {
    /// The policy's name.
    pub fn name(self) -> &'static str {
        Chosen::name(&self)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => value.fmt(f),
            Value::Time(value) => value.fmt(f),
            Value::Integer(value) => value.fmt(f),
            Value::Choice(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for OptionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionFault::Unknown => write!(f, "the policy takes no such option"),
            OptionFault::Kind { wanted: OptionKind::Choice(names) } => {
                write!(f, "write one of {}", names.join(" "))
            }
            OptionFault::Kind { wanted: OptionKind::Bool } => write!(f, "write true or false"),
            OptionFault::Kind { wanted: OptionKind::Time } => write!(f, "write a time"),
            OptionFault::Kind { .. } => write!(f, "write a whole number"),
            OptionFault::Range { least, most } => write!(f, "give from {least} to {most}"),
            OptionFault::LeastAboveMost { least, most } => {
                write!(f, "the least budget, {least}, is above the greatest, {most}")
            }
        }
    }
}

impl core::error::Error for OptionFault {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::registry::POLICIES;
    use alloc::string::ToString;
    use std::vec::Vec;

    /// Every value of a kind that is worth trying.
    fn values(kind: OptionKind) -> Vec<Value> {
        match kind {
            OptionKind::Bool => [true, false].map(Value::Bool).to_vec(),
            OptionKind::Time => [10, 70].map(|n| Value::Time(Span::from_millis(n))).to_vec(),
            OptionKind::Choice(names) => names.iter().copied().map(Value::Choice).collect(),
            _ => [0, 7, 51, 999].map(Value::Integer).to_vec(),
        }
    }

    // Fails when an option that a policy names is not wired, is wired to another's field, has a
    // name that is none of its choices, or a default other than the one that help texts show.
    #[test]
    fn every_option_can_be_set_and_read() {
        for policy in POLICIES {
            for option in policy.options {
                let own = Options::default().get(policy.name, option.name).expect("wired");
                assert_eq!(own.to_string(), option.default, "{} {}", policy.name, option.name);
                for value in values(option.kind) {
                    let mut options = Options::default();
                    assert_eq!(options.set(policy.name, option.name, value), Ok(()));
                    assert_eq!(options.get(policy.name, option.name), Some(value));
                    let others =
                        POLICIES.iter().flat_map(|p| p.options.iter().map(move |o| (p, o)));
                    for (p, o) in
                        others.filter(|(p, o)| (p.name, o.name) != (policy.name, option.name))
                    {
                        let plain = Options::default().get(p.name, o.name);
                        assert_eq!(options.get(p.name, o.name), plain, "{} {}", p.name, o.name);
                    }
                }
            }
        }
    }

    #[test]
    fn invalid_options_are_reported() {
        let mut options = Options::default();
        let mut text = |policy, option, value| {
            options.set(policy, option, value).map_err(|e| e.to_string()).unwrap_err()
        };
        let choice = text("bebs", "sample", Value::Choice("frame"));
        assert_eq!(choice, "write one of state switch job");
        assert_eq!(text("bebs", "sample", Value::Integer(1)), "write one of state switch job");
        let tick = text("eevdf", "tick", Value::Time(Span(1)));
        assert_eq!(tick, "give from 0.01 ms to 86400000 ms");
        let kept = text("cbs", "least-best-effort", Value::Integer(1001));
        assert_eq!(kept, "give from 0 to 1000");
        assert_eq!(text("cbs", "sample", Value::Integer(1)), "the policy takes no such option");
        assert_eq!(text("cfs", "tick", Value::Integer(1)), "the policy takes no such option");
        assert_eq!(options, Options::default());
        options.set("bebs", "least", Value::Time(Span::from_millis(300))).unwrap();
        let fault = options.check("bebs").unwrap_err().to_string();
        assert_eq!(fault, "the least budget, 300 ms, is above the greatest, 200 ms");
        assert_eq!(options.check("bebs-credit"), Ok(()));
    }
}
