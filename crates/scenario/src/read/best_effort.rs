//! `[[best_effort]]`

use laxity_core::Weight;
use toml::de::DeValue;

use super::flows::{self, Names, OTHER};
use super::walk::{Section, shown};
use super::{Context, envelope, matches, source};
use crate::model::BestEffortClass;
use crate::problem::Problems;
use crate::quantity::{Inexact, exact, split_decimal};

/// A weight is counted in millionths.
const MILLIONTHS: u128 = 1_000_000;

pub(super) fn read(
    root: &Section<'_>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Vec<BestEffortClass> {
    let (list, shape) = root.tables("best_effort", cx.out);
    let mut classes = Vec::new();
    if let Some(shape) = shape {
        for (place, value) in list.iter().enumerate() {
            if let Some(section) = flows::open("best_effort", place, value, shape, cx.out) {
                classes.extend(read_class(&section, names, cx));
            }
        }
    }
    // `other` comes last wherever it stands in the file, so that its id is the highest.
    let other = match classes.iter().position(|c| c.name == OTHER) {
        Some(place) => classes.remove(place),
        None => implicit(),
    };
    classes.push(other);
    classes
}

fn implicit() -> BestEffortClass {
    BestEffortClass {
        name: OTHER.into(),
        weight: Weight::ONE,
        envelope: None,
        buffer: None,
        source: None,
        matches: None,
    }
}

fn read_class(
    section: &Section<'_>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Option<BestEffortClass> {
    let name = names.claim(section, cx.out);
    let flow = name.clone().unwrap_or_default();
    let weight = match section.has("weight") {
        true => weight(section, cx.out),
        false => Some(Weight::ONE),
    };
    let envelope = envelope::read(section, &flow, cx);
    let buffer = section.positive_size("buffer", cx.out);
    let source = source::read(section, envelope.as_ref(), cx);
    let matches = matches::read(section, cx.out);
    if flow == OTHER && section.has("match") {
        let what = "`other` takes what matches nothing";
        section.wrong("match", cx.out, what, "remove `match`, or give the class another name");
    }
    Some(BestEffortClass { name: name?, weight: weight?, envelope, buffer, source, matches })
}

/// Reads the digits themselves: a binary fraction would not be exact.
fn weight(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Weight> {
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
