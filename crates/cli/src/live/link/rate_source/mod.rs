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
use super::backend;
use super::rate::RatedLink;
use crate::failure::Failure;
use crate::{interrupt, warning};

/// Longest time for which a stop goes unnoticed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Lines that wait until they are read.
const PENDING_LINES: usize = 64;
/// Lines after which other work is due, however many come.
const MAX_LINES: usize = 4096;
/// Time for which a change of the plan may occupy the loop.
const CHANGE_TIMEOUT: Duration = Duration::from_millis(50);

/// Output of a program since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateUpdate {
    /// The newest only rate, or rate upstream.
    pub rate: Option<Rate>,
    /// The newest rate downstream.
    pub down: Option<Rate>,
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
        if let Ok(event) = self.events.1.recv_timeout(wait.min(timeout)) {
            self.handle(event, &mut update);
        }
        for _ in 1..MAX_LINES {
            let Ok(event) = self.events.1.try_recv() else { break };
            self.handle(event, &mut update);
        }
        self.act(&mut update);
        update
    }

    fn handle(&mut self, event: Event, update: &mut RateUpdate) {
        let now = self.began.elapsed();
        match event {
            Event::Line(start, text) if start == self.starts => match line::rates(&text) {
                Some(rates) => {
                    self.supervisor.handle_rate(now);
                    let down = rates.down.or(update.down);
                    *update = RateUpdate { rate: Some(rates.first), down, fall_back: false };
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

/// A link that follows a program.
struct Follower {
    device: String,
    link: RatedLink,
}

impl Follower {
    fn new(device: String) -> Result<Follower, Failure> {
        let link = RatedLink::new(&device, CHANGE_TIMEOUT)?;
        Ok(Follower { device, link })
    }

    fn follow(&mut self, rate: Option<Rate>, fall_back: bool) -> Result<(), Failure> {
        if let Some(rate) = rate {
            self.link.planner().handle_rate(rate);
        }
        if fall_back {
            let rate = self.link.scenario_rate();
            warning::say(format!("{}: no rate for 5 min; back to the scenario's", self.device));
            self.link.planner().handle_rate(rate);
        }
        if let Err(failure) = self.link.follow() {
            warning::say(failure.text());
            // The present state, after a change by another command; an error if the link is down.
            self.link = RatedLink::new(&self.device, CHANGE_TIMEOUT)?;
        }
        Ok(())
    }
}

/// Follows a program until the process gets SIGINT or SIGTERM; the links of the interface, those of
/// `egress` and `ingress`, are then at their scenarios' rates again.
pub fn follow(
    device: &str,
    mut source: RateSource,
    egress: bool,
    ingress: bool,
) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::control();
    let mut up = egress.then(|| Follower::new(device.to_owned())).transpose()?;
    let mut down = match ingress {
        true => Some(Follower::new(backend::ingress_device(device)?)?),
        false => None,
    };
    while !interrupted.stopped() {
        let links = up.iter().chain(&down);
        let timeout = links.filter_map(|f| f.link.next_timeout()).min();
        let timeout = timeout.map_or(POLL_INTERVAL, |t| Duration::from_nanos(t.0));
        let update = source.next(timeout.min(POLL_INTERVAL));
        // The only rate is that of the only link.
        let only = update.rate.filter(|_| up.is_none());
        if let Some(up) = &mut up {
            up.follow(update.rate, update.fall_back)?;
        }
        if let Some(down) = &mut down {
            down.follow(update.down.or(only), update.fall_back)?;
        }
    }
    let garbage = source.garbage();
    drop(source);
    if garbage > 0 {
        warning::say(format!("--rate-from: {garbage} lines held no rate"));
    }
    for follower in up.iter().chain(&down) {
        follower.link.return_to_scenario()?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests;
