//! Tasks that wait for events of random distances and see each sooner or later: the responses of
//! section 6 of the paper on BEBS, with the clock in place of its interrupt.

use std::time::{Duration, Instant};

use laxity_tools_kernel::random::Random;
use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::{compute, minimise_timer_slack, print_times, work};

/// How the task waits for the next event.
#[derive(Clone, Copy)]
pub enum Waiting {
    /// It computes all the time, and looks.
    Polling,
    /// It sleeps, and computes for `burst` us after each event.
    Sleeping { burst: u64 },
}

/// Sees events for a while, each `gap` (least and most, in us) after the last was seen, and prints
/// how long each took to be seen.
pub fn see(waiting: Waiting, gap: (u64, u64), seed: u64, time: Duration) {
    minimise_timer_slack();
    let mut random = Random(seed);
    let end = Instant::now() + time;
    let mut times = Vec::new();
    let mut seen = Instant::now();
    loop {
        let event = seen + Duration::from_micros(gap.0 + random.below(gap.1 - gap.0 + 1));
        if event >= end {
            break;
        }
        match waiting {
            Waiting::Polling => {
                while Instant::now() < event {
                    work(50);
                }
            }
            Waiting::Sleeping { .. } => {
                std::thread::sleep(event.saturating_duration_since(Instant::now()));
            }
        }
        seen = Instant::now();
        times.push(seen.saturating_duration_since(event));
        if let Waiting::Sleeping { burst } = waiting {
            compute(burst);
        }
    }
    print!("events {} ", times.len());
    print_times(times);
}

/// Reads frames of `bytes` bytes from standard input, and prints how many came later than their
/// place on a grid of the period, which begins so that none is early; also without those of the first second,
/// since a player starts with more to do than it does later.
pub fn arrivals(period: Duration, bytes: usize) -> std::io::Result<()> {
    let mut frame = vec![0; bytes];
    let mut came = Vec::new();
    let mut input = std::io::stdin().lock();
    while std::io::Read::read_exact(&mut input, &mut frame).is_ok() {
        came.push(Instant::now());
    }
    let Some(first) = came.first().copied() else {
        println!("jobs 0");
        return Ok(());
    };
    // Against the grid that begins with the first; the least is how much the first was late itself.
    let behind = |(n, at): (usize, &Instant)| {
        at.duration_since(first).as_micros() as i64 - (period.as_micros() as i64) * n as i64
    };
    let behind: Vec<i64> = came.iter().enumerate().map(behind).collect();
    let least = behind.iter().min().copied().unwrap_or(0);
    let times: Vec<Duration> =
        behind.iter().map(|b| Duration::from_micros((b - least) as u64)).collect();
    let missed = |from: usize| times.iter().skip(from).filter(|t| **t > period).count();
    let second = Duration::from_secs(1).as_micros() / period.as_micros().max(1);
    let (all, later) = (missed(0), missed(second as usize));
    print!("jobs {} missed {all} missed_after_1s {later} ", times.len());
    print_times(times);
    Ok(())
}

/// Jobs of `work` at multiples of a period, both in us, by the monotonic clock, which all tasks share.
/// Prints how many ended after their period.
pub fn together(period: u64, work: u64, jobs: u64) {
    minimise_timer_slack();
    let now = || {
        let t = clock_gettime(ClockId::Monotonic);
        Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
    };
    let length = Duration::from_micros(period);
    let mut times = Vec::new();
    for _ in 0..jobs {
        let passed = now().as_micros() as u64 / period;
        let release = Duration::from_micros((passed + 1) * period);
        let at =
            Timespec { tv_sec: release.as_secs() as i64, tv_nsec: release.subsec_nanos().into() };
        while clock_nanosleep_absolute(SleepClock::Monotonic, &at).is_err() {}
        compute(work);
        times.push(now().saturating_sub(release));
    }
    let missed = times.iter().filter(|t| **t > length).count();
    print!("jobs {} missed {missed} ", times.len());
    print_times(times);
}
