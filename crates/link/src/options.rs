//! Policy options by name, for scenarios, results and help texts.

use laxity_core::{
    OptionConflict, OptionFault, OptionTable, OptionValue, PolicyInfo, PolicyOptions, Rate, Span,
};
use laxity_curve::{ShiftedLine, TwoSegment};

use crate::assign::{Assigner, Shifted, TotalBandwidthServer, TwoSegments};
use crate::config::Options;
use crate::{registry, slack};

/// Where an option is kept.
enum Field<'a> {
    Bool(&'a mut bool),
    Time(&'a mut Span),
    Rate(&'a mut Option<Rate>),
    Slope(&'a mut Option<ShiftedLine>),
    Shift(&'a mut Option<ShiftedLine>),
    Slopes(&'a mut Option<TwoSegment>),
    Corner(&'a mut Option<TwoSegment>),
}

/// The policy in whose table the options of a policy stand.
fn owner(policy: &str) -> &str {
    match registry::find(policy).map(|p| p.table) {
        Some(OptionTable::Of(owner)) => owner,
        _ => policy,
    }
}

impl Options {
    fn field(&mut self, policy: &str, option: &str) -> Option<Field<'_>> {
        const TBS: &str = TotalBandwidthServer::INFO.name;
        const SHIFTED: &str = Shifted::INFO.name;
        const TWO: &str = TwoSegments::INFO.name;
        const SLACK: &str = slack::INFO.name;
        Some(match (owner(policy), option) {
            (SLACK, "always-check") => Field::Bool(&mut self.always_check),
            (SLACK, "idle-timeout") => Field::Time(&mut self.release_idle),
            (SLACK, "allow-overtaking") => Field::Bool(&mut self.allow_overtaking),
            (TBS, "slope") => Field::Rate(&mut self.tbs),
            (SHIFTED, "slope") => Field::Slope(&mut self.shifted_line),
            (SHIFTED, "shift") => Field::Shift(&mut self.shifted_line),
            (TWO, "slopes") => Field::Slopes(&mut self.two_segment),
            (TWO, "corner") => Field::Corner(&mut self.two_segment),
            _ => return None,
        })
    }
}

impl PolicyOptions for Options {
    fn policy(name: &str) -> Option<&'static PolicyInfo> {
        registry::find(name)
    }

    fn get(&self, policy: &str, option: &str) -> Option<OptionValue> {
        let mut copy = *self;
        match copy.field(policy, option)? {
            Field::Bool(field) => Some(OptionValue::Bool(*field)),
            Field::Time(field) => Some(OptionValue::Time(*field)),
            Field::Rate(field) => field.map(OptionValue::Rate),
            Field::Slope(line) => line.map(|l| OptionValue::Rate(l.slope)),
            Field::Shift(line) => line.map(|l| OptionValue::Time(l.shift)),
            Field::Slopes(line) => line.map(|l| OptionValue::RatePair(l.first, l.second)),
            Field::Corner(line) => line.map(|l| OptionValue::Time(l.corner)),
        }
    }

    /// Options of a line that are not set yet are zero until they are.
    fn store(&mut self, policy: &str, option: &str, value: OptionValue) -> Result<(), OptionFault> {
        let shifted = ShiftedLine { slope: Rate(0), shift: Span::ZERO };
        let two = TwoSegment { first: Rate(0), second: Rate(0), corner: Span::ZERO };
        match (self.field(policy, option).ok_or(OptionFault::Unknown)?, value) {
            (Field::Bool(field), OptionValue::Bool(value)) => *field = value,
            (Field::Time(field), OptionValue::Time(value)) => *field = value,
            (Field::Rate(field), OptionValue::Rate(rate)) => *field = Some(rate),
            (Field::Slope(line), OptionValue::Rate(rate)) => {
                line.get_or_insert(shifted).slope = rate;
            }
            (Field::Shift(line), OptionValue::Time(time)) => {
                line.get_or_insert(shifted).shift = time;
            }
            (Field::Slopes(line), OptionValue::RatePair(first, second)) => {
                let line = line.get_or_insert(two);
                (line.first, line.second) = (first, second);
            }
            (Field::Corner(line), OptionValue::Time(time)) => {
                line.get_or_insert(two).corner = time;
            }
            _ => return Err(OptionFault::Unknown),
        }
        Ok(())
    }

    fn check(&self, policy: &str) -> Result<(), OptionConflict> {
        let Some(OptionValue::RatePair(first, second)) = self.get(policy, "slopes") else {
            return Ok(());
        };
        let what: &[&str] = match first.0 {
            0 => &["the first slope is zero"],
            _ if first > second => &["", " is steeper than ", ""],
            _ => return Ok(()),
        };
        Err(OptionConflict {
            options: &["slopes"],
            what,
            values: [first, second].map(OptionValue::Rate),
            remedy: "give two positive slopes, the smaller one first",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_core::OptionKind;

    /// A value that no option has by default.
    fn value(kind: OptionKind) -> OptionValue {
        match kind {
            OptionKind::Bool => OptionValue::Bool(true),
            OptionKind::Rate => OptionValue::Rate(Rate(8000)),
            OptionKind::RatePair => OptionValue::RatePair(Rate(8000), Rate(16_000)),
            OptionKind::Time(..) => OptionValue::Time(Span::from_millis(7)),
            OptionKind::Integer(..) | OptionKind::IntegerOr(..) => OptionValue::Integer(7),
            OptionKind::Choice(names) => OptionValue::Choice(names[1]),
        }
    }

    // Fails when an option that a policy names is not kept, is kept in another's field, or has an
    // effect on an option of another policy.
    #[test]
    fn every_option_can_be_set_and_read() {
        for policy in registry::POLICIES {
            for option in policy.options {
                let (mut options, value) = (Options::default(), value(option.kind));
                assert_ne!(options.get(policy.name, option.name), Some(value));
                assert_eq!(options.set(policy.name, option.name, value), Ok(()));
                assert_eq!(options.get(policy.name, option.name), Some(value), "{}", option.name);
                for p in registry::POLICIES.iter().filter(|p| owner(p.name) != owner(policy.name)) {
                    for o in p.options {
                        let own = Options::default().get(p.name, o.name);
                        assert_eq!(options.get(p.name, o.name), own, "{} {}", p.name, o.name);
                    }
                }
            }
        }
    }

    #[test]
    fn options_that_no_policy_has_are_refused() {
        let mut options = Options::default();
        let refused = options.set("exact", "slope", OptionValue::Rate(Rate(8)));
        assert_eq!(refused, Err(OptionFault::Unknown));
        assert!(options.set("tbs", "slope", OptionValue::Rate(Rate(0))).is_err());
        assert_eq!(options, Options::default());
    }
}
