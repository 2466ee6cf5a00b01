//! An admission tried before it is made: `laxity check` of a text.

use std::path::Path;

use laxity_analysis::{cpu, link, stream};
use laxity_report::text::{self, Style};
use laxity_scenario::Document;
use serde::Serialize;

use crate::{kind, page};

/// The answer.
#[derive(Serialize)]
struct Tried {
    admitted: bool,
    /// As `laxity check` prints it.
    text: String,
}

/// The verdict on a scenario as JSON. Files that it names are not read: the page has the text alone.
///
/// # Errors
/// The text is no scenario, with place and remedy.
pub fn try_scenario(scenario: &str) -> Result<String, String> {
    const NO_FILES: &str = "the page tries texts that name no file; use `laxity check`";
    let mut no_files = |path: &Path, _: &str| Err(format!("{}: {NO_FILES}", path.display()));
    let document = Document::parse_with(scenario, "scenario", &mut no_files);
    let document = document.map_err(|e| e.to_string())?;
    if let Some(path) = kind::of(&document).inputs().first() {
        return Err(format!("{}: {NO_FILES}", path.display()));
    }
    let tried = match document {
        Document::Link(scenario) => {
            let check = link::analyse(&scenario, &scenario.policy.use_);
            let check = check.map_err(|e| e.to_string())?;
            let deadlines = page::link_meta(&scenario).deadlines;
            let text = text::check(&check, &deadlines, Style::PLAIN);
            Tried { admitted: check.admitted, text }
        }
        Document::Stream(scenario) => {
            let check = stream::analyse(&scenario, &scenario.policy.use_);
            let text = text::stream_check(&check, Style::PLAIN);
            Tried { admitted: check.admitted, text }
        }
        Document::Cpu(scenario) => {
            let check = cpu::analyse(&scenario, &scenario.policy.use_);
            let check = check.map_err(|e| e.to_string())?;
            let text = text::cpu_check(&check, Style::PLAIN);
            Tried { admitted: check.admitted, text }
        }
    };
    serde_json::to_string(&tried).map_err(|e| e.to_string())
}
