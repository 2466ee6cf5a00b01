//! Background loads, and the cost of a switch.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use laxity_tools_kernel::random::Random;
use rustix::thread::futex;

use crate::{compute, executed};

/// Least and greatest execution time of a process of a compilation, in us.
const UNIT: (u64, u64) = (2_000, 40_000);

/// A compilation with `jobs` jobs: each starts process after process, which read files and compute
/// for some ms. Prints how many ended.
pub fn compile(jobs: u64, seed: u64, time: Duration) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let end = Instant::now() + time;
    let job = |number: u64| {
        let mut random = Random(seed * 1000 + number);
        let mut ended = 0;
        while Instant::now() < end {
            let us = UNIT.0 + random.below(UNIT.1 - UNIT.0);
            let status = Command::new(&program).args(["unit", &us.to_string()]).status();
            ended += u64::from(status.is_ok_and(|s| s.success()));
        }
        ended
    };
    let ended: u64 = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|n| scope.spawn(move || job(n))).collect();
        jobs.into_iter().map(|j| j.join().unwrap_or(0)).sum()
    });
    println!("compile ended {ended}");
    Ok(())
}

/// One process of it: reads its own program, then computes.
pub fn unit(us: u64) -> std::io::Result<()> {
    let mut file = std::fs::File::open(std::env::current_exe()?)?;
    let mut chunk = [0; 4096];
    while file.read(&mut chunk)? > 0 {}
    compute(us);
    Ok(())
}

/// Sends datagrams to another thread over the loopback interface, `burst` at once, and waits until they
/// are back, for `time`: the kernel does most of it in soft interrupts. Prints the number of rounds.
pub fn packets(burst: u64, time: Duration) -> std::io::Result<()> {
    let socket = || -> std::io::Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // Datagrams dropped by a full buffer are not waited for.
        socket.set_read_timeout(Some(Duration::from_millis(10)))?;
        Ok(socket)
    };
    let (local, remote) = (socket()?, socket()?);
    local.connect(remote.local_addr()?)?;
    remote.connect(local.local_addr()?)?;
    let end = Instant::now() + time;
    let other = std::thread::spawn(move || {
        let mut packet = [0; 200];
        while Instant::now() < end {
            if remote.recv(&mut packet).is_ok() {
                let _ = remote.send(&packet);
            }
        }
    });
    let (mut rounds, mut packet) = (0, [0; 200]);
    while Instant::now() < end {
        for _ in 0..burst {
            // Refused once the other thread has ended.
            let _ = local.send(&packet);
        }
        let back = (0..burst).take_while(|_| local.recv(&mut packet).is_ok()).count();
        rounds += u64::from(back as u64 == burst);
    }
    let _ = other.join();
    println!("packets rounds {rounds}");
    Ok(())
}

/// Passes a byte to another process and back `rounds` times; prints the time of a round. On one
/// processor that is two switches.
pub fn pass(rounds: u64) -> std::io::Result<()> {
    let mut other = Command::new(std::env::current_exe()?)
        .arg("echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut to), Some(mut from)) = (other.stdin.take(), other.stdout.take()) else {
        return Ok(());
    };
    let mut byte = [0];
    let mut round = || -> std::io::Result<()> {
        to.write_all(&byte)?;
        from.read_exact(&mut byte)
    };
    for _ in 0..rounds / 10 {
        round()?;
    }
    let before = Instant::now();
    for _ in 0..rounds {
        round()?;
    }
    println!("pass rounds {rounds} round_ns {}", before.elapsed().as_nanos() / u128::from(rounds));
    drop(to);
    other.wait()?;
    Ok(())
}

/// The other process.
pub fn echo() -> std::io::Result<()> {
    let mut byte = [0];
    // Without the buffer of the standard library's output, which waits for lines.
    let mut out = std::fs::File::options().write(true).open("/proc/self/fd/1")?;
    let mut input = std::io::stdin().lock();
    while input.read_exact(&mut byte).is_ok() {
        out.write_all(&byte)?;
    }
    Ok(())
}

/// Computes for a while, some of it with a lock for which a thread of `SCHED_FIFO` comes each millisecond:
/// while that waits, the kernel lends its class to the task that has the lock. Prints how often.
pub fn lend(hold: u64, gap: u64, time: Duration) -> std::io::Result<()> {
    let lock = AtomicU32::new(0);
    let until = Instant::now() + time;
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| -> std::io::Result<u64> {
            sender.send(rustix::thread::gettid()).map_err(std::io::Error::other)?;
            let mut lent = 0;
            while Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
                lent += u64::from(lock.load(Relaxed) != 0);
                futex::lock_pi(&lock, futex::Flags::PRIVATE, None)?;
                futex::unlock_pi(&lock, futex::Flags::PRIVATE)?;
            }
            Ok(lent)
        });
        let tid = receiver.recv().map_err(std::io::Error::other)?;
        let id = tid.as_raw_nonzero().to_string();
        let status = Command::new("chrt").args(["-f", "-p", "50", &id]).status()?;
        if !status.success() {
            return Err(std::io::Error::other("chrt refused"));
        }
        let before = executed();
        while Instant::now() < until {
            futex::lock_pi(&lock, futex::Flags::PRIVATE, None)?;
            compute(hold);
            futex::unlock_pi(&lock, futex::Flags::PRIVATE)?;
            compute(gap);
        }
        let got = executed() - before;
        let lent = waiter.join().map_err(|_| std::io::Error::other("the waiter panicked"))??;
        println!("lent {lent} got_ms {}", got.as_millis());
        Ok(())
    })
}
