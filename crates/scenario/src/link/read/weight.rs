//! `weight`

use laxity_core::Weight;
use toml::de::DeValue;

use crate::problem::Problems;
use crate::quantity::{Inexact, exact, split_decimal};
use crate::read::walk::{Section, shown};

/// A weight is counted in millionths.
const MILLIONTHS: u128 = 1_000_000;

/// The weight of a class or group, 1 where it has none.
pub(super) fn of(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Weight> {
    match section.has("weight") {
        true => read(section, out),
        false => Some(Weight::ONE),
    }
}

/// Reads the digits themselves: a binary fraction would not be exact.
fn read(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Weight> {
    let (_, value) = section.get("weight")?;
    let digits = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => {
            let what = "this is not a positive number";
            section.wrong("weight", out, what, "write it like weight = 0.5");
            return None;
        }
    };
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let parts = split_decimal(digits);
    let result = parts.map(|(whole, fraction)| exact(whole, fraction, MILLIONTHS));
    let (what, remedy) = match result {
        Some(Ok(0)) => ("a weight of 0 gives the class nothing".into(), "give at least 0.000001"),
        Some(Ok(millionths)) => match u32::try_from(millionths) {
            Ok(weight) => return Some(Weight(weight)),
            Err(_) => too_large(digits),
        },
        Some(Err(Inexact::Overflow)) => too_large(digits),
        Some(Err(Inexact::Fraction)) => (
            format!("{} has more than six decimals", shown(digits)),
            "only the ratio of weights counts: scale all of them up",
        ),
        None => (
            format!("{} is not a positive decimal number", shown(digits)),
            "write it like weight = 0.5",
        ),
    };
    section.wrong("weight", out, what, remedy);
    None
}

fn too_large(digits: &str) -> (String, &'static str) {
    let what = format!("{} is more than 4294.967295", shown(digits));
    (what, "only the ratio of weights counts: scale all of them down")
}
