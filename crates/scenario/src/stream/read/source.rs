//! `source` of a stream.

use laxity_core::Span;

use crate::keys::{Kind, nearest};
use crate::problem::Problems;
use crate::read::values;
use crate::read::walk::Section;
use crate::read::{Context, walk::shown};
use crate::stream::model::StreamSource;

/// Reads the source of a class whose packets are due every `gap`. Its forms stand in the table of
/// keys in this order.
pub(super) fn read(
    class: &Section<'_>,
    gap: Option<Span>,
    cx: &mut Context<'_, '_>,
) -> Option<StreamSource> {
    let Some((key, value)) = class.get("source") else {
        let period = gap.or_else(|| {
            let what = "`source` is missing; a stream without a gap needs it";
            let remedy = "add source = { period = \"20 ms\" } or source = \"backlogged\"";
            cx.out.structure(class.span.clone(), &class.key_path("source"), what, remedy);
            None
        })?;
        return Some(StreamSource::Periodic { period, jitter: Span::ZERO, phase: None });
    };
    if let Some(text) = value.get_ref().as_str() {
        let Kind::Forms(forms) = key.kind else { return None };
        let source = match text {
            "backlogged" => Some(StreamSource::Backlogged),
            "external" => Some(StreamSource::External),
            _ => None,
        };
        if source.is_none() {
            let what = format!("unknown source \"{}\"", shown(text));
            let remedy = match nearest(text, ["backlogged", "external"]) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => forms.usage(),
            };
            class.wrong("source", cx.out, what, remedy);
        }
        return source;
    }
    let (form, section) = class.form("source", cx.out)?;
    match form {
        0 => periodic(&section, cx.out),
        1 => bursts(&section, cx.out),
        2 => on_off(&section, cx.out),
        _ => {
            let path = section.file("file", cx.out);
            let repeat = section.boolean("repeat", cx.out).unwrap_or(false);
            Some(StreamSource::File { path: cx.folder.join(path?), repeat })
        }
    }
}

fn periodic(section: &Section<'_>, out: &mut Problems<'_>) -> Option<StreamSource> {
    let period = section.positive_time("period", out);
    let jitter = section.time("jitter", out).unwrap_or(Span::ZERO);
    let phase = section.time("phase", out);
    Some(StreamSource::Periodic { period: period?, jitter, phase })
}

fn bursts(section: &Section<'_>, out: &mut Problems<'_>) -> Option<StreamSource> {
    let burst = values::whole(section, "burst", out);
    let every = section.positive_time("every", out);
    let spread = values::whole(section, "spread", out).unwrap_or(0);
    let phase = section.time("phase", out);
    let (burst, every) = (burst?, every?);
    if spread >= burst {
        let what = format!("a spread of {spread} is not below the burst of {burst}");
        section.wrong("spread", out, what, format!("give less than {burst}"));
        return None;
    }
    Some(StreamSource::Bursts { burst, spread, every, phase })
}

fn on_off(section: &Section<'_>, out: &mut Problems<'_>) -> Option<StreamSource> {
    let period = section.positive_time("period", out);
    let on = values::range(section, "on", out);
    let off = values::range(section, "off", out);
    if on.is_some_and(|(_, most)| most.0 == 0) {
        section.wrong("on", out, "the source is never on", "give `on` a positive length");
        return None;
    }
    Some(StreamSource::OnOff { period: period?, on: on?, off: off? })
}
