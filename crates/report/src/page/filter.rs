//! What a reader may choose to see, and which parts of a page belong to it.

/// A family of names: policies, or flows, tasks or classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The name of the family: `Policy`.
    pub label: String,
    /// Its members, each once.
    pub names: Vec<String>,
}

impl Filter {
    /// A family of names.
    pub fn new<'a>(label: &str, names: impl IntoIterator<Item = &'a str>) -> Filter {
        let mut filter = Filter { label: label.into(), names: Vec::new() };
        filter.extend(names.into_iter().map(String::from));
        filter
    }

    pub(super) fn extend(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }
}

/// The member that a heading names, as `family.member`: the heading is its name, or its name with an
/// addition such as a deadline or a reason for drops. Of several the longest name.
pub(super) fn subject(filters: &[Filter], heading: &str) -> Option<String> {
    let names = |name: &str| {
        let rest = heading.strip_prefix(name)?;
        [" (", ": ", ", "]
            .iter()
            .any(|s| rest.starts_with(s))
            .then_some(())
            .or(rest.is_empty().then_some(()))
    };
    let all = filters
        .iter()
        .enumerate()
        .flat_map(|(f, filter)| filter.names.iter().enumerate().map(move |(n, name)| (f, n, name)));
    let mut best: Option<(usize, String)> = None;
    for (f, n, name) in all.filter(|(_, _, name)| !name.is_empty() && names(name).is_some()) {
        if best.as_ref().is_none_or(|(length, _)| name.len() > *length) {
            best = Some((name.len(), format!("{f}.{n}")));
        }
    }
    best.map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a name that begins another one takes its rows (tried: the first match).
    #[test]
    fn headings_belong_to_the_longest_name() {
        let filters =
            [Filter::new("Policy", ["exact", "edf"]), Filter::new("Flow", ["a", "a (b)", "a"])];
        let of = |heading| subject(&filters, heading);
        assert_eq!(of("exact").as_deref(), Some("0.0"));
        assert_eq!(of("a (30 ms)").as_deref(), Some("1.0"));
        assert_eq!(of("a (b): full").as_deref(), Some("1.1"));
        assert_eq!(of("a (b), whole run").as_deref(), Some("1.1"));
        assert_eq!(of("exactly"), None);
        assert_eq!(filters[1].names.len(), 2);
    }
}
