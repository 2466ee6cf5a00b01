//! A producer that writes anything anywhere, in memory of this process: what the consumer then
//! does. The same with real processes is in `processes.rs`.
#![cfg(all(feature = "shared", target_os = "linux", not(loom)))]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use laxity_ring::shared::{Fault, Head, OpenError, PopError, PushError, Reader, Shape, Writer};

/// Positions of shared words, as `shape.rs` has them: back, front, and the first slot's length.
const BACK: usize = 16;
const FRONT: usize = 32;
const LENGTH: usize = 49;

type Memory = Arc<[AtomicU64]>;

fn memory(shape: Shape) -> Memory {
    (0..shape.memory() / 8).map(|_| AtomicU64::new(0)).collect()
}

fn ring(packets: u32, bytes: u32) -> (Memory, Reader<Memory>, Writer<Memory>) {
    let shape = Shape::new(packets, bytes).unwrap();
    let memory = memory(shape);
    let reader = Reader::new(Arc::clone(&memory), shape).unwrap();
    let writer = Writer::new(Arc::clone(&memory)).unwrap();
    (memory, reader, writer)
}

/// Pseudo-random numbers, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 ^ (self.0 >> 29)
    }

    /// Zero, small, just below and above powers of two, or anything.
    fn nasty(&mut self) -> u64 {
        let shift = self.next() % 64;
        match self.next() % 4 {
            0 => self.next() % 16,
            1 => (1 << shift) - 1,
            2 => 1 << shift,
            _ => self.next(),
        }
    }
}

/// Fails when full is seen late or early, a body is cut short or shifted, a peeked head is not the
/// one that is popped, or a packet that found no room in `pop` is lost.
#[test]
fn packets_round_trip() {
    let (_, mut reader, mut writer) = ring(3, 20);
    let body: Vec<u8> = (0..20).collect();
    let mut place = [0; 20];
    for round in 0..10u64 {
        for i in 0..3 {
            writer.push(100 * round + i, &body[i as usize * 3..]).unwrap();
        }
        assert_eq!(writer.push(0, &[]), Err(PushError::Full));
        assert_eq!(reader.waiting(), 3);
        let head = Head { stamp: 100 * round, bytes: 20 };
        assert_eq!(reader.peek(), Ok(Some(head)));
        assert_eq!(reader.pop(&mut place[..19]), Err(PopError::Small { bytes: 20 }));
        assert_eq!(reader.pop(&mut place), Ok(Some(head)));
        assert_eq!(place, body[..]);
        assert_eq!(reader.skip(), Ok(Some(Head { stamp: 100 * round + 1, bytes: 17 })));
        assert_eq!(reader.pop(&mut place).unwrap().unwrap().bytes, 14);
        assert_eq!((&place[..14], place[14]), (&body[6..], 14), "no byte more than its length");
        assert_eq!((reader.pop(&mut place), reader.skip()), (Ok(None), Ok(None)));
    }
    assert_eq!(writer.push(0, &[0; 21]), Err(PushError::Long { bytes: 21, most: 20 }));
    assert_eq!((reader.violations(), reader.fault()), (0, None));
}

/// Fails when `look` takes a position unchecked (an index out of range then panics), or checks it
/// against one slot more.
#[test]
fn a_position_outside_breaks_the_ring() {
    for position in [4, 5, 1 << 32, u64::MAX] {
        let (memory, mut reader, mut writer) = ring(3, 8);
        memory[BACK].store(position, Ordering::Relaxed);
        let fault = Fault::Position { position, slots: 4 };
        assert_eq!(reader.peek(), Err(fault));
        // For good: what stands there later is not looked at.
        memory[BACK].store(1, Ordering::Relaxed);
        assert_eq!(reader.pop(&mut [0; 8]), Err(PopError::Broken(fault)));
        assert_eq!((reader.fault(), reader.violations()), (Some(fault), 1));

        // The other way round a producer does not believe its consumer.
        memory[FRONT].store(position, Ordering::Relaxed);
        (0..3).for_each(|_| writer.push(0, &[]).unwrap());
        assert_eq!(writer.push(0, &[]), Err(PushError::Broken(fault)));
        assert!(matches!(Writer::new(memory), Err(OpenError::Broken(f)) if f == fault));
    }
}

/// Fails when `read_head` takes a length unchecked, or cuts it to 32 bits before it looks.
#[test]
fn a_length_beyond_the_slot_breaks_the_ring() {
    for bytes in [9, 1 << 32, u64::MAX] {
        let (memory, mut reader, mut writer) = ring(3, 8);
        writer.push(0, &[1; 8]).unwrap();
        memory[LENGTH].store(bytes, Ordering::Relaxed);
        let fault = Fault::Length { bytes, most: 8 };
        assert_eq!(reader.pop(&mut [0; 1000]), Err(PopError::Broken(fault)));
        assert_eq!((reader.skip(), reader.waiting()), (Err(fault), 0));
    }
}

/// Fails when `pop` reads the length again after it was checked.
#[test]
fn validated_values_are_not_read_again() {
    let (memory, mut reader, mut writer) = ring(3, 8);
    writer.push(5, &[1; 4]).unwrap();
    let head = reader.peek().unwrap().unwrap();
    memory[LENGTH].store(u64::MAX, Ordering::Relaxed);
    memory[BACK].store(u64::MAX, Ordering::Relaxed);
    let mut place = [0; 8];
    assert_eq!(reader.pop(&mut place), Ok(Some(head)));
    assert_eq!(place, [1, 1, 1, 1, 0, 0, 0, 0]);
    assert!(reader.peek().is_err(), "now it shows");
}

/// Fails when `restart` keeps the fault, the end or the old packets, or forgets the count.
#[test]
fn a_restarted_ring_serves_the_next_producer() {
    let (memory, mut reader, mut writer) = ring(3, 8);
    writer.push(1, &[]).unwrap();
    writer.push(2, &[]).unwrap();
    reader.mark_gone();
    assert!(reader.is_closed());
    assert_eq!(reader.restart(), 2);
    assert!(!reader.is_closed());
    memory[BACK].store(99, Ordering::Relaxed);
    assert!(reader.peek().is_err());
    drop(writer);
    assert!(reader.is_closed());
    assert_eq!(reader.restart(), 0);
    assert_eq!((reader.fault(), reader.violations(), reader.is_closed()), (None, 1, false));
    let mut writer = Writer::new(Arc::clone(&memory)).unwrap();
    writer.push(3, &[]).unwrap();
    assert_eq!(reader.skip(), Ok(Some(Head { stamp: 3, bytes: 0 })));
    assert_eq!(reader.skip(), Ok(None));
    drop(reader);
    assert!(writer.is_closed());
}

/// Memory that is no ring, or not as large as its header says, is refused.
///
/// Fails when `Writer::new` believes the header's shape.
#[test]
fn the_header_is_validated() {
    let (memory, ..) = ring(3, 8);
    for (word, value) in [(0, 1), (1, 0), (1, 1 << 40), (2, u64::MAX)] {
        let before = memory[word].swap(value, Ordering::Relaxed);
        let error = Writer::new(Arc::clone(&memory)).unwrap_err();
        assert!(matches!(error, OpenError::NoRing | OpenError::Shape(_)), "{error}");
        memory[word].store(before, Ordering::Relaxed);
    }
    memory[1].store(4, Ordering::Relaxed);
    assert!(matches!(Writer::new(memory), Err(OpenError::Size { .. })));
    assert!(matches!(Writer::new(Memory::from([])), Err(OpenError::NoRing)));
    let small = Reader::new(Memory::from([]), Shape::new(1, 1).unwrap());
    assert!(matches!(small, Err(OpenError::Size { .. })));
    for (packets, bytes) in [(0, 1), (u32::MAX, 1), (1, u32::MAX), (1 << 20, 1 << 20)] {
        let error = Shape::new(packets, bytes).unwrap_err();
        assert!(error.to_string().contains("give 1 to"), "{error}");
    }
}

/// Takes what can be taken and starts again when broken; how much was taken, and how often broken.
fn drain(reader: &mut Reader<Memory>, rounds: usize) -> (usize, u64) {
    let most = reader.shape().bytes();
    let mut place = vec![0; most as usize];
    let mut popped = 0;
    for round in 0..rounds {
        let before = reader.peek();
        let after = if round % 2 == 0 {
            reader.pop(&mut place).map_err(|e| match e {
                PopError::Broken(fault) => fault,
                PopError::Small { .. } => panic!("a length above the largest was let through"),
            })
        } else {
            reader.skip()
        };
        assert!(before == after || before == Ok(None), "{after:?} is not the head that was seen");
        match after {
            Ok(head) => {
                assert!(head.is_none_or(|h| h.bytes <= most));
                popped += usize::from(head.is_some());
            }
            Err(_) => drop(reader.restart()),
        }
        assert!(reader.waiting() <= reader.shape().packets() as usize);
    }
    (popped, reader.violations())
}

/// Any word becomes anything between any two steps of the consumer.
///
/// Fails when a position or a length is used unchecked.
#[test]
fn corruption_between_steps_does_no_harm() {
    let mut random = Random(1);
    for (packets, bytes) in [(1, 0), (3, 8), (4, 100)] {
        let (memory, mut reader, mut writer) = ring(packets, bytes);
        let (mut popped, rounds) = (0, if cfg!(miri) { 500 } else { 50_000 });
        for _ in 0..rounds {
            let _ = writer.push(random.next(), &[1; 100][..bytes as usize]);
            // Mostly the words that matter.
            let word = match random.next() % 4 {
                0 => BACK,
                1 => LENGTH + 8 * (random.next() % 2) as usize,
                _ => (random.next() % memory.len() as u64) as usize,
            };
            if random.next() % 3 > 0 {
                memory[word].store(random.nasty(), Ordering::Relaxed);
            }
            popped += drain(&mut reader, 1).0;
        }
        let violations = reader.violations();
        assert!(popped > 0 && violations > 10, "{popped} packets, {violations} violations");
    }
}

/// Says stop when it is dropped, whatever for.
struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A thread scribbles while two consumers run; the other ring loses nothing.
///
/// Fails when a position or a length is used unchecked.
#[test]
fn concurrent_corruption_does_no_harm() {
    let (memory, mut broken, writer) = ring(7, 64);
    let (_, mut honest, mut sender) = ring(7, 64);
    drop(writer);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stopper = Stopper(&stop);
        scope.spawn(|| {
            let mut random = Random(2);
            while !stop.load(Ordering::Relaxed) {
                let word = (random.next() % memory.len() as u64) as usize;
                memory[word].store(random.nasty(), Ordering::Relaxed);
                memory[BACK].store(random.next() % 12, Ordering::Relaxed);
            }
        });
        let mut place = [0; 64];
        let (mut seq, rounds) = (0u64, if cfg!(miri) { 50 } else { 20_000 });
        while seq < rounds || broken.violations() == 0 {
            drain(&mut broken, 8);
            let body = [seq as u8; 64];
            sender.push(seq, &body).unwrap();
            assert_eq!(honest.pop(&mut place), Ok(Some(Head { stamp: seq, bytes: 64 })));
            assert_eq!(place, body);
            seq += 1;
        }
    });
    assert_eq!(honest.violations(), 0);
}
