//! The runtime that a thread needs, from its CPU time and the number of times that it blocked.
//!
//! A job is what the thread computes from one wake-up to the next time that it blocks. How long it waits for its
//! CPU, or for its budget, changes neither: a thread that its reservation holds back shows the same jobs.

use std::time::Duration;

use crate::config::Parameters;

/// The least runtime, and the step in which runtimes differ: the least that the server of reservations grants
/// to users.
pub const MIN_RUNTIME: Duration = Duration::from_micros(100);
/// The number of observed intervals after which a runtime may become less.
const SHRINK_INTERVALS: u32 = 10;
/// The number of observed intervals without a request for more after one was refused.
const PAUSE_INTERVALS: u32 = 10;

/// What a thread has used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time.
    pub cpu_time: Duration,
    /// The number of times that it blocked.
    pub blocks: u64,
}

/// Bounds of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The greatest runtime.
    pub max_runtime: Duration,
    /// Threads with jobs of this length or longer do not get more.
    pub max_job: Duration,
}

/// The demand of a thread over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    last: Option<(Duration, Usage)>,
    /// The greatest demand of the intervals that are counted.
    peak: Duration,
    intervals: u32,
    pause: u32,
}

impl Demand {
    /// Takes in what a thread has used until a time, and returns the runtime that it should have instead of its
    /// own: at once and at most twice as much if it uses more than half, and at least half of its own if it used
    /// less than a quarter in ten intervals.
    pub fn observe(
        &mut self,
        now: Duration,
        usage: Usage,
        own: Parameters,
        bounds: Bounds,
    ) -> Option<Duration> {
        let (then, before) = self.last.replace((now, usage))?;
        let elapsed = now.saturating_sub(then);
        let used = usage.cpu_time.saturating_sub(before.cpu_time);
        // Nothing is known about jobs that have not ended.
        let jobs = u32::try_from(usage.blocks.saturating_sub(before.blocks)).ok()?;
        if used.is_zero() || elapsed.is_zero() || jobs == 0 || used / jobs >= bounds.max_job {
            return None;
        }
        let wanted =
            (2 * runtime(used, jobs, elapsed, own.period)).min(bounds.max_runtime).max(MIN_RUNTIME);
        self.peak = self.peak.max(wanted);
        self.intervals += 1;
        if wanted > own.runtime {
            self.restart();
            if self.pause > 0 {
                self.pause -= 1;
                return None;
            }
            return Some(wanted.min(2 * own.runtime));
        }
        if self.intervals < SHRINK_INTERVALS {
            return None;
        }
        let peak = self.peak;
        self.restart();
        (2 * peak <= own.runtime).then(|| round_up(own.runtime / 2))
    }

    /// Asks for no more for a while.
    pub fn refused(&mut self) {
        self.pause = PAUSE_INTERVALS;
    }

    fn restart(&mut self) {
        (self.peak, self.intervals) = (Duration::ZERO, 0);
    }
}

/// The runtime with which each job ends within half of the time from one wake-up to the next, as the other half
/// belongs to those who wait for its result; or within a period if that is longer.
fn runtime(used: Duration, jobs: u32, elapsed: Duration, period: Duration) -> Duration {
    let (job, interval) = (used / jobs, elapsed / jobs);
    let periods = interval.as_nanos() / (2 * period.as_nanos()).max(1);
    let periods = u32::try_from(periods).unwrap_or(u32::MAX).max(1);
    // Several jobs may fall into a period.
    let rate = used.as_nanos().saturating_mul(period.as_nanos()) / elapsed.as_nanos().max(1);
    let rate = Duration::from_nanos(u64::try_from(rate).unwrap_or(u64::MAX));
    round_up((job / periods).max(rate))
}

/// The next multiple of half of [`MIN_RUNTIME`], twice of which is a multiple of it.
fn round_up(time: Duration) -> Duration {
    let step = MIN_RUNTIME / 2;
    let steps = time.as_nanos().div_ceil(step.as_nanos());
    step * u32::try_from(steps).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// A thread with jobs of so many microseconds, so many a second, under a reservation that follows the
    /// demand. Returns its runtimes in us, one a second.
    fn follow(start: u64, job: u64, jobs: u64, seconds: u32) -> Vec<u128> {
        let mut own = Parameters { runtime: us(start), period: us(5000) };
        let bounds = Bounds { max_runtime: us(2500), max_job: us(200_000) };
        let (mut demand, mut usage) = (Demand::default(), Usage::default());
        let mut runtimes = Vec::new();
        for second in 0..seconds {
            if let Some(runtime) = demand.observe(second * SECOND, usage, own, bounds) {
                own.runtime = runtime;
            }
            runtimes.push(own.runtime.as_micros());
            usage.cpu_time += us(job * jobs);
            usage.blocks += jobs;
        }
        runtimes
    }

    /// Fails when a thread with longer jobs does not get more at once, or gets more than twice as much, when
    /// jobs that have several periods count whole, or when many jobs in a period count as one.
    #[test]
    fn runtimes_grow_with_the_jobs() {
        // One job each period: twice of it.
        assert_eq!(follow(500, 900, 190, 4), [500, 1000, 1800, 1800]);
        // One each 21 ms has two periods.
        assert_eq!(follow(500, 1800, 47, 4), [500, 1000, 1800, 1800]);
        // Four each period.
        assert_eq!(follow(500, 200, 800, 4), [500, 1000, 1600, 1600]);
        // The greatest.
        assert_eq!(follow(2000, 4000, 100, 3), [2000, 2500, 2500]);
    }

    /// Fails when a runtime shrinks before ten seconds, to less than half at once, or below the least.
    #[test]
    fn runtimes_shrink_slowly() {
        let runtimes = follow(1000, 20, 100, 60);
        assert!(runtimes[..10].iter().all(|r| *r == 1000), "{runtimes:?}");
        assert_eq!((runtimes[10], runtimes[20], runtimes[59]), (500, 250, 150));
        // More than a quarter of it is used.
        assert_eq!(follow(500, 130, 150, 40).last(), Some(&500));
    }

    /// Fails when a thread that sleeps or computes all the time loses or gets runtime.
    #[test]
    fn threads_without_jobs_keep_their_runtime() {
        assert_eq!(follow(500, 0, 0, 40).last(), Some(&500));
        assert_eq!(follow(500, 1_000_000, 1, 40).last(), Some(&500));
        let own = Parameters { runtime: us(500), period: us(5000) };
        let bounds = Bounds { max_runtime: us(2500), max_job: us(200_000) };
        let mut demand = Demand::default();
        for second in 0..40 {
            let usage = Usage { cpu_time: second * us(999_000), blocks: 7 };
            assert_eq!(demand.observe(second * SECOND, usage, own, bounds), None);
        }
    }

    /// Fails when a refused runtime is asked for again in the next interval, or never.
    #[test]
    fn refused_runtimes_are_asked_for_later() {
        let own = Parameters { runtime: us(500), period: us(5000) };
        let bounds = Bounds { max_runtime: us(2500), max_job: us(200_000) };
        let mut demand = Demand::default();
        let mut asked = Vec::new();
        for second in 0..25_u32 {
            let usage = Usage { cpu_time: second * us(90_000), blocks: u64::from(second) * 100 };
            if demand.observe(second * SECOND, usage, own, bounds).is_some() {
                asked.push(second);
                demand.refused();
            }
        }
        assert_eq!(asked, [1, 12, 23]);
    }
}
