//! The reservation for a priority, and what else is configured.

use std::time::Duration;

use crate::demand::MIN_RUNTIME;
use crate::refusal::Refusal;
use crate::table::Limits;

/// The highest priority that `sched_setscheduler(2)` knows.
const MAX_PRIORITY: u32 = 99;
/// The range of nice values: `PRIO_MIN`, and `PRIO_MAX`, which is exclusive.
const NICE_RANGE: std::ops::Range<i32> = -20..20;

/// A runtime in every period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// CPU time in each period.
    pub runtime: Duration,
    /// The period, which is also the relative deadline.
    pub period: Duration,
}

/// The configuration of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The greatest priority that is granted, RealtimeKit's `MaxRealtimePriority`.
    pub max_priority: u32,
    /// The least nice value that is granted, RealtimeKit's `MinNiceLevel`.
    pub min_nice: i32,
    /// CPU time without blocking after which RealtimeKit has the kernel stop a thread (`RTTimeUSecMax`).
    /// Here a reservation bounds the thread already; one whose jobs are longer has what it started with.
    pub rttime_max: Duration,
    /// The period for the greatest priority. A fixed priority says how urgent a thread is among others; the
    /// deadline-monotonic order (Leung and Whitehead 1982) is the order of relative deadlines that gives the
    /// same.
    pub shortest_period: Duration,
    /// The period for priority 1.
    pub longest_period: Duration,
    /// The runtime that a thread starts with, in percent of the period.
    pub start_percent: u32,
    /// The greatest runtime, in percent of the period.
    pub max_percent: u32,
    /// Limits of requests.
    pub limits: Limits,
}

impl Default for Config {
    /// Priorities and limits are RealtimeKit's. Periods of 5 to 10 ms fit twice or more into a buffer of
    /// sound servers (21 ms) and browsers (10 ms) and cost little; with a tenth of each, ten threads fit into a
    /// user's default share of four CPUs, and a thread that uses more has it after some seconds.
    fn default() -> Config {
        Config {
            max_priority: 20,
            min_nice: -15,
            rttime_max: Duration::from_millis(200),
            shortest_period: Duration::from_millis(5),
            longest_period: Duration::from_millis(10),
            start_percent: 10,
            max_percent: 50,
            limits: Limits::default(),
        }
    }
}

impl Config {
    /// The reservation that a thread of a priority starts with.
    ///
    /// # Errors
    /// There is no such priority, or it is above the greatest.
    pub fn parameters(&self, priority: u32) -> Result<Parameters, Refusal> {
        if !(1..=MAX_PRIORITY).contains(&priority) {
            let text = format!("priority {priority} is not in 1 to {MAX_PRIORITY}");
            return Err(Refusal::failed(text));
        }
        if priority > self.max_priority {
            let text = format!("priority {priority} is above the maximum, {}", self.max_priority);
            return Err(Refusal::denied(text));
        }
        let range = self.longest_period.saturating_sub(self.shortest_period);
        let steps = (self.max_priority - 1).max(1);
        let period = self.longest_period - range * (priority - 1) / steps;
        Ok(Parameters { runtime: self.start_runtime(period), period })
    }

    /// The runtime with which a thread of a period starts.
    pub(crate) fn start_runtime(&self, period: Duration) -> Duration {
        (period * self.start_percent / 100).max(MIN_RUNTIME)
    }

    /// Checks a nice value.
    ///
    /// # Errors
    /// There is no such value, or it is below the least.
    pub(crate) fn check_nice(&self, nice: i32) -> Result<(), Refusal> {
        if !NICE_RANGE.contains(&nice) {
            return Err(Refusal::failed(format!("nice value {nice} is not in -20 to 19")));
        }
        if nice < self.min_nice {
            let text = format!("nice value {nice} is below the minimum, {}", self.min_nice);
            return Err(Refusal::denied(text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a higher priority gets a longer period, and when priorities or nice values out of range get
    /// another error than RealtimeKit's.
    #[test]
    fn priorities_have_periods() {
        let config = Config::default();
        let us = |priority| {
            let parameters = config.parameters(priority).expect("a priority");
            (parameters.runtime.as_micros(), parameters.period.as_micros())
        };
        assert_eq!((us(1), us(20)), ((1000, 10_000), (500, 5000)));
        assert!((2..=20).all(|p| us(p).1 < us(p - 1).1));
        for priority in [0, 100, u32::MAX] {
            let error = config.parameters(priority).expect_err("no priority");
            assert!(matches!(error, Refusal::Failed(_)), "{error:?}");
        }
        let error = config.parameters(21).expect_err("too high");
        assert!(matches!(error, Refusal::AccessDenied(_)), "{error:?}");
        let only = Config { max_priority: 1, ..config.clone() };
        assert_eq!(only.parameters(1).expect("a priority").period, config.longest_period);

        assert_eq!((config.check_nice(-15), config.check_nice(19)), (Ok(()), Ok(())));
        assert!(matches!(config.check_nice(-16), Err(Refusal::AccessDenied(_))));
        for nice in [-21, 20, i32::MIN] {
            assert!(matches!(config.check_nice(nice), Err(Refusal::Failed(_))), "{nice}");
        }
    }
}
