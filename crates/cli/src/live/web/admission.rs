//! An admission tried before it is made: `laxity check` of a text.

use std::path::Path;

use laxity_analysis::{cpu, link, stream};
use laxity_report::text::{self, Style};
use laxity_scenario::Document;
use laxity_telemetry::http::Refusal;

use super::change::Verdict;
use crate::{kind, page};

const NO_FILES: &str = "the page tries texts that name no file; use `laxity check`";

/// Refuses a file that a text names.
pub fn no_files(
    path: &Path,
    _: &str,
) -> Result<Vec<(laxity_core::Time, laxity_core::Bytes)>, String> {
    Err(format!("{}: {NO_FILES}", path.display()))
}

/// The verdict on a scenario. Files that it names are not read: the page has the text alone.
///
/// # Errors
/// The text is no scenario, with place and remedy.
pub fn try_scenario(scenario: &str) -> Result<Verdict, Refusal> {
    let document = Document::parse_with(scenario, "scenario", &mut no_files);
    let document = document.map_err(input)?;
    if let Some(path) = kind::of(&document).inputs().first() {
        return Err(Refusal::Input(format!("{}: {NO_FILES}", path.display())));
    }
    Ok(match document {
        Document::Link(scenario) => {
            let check = link::analyse(&scenario, &scenario.policy.use_);
            let check = check.map_err(input)?;
            let deadlines = page::link_meta(&scenario).deadlines;
            let text = text::check(&check, &deadlines, Style::PLAIN);
            Verdict { admitted: check.admitted, text }
        }
        Document::Stream(scenario) => {
            let check = stream::analyse(&scenario, &scenario.policy.use_);
            let text = text::stream_check(&check, Style::PLAIN);
            Verdict { admitted: check.admitted, text }
        }
        Document::Cpu(scenario) => {
            let check = cpu::analyse(&scenario, &scenario.policy.use_);
            let check = check.map_err(input)?;
            let text = text::cpu_check(&check, Style::PLAIN);
            Verdict { admitted: check.admitted, text }
        }
    })
}

fn input(error: impl std::fmt::Display) -> Refusal {
    Refusal::Input(error.to_string())
}
