//! `use` and `compare` of `[policy]`, for all kinds of policies.

use toml::de::DeValue;

use super::walk::{Section, Value, shown};
use crate::keys::{Kind, nearest};
use crate::problem::Problems;

/// The policy in use, and those to compare it with; `default` where none is named.
pub(crate) fn read(
    section: &Section<'_>,
    default: &str,
    out: &mut Problems<'_>,
) -> (String, Vec<String>) {
    let used = section.get("use").and_then(|(key, value)| {
        let Kind::Policy(names) = key.kind else { return None };
        policy(value, "policy.use", names.list, out)
    });
    let used = used.unwrap_or_else(|| default.to_owned());
    let mut compare = compare(section, out);
    // A simulation runs each policy once.
    compare.retain(|name| *name != used);
    (used, compare)
}

fn compare(section: &Section<'_>, out: &mut Problems<'_>) -> Vec<String> {
    let Some((key, value)) = section.get("compare") else { return Vec::new() };
    let Kind::Policies(policies) = key.kind else { return Vec::new() };
    let DeValue::Array(array) = value.get_ref() else {
        let remedy = format!("write it like compare = {}", key.example);
        section.wrong("compare", out, "this is not a list of names of policies", remedy);
        return Vec::new();
    };
    let mut names: Vec<String> = Vec::new();
    for value in array.iter() {
        let Some(name) = policy(value, "policy.compare", policies.list, out) else { continue };
        if names.contains(&name) {
            let what = format!("\"{name}\" occurs twice in the list");
            out.value(value.span(), "policy.compare", what, "remove one of the two");
            continue;
        }
        names.push(name);
    }
    names
}

fn policy(
    value: &Value<'_>,
    path: &str,
    policies: &[&str],
    out: &mut Problems<'_>,
) -> Option<String> {
    let text = value.get_ref().as_str().unwrap_or_default();
    if policies.contains(&text) {
        return Some(text.to_owned());
    }
    let what = match value.get_ref() {
        DeValue::String(_) => format!("unknown policy \"{}\"", shown(text)),
        _ => "this is not the name of a policy".into(),
    };
    let remedy = match nearest(text, policies.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("the policies are {}", policies.join(" ")),
    };
    out.value(value.span(), path, what, remedy);
    None
}
