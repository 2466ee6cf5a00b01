//! A periodic task that reserves for itself: 6 ms of work every 20 ms.
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
    // A little more than the work: interrupts count, too.
    let mut runtime = Duration::from_micros(6_500);
    while let Err(error) = client.reserve(&Request::new(runtime, PERIOD)) {
        eprintln!("{error}");
        match error.fits() {
            Some(fits) if !fits.is_zero() && fits < runtime => runtime = fits,
            _ => return Err(error),
        }
    }
    println!("reserved {} us every {} us", runtime.as_micros(), PERIOD.as_micros());

    let mut release = Instant::now() + PERIOD;
    let mut late = 0;
    for _ in 0..jobs {
        std::thread::sleep(release.saturating_duration_since(Instant::now()));
        let until = executed() + Duration::from_millis(6);
        while executed() < until {
            std::hint::spin_loop();
        }
        release += PERIOD;
        late += u32::from(Instant::now() > release);
    }
    println!("jobs {jobs} late {late}");
    client.release(None)
}

/// CPU time of this thread.
fn executed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
