//! Workloads for tests and comparisons of the CPU scheduler. Times are in us unless stated otherwise.
//!
//! ```text
//! tasks periodic PERIOD WORK JOBS [FILE]   jobs on a grid; prints how many ended after their period.
//!                                  With FILE, prints `begun` first, and ends when FILE exists
//! tasks respond GAP WORK JOBS [TIME]   sleeps, works; prints response times from the requested
//!                                  wake-up; ends after TIME at the latest
//! tasks frames PERIOD MEAN SEED COUNT [VARIABILITY]   as srtsim of the paper on BeRate: work with a
//!                                  variation of 20 % or VARIABILITY; after a late frame the grid
//!                                  moves. Prints how many were late
//! tasks poll|await LEAST MOST SEED TIME   computes or sleeps until events LEAST to MOST apart;
//!                                  prints the response times
//! tasks arrivals PERIOD BYTES      frames on standard input; prints how many were late
//! tasks rounds SECONDS             prints how often it has computed the same in that time
//! tasks hog COUNT SECONDS          COUNT CPU-bound threads; prints the CPU time of each
//! tasks forks COUNT                COUNT processes, up to 20 at once, which end at once
//! tasks compile JOBS SEED TIME     processes that read and compute, JOBS at once, for TIME
//! tasks packets BURST SECONDS      datagrams to another thread and back, BURST at once; prints the rounds
//! tasks together PERIOD WORK JOBS  jobs at multiples of the period by the machine's clock, so that those of
//!                                  several wake together; prints as `periodic`
//! tasks lend HOLD GAP MS           computes, with a lock for HOLD of HOLD and GAP, for which a thread of
//!                                  SCHED_FIFO waits; prints how often it waited, and the CPU time of the holder
//! tasks places COUNT               starts COUNT threads, one after the other; prints `FROM>TO`, the CPUs of the
//!                                  starting and the started thread, for each
//! tasks pass ROUNDS                a byte to another process and back; prints the time of a round
//! ```
#![forbid(unsafe_code)]

mod events;
mod loads;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use laxity_tools_kernel::random::Random;
use rustix::thread::{ClockId, sched_getcpu};
use rustix::time::clock_gettime;

use events::Waiting;

/// Execution time of a task that waits for events after each of them, in us.
const BURST: u64 = 50;

fn main() {
    if let Err(error) = run() {
        eprintln!("tasks: {error}");
        std::process::exit(1);
    }
}

fn run() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments.iter().skip(1).filter_map(|a| a.parse().ok()).collect();
    match (arguments.first().map(String::as_str), &numbers[..]) {
        (Some("periodic"), &[period, work, jobs]) => {
            let file = arguments.get(4).map(std::path::Path::new);
            if file.is_some() {
                println!("begun");
            }
            let over = |_| file.is_some_and(std::path::Path::exists);
            jobs_of(Duration::from_micros(period), jobs, Grid::Fixed, over, || work);
        }
        (Some("respond"), &[gap, work, jobs, ref time @ ..]) => {
            let end = time.first().map(|us| Instant::now() + Duration::from_micros(*us));
            let over = |release| end.is_some_and(|end| release >= end);
            jobs_of(Duration::from_micros(gap), jobs, Grid::Gap, over, || work);
        }
        (Some("frames"), &[period, mean, seed, count, ref variability @ ..]) => {
            let mut random = Random(seed);
            let variability = variability.first().copied().unwrap_or(20);
            let work = || random.normal(mean, variability);
            jobs_of(Duration::from_micros(period), count, Grid::Moves, |_| false, work);
        }
        (Some("rounds"), &[seconds]) => rounds(Duration::from_secs(seconds)),
        (Some("hog"), &[count, seconds]) => hogs(count, Duration::from_secs(seconds)),
        (Some("forks"), &[count]) => forks(count),
        (Some("poll"), &[least, most, seed, time]) => {
            events::see(Waiting::Polling, (least, most), seed, Duration::from_micros(time));
        }
        (Some("await"), &[least, most, seed, time]) => {
            let waiting = Waiting::Sleeping { burst: BURST };
            events::see(waiting, (least, most), seed, Duration::from_micros(time));
        }
        (Some("arrivals"), &[period, bytes]) => {
            events::arrivals(Duration::from_micros(period), bytes as usize)?;
        }
        (Some("compile"), &[jobs, seed, time]) => {
            loads::compile(jobs, seed, Duration::from_micros(time))?;
        }
        (Some("unit"), &[us]) => loads::unit(us)?,
        (Some("packets"), &[burst, seconds]) => {
            loads::packets(burst, Duration::from_secs(seconds))?;
        }
        (Some("together"), &[period, work, jobs]) => events::together(period, work, jobs),
        (Some("lend"), &[hold, gap, ms]) => {
            loads::lend(hold, gap, Duration::from_millis(ms))?;
        }
        (Some("places"), &[count]) => places(count),
        (Some("pass"), &[rounds]) => loads::pass(rounds)?,
        (Some("echo"), []) => loads::echo()?,
        _ => {
            eprintln!(
                "tasks periodic|respond|frames|poll|await|arrivals|rounds|hog|forks|compile|packets|together|lend \
                 |places|pass ..."
            );
            std::process::exit(2);
        }
    }
    Ok(())
}

/// Starts threads one after the other and prints the CPUs from which and on which.
fn places(count: u64) {
    for _ in 0..count {
        let from = sched_getcpu();
        let started = std::thread::spawn(sched_getcpu);
        // This thread keeps its CPU until the other one has started.
        work(100_000);
        let to = started.join().expect("a thread");
        print!(" {from}>{to}");
    }
    println!();
}

/// CPU time of this thread.
fn executed() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Some arithmetic, and one hint that this spins: there an emulator of several processors
/// switches between them. The switch is slow, so not in every round.
fn work(rounds: u64) {
    for i in 0..rounds {
        std::hint::black_box(i);
    }
    std::hint::spin_loop();
}

/// Computes until it has used `us` of CPU time.
fn compute(us: u64) {
    let until = executed() + Duration::from_micros(us);
    while executed() < until {
        work(50);
    }
}

/// Sets the least timer slack: the kernel would batch wake-ups within 50 us.
fn minimise_timer_slack() {
    let _ = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
}

/// Prints mean, 99th percentile and maximum.
fn print_times(mut times: Vec<Duration>) {
    times.sort();
    let sum: Duration = times.iter().sum();
    let us = |d: Option<&Duration>| d.map_or(0, |d| d.as_micros());
    println!(
        "mean_us {} p99_us {} max_us {}",
        sum.as_micros() / times.len().max(1) as u128,
        us(times.get((times.len() * 99 / 100).min(times.len().saturating_sub(1)))),
        us(times.last())
    );
}

/// When the next job is released.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grid {
    /// A gap after the previous release.
    Fixed,
    /// The same, or the end of the previous job, if that is later.
    Moves,
    /// A gap after the end of the previous job.
    Gap,
}

fn jobs_of(
    gap: Duration,
    jobs: u64,
    grid: Grid,
    over: impl Fn(Instant) -> bool,
    mut work: impl FnMut() -> u64,
) {
    minimise_timer_slack();
    let mut times = Vec::new();
    // The start used some of a reservation's budget, which is replenished by then.
    let mut release = Instant::now() + gap * 3;
    for _ in 0..jobs {
        if over(release) {
            break;
        }
        std::thread::sleep(release.saturating_duration_since(Instant::now()));
        compute(work());
        let ended = Instant::now();
        times.push(ended.saturating_duration_since(release));
        release = match grid {
            Grid::Fixed => release + gap,
            Grid::Moves => ended.max(release + gap),
            Grid::Gap => ended + gap,
        };
    }
    let missed = times.iter().filter(|t| grid != Grid::Gap && **t > gap).count();
    print!("jobs {} missed {missed} ", times.len());
    print_times(times);
}

/// Prints how often it has computed the same in a time: unlike CPU time no kernel counts it wrongly.
fn rounds(time: Duration) {
    let until = Instant::now() + time;
    let mut rounds = 0;
    while Instant::now() < until {
        work(1000);
        rounds += 1;
    }
    println!("rounds {rounds}");
}

fn hogs(count: u64, time: Duration) {
    let until = Instant::now() + time;
    let one = move || {
        while Instant::now() < until {
            work(1000);
        }
        executed()
    };
    let threads: Vec<_> = (0..count).map(|_| std::thread::spawn(one)).collect();
    let got: Vec<String> = threads
        .into_iter()
        .filter_map(|t| t.join().ok())
        .map(|d| d.as_millis().to_string())
        .collect();
    println!("hogs got_ms {}", got.join(" "));
}

fn forks(count: u64) {
    let mut running = std::collections::VecDeque::new();
    let (mut ended, mut failed) = (0, 0);
    let mut reap = |child: Option<std::process::Child>| {
        let done = child.map(|mut c| c.wait().is_ok_and(|s| s.success()));
        ended += u64::from(done == Some(true));
    };
    for _ in 0..count {
        match Command::new("/bin/true").stdin(Stdio::null()).spawn() {
            Ok(child) => running.push_back(child),
            Err(_) => failed += 1,
        }
        if running.len() > 20 {
            reap(running.pop_front());
        }
    }
    while let Some(child) = running.pop_front() {
        reap(Some(child));
    }
    println!("forks ended {ended} failed {failed}");
}
