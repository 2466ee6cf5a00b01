//! `[[best_effort]]`

use super::sharing::Groups;
use super::{envelope, matches, queueing, source, weight};
use crate::link::model::{Aqm, BestEffortClass, Link, Sharing, Source};
use crate::read::Context;
use crate::read::flows::{self, Names, OTHER};
use crate::read::walk::Section;
use laxity_core::Weight;

pub(super) fn read(
    root: &Section<'_>,
    link: Option<&Link>,
    groups: &Groups,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Vec<BestEffortClass> {
    let (list, shape) = root.tables("best_effort", cx.out);
    let mut classes = Vec::new();
    if let Some(shape) = shape {
        for (place, value) in list.iter().enumerate() {
            if let Some(section) = flows::open(root, "best_effort", place, value, shape, cx.out) {
                classes.extend(read_class(&section, link, groups, names, cx));
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
        flows: None,
        aqm: Aqm::None,
        sharing: Sharing::default(),
        source: None,
        matches: None,
    }
}

fn read_class(
    section: &Section<'_>,
    link: Option<&Link>,
    groups: &Groups,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Option<BestEffortClass> {
    let name = names.claim(section, cx.out);
    let flow = name.clone().unwrap_or_default();
    let weight = weight::of(section, cx.out);
    let sharing = groups.sharing(section, cx.out);
    let envelope = envelope::read(section, &flow, cx);
    let buffer = section.positive_size("buffer", cx.out);
    let flows = queueing::flows(section, cx.out);
    let aqm = queueing::aqm(section, section.has("flows"), link, cx.out);
    let source = source::read(section, envelope.as_ref(), link, cx);
    if matches!(source, Some(Source::Tcp(_))) && section.has("envelope") {
        let what = "a TCP source obeys its congestion control, not an envelope";
        section.wrong("envelope", cx.out, what, "remove the envelope, or give another source");
    }
    let matches = matches::read(section, cx.out);
    if flow == OTHER && section.has("match") {
        let what = "`other` takes all unmatched packets";
        section.wrong("match", cx.out, what, "remove `match`, or give the class another name");
    }
    Some(BestEffortClass {
        name: name?,
        weight: weight?,
        envelope,
        buffer,
        flows,
        aqm: aqm?,
        sharing: sharing?,
        source,
        matches,
    })
}
