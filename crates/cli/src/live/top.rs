//! `laxity top`: links, media servers and CPUs as they are now, again and again.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Instant;

use laxity_report::text::Style;

use crate::failure::Failure;
use crate::live::link::args::WatchArgs;
use crate::live::link::record::Links;
use crate::live::{cpu, link};
use crate::output;

/// Moves to the corner of the terminal; clears the rest of each line and of the screen.
const CORNER: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const REST: &str = "\x1b[J";

/// Errors on a line, and headings.
pub const RED: &str = "\x1b[31m";
/// See [`RED`].
pub const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Adds a line of the screen, where there are colours in this one.
pub fn line(text: &mut String, line: &str, how: &str, style: Style) {
    let coloured = style.colour && !how.is_empty();
    let (before, after) = if coloured { (how, PLAIN) } else { ("", "") };
    text.extend([before, line, after, "\n"]);
}

/// Links and CPUs at a time. Either is shown also when the other is not available.
struct Sample {
    links: Option<Links>,
    /// Or why not, where the machine could have that.
    cpus: Result<cpu::Status, Option<String>>,
    at: Instant,
}

/// Runs the command.
pub fn run(args: &WatchArgs) -> Result<ExitCode, Failure> {
    let interval = link::duration("--interval", &args.interval)?;
    let terminal = std::io::stdout().is_terminal();
    let mut before: Option<Sample> = None;
    let mut cpus = cpu::StatusMonitor::default();
    link::watch::repeat(interval, args.count, || {
        let now = sample(args.dev.as_deref(), &mut cpus)?;
        let text = screen(&now, before.as_ref());
        if terminal {
            let lines = text.replace('\n', &format!("{REST_OF_LINE}\n"));
            output::print(&format!("{CORNER}{lines}{REST}"))?;
        } else {
            output::print(&text)?;
        }
        before = Some(now);
        Ok(())
    })
}

fn sample(device: Option<&str>, cpus: &mut cpu::StatusMonitor) -> Result<Sample, Failure> {
    let links = link::now(device);
    let at = Instant::now();
    if device.is_some() {
        return Ok(Sample { links: Some(links?), cpus: Err(None), at });
    }
    match (links, cpus.status()) {
        (Err(of_links), Err(of_cpus)) if of_links.text() == of_cpus.text() => Err(of_links),
        (Err(of_links), Err(of_cpus)) => Err(of_links.and("CPUs", &of_cpus)),
        (links, cpus) => {
            let why = |failure| match failure {
                Failure::Refused(text) => Some(text),
                _ => None,
            };
            Ok(Sample { links: links.ok(), cpus: cpus.map_err(why), at })
        }
    }
}

fn screen(now: &Sample, before: Option<&Sample>) -> String {
    let style = output::style();
    let seconds = before.map(|b| now.at.duration_since(b.at).as_secs_f64());
    let mut text = String::new();
    if let Some(links) = &now.links {
        let earlier = before.and_then(|b| Some((b.links.as_ref()?, seconds?)));
        text.push_str(&link::top::screen(links, earlier, style));
    }
    if !text.is_empty() && !matches!(now.cpus, Err(None)) {
        text.push('\n');
    }
    match &now.cpus {
        Ok(cpus) => {
            let earlier = before.and_then(|b| Some((b.cpus.as_ref().ok()?, seconds?)));
            text.push_str(&cpu::top::screen(cpus, earlier, style));
        }
        Err(Some(why)) => line(&mut text, &format!("CPUs: {why}"), "", style),
        Err(None) => {}
    }
    text
}
