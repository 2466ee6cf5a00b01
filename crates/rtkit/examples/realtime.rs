//! A periodic thread that asks RealtimeKit for real-time priority, as sound programs do; then works, and prints
//! how many jobs ended after their period, in each half of the jobs: the first half lets the runtime follow.
//!
//! ```text
//! realtime PRIORITY PERIOD-USEC WORK-USEC JOBS
//! ```
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use zbus::blocking::Connection;

const NAME: &str = "org.freedesktop.RealtimeKit1";
const PATH: &str = "/org/freedesktop/RealtimeKit1";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Result<Vec<u32>, _> = std::env::args().skip(1).map(|n| n.parse()).collect();
    let [priority, period, work, jobs] = numbers?[..] else {
        return Err("give PRIORITY PERIOD-USEC WORK-USEC JOBS".into());
    };
    let tid = u64::from(laxity_reserve::current_tid());
    let bus = Connection::system()?;
    match bus.call_method(Some(NAME), PATH, Some(NAME), "MakeThreadRealtime", &(tid, priority)) {
        Ok(_) => println!("granted"),
        Err(error) => println!("refused: {error}"),
    }
    let (period, work) = (Duration::from_micros(period.into()), Duration::from_micros(work.into()));
    let mut release = Instant::now();
    for half in ["first", "second"] {
        let mut missed = 0;
        for _ in 0..jobs / 2 {
            release += period;
            std::thread::sleep(release.saturating_duration_since(Instant::now()));
            let end = thread_time() + work;
            while thread_time() < end {
                std::hint::spin_loop();
            }
            missed += u32::from(Instant::now() > release + period);
        }
        println!("{half} half: jobs {} missed {missed}", jobs / 2);
    }
    Ok(())
}

/// The CPU time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
