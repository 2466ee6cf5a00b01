//! The policy of live CPUs, its options and the overheads of the machine, as the command line has them.

use laxity_core::{OptionKind, OptionValue};
use laxity_cpu::registry;
use laxity_kernel::cpu::{CpuError, MAX_OVERHEAD, Overheads, Policy};
use laxity_scenario::quantity;

use super::args::UpArgs;
use crate::failure::Failure;

/// The policy of `cpu up`.
pub fn policy(args: &UpArgs) -> Result<Policy, Failure> {
    let settings: Result<Vec<_>, Failure> =
        args.settings.iter().map(|text| setting(&args.policy, text)).collect();
    let policy = Policy::configured(&args.policy, &settings?)
        .map_err(|error: CpuError| Failure::Input(error.to_string()))?;
    if args.overheads.is_empty() {
        return Ok(policy);
    }
    let mut overheads = Overheads::default();
    for text in &args.overheads {
        overhead(&mut overheads, text)?;
    }
    Ok(policy.with_overheads(overheads))
}

/// Reads `KIND=TIME`.
fn overhead(overheads: &mut Overheads, text: &str) -> Result<(), Failure> {
    let wrong = |why: String| Failure::Input(format!("--overhead {text}: {why}"));
    let (kind, time) = text
        .split_once('=')
        .ok_or_else(|| wrong("write a kind and its time, such as switch=6us".to_owned()))?;
    let place = match kind {
        "switch" => &mut overheads.switch,
        "release" => &mut overheads.release,
        "migration" => {
            return Err(wrong("a reservation stays on its CPU; leave it out".to_owned()));
        }
        _ => return Err(wrong("the kinds are switch and release".to_owned())),
    };
    let time = quantity::span(time).map_err(|why| wrong(why.to_string()))?;
    if time > MAX_OVERHEAD {
        return Err(wrong(format!("give at most {MAX_OVERHEAD}")));
    }
    *place = time;
    Ok(())
}

/// Reads `OPTION=VALUE`. Whether the value is in range is checked later.
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

    fn why(failure: Failure) -> String {
        match failure {
            Failure::Input(why) => why,
            _ => "another kind of failure".to_owned(),
        }
    }

    fn parsed(text: &str) -> Result<(String, OptionValue), String> {
        setting("bebs-credit", text).map_err(why)
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

    /// Fails when an unknown kind, a value without a unit or one of the wrong order is accepted.
    #[test]
    fn overheads_are_parsed() {
        let parsed = |text: &str| {
            let mut overheads = Overheads::default();
            overhead(&mut overheads, text).map(|()| overheads).map_err(why)
        };
        let switch = parsed("switch=6us").expect("an overhead");
        assert_eq!(switch, Overheads { switch: Span(6_000), ..Overheads::default() });
        assert_eq!(parsed("release=100ms").map(|o| o.release), Ok(Span::from_millis(100)));
        for (text, why) in [
            ("switch", "a kind and its time"),
            ("switch=6", "--overhead switch=6: "),
            ("switch=101ms", "at most 100 ms"),
            ("interrupt=1us", "the kinds are switch and release"),
            ("migration=20us", "stays on its CPU"),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
