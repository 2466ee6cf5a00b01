//! `[[group]]`, and the curves, limits and groups of best effort

use laxity_core::Span;
use laxity_curve::service::AnchoredCurve;
use laxity_link::config;

use super::{service_curve, weight};
use crate::link::model::FairQueue;
use crate::link::sharing::{ClassCurve, FSC, Group, Sharing};
use crate::problem::Problems;
use crate::read::Context;
use crate::read::flows::{self, Names};
use crate::read::walk::{Section, shown};

/// The groups of a scenario, and whether its policy knows curves.
pub(super) struct Groups {
    /// The name of each, where it has one that is sound.
    names: Vec<Option<String>>,
    fsc: bool,
}

impl Groups {
    /// Reads the groups; those that stand in none of the classes are reported once the classes are
    /// read.
    pub(super) fn read(
        root: &Section<'_>,
        fair_queue: Option<FairQueue>,
        names: &mut Names,
        cx: &mut Context<'_, '_>,
    ) -> (Groups, Vec<Group>) {
        // An order that could not be read is not to blame curves for.
        let fsc = fair_queue.is_none_or(|order| matches!(order, FairQueue::Fsc(_)));
        let (list, shape) = root.tables("group", cx.out);
        let mut sections = Vec::new();
        for (place, value) in list.iter().enumerate() {
            let section =
                shape.and_then(|shape| flows::open(root, "group", place, value, shape, cx.out));
            let name = section.as_ref().and_then(|section| names.claim(section, cx.out));
            sections.push((section, name));
        }
        let groups = Groups { names: sections.iter().map(|(_, n)| n.clone()).collect(), fsc };
        if let (false, Some((Some(section), _))) = (fsc, sections.first()) {
            groups.needs_fsc(section, "name", "a group", cx.out);
        }
        let read = |(section, name): &(Option<Section<'_>>, Option<String>)| {
            let section = section.as_ref()?;
            let weight = weight::of(section, cx.out);
            let sharing = groups.sharing(section, cx.out);
            Some(Group { name: name.clone()?, weight: weight?, sharing: sharing? })
        };
        let all: Vec<Option<Group>> = sections.iter().map(read).collect();
        // Places are those in the file, so nothing can be said of some groups alone.
        let Some(all) = all.into_iter().collect::<Option<Vec<Group>>>() else {
            return (groups, Vec::new());
        };
        for (place, (section, _)) in sections.iter().enumerate() {
            if let Some(section) = section {
                nesting(section, place, &all, cx.out);
            }
        }
        (groups, all)
    }

    /// Reads `service_curve`, `upper_limit` and `group`.
    pub(super) fn sharing(&self, section: &Section<'_>, out: &mut Problems<'_>) -> Option<Sharing> {
        let curve = self.curve(section, "service_curve", out);
        let limit = self.curve(section, "upper_limit", out);
        let group = match section.has("group") {
            true => Some(self.group(section, out)),
            false => None,
        };
        if section.has("service_curve") && section.has("weight") {
            let what = "`service_curve` holds in place of a weight";
            section.wrong("weight", out, what, "remove `weight` or `service_curve`");
        }
        let used = ["service_curve", "upper_limit", "group"].into_iter().find(|k| section.has(k));
        if let (false, Some(key)) = (self.fsc, used) {
            self.needs_fsc(section, key, &format!("`{key}`"), out);
        }
        Some(Sharing { curve: curve?, limit: limit?, group: group.unwrap_or(Some(None))? })
    }

    fn needs_fsc(&self, section: &Section<'_>, key: &str, what: &str, out: &mut Problems<'_>) {
        let what = format!("{what} of best effort has no effect under this `fair_queue`");
        let remedy = format!("write fair_queue = \"{FSC}\" in [policy], or remove it");
        section.wrong(key, out, what, remedy);
    }

    /// The index of the group that is named.
    fn group(&self, section: &Section<'_>, out: &mut Problems<'_>) -> Option<Option<usize>> {
        let name = section.text("group", out)?;
        let place = self.names.iter().position(|n| n.as_deref() == Some(name));
        if place.is_none() {
            let known: Vec<_> = self.names.iter().flatten().map(|n| format!("`{n}`")).collect();
            let remedy = match known.is_empty() {
                true => "add a section [[group]] with this name".to_owned(),
                false => format!("write one of {}", known.join(", ")),
            };
            section.wrong("group", out, format!("no group is called \"{}\"", shown(name)), remedy);
        }
        place.map(Some)
    }

    /// A curve, if there is one; `None` if it is wrong.
    fn curve(
        &self,
        section: &Section<'_>,
        key: &str,
        out: &mut Problems<'_>,
    ) -> Option<Option<ClassCurve>> {
        if !section.has(key) {
            return Some(None);
        }
        let (index, form) = section.form(key, out)?;
        let later = match form.has("later") {
            true => form.time("later", out),
            false => Some(Span::ZERO),
        };
        let (form, later) = (service_curve::form(index, &form, out)?, later?);
        let curve = form.curve().and_then(|curve| curve.later(later));
        match curve.and_then(|curve| AnchoredCurve::new(&curve).map(|_| curve)) {
            Ok(curve) => Some(Some(ClassCurve { form, later, curve })),
            Err(error) => {
                service_curve::refused(section, key, &error, out);
                None
            }
        }
    }
}

/// Reports a group that is inside itself, or below too many others.
fn nesting(section: &Section<'_>, place: usize, groups: &[Group], out: &mut Problems<'_>) {
    let mut above = groups[place].sharing.group;
    for depth in 1.. {
        let Some(group) = above else { return };
        if group == place {
            let what = "the group is inside itself";
            section.wrong("group", out, what, "take it out of one of its groups");
            return;
        }
        // A class is in one group more.
        if depth >= config::Group::MAX_DEPTH {
            if !in_cycle(group, groups) {
                let what =
                    format!("more than {} groups inside each other", config::Group::MAX_DEPTH);
                section.wrong("group", out, what, "take some out");
            }
            return;
        }
        above = groups[group].sharing.group;
    }
}

/// Whether the way up from a group never ends; the groups of the cycle are reported themselves.
fn in_cycle(group: usize, groups: &[Group]) -> bool {
    let mut above = Some(group);
    for _ in 0..=groups.len() {
        let Some(group) = above else { return false };
        above = groups[group].sharing.group;
    }
    true
}

/// Reports groups in which no class is, unless something else is wrong, perhaps with their classes.
pub(super) fn empty(
    root: &Section<'_>,
    groups: &[Group],
    classes: impl Iterator<Item = Option<usize>> + Clone,
    out: &mut Problems<'_>,
) {
    if !out.is_empty() {
        return;
    }
    for (place, group) in groups.iter().enumerate() {
        let inside = |start: Option<usize>| {
            let mut above = start;
            for _ in 0..=groups.len() {
                match above {
                    Some(group) if group == place => return true,
                    Some(group) => above = groups[group].sharing.group,
                    None => return false,
                }
            }
            false
        };
        if !classes.clone().any(inside) {
            let what = format!("no class is in the group \"{}\"", shown(&group.name));
            let remedy = "name it as `group` of a [[best_effort]], or remove it";
            root.wrong("group", out, what, remedy);
        }
    }
}
