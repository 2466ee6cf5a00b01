//! Options of the policy of live CPUs, as the command line has them.

use laxity_core::{OptionKind, OptionValue};
use laxity_cpu::registry;
use laxity_scenario::quantity;

use super::args::UpArgs;
use crate::failure::Failure;

/// Reads `OPTION=VALUE` for each setting, in order. Whether the value is in range, and whether the kernel
/// runs the policy with it, is checked later.
pub fn parse(args: &UpArgs) -> Result<Vec<(String, OptionValue)>, Failure> {
    args.settings.iter().map(|text| setting(&args.policy, text)).collect()
}

fn setting(policy: &str, text: &str) -> Result<(String, OptionValue), Failure> {
    let wrong = |why: String| Failure::Input(format!("--set {text}: {why}"));
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| wrong("write an option and its value, such as slice=2ms".to_owned()))?;
    let info = registry::find(policy);
    let option = info.and_then(|info| info.option(name)).ok_or_else(|| {
        let names = info.map_or(&[][..], |info| info.options).iter().map(|o| o.name);
        wrong(format!("{policy} has the options {}", names.collect::<Vec<_>>().join(", ")))
    })?;
    let value = match option.kind {
        OptionKind::Bool => value.parse().ok().map(OptionValue::Bool),
        OptionKind::Time(..) => quantity::span(value).ok().map(OptionValue::Time),
        OptionKind::Integer(..) => value.parse().ok().map(OptionValue::Integer),
        OptionKind::Choice(names) => {
            names.iter().find(|name| **name == value).map(|name| OptionValue::Choice(name))
        }
        // No policy of CPUs has one of another kind.
        _ => None,
    };
    let value = value.ok_or_else(|| wrong(format!("give a value like {}", option.example)))?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use laxity_core::Span;

    use super::*;

    fn parsed(text: &str) -> Result<(String, OptionValue), String> {
        setting("bebs-credit", text).map_err(|failure| match failure {
            Failure::Input(why) => why,
            _ => "another kind of failure".to_owned(),
        })
    }

    /// Fails when an unknown option, or a value without a unit, is accepted.
    #[test]
    fn settings_are_parsed() {
        let slice = ("slice".to_owned(), OptionValue::Time(Span::from_millis(2)));
        assert_eq!(parsed("slice=2ms"), Ok(slice));
        assert_eq!(parsed("sample=state"), Ok(("sample".to_owned(), OptionValue::Choice("state"))));
        assert_eq!(parsed("margin=500"), Ok(("margin".to_owned(), OptionValue::Integer(500))));
        for (wrong, why) in [
            ("slice", "an option and its value"),
            ("slize=2ms", "has the options sample"),
            ("slice=2", "a value like"),
            ("sample=frame", "a value like"),
            ("margin=-1", "a value like"),
        ] {
            let error = parsed(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
