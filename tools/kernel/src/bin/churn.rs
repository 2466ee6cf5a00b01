//! Starts, ends and changes threads and processes at random, for tests of the CPU scheduler.
//!
//! ```text
//! churn COUNT SEED FILE [THREADS]   COUNT changes, and more until FILE exists: starts and ends of threads,
//!     at most THREADS at a time, changes of affinity and nice value, new processes, and real-time
//!     priorities and back; then waits for all. Prints the number of each and of threads that did not
//!     end
//! ```
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_tools_kernel::random::Random;
use rustix::thread::{CpuSet, Pid, gettid, sched_setaffinity};

/// Threads at a time, by default.
const THREADS: usize = 24;
/// Limit of the changes, as a multiple of COUNT, should FILE never appear.
const MAX_FACTOR: u64 = 50;
/// A thread that has not ended within this time after its stop was requested is lost.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A thread that works a little, sleeps a little, and ends on request.
struct Worker {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    tid: Arc<AtomicU32>,
}

impl Worker {
    fn start(us: u64, processors: u64) -> Worker {
        let stop = Arc::new(AtomicBool::new(false));
        let tid = Arc::new(AtomicU32::new(0));
        let (stopped, own) = (stop.clone(), tid.clone());
        let thread = std::thread::spawn(move || {
            own.store(gettid().as_raw_nonzero().get() as u32, Ordering::Release);
            while !stopped.load(Ordering::Acquire) {
                for i in 0..us * 50 {
                    std::hint::black_box(i);
                }
                std::hint::spin_loop();
                // All together keep about half of the processors busy.
                std::thread::sleep(Duration::from_micros(us * 60 / processors));
            }
        });
        Worker { thread, stop, tid }
    }

    /// Its thread id; `None` before it runs.
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.tid.load(Ordering::Acquire) as i32)
    }

    /// Stops it; returns whether it ended.
    fn end(self) -> bool {
        self.stop.store(true, Ordering::Release);
        let until = Instant::now() + STOP_TIMEOUT;
        while !self.thread.is_finished() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().is_ok()
    }
}

#[derive(Default)]
struct Done {
    starts: u64,
    ends: u64,
    cpus: u64,
    nice: u64,
    processes: u64,
    classes: u64,
    lost: u64,
    failed: u64,
}

fn command(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

/// A random set of CPUs, at least one.
fn random_cpus(random: &mut Random, processors: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(random.below(processors as u64) as usize);
    for cpu in 0..processors {
        if random.below(2) == 0 {
            set.set(cpu);
        }
    }
    set
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next()?.parse::<u64>().ok();
    let (Some(count), Some(seed), Some(enough)) = (number(), number(), arguments.next()) else {
        eprintln!("churn COUNT SEED FILE [THREADS]");
        std::process::exit(2);
    };
    let threads = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(THREADS);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut random = Random(seed);
    let mut workers: Vec<Worker> = Vec::new();
    let mut done = Done::default();
    for made in 0..count * MAX_FACTOR {
        if made >= count && Path::new(&enough).exists() {
            break;
        }
        let choice = random.below(100);
        if workers.len() < 2 || (choice < 25 && workers.len() < threads) {
            workers.push(Worker::start(5 + random.below(50), processors as u64));
            done.starts += 1;
            continue;
        }
        let at = random.below(workers.len() as u64) as usize;
        if choice < 50 {
            done.lost += u64::from(!workers.swap_remove(at).end());
            done.ends += 1;
            continue;
        }
        let Some(pid) = workers[at].pid() else { continue };
        let changed = match choice {
            50..75 => {
                done.cpus += 1;
                sched_setaffinity(Some(pid), &random_cpus(&mut random, processors)).is_ok()
            }
            75..94 => {
                done.nice += 1;
                let nice = random.below(40) as i32 - 20;
                rustix::process::setpriority_process(Some(pid), nice).is_ok()
            }
            94..97 => {
                done.processes += 1;
                command("/bin/true", &[])
            }
            _ => {
                // To SCHED_FIFO and back.
                done.classes += 2;
                let pid = pid.as_raw_nonzero().to_string();
                command("chrt", &["-f", "-p", "1", &pid])
                    && command("chrt", &["-o", "-p", "0", &pid])
            }
        };
        done.failed += u64::from(!changed);
    }
    for worker in workers {
        done.lost += u64::from(!worker.end());
        done.ends += 1;
    }
    println!(
        "churn starts {} ends {} cpus {} nice {} processes {} classes {} failed {} lost {}",
        done.starts,
        done.ends,
        done.cpus,
        done.nice,
        done.processes,
        done.classes,
        done.failed,
        done.lost
    );
}
