//! `laxity top`: links, media servers and CPUs as they are now, again and again: on a terminal a table that
//! answers to keys, elsewhere text or JSON.

pub mod app;
pub mod parts;
mod view;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use laxity_report::text::Style;

use crate::args::TopArgs;
use crate::failure::Failure;
use crate::live::link::record::Links;
use crate::live::{cpu, link};
use crate::{interrupt, output};
use app::App;
use parts::Parts;

/// Time without a key after which the screen may be drawn again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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
pub fn run(args: &TopArgs) -> Result<ExitCode, Failure> {
    let watch = &args.watch;
    let interval = link::duration("--interval", &watch.interval)?;
    if std::io::stdout().is_terminal() && !args.json && watch.count.is_none() {
        return interactive(watch.dev.clone(), interval);
    }
    let mut before: Option<Sample> = None;
    let mut cpus = cpu::StatusMonitor::default();
    link::watch::repeat(interval, watch.count, || {
        let now = sample(watch.dev.as_deref(), &mut cpus)?;
        if args.json {
            let line = serde_json::to_string(&Parts::of(&now)).map_err(Failure::input)?;
            return output::print(&line);
        }
        output::print(&screen(&now, before.as_ref()))?;
        before = Some(now);
        Ok(())
    })
}

/// Calls `take` with a sample again and again until it returns false, from a thread of its own: a program
/// that answers slowly holds up nothing else.
pub fn watch(
    device: Option<String>,
    interval: Duration,
    mut take: impl FnMut(Result<Parts, Failure>) -> bool + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut cpus = cpu::StatusMonitor::default();
        loop {
            let parts = sample(device.as_deref(), &mut cpus).map(|sample| Parts::of(&sample));
            if !take(parts) {
                return;
            }
            std::thread::sleep(interval);
        }
    });
}

fn interactive(device: Option<String>, interval: Duration) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::control();
    let (sender, samples) = channel();
    watch(device, interval, move |parts| sender.send(parts).is_ok());
    let mut app = App::new();
    // Before the terminal changes, so that a failure is printed as usual.
    let first = samples.recv().map_err(|e| Failure::Internal(e.to_string()))??;
    app.update(first, 0.0);
    let failed = |e: std::io::Error| Failure::write("the terminal", &e);
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let done = (|| {
        let mut at = Instant::now();
        while !app.done && !interrupted.stopped() {
            terminal.draw(|frame| view::draw(frame, &app, output::style().colour))?;
            if event::poll(POLL_INTERVAL)? {
                match event::read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
                    _ => {}
                }
            }
            match samples.recv_timeout(Duration::ZERO) {
                Ok(Ok(parts)) => {
                    app.update(parts, at.elapsed().as_secs_f64());
                    at = Instant::now();
                }
                Ok(Err(failure)) => app.notes = vec![failure.text().to_owned()],
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    })();
    ratatui::restore();
    done.map_err(failed)?;
    Ok(ExitCode::SUCCESS)
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

#[cfg(test)]
mod tests;
