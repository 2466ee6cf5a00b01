//! Policy options by name, for scenarios, results and help texts.

use laxity_core::{
    Choice, OptionConflict, OptionFault, OptionValue, PolicyInfo, PolicyOptions, Span, choices,
};

use crate::berate::{Base, LoadOf};
use crate::linux_2_4::Goodness;
use crate::quantum::Clock;
use crate::registry::{Below, Options, find};
use crate::servers::{Adaptation, Basis, Load, Sample, Transition};
use crate::{Share, berate, best, eevdf, linux_2_4, linux_2_6};

impl PolicyOptions for Options {
    fn policy(name: &str) -> Option<&'static PolicyInfo> {
        find(name)
    }

    fn store(&mut self, policy: &str, option: &str, value: OptionValue) -> Result<(), OptionFault> {
        match (self.field(policy, option).ok_or(OptionFault::Unknown)?, value) {
            (Field::Bool(field), OptionValue::Bool(value)) => *field = value,
            (Field::Time(field), OptionValue::Time(value)) => *field = value,
            (Field::Integer(field), OptionValue::Integer(value)) => *field = value,
            (Field::PerMille(field), OptionValue::Integer(value)) => {
                *field = Share::per_mille(value);
            }
            (Field::Choice(field), OptionValue::Choice(name)) => {
                field.choose(name).ok_or(OptionFault::Unknown)?;
            }
            _ => return Err(OptionFault::Unknown),
        }
        Ok(())
    }

    fn get(&self, policy: &str, option: &str) -> Option<OptionValue> {
        let mut copy = *self;
        Some(match copy.field(policy, option)? {
            Field::Bool(field) => OptionValue::Bool(*field),
            Field::Time(field) => OptionValue::Time(*field),
            Field::Integer(field) => OptionValue::Integer(*field),
            Field::PerMille(share) => {
                let thousandths = (u128::from(share.0) * 1000).div_ceil(Share::ONE.0.into());
                OptionValue::Integer(u32::try_from(thousandths).unwrap_or(u32::MAX))
            }
            Field::Choice(field) => OptionValue::Choice(field.name()),
        })
    }

    fn check(&self, policy: &str) -> Result<(), OptionConflict> {
        let [Some(least), Some(most)] = ["min-budget", "max-budget"].map(|o| self.get(policy, o))
        else {
            return Ok(());
        };
        let slice = self.get(policy, "slice");
        match (least, most, slice) {
            (OptionValue::Time(l), OptionValue::Time(m), _) if l > m => Err(OptionConflict {
                options: &["min-budget", "max-budget"],
                what: &["the least budget, ", ", is above the greatest, ", ""],
                values: [least, most],
                remedy: "lower `min-budget`, or raise `max-budget`",
            }),
            (OptionValue::Time(l), _, Some(slice @ OptionValue::Time(s)))
                if s > Span::ZERO && s < l =>
            {
                Err(OptionConflict {
                    options: &["slice", "min-budget"],
                    what: &["the slice, ", ", is below the least budget, ", ""],
                    values: [slice, least],
                    remedy: "raise `slice`, or lower `min-budget`",
                })
            }
            _ => Ok(()),
        }
    }
}

impl Adaptation {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "sample" => Field::Choice(&mut self.sample),
            "initial-average" => Field::Time(&mut self.initial_average),
            "margin" => Field::Integer(&mut self.margin),
            "min-budget" => Field::Time(&mut self.min_budget),
            "max-budget" => Field::Time(&mut self.max_budget),
            "period-basis" => Field::Choice(&mut self.basis),
            "hysteresis" => Field::Integer(&mut self.hysteresis),
            _ => return None,
        })
    }
}

impl Clock {
    /// Where the option is kept, where a clock is the only one.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        (option == "clock").then_some(Field::Choice(self))
    }
}

impl Below {
    /// Where the option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        (option == "best-effort-policy").then_some(Field::Choice(self))
    }
}

/// Where an option is kept.
pub(crate) enum Field<'a> {
    Bool(&'a mut bool),
    Time(&'a mut Span),
    Integer(&'a mut u32),
    /// In thousandths.
    PerMille(&'a mut Share),
    Choice(&'a mut dyn Chosen),
}

/// A [`Choice`] whatever its type.
pub(crate) trait Chosen {
    fn name(&self) -> &'static str;
    fn choose(&mut self, name: &str) -> Option<()>;
}

impl<T: Choice> Chosen for T {
    fn name(&self) -> &'static str {
        Choice::name(*self)
    }

    fn choose(&mut self, name: &str) -> Option<()> {
        *self = T::by_name(name)?;
        Some(())
    }
}

choices! {
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
    Base { "previous-deadline" => Base::OldDeadline, "now" => Base::Now }
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
        linux_2_4::INFO.name => Below::Linux24,
        linux_2_6::INFO.name => Below::Linux26,
        eevdf::INFO.name => Below::Eevdf,
        berate::INFO.name => Below::BeRate,
        best::INFO.name => Below::Best,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::registry::POLICIES;
    use alloc::string::ToString;
    use laxity_core::OptionKind;
    use std::vec::Vec;

    /// Every value of a kind that is worth trying.
    fn values(kind: OptionKind) -> Vec<OptionValue> {
        match kind {
            OptionKind::Bool => [true, false].map(OptionValue::Bool).to_vec(),
            OptionKind::Time(..) => {
                [10, 70].map(|n| OptionValue::Time(Span::from_millis(n))).to_vec()
            }
            OptionKind::Choice(names) => names.iter().copied().map(OptionValue::Choice).collect(),
            _ => [0, 7, 51, 999].map(OptionValue::Integer).to_vec(),
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
        let choice = text("bebs", "sample", OptionValue::Choice("frame"));
        assert_eq!(choice, "write one of state switch job");
        assert_eq!(
            text("bebs", "sample", OptionValue::Integer(1)),
            "write one of state switch job"
        );
        let tick = text("eevdf", "tick", OptionValue::Time(Span(1)));
        assert_eq!(tick, "give from 0.01 ms to 86400000 ms");
        let kept = text("cbs", "min-best-effort-bw", OptionValue::Integer(1001));
        assert_eq!(kept, "give from 0 to 1000");
        assert_eq!(
            text("cbs", "sample", OptionValue::Integer(1)),
            "the policy takes no such option"
        );
        assert_eq!(text("cfs", "tick", OptionValue::Integer(1)), "the policy takes no such option");
        assert_eq!(options, Options::default());
        options.set("bebs", "min-budget", OptionValue::Time(Span::from_millis(300))).unwrap();
        let fault = options.check("bebs").unwrap_err().to_string();
        assert_eq!(fault, "the least budget, 300 ms, is above the greatest, 200 ms");
        assert_eq!(options.check("bebs-credit"), Ok(()));
    }
}
