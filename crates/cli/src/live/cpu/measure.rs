//! `laxity cpu measure`: what scheduling costs on this machine, as `[overheads]` of a scenario and as options of
//! `laxity cpu up`. Needs no privilege and measures whichever scheduler runs.

use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use laxity_core::Histogram;
use rustix::io::{read, retry_on_intr, write};
use rustix::pipe::pipe;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use serde::Serialize;

use super::args::MeasureArgs;
use crate::failure::Failure;
use crate::output;

/// Samples of each cost: a fraction of a second.
const SWITCHES: u32 = 20_000;
const RELEASES: u32 = 2_000;
const MIGRATIONS: u32 = 200;
/// The proposed value, in thousandths: few samples exceed it.
const PROPOSED: u32 = 999;
/// From a timer's start to its expiry, and from there to the end of the sample.
const EXPIRY_NS: u64 = 200_000;
const AFTER_EXPIRY_NS: u64 = 150_000;
/// What a migrated job finds in no cache, unless the machine names the size of its L2 cache.
const WORKING_SET: usize = 256 << 10;
const CACHE_LINE: usize = 64;

/// Costs in ns.
#[derive(Debug, Serialize)]
struct Measured {
    /// The CPU that was measured.
    cpu: u32,
    /// A switch between two threads, without the system calls that cause it.
    switch: Cost,
    /// What a running thread loses to a timer that wakes another thread.
    release: Cost,
    /// What a job loses that continues on another CPU; `None` with one CPU.
    migration: Option<Migration>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Cost {
    median_ns: u64,
    /// The value that is proposed.
    p999_ns: u64,
    max_ns: u64,
    samples: u64,
}

#[derive(Debug, Serialize)]
struct Migration {
    /// The other CPU.
    to: u32,
    /// The memory that the job uses, in bytes.
    working_set: usize,
    #[serde(flatten)]
    cost: Cost,
}

impl Cost {
    fn of(samples: &Histogram) -> Cost {
        let at = |per_mille| samples.quantile(per_mille).unwrap_or(0);
        let (median_ns, p999_ns) = (at(500), at(PROPOSED));
        Cost { median_ns, p999_ns, max_ns: samples.max().unwrap_or(0), samples: samples.count() }
    }

    /// The proposed value as text, rounded up to 0.1 us.
    fn proposed(&self) -> String {
        let tenths = self.p999_ns.div_ceil(100);
        format!("{}.{} us", tenths / 10, tenths % 10)
    }
}

/// Runs the command.
pub fn run(args: &MeasureArgs) -> Result<(), Failure> {
    let failed = |what: &'static str| {
        move |error: io::Error| Failure::Internal(format!("cannot measure {what}: {error}"))
    };
    let allowed = allowed().map_err(failed("CPUs"))?;
    let cpu = match args.cpu {
        Some(cpu) if allowed.contains(&cpu) => cpu,
        None if !allowed.is_empty() => allowed[0],
        given => {
            let given = given.map_or(String::new(), |cpu| format!("--cpu {cpu}: "));
            let which: Vec<String> = allowed.iter().map(u32::to_string).collect();
            let text = format!("{given}this process may run on CPUs {}", which.join(", "));
            return Err(Failure::Input(text));
        }
    };
    // The last one likely shares the fewest caches.
    let other = allowed.iter().rev().copied().find(|c| *c != cpu);
    let switch = on_thread(move || switches(cpu)).map_err(failed("switches"))?;
    let release = on_thread(move || releases(cpu, other)).map_err(failed("releases"))?;
    let migration = match other {
        Some(to) => {
            let working_set = l2_cache(cpu).unwrap_or(WORKING_SET);
            let samples = on_thread(move || migrations(cpu, to, working_set));
            let cost = Cost::of(&samples.map_err(failed("migrations"))?);
            Some(Migration { to, working_set, cost })
        }
        None => None,
    };
    let measured =
        Measured { cpu, switch: Cost::of(&switch), release: Cost::of(&release), migration };
    if args.json { output::json(&measured) } else { output::print(&text(&measured)) }
}

/// Runs on a thread of its own, since the affinity changes.
fn on_thread(
    measure: impl FnOnce() -> io::Result<Histogram> + Send + 'static,
) -> io::Result<Histogram> {
    joined(thread::spawn(measure))
}

fn joined<T>(thread: JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread ended early")))
}

fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Keeps the calling thread on one CPU.
fn stay_on(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn send(pipe: &OwnedFd) -> io::Result<()> {
    retry_on_intr(|| write(pipe, &[0]))?;
    Ok(())
}

fn receive(pipe: &OwnedFd) -> io::Result<bool> {
    Ok(retry_on_intr(|| read(pipe, &mut [0; 1]))? == 1)
}

/// Two threads of one CPU pass a byte to and fro: two switches and four system calls a round. The system calls without
/// a switch are measured on a pipe to the same thread, and subtracted.
fn switches(cpu: u32) -> io::Result<Histogram> {
    stay_on(cpu)?;
    let mut calls = Histogram::new();
    let (own_read, own_write) = pipe()?;
    for _ in 0..SWITCHES / 10 {
        let start = now_ns();
        send(&own_write)?;
        receive(&own_read)?;
        calls.record(now_ns() - start);
    }
    let calls = calls.quantile(500).unwrap_or(0);
    let (there_read, there_write) = pipe()?;
    let (back_read, back_write) = pipe()?;
    let echo = thread::spawn(move || -> io::Result<()> {
        stay_on(cpu)?;
        while receive(&there_read)? {
            send(&back_write)?;
        }
        Ok(())
    });
    let mut samples = Histogram::new();
    for _ in 0..SWITCHES / 2 {
        let start = now_ns();
        send(&there_write)?;
        if !receive(&back_read)? {
            break;
        }
        let switch = ((now_ns() - start) / 2).saturating_sub(calls);
        samples.record(switch);
        samples.record(switch);
    }
    drop(there_write);
    joined(echo)?;
    Ok(samples)
}

/// A thread computes; a timer of its CPU wakes another thread, on another CPU if there is one. A sample is the longest
/// interruption after the expiry. On one CPU that includes the switches to the other thread and back.
fn releases(cpu: u32, other: Option<u32>) -> io::Result<Histogram> {
    stay_on(cpu)?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let arm = |ns: u64| {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let after = Timespec { tv_sec: 0, tv_nsec: ns as i64 };
        let once = Itimerspec { it_interval: zero, it_value: after };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)
    };
    let (wakes, over) = (timer.try_clone()?, Arc::new(AtomicBool::new(false)));
    let is_over = Arc::clone(&over);
    let sleeper = thread::spawn(move || -> io::Result<()> {
        stay_on(other.unwrap_or(cpu))?;
        while !is_over.load(Ordering::Acquire) {
            retry_on_intr(|| read(&wakes, &mut [0; 8]))?;
        }
        Ok(())
    });
    let mut samples = Histogram::new();
    for _ in 0..RELEASES {
        let start = now_ns();
        arm(EXPIRY_NS)?;
        let (mut last, mut longest) = (now_ns(), 0);
        let end = start + EXPIRY_NS + AFTER_EXPIRY_NS;
        while last < end {
            let now = now_ns();
            if now > start + EXPIRY_NS {
                longest = longest.max(now - last);
            }
            last = now;
        }
        samples.record(longest);
        // Beside one that waits for this CPU.
        thread::yield_now();
    }
    over.store(true, Ordering::Release);
    arm(1)?;
    joined(sleeper)?;
    Ok(samples)
}

/// A thread reads memory of the size of a cache, on its CPU and then on another one. A sample is the time that the
/// second one takes more.
fn migrations(cpu: u32, to: u32, working_set: usize) -> io::Result<Histogram> {
    let memory = vec![1_u8; working_set];
    let pass = || {
        let start = now_ns();
        let sum: u64 = memory.iter().step_by(CACHE_LINE).map(|b| u64::from(*b)).sum();
        black_box(sum);
        now_ns() - start
    };
    let mut samples = Histogram::new();
    for _ in 0..MIGRATIONS {
        stay_on(cpu)?;
        pass();
        let warm = pass().min(pass());
        stay_on(to)?;
        samples.record(pass().saturating_sub(warm));
        // Both CPUs rest, so that others have their turns.
        thread::sleep(Duration::from_micros(100));
    }
    Ok(samples)
}

/// The size of a CPU's L2 cache, in bytes.
fn l2_cache(cpu: u32) -> Option<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index2/size");
    let text = std::fs::read_to_string(path).ok()?;
    let kib: usize = text.trim().strip_suffix('K')?.parse().ok()?;
    (1..=64 << 10).contains(&kib).then_some(kib << 10)
}

fn text(measured: &Measured) -> String {
    let mut rows = vec![
        ("switch", measured.switch, String::new()),
        ("release", measured.release, String::new()),
    ];
    if let Some(m) = &measured.migration {
        let what = format!(", to CPU {} with {} KiB in use", m.to, m.working_set >> 10);
        rows.push(("migration", m.cost, what));
    }
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    let mut text = format!(
        "# On CPU {}, in us. The values are 99.9th percentiles, and other tasks disturb them: measure on an idle \
         machine.\n[overheads]\n",
        measured.cpu
    );
    for (kind, cost, what) in &rows {
        let Cost { median_ns, max_ns, samples, .. } = cost;
        let value = format!("{kind} = \"{}\"", cost.proposed());
        let (median, max) = (us(*median_ns), us(*max_ns));
        text += &format!("{value:<22} # median {median}, maximum {max} of {samples}{what}\n");
    }
    let of = |cost: &Cost| cost.proposed().replace(' ', "");
    let (switch, release) = (of(&measured.switch), of(&measured.release));
    text += &format!(
        "# For live CPUs, with the --policy and --set in force:\n#   laxity cpu up --overhead switch={switch} --overhead release={release}\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use laxity_scenario::quantity;

    use super::*;

    /// Fails when a value is rounded down, or the text is not the section of a scenario.
    #[test]
    fn text_is_a_section_with_values_rounded_up() {
        let cost = |p999_ns| Cost { median_ns: 1_000, p999_ns, max_ns: 99_999, samples: 10 };
        let migration = Migration { to: 3, working_set: 2048, cost: cost(20_000) };
        let measured = Measured {
            cpu: 1,
            switch: cost(3_401),
            release: cost(999),
            migration: Some(migration),
        };
        let text = text(&measured);
        let scenario = format!("[cpu]\n{text}[[task]]\nname = \"a\"\nwork = \"cpu-bound\"\n");
        for part in [
            "switch = \"3.5 us\"",
            "release = \"1.0 us\"",
            "migration = \"20.0 us\"",
            "--overhead switch=3.5us --overhead release=1.0us",
            "maximum 100.0 of 10, to CPU 3 with 2 KiB in use",
        ] {
            assert!(text.contains(part), "no {part} in:\n{text}");
        }
        let parsed = laxity_scenario::cpu::CpuScenario::parse(&scenario, "test.toml");
        let overheads = parsed.expect("a scenario").overheads;
        assert_eq!(overheads.per_job().0, 2 * 3_500 + 1_000 + 20_000);
        assert_eq!(quantity::span("3.5us").ok(), Some(overheads.switch));
    }
}
