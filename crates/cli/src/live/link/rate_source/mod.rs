//! `laxity link up --rate-from`: the rate of a link follows a program that prints rates.

pub mod child;
mod line;
mod supervisor;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use laxity_core::Rate;

use self::child::{Event, Program};
use self::supervisor::{Action, Outage, Supervisor};
use super::rate::RatedLink;
use crate::failure::Failure;
use crate::{interrupt, warning};

/// Longest time for which a stop goes unnoticed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Lines that wait until they are read.
const PENDING_LINES: usize = 64;
/// Time for which a change of the plan may occupy the loop.
const CHANGE_TIMEOUT: Duration = Duration::from_millis(50);

/// Output of a program since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateUpdate {
    /// The newest rate.
    pub rate: Option<Rate>,
    /// The rate of the scenario is to be in effect again.
    pub fall_back: bool,
}

/// A program that prints rates, kept running.
#[derive(Debug)]
pub struct RateSource {
    name: String,
    words: Vec<String>,
    supervisor: Supervisor,
    program: Option<Program>,
    /// How often it was started.
    starts: u64,
    garbage: u64,
    events: (SyncSender<Event>, Receiver<Event>),
    began: Instant,
}

impl RateSource {
    /// A program by its command line, which starts with the first call of [`RateSource::next`].
    ///
    /// # Errors
    /// When the command line is malformed.
    pub fn new(command: &str) -> Result<RateSource, Failure> {
        let wrong = |why| Failure::Input(format!("--rate-from `{command}`: {why}"));
        let words = line::words(command).map_err(wrong)?;
        let own = std::env::current_exe();
        let own = own.map_err(|e| Failure::Internal(format!("the program of laxity: {e}")))?;
        let own = own.to_string_lossy().into_owned();
        let parent = std::process::id().to_string();
        let starter = [own.as_str(), "link", "run-rate-source", "--parent", &parent, "--"];
        let starter = starter.map(str::to_owned);
        Ok(RateSource::with_words(words[0].clone(), [&starter[..], &words[..]].concat()))
    }

    /// Of a program called `name`, started by these words.
    fn with_words(name: String, words: Vec<String>) -> RateSource {
        RateSource {
            name,
            words,
            supervisor: Supervisor::new(),
            program: None,
            starts: 0,
            garbage: 0,
            events: sync_channel(PENDING_LINES),
            began: Instant::now(),
        }
    }

    /// Lines that held no rate.
    pub fn garbage(&self) -> u64 {
        self.garbage
    }

    /// Waits for at most `wait` and returns what the program said.
    pub fn next(&mut self, wait: Duration) -> RateUpdate {
        let mut update = RateUpdate::default();
        self.act(&mut update);
        let timeout = self.supervisor.next_timeout().saturating_sub(self.began.elapsed());
        let mut next = self.events.1.recv_timeout(wait.min(timeout)).ok();
        while let Some(event) = next {
            self.handle(event, &mut update);
            next = self.events.1.try_recv().ok();
        }
        self.act(&mut update);
        update
    }

    fn handle(&mut self, event: Event, update: &mut RateUpdate) {
        let now = self.began.elapsed();
        match event {
            Event::Line(start, text) if start == self.starts => match line::rate(&text) {
                Some(rate) => {
                    self.supervisor.handle_rate(now);
                    *update = RateUpdate { rate: Some(rate), fall_back: false };
                }
                None => self.garbage += 1,
            },
            Event::End(start) if start == self.starts && self.program.is_some() => {
                self.program = None;
                self.supervisor.handle_exit(now);
            }
            // Of a program that was killed.
            Event::Line(..) | Event::End(_) => {}
        }
    }

    fn act(&mut self, update: &mut RateUpdate) {
        while let Some(action) = self.supervisor.poll(self.began.elapsed()) {
            match action {
                Action::Start => self.start(),
                Action::Kill => self.program = None,
                Action::FallBack => update.fall_back = true,
                Action::Warn(outage) => warning::say(format!(
                    "--rate-from {}: {}; the rate stays, and the program is restarted",
                    self.name,
                    match outage {
                        Outage::Ended => "the program has ended",
                        Outage::Silent => "no rate for 30 s",
                    }
                )),
            }
        }
    }

    fn start(&mut self) {
        self.starts += 1;
        match Program::start(&self.words, self.starts, &self.events.0) {
            Ok(program) => self.program = Some(program),
            Err(_) => self.supervisor.handle_exit(self.began.elapsed()),
        }
    }
}

/// Follows a program until the process gets SIGINT or SIGTERM; the link is then at the scenario's rate
/// again.
pub fn follow(device: &str, mut source: RateSource) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::control();
    let mut link = RatedLink::new(device, CHANGE_TIMEOUT)?;
    while !interrupted.stopped() {
        let timeout = link.next_timeout().map_or(POLL_INTERVAL, |t| Duration::from_nanos(t.0));
        let update = source.next(timeout.min(POLL_INTERVAL));
        if let Some(rate) = update.rate {
            link.planner().handle_rate(rate);
        }
        if update.fall_back {
            let rate = link.scenario_rate();
            warning::say(format!("{device}: no rate for 5 min; back to the scenario's"));
            link.planner().handle_rate(rate);
        }
        if let Err(failure) = link.follow() {
            warning::say(failure.text());
            // The present state, after a change by another command; an error if the link is down.
            link = RatedLink::new(device, CHANGE_TIMEOUT)?;
        }
    }
    let garbage = source.garbage();
    drop(source);
    if garbage > 0 {
        warning::say(format!("--rate-from: {garbage} lines held no rate"));
    }
    link.return_to_scenario()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests;
