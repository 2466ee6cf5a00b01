//! Producers that are other processes: killed in the middle of what they do, or hostile.
//!
//! A child is this test program again, with the memory as its standard input and its part in an
//! environment variable.
#![cfg(all(feature = "shared", target_os = "linux", not(loom)))]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;

use laxity_ring::shared::{
    Consumer, Head, Mapping, OpenError, PopError, PushError, Shape, attach, create,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, set_parent_process_death_signal,
};

const PART: &str = "LAXITY_RING_TEST_PART";
const BYTES: usize = 1400;

/// Pseudo-random numbers, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 ^ (self.0 >> 29)
    }
}

/// The body of packet `stamp`, so that one byte of another shows.
fn body(stamp: u64, place: &mut [u8]) {
    let mut random = Random(stamp);
    for chunk in place.chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
    }
}

/// A child, killed and waited for when this is dropped.
struct Child {
    process: std::process::Child,
    /// Readable when it is gone: what the owner of a consumer watches.
    pidfd: OwnedFd,
}

impl Child {
    /// Starts a child that plays `part` on the ring.
    fn start(part: &str, memory: &OwnedFd) -> Child {
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_process_entry", "--nocapture"])
            .env(PART, part)
            .stdin(memory.try_clone().unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pidfd = pidfd_open(Pid::from_child(&process), PidfdFlags::empty()).unwrap();
        Child { process, pidfd }
    }

    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&Default::default())).unwrap() > 0
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// No test, but what the children run; started without a part it does nothing.
#[test]
fn child_process_entry() {
    let Ok(part) = std::env::var(PART) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let memory = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    match part.split_once(' ').unwrap() {
        ("send", first) => send(&memory, first.parse().unwrap()),
        ("scribble", seed) => scribble(&memory, seed.parse().unwrap()),
        other => panic!("what is {other:?}?"),
    }
}

/// Sends packets for ever.
fn send(memory: &OwnedFd, first: u64) {
    let mut producer = attach(memory).unwrap();
    let mut bytes = [0; BYTES];
    for stamp in first.. {
        body(stamp, &mut bytes);
        while let Err(error) = producer.push(stamp, &bytes) {
            assert_eq!(error, PushError::Full);
            thread::yield_now();
        }
    }
}

/// Writes anything anywhere, for ever, and tries what it can on the memory itself.
fn scribble(memory: &OwnedFd, seed: u64) {
    const BACK: usize = 16;
    let map = Mapping::open(memory).unwrap();
    let words = map.as_ref();
    let mut random = Random(seed);
    let size = 8 * words.len() as u64;
    assert_eq!(rustix::fs::ftruncate(memory, 0), Err(Errno::PERM), "it must not shrink");
    assert_eq!(rustix::fs::ftruncate(memory, 2 * size), Err(Errno::PERM), "it must not grow");
    let seal = rustix::fs::fcntl_add_seals(memory, SealFlags::WRITE);
    assert_eq!(seal, Err(Errno::PERM), "the consumer must go on writing");
    loop {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(memory, hole, random.next() % size, 4096).unwrap();
        for _ in 0..2000 {
            let word = random.next() as usize % words.len();
            let bits = random.next() % 64;
            words[word].store(random.next() >> bits, Ordering::Relaxed);
            words[BACK].store(random.next() % 20, Ordering::Relaxed);
        }
    }
}

/// Takes all that waits; panics when a packet is not whole or not the next one. Returns the stamp
/// after the last.
fn take(consumer: &mut Consumer, mut next: u64) -> u64 {
    let (mut place, mut whole) = ([0; BYTES], [0; BYTES]);
    while let Some(head) = consumer.pop(&mut place).unwrap() {
        assert_eq!(head, Head { stamp: next, bytes: BYTES as u32 });
        body(next, &mut whole);
        assert!(place == whole, "packet {next} is torn");
        next += 1;
    }
    next
}

/// Producers are killed at random moments, most of them within a packet; what was shown is whole,
/// in order and complete, and the next producer goes on with the same memory.
///
/// Fails when `Writer::push` stores its position before the body.
#[test]
fn a_killed_producer_leaves_whole_packets() {
    const KILLS: u64 = 40;
    let (mut consumer, memory) = create(Shape::new(5, BYTES as u32).unwrap()).unwrap();
    let mut random = Random(1);
    let mut total = 0;
    for kill in 0..KILLS {
        let first = kill << 32;
        let mut next = first;
        let child = Child::start(&format!("send {first}"), &memory);
        while next < first + 200 {
            next = take(&mut consumer, next);
            assert!(!child.is_gone(), "the producer gave up");
            thread::yield_now();
        }
        for _ in 0..random.next() % 200 {
            next = take(&mut consumer, next);
        }
        pidfd_send_signal(&child.pidfd, Signal::KILL).unwrap();
        while !child.is_gone() {
            next = take(&mut consumer, next);
        }
        assert!(!consumer.is_closed(), "it had no time to say so");
        consumer.mark_gone();
        next = take(&mut consumer, next);
        assert!(consumer.is_closed());
        assert_eq!(consumer.restart(), 0);
        total += next - first;
    }
    assert!(total >= 200 * KILLS && consumer.violations() == 0);
}

/// Two hostile producers and two honest ones on one consumer thread: the honest rings deliver
/// everything, whole and in order.
///
/// Fails when a position or a length is used unchecked; when the memory is not sealed, the hostile
/// producers shrink it and the consumer dies of a bus error.
#[test]
fn hostile_producers_are_isolated() {
    const ENOUGH: u64 = 5_000;
    let shape = Shape::new(15, BYTES as u32).unwrap();
    let mut honest: Vec<_> = (0..2)
        .map(|i| {
            let (consumer, memory) = create(shape).unwrap();
            let child = Child::start(&format!("send {}", i << 32), &memory);
            (consumer, child, i << 32)
        })
        .collect();
    let mut hostile: Vec<_> = (0..2)
        .map(|seed| {
            let (consumer, memory) = create(shape).unwrap();
            let child = Child::start(&format!("scribble {seed}"), &memory);
            (consumer, child, 0u64)
        })
        .collect();
    let mut place = [0; BYTES];
    loop {
        for (consumer, child, next) in &mut honest {
            *next = take(consumer, *next);
            assert!(!child.is_gone(), "an honest producer gave up");
        }
        for (consumer, child, popped) in &mut hostile {
            assert!(!child.is_gone(), "a hostile producer found a promise not kept");
            for _ in 0..16 {
                match consumer.pop(&mut place) {
                    Ok(Some(_)) => *popped += 1,
                    Ok(None) => break,
                    Err(PopError::Broken(_)) => drop(consumer.restart()),
                    Err(PopError::Small { bytes }) => panic!("{bytes} B were let through"),
                }
            }
        }
        let done = |(i, h): (usize, &(_, _, u64))| h.2 - ((i as u64) << 32) >= ENOUGH;
        let tried = |h: &(Consumer, _, u64)| h.0.violations() >= 1000 && h.2 >= 100;
        thread::yield_now();
        if honest.iter().enumerate().all(done) && hostile.iter().all(tried) {
            break;
        }
    }
}

/// Fails when `Mapping::open` does not look at the seals or at the kind of memory.
#[test]
fn only_sealed_memory_is_attached() {
    let plain = File::open(std::env::current_exe().unwrap()).unwrap();
    assert!(matches!(attach(plain), Err(OpenError::Unsealed)));
    let memory = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&memory, 4096).unwrap();
    assert!(matches!(attach(&memory), Err(OpenError::Unsealed)));
    let seals = [SealFlags::SHRINK, SealFlags::GROW, SealFlags::SEAL];
    for seal in seals {
        assert!(matches!(attach(&memory), Err(OpenError::Unsealed)));
        rustix::fs::fcntl_add_seals(&memory, seal).unwrap();
    }
    assert!(matches!(attach(&memory), Err(OpenError::NoRing)));
    let empty = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fcntl_add_seals(&empty, seals.into_iter().collect()).unwrap();
    assert!(matches!(attach(&empty), Err(OpenError::NoRing)));
    // Where the kernel has huge pages at all; none need be free.
    let huge = MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    if let Ok(memory) = rustix::fs::memfd_create("test", huge) {
        rustix::fs::ftruncate(&memory, 1 << 21).unwrap();
        rustix::fs::fcntl_add_seals(&memory, seals.into_iter().collect()).unwrap();
        assert!(matches!(attach(&memory), Err(OpenError::Unsealed)));
    }
}

/// Fails when either end's memory goes with the other end or with the descriptor.
#[test]
fn an_end_outlives_the_other_and_the_descriptor() {
    let (mut consumer, memory) = create(Shape::new(2, 8).unwrap()).unwrap();
    let mut producer = attach(&memory).unwrap();
    drop(memory);
    producer.push(1, b"one").unwrap();
    drop(producer);
    assert!(consumer.is_closed());
    let mut place = [0; 8];
    assert_eq!(consumer.pop(&mut place), Ok(Some(Head { stamp: 1, bytes: 3 })));
    assert_eq!(&place[..3], b"one");
    let sent = thread::spawn(move || consumer.pop(&mut place).unwrap());
    assert_eq!(sent.join().unwrap(), None);
    let (consumer, memory) = create(Shape::new(2, 8).unwrap()).unwrap();
    let mut producer = attach(&memory).unwrap();
    drop(consumer);
    assert!(producer.is_closed());
    assert_eq!(producer.push(1, b"two"), Ok(()));
}
