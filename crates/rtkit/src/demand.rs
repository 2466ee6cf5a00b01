//! The runtime that a thread needs, from its CPU time and the number of times that it blocked.
//!
//! A job is what the thread computes from one wake-up to the next time that it blocks. How long it waits for its
//! CPU, or for its budget, changes neither: a thread that its reservation holds back shows the same jobs.

use std::time::Duration;

use crate::config::Parameters;

/// The least runtime, and the step in which runtimes differ: the least that the server of reservations grants
/// to users.
pub const MIN_RUNTIME: Duration = Duration::from_micros(100);
/// The time after which a runtime may become less, and after which more is asked for again once it was refused.
const SETTLING_TIME: Duration = Duration::from_secs(10);

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
    /// The runtime that the thread started with.
    pub start_runtime: Duration,
    /// The greatest runtime.
    pub max_runtime: Duration,
    /// Threads with jobs of this length or longer have the runtime that they started with, or less.
    pub max_job: Duration,
}

/// The demand of a thread over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    last: Option<(Duration, Usage)>,
    /// The CPU time of the job that has not ended.
    open_job: Duration,
    /// The greatest demand since a time.
    peak: Duration,
    since: Option<Duration>,
    /// Until when it asks for no more.
    paused: Duration,
}

impl Demand {
    /// Takes in what a thread has used until a time, and returns the runtime that it should have instead of its
    /// own: at once and at most twice as much if it uses more than half, and at least half of its own if it used
    /// less than a quarter for ten seconds.
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
        let jobs = u32::try_from(usage.blocks.saturating_sub(before.blocks)).ok()?;
        if used.is_zero() || elapsed.is_zero() {
            return None;
        }
        let job = if jobs == 0 { self.open_job + used } else { used / jobs };
        self.open_job = if jobs == 0 { job } else { Duration::ZERO };
        if job >= bounds.max_job {
            return (own.runtime > bounds.start_runtime).then_some(bounds.start_runtime);
        }
        let wanted = if jobs > 0 {
            2 * runtime(used, jobs, elapsed, own.period)
        } else if at_rate(used, elapsed, own.period) >= own.runtime / 2 {
            // Held back, it falls behind and does not block; how far is unknown.
            2 * own.runtime
        } else {
            return None;
        };
        let wanted = wanted.min(bounds.max_runtime).max(MIN_RUNTIME);
        if wanted > own.runtime {
            (self.peak, self.since) = (Duration::ZERO, None);
            return (now >= self.paused).then_some(wanted.min(2 * own.runtime));
        }
        self.peak = self.peak.max(wanted);
        let since = *self.since.get_or_insert(then);
        if now - since < SETTLING_TIME {
            return None;
        }
        let peak = std::mem::take(&mut self.peak);
        self.since = None;
        (2 * peak <= own.runtime).then(|| round_up(own.runtime / 2))
    }

    /// Asks for no more for ten seconds.
    pub fn refused(&mut self, now: Duration) {
        self.paused = now + SETTLING_TIME;
    }
}

/// The runtime with which each job ends within half of the time from one wake-up to the next, as the other half
/// belongs to those who wait for its result; or within a period if that is longer.
fn runtime(used: Duration, jobs: u32, elapsed: Duration, period: Duration) -> Duration {
    let (job, interval) = (used / jobs, elapsed / jobs);
    let periods = interval.as_nanos() / (2 * period.as_nanos()).max(1);
    let periods = u32::try_from(periods).unwrap_or(u32::MAX).max(1);
    // Several jobs may fall into a period.
    round_up((job / periods).max(at_rate(used, elapsed, period)))
}

/// What is used in a period, on average.
fn at_rate(used: Duration, elapsed: Duration, period: Duration) -> Duration {
    let rate = used.as_nanos().saturating_mul(period.as_nanos()) / elapsed.as_nanos().max(1);
    Duration::from_nanos(u64::try_from(rate).unwrap_or(u64::MAX))
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
    const BOUNDS: Bounds = Bounds {
        start_runtime: Duration::from_micros(500),
        max_runtime: Duration::from_micros(2500),
        max_job: Duration::from_millis(200),
    };

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// A thread with jobs of so many microseconds, so many a second, under a reservation that follows the
    /// demand. Returns its runtimes in us, one a second.
    fn follow(start: u64, job: u64, jobs: u64, seconds: u32) -> Vec<u128> {
        let mut own = Parameters { runtime: us(start), period: us(5000) };
        let (mut demand, mut usage) = (Demand::default(), Usage::default());
        let mut runtimes = Vec::new();
        for second in 0..seconds {
            if let Some(runtime) = demand.observe(second * SECOND, usage, own, BOUNDS) {
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

    /// Fails when a thread that has fallen behind, and so does not block, keeps its runtime, and when one that
    /// computes all the time keeps more than it started with.
    #[test]
    fn threads_that_fall_behind_get_more() {
        // Jobs of 750 us in each period of 5 ms, with 500 us for them: it is behind until it has more.
        let mut own = Parameters { runtime: us(500), period: us(5000) };
        let (mut demand, mut usage, mut behind) = (Demand::default(), Usage::default(), 0);
        for tenth in 0..40 {
            own.runtime =
                demand.observe(tenth * SECOND / 10, usage, own, BOUNDS).unwrap_or(own.runtime);
            behind += 20 * 750;
            let used = behind.min(20 * own.runtime.as_micros() as u64);
            behind -= used;
            usage.cpu_time += us(used);
            usage.blocks += if behind == 0 { 20 } else { 0 };
        }
        assert_eq!((own.runtime, behind), (us(2000), 0));

        let mut own = Parameters { runtime: us(500), period: us(5000) };
        let (mut demand, mut usage) = (Demand::default(), Usage::default());
        for tenth in 0..40 {
            own.runtime =
                demand.observe(tenth * SECOND / 10, usage, own, BOUNDS).unwrap_or(own.runtime);
            usage.cpu_time += 20 * own.runtime;
        }
        assert_eq!(own.runtime, us(500));
    }

    /// Fails when a thread that sleeps or computes all the time loses or gets runtime.
    #[test]
    fn threads_without_jobs_keep_their_runtime() {
        assert_eq!(follow(500, 0, 0, 40).last(), Some(&500));
        assert_eq!(follow(500, 1_000_000, 1, 40).last(), Some(&500));
        let own = Parameters { runtime: us(500), period: us(5000) };
        let mut demand = Demand::default();
        for second in 0..40 {
            let usage = Usage { cpu_time: second * us(999_000), blocks: 7 };
            assert_eq!(demand.observe(second * SECOND, usage, own, BOUNDS), None);
        }
    }

    /// Fails when a refused runtime is asked for again in the next interval, or never.
    #[test]
    fn refused_runtimes_are_asked_for_later() {
        let own = Parameters { runtime: us(500), period: us(5000) };
        let mut demand = Demand::default();
        let mut asked = Vec::new();
        for second in 0..25_u32 {
            let usage = Usage { cpu_time: second * us(90_000), blocks: u64::from(second) * 100 };
            if demand.observe(second * SECOND, usage, own, BOUNDS).is_some() {
                asked.push(second);
                demand.refused(second * SECOND);
            }
        }
        assert_eq!(asked, [1, 11, 21]);
    }
}
