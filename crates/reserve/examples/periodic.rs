//! A periodic task that reserves CPU time for itself: 6 ms of work every 20 ms.
//!
//! ```text
//! periodic [JOBS]
//! ```

use std::time::{Duration, Instant};

use laxity_reserve::{Client, Request};

const PERIOD: Duration = Duration::from_millis(20);

fn main() -> Result<(), laxity_reserve::Error> {
    let jobs: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100);
    let client = Client::connect()?;
    // A margin for interrupts, which count as well.
    let mut runtime = Duration::from_micros(6_500);
    while let Err(error) = client.reserve(&Request::new(runtime, PERIOD)) {
        eprintln!("{error}");
        match error.max_runtime() {
            Some(max) if !max.is_zero() && max < runtime => runtime = max,
            _ => return Err(error),
        }
    }
    println!("reserved {} us every {} us", runtime.as_micros(), PERIOD.as_micros());

    let mut release = Instant::now() + PERIOD;
    let mut deadline_misses = 0;
    for _ in 0..jobs {
        std::thread::sleep(release.saturating_duration_since(Instant::now()));
        let end = thread_time() + Duration::from_millis(6);
        while thread_time() < end {
            std::hint::spin_loop();
        }
        release += PERIOD;
        deadline_misses += u32::from(Instant::now() > release);
    }
    println!("jobs {jobs} deadline_misses {deadline_misses}");
    client.release(None)
}

/// The CPU time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
