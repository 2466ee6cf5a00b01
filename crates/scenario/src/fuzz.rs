//! Entry points for fuzzers: functions that panic only on a defect.

use laxity_core::{Bytes, Time};

use crate::Document;
use crate::quantity;

/// Any bytes are a scenario or a list of problems; a scenario prints and reads back equal.
///
/// # Panics
/// When one of these does not hold.
pub fn scenario(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let path = "folder/fuzz.toml";
    let mut traces = |_: &std::path::Path, flow: &str| match flow.len() {
        0..20 => Ok(vec![(Time(5), Bytes(100)), (Time(5), Bytes(7)), (Time(90), Bytes(100))]),
        _ => Err("there is no such trace".to_owned()),
    };
    match Document::parse_with(&text, path, &mut traces) {
        Ok(scenario) => {
            let printed = scenario.to_toml();
            match Document::parse_with(&printed, path, &mut traces) {
                Ok(again) => assert_eq!(again, scenario, "printed as\n{printed}"),
                Err(error) => panic!("printed as\n{printed}\nwhich has problems:\n{error}"),
            }
        }
        Err(error) => {
            assert!(!error.problems().is_empty(), "an error without a problem");
            for problem in error.problems() {
                assert!(!problem.what.is_empty() && problem.line > 0 && problem.column > 0);
                assert!(problem.mark.start <= problem.source.chars().count());
            }
            assert!(!error.to_string().is_empty());
        }
    }
    quantities(&text);
}

/// Any text is a quantity or an error; a quantity prints and reads back equal.
///
/// # Panics
/// When this does not hold.
pub fn quantities(text: &str) {
    if let Ok(rate) = quantity::rate(text) {
        assert_eq!(quantity::rate(&quantity::print_rate(rate)), Ok(rate));
    }
    if let Ok(bytes) = quantity::bytes(text) {
        assert_eq!(quantity::bytes(&quantity::print_bytes(bytes)), Ok(bytes));
    }
    if let Ok(span) = quantity::span(text) {
        assert_eq!(quantity::span(&quantity::print_span(span)), Ok(span));
    }
}
