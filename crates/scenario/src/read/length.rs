//! Lengths of packets: one size, or a distribution of sizes.

use laxity_core::Bytes;

use super::walk::{self, Section};
use crate::keys::Kind;
use crate::problem::Problems;
use crate::quantity::print_bytes;
use crate::value::Length;

/// Reads the lengths under `name`, none above `most`.
pub(crate) fn read(
    section: &Section<'_>,
    name: &str,
    most: Bytes,
    out: &mut Problems<'_>,
) -> Option<Length> {
    let (key, value) = section.get(name)?;
    if value.get_ref().is_str() {
        let size = section.positive_size(name, out)?;
        return at_most(section, name, size, most, out).then_some(Length::Fixed(size));
    }
    if !value.get_ref().is_table() {
        let Kind::Forms(forms) = key.kind else { return None };
        section.wrong(name, out, "this is not a length of packets", forms.usage());
        return None;
    }
    let (form, length) = section.form(name, out)?;
    let (name, read): (_, fn(Bytes, Bytes) -> Length) = match form {
        0 => ("normal", |mean, deviation| Length::Normal { mean, deviation }),
        _ => ("uniform", |least, most| Length::Uniform { least, most }),
    };
    let (first, second) = length.pair(name, out, walk::size)?;
    if form == 1 && first > second {
        let what = format!("{} is more than {}", print_bytes(first), print_bytes(second));
        length.wrong(name, out, what, "a range is [least, most]");
        return None;
    }
    if !at_most(&length, name, first.max(second), most, out) {
        return None;
    }
    if first.0 == 0 {
        let remedy = "give lengths of at least 1 B";
        length.wrong(name, out, "a packet has at least one byte", remedy);
        return None;
    }
    Some(read(first, second))
}

fn at_most(
    section: &Section<'_>,
    name: &str,
    size: Bytes,
    most: Bytes,
    out: &mut Problems<'_>,
) -> bool {
    if size > most {
        let what = format!("a packet of {} is too large", print_bytes(size));
        section.wrong(name, out, what, format!("packets may have up to {}", print_bytes(most)));
    }
    size <= most
}
