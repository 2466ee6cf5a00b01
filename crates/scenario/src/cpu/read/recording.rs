//! `[[recording]]`

use laxity_core::{Span, Time};
use toml::de::DeValue;

use crate::cpu::model::{RecordedSleeps, RecordedTasks};
use crate::problem::Problems;
use crate::read::Context;
use crate::read::walk::Section;

/// Reads every `[[recording]]`; the files themselves are read when something runs.
pub(super) fn read(root: &Section<'_>, cx: &mut Context<'_, '_>) -> Vec<RecordedTasks> {
    let mut done = Vec::new();
    for section in super::sections(root, "recording", cx.out).into_iter().flatten() {
        let path = section.file("file", cx.out);
        let sleeps = section
            .choice("sleeps", cx.out)
            .map_or(RecordedSleeps::default(), |i| RecordedSleeps::ALL[i]);
        let only = only(&section, cx.out);
        let join = section.time("join", cx.out).unwrap_or(Span::ZERO);
        let Some(path) = path else { continue };
        done.push(RecordedTasks { path: cx.folder.join(path), sleeps, only, join: Time(join.0) });
    }
    done
}

fn only(section: &Section<'_>, out: &mut Problems<'_>) -> Vec<String> {
    let Some((key, value)) = section.get("only") else { return Vec::new() };
    let names = match value.get_ref() {
        DeValue::Array(array) => array.iter().map(|v| v.get_ref().as_str()).collect(),
        _ => None,
    };
    let names: Option<Vec<&str>> = names;
    match names {
        Some(names) if !names.is_empty() && names.iter().all(|n| !n.is_empty()) => {
            names.into_iter().map(str::to_owned).collect()
        }
        _ => {
            let remedy = format!("write it like only = {}", key.example);
            section.wrong("only", out, "this is not a list of names of threads", remedy);
            Vec::new()
        }
    }
}
