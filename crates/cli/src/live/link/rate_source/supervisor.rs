//! When the program that measures rates is started again, and what holds without it: a state machine
//! without clock and I/O.

use std::time::Duration;

/// Without a rate for so long the program counts as hung.
pub const MAX_SILENCE: Duration = Duration::from_secs(30);
/// Without a rate for so long the rate is the scenario's again.
pub const FALL_BACK_AFTER: Duration = Duration::from_secs(300);
/// Time before the first restart; it doubles with each one without a rate.
pub const MIN_BACK_OFF: Duration = Duration::from_secs(1);
/// Longest time before a restart.
pub const MAX_BACK_OFF: Duration = Duration::from_secs(60);

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the program.
    Start,
    /// End the program, which hangs.
    Kill,
    /// Warn that there is no rate, and why.
    Warn(Outage),
    /// Return to the rate of the scenario.
    FallBack,
}

/// Why there is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The program has ended, or cannot be started.
    Ended,
    /// It prints no rates.
    Silent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Runs since an instant.
    Running(Duration),
    /// Is started at an instant.
    Waiting(Duration),
}

/// Watches over the program. Times are since the first call.
#[derive(Clone, Debug)]
pub struct Supervisor {
    state: State,
    back_off: Duration,
    last_rate: Duration,
    outage: Option<Outage>,
    warned: bool,
    fallen_back: bool,
}

impl Supervisor {
    /// Starts the program at the first poll.
    pub fn new() -> Supervisor {
        Supervisor {
            state: State::Waiting(Duration::ZERO),
            back_off: MIN_BACK_OFF,
            last_rate: Duration::ZERO,
            outage: None,
            warned: false,
            fallen_back: false,
        }
    }

    /// The program has printed a rate.
    pub fn handle_rate(&mut self, now: Duration) {
        self.last_rate = now;
        self.back_off = MIN_BACK_OFF;
        self.warned = false;
        self.fallen_back = false;
    }

    /// The program has ended, or could not be started.
    pub fn handle_exit(&mut self, now: Duration) {
        self.outage = Some(Outage::Ended);
        self.wait(now);
    }

    fn wait(&mut self, now: Duration) {
        self.state = State::Waiting(now + self.back_off);
        self.back_off = (2 * self.back_off).min(MAX_BACK_OFF);
    }

    fn silent_at(&self, since: Duration) -> Duration {
        since.max(self.last_rate) + MAX_SILENCE
    }

    /// The next thing to do; to be called until there is none.
    pub fn poll(&mut self, now: Duration) -> Option<Action> {
        if let Some(outage) = self.outage.take()
            && !self.warned
        {
            self.warned = true;
            return Some(Action::Warn(outage));
        }
        if !self.fallen_back && now >= self.last_rate + FALL_BACK_AFTER {
            self.fallen_back = true;
            return Some(Action::FallBack);
        }
        match self.state {
            State::Waiting(at) if now >= at => {
                self.state = State::Running(now);
                Some(Action::Start)
            }
            State::Running(since) if now >= self.silent_at(since) => {
                self.outage = Some(Outage::Silent);
                self.wait(now);
                Some(Action::Kill)
            }
            _ => None,
        }
    }

    /// When `poll` has something to do without an event.
    pub fn next_timeout(&self) -> Duration {
        let state = match self.state {
            State::Waiting(at) => at,
            State::Running(since) => self.silent_at(since),
        };
        if self.fallen_back { state } else { state.min(self.last_rate + FALL_BACK_AFTER) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn all(supervisor: &mut Supervisor, now: Duration) -> Vec<Action> {
        std::iter::from_fn(|| supervisor.poll(now)).collect()
    }

    // Fails when a rate does not end an outage, restarts come without back-off, or each restart warns.
    #[test]
    fn a_program_that_ends_is_restarted_ever_later() {
        let mut supervisor = Supervisor::new();
        assert_eq!(all(&mut supervisor, at(0)), [Action::Start]);
        let mut now = at(100);
        supervisor.handle_exit(now);
        assert_eq!(all(&mut supervisor, now), [Action::Warn(Outage::Ended)]);
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            let start = now + Duration::from_secs(wait);
            assert_eq!(supervisor.next_timeout(), start);
            assert_eq!(all(&mut supervisor, start - at(1)), []);
            assert_eq!(all(&mut supervisor, start), [Action::Start]);
            now = start;
            supervisor.handle_exit(now);
            assert_eq!(all(&mut supervisor, now), []);
        }
        let start = supervisor.next_timeout();
        assert_eq!(all(&mut supervisor, start), [Action::Start]);
        supervisor.handle_rate(start + at(1));
        supervisor.handle_exit(start + at(2));
        assert_eq!(all(&mut supervisor, start + at(2)), [Action::Warn(Outage::Ended)]);
        assert_eq!(supervisor.next_timeout(), start + at(1002));
    }

    // Fails when silence is not noticed, is counted from the start although rates came, or the
    // scenario's rate returns early, late or twice.
    #[test]
    fn silence_ends_the_program_and_then_the_rate() {
        let mut supervisor = Supervisor::new();
        assert_eq!(all(&mut supervisor, at(0)), [Action::Start]);
        supervisor.handle_rate(at(20_000));
        assert_eq!(supervisor.next_timeout(), at(50_000));
        assert_eq!(all(&mut supervisor, at(49_999)), []);
        let killed = [Action::Kill, Action::Warn(Outage::Silent)];
        assert_eq!(all(&mut supervisor, at(50_000)), killed);
        let mut fallen = Vec::new();
        let mut starts = 0;
        while supervisor.next_timeout() < at(900_000) {
            let now = supervisor.next_timeout();
            for action in all(&mut supervisor, now) {
                match action {
                    Action::FallBack => fallen.push(now),
                    Action::Start => starts += 1,
                    Action::Kill => {}
                    Action::Warn(_) => panic!("warned twice"),
                }
            }
        }
        assert_eq!(fallen, [at(320_000)]);
        assert!((8..15).contains(&starts), "{starts}");
        supervisor.handle_rate(at(900_000));
        assert_eq!(supervisor.next_timeout(), at(930_000));
    }
}
