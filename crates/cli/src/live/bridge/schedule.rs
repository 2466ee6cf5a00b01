//! The schedule of a direction: an admitted scenario with a credit for the lateness of threads.

use std::path::Path;

use laxity_analysis::link;
use laxity_core::Span;
use laxity_scenario::Document;
use laxity_scenario::link::model::{Link, Scenario};
use laxity_scenario::quantity;
use laxity_userlink::bridge::Schedule;

use super::args::CommonArgs;
use super::compared::RECORD;
use crate::failure::Failure;
use crate::{files, warning};

/// Credits that are tried where a scenario names none.
const CREDITS: [Span; 5] =
    [Span(1_000_000), Span(500_000), Span(200_000), Span(100_000), Span(50_000)];

/// A scenario that is admitted, with a credit.
///
/// # Errors
/// It cannot be read, does not describe a link, or is not admitted.
pub fn schedule(
    path: &Path,
    policy: Option<&String>,
    args: &CommonArgs,
) -> Result<Schedule, Failure> {
    let spin = span("--spin", &args.spin)?;
    let record = if args.compare { RECORD } else { 0 };
    let place = path.display();
    let document = Document::read(path).map_err(Failure::input)?;
    files::read_scenario(path, &document);
    files::plan([("--status", args.status.as_ref())])?;
    let mut scenario = match document {
        Document::Link(scenario) => scenario,
        _ => {
            let what = "this scenario does not describe a link; one that does has a section [link]";
            return Err(Failure::input(format!("{place}: {what}")));
        }
    };
    if let Some(policy) = policy {
        scenario.policy.use_.clone_from(policy);
    }
    let admitted = |scenario: &Scenario| {
        let verdict = link::analyse(scenario, &scenario.policy.use_);
        verdict.map(|v| v.admitted).map_err(|e| Failure::input(format!("{place}: {e}")))
    };
    if !admitted(&scenario)? {
        return Err(Failure::Refused(format!(
            "{place}: not admitted: a deadline could be missed; `laxity check` shows which"
        )));
    }
    if scenario.link.credit == Span::ZERO {
        for credit in CREDITS {
            let mut with = scenario.clone();
            with.set_link(Link { credit, ..scenario.link.clone() });
            if admitted(&with)? {
                scenario = with;
                break;
            }
        }
        let credit = scenario.link.credit;
        warning::say(format!(
            "note: {place} has no link.credit, the tolerated lateness of the thread; {credit} \
             keeps all deadlines and is used"
        ));
    }
    let realtime = scenario.realtime.iter().map(|f| &f.matches);
    let matches = realtime.chain(scenario.best_effort.iter().map(|c| &c.matches));
    if matches.flatten().any(|m| m.mark.is_some()) {
        warning::say(format!(
            "note: {place} matches firewall marks, which frames lose between interfaces: these \
             rules match no frame"
        ));
    }
    Ok(Schedule { spin, record, ..Schedule::of(scenario) })
}

/// A time on the command line.
///
/// # Errors
/// It is none.
pub fn span(option: &str, text: &str) -> Result<Span, Failure> {
    quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))
}
