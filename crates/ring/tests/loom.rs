//! Every interleaving and every order of memory accesses that the memory model allows, for small
//! rings: `scripts/loom.sh`. Each slot is watched, so that two accesses which nothing puts in
//! order fail, and each value is counted, so that one lost or dropped twice fails.
#![cfg(loom)]

use laxity_ring::shared::{PopError, Reader, Shape, Writer};
use laxity_ring::spsc::{Consumer, Producer, channel};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;

/// Goes through all executions of two threads.
fn explore(test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.max_branches = 100_000;
    model.check(test);
}

/// Pushes 0, 1, ... `attempts` times, as far as there is room; returns how many went in.
fn push(producer: &mut Producer<Arc<u32>>, attempts: u32) -> u32 {
    let mut seq = 0;
    for _ in 0..attempts {
        seq += u32::from(producer.push(Arc::new(seq)).is_ok());
    }
    seq
}

fn expect(consumer: &mut Consumer<Arc<u32>>, seq: &mut u32) {
    if let Some(value) = consumer.pop() {
        assert_eq!(*value, *seq);
        *seq += 1;
    }
}

/// Fails when `Release` in either `publish` or `Acquire` in `push` or `has_head` is `Relaxed`; when
/// full is seen one slot late; when back is published before its slot is written. (Front one slot
/// early does no harm: the slot that is always free is the one being read.)
#[test]
fn values_arrive_whole_and_in_order() {
    for capacity in 1..4 {
        explore(move || {
            let (mut producer, mut consumer) = channel(capacity);
            let sender = thread::spawn(move || push(&mut producer, 5));
            let mut seq = 0;
            for _ in 0..4 {
                expect(&mut consumer, &mut seq);
            }
            let pushed = sender.join().unwrap();
            for _ in seq..pushed {
                expect(&mut consumer, &mut seq);
            }
            assert_eq!(seq, pushed);
            assert!(consumer.pop().is_none());
        });
    }
}

/// Fails when `Acquire` in `push_iter` or `drain` is `Relaxed`; when a batch shows a slot before it
/// is written, or gives its slots up before they are read.
#[test]
fn batches_arrive_whole_and_in_order() {
    explore(|| {
        let (mut producer, mut consumer) = channel(2);
        let sender = thread::spawn(move || {
            let mut values = (0..4).map(Arc::new);
            (0..2).map(|_| producer.push_iter(&mut values) as u32).sum::<u32>()
        });
        let mut seq = 0;
        for _ in 0..2 {
            for value in consumer.drain() {
                assert_eq!(*value, seq);
                seq += 1;
            }
        }
        let pushed = sender.join().unwrap();
        seq += consumer.drain().count() as u32;
        assert_eq!(seq, pushed);
    });
}

/// Fails when the producer may write to the slot of the head: full seen one slot late.
#[test]
fn a_peeked_head_is_the_one_popped() {
    explore(|| {
        let (mut producer, mut consumer) = channel(1);
        let sender = thread::spawn(move || push(&mut producer, 3));
        let mut seq = 0;
        for _ in 0..2 {
            if let Some(value) = consumer.peek() {
                let seen = Arc::clone(value);
                assert_eq!(*seen, seq);
                expect(&mut consumer, &mut seq);
            }
        }
        sender.join().unwrap();
    });
}

/// Fails when `closed` is stored before the last value is published, or when its `Release` or
/// the `Acquire` of `is_closed` is `Relaxed`.
#[test]
fn nothing_follows_the_close() {
    explore(|| {
        let (mut producer, mut consumer) = channel(2);
        let sender = thread::spawn(move || push(&mut producer, 2));
        let mut seq = 0;
        if consumer.is_closed() {
            expect(&mut consumer, &mut seq);
            expect(&mut consumer, &mut seq);
            assert_eq!(seq, 2);
        }
        assert_eq!(sender.join().unwrap(), 2);
    });
}

/// Fails when the ring drops nothing, or a value twice.
#[test]
fn remaining_values_are_dropped_by_the_last_end() {
    explore(|| {
        let token = Arc::new(0);
        let (mut producer, mut consumer) = channel(2);
        let sent = Arc::clone(&token);
        let sender = thread::spawn(move || {
            let _ = producer.push(Arc::clone(&sent));
            let _ = producer.push(sent);
        });
        drop(consumer.pop());
        drop(consumer);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

/// Fails when `Release` in `Writer::push` or `Acquire` in `Reader::look` is `Relaxed`; when back is
/// stored before the packet is written. The same on front goes unseen: bodies are atomic words
/// here, and the checker lets no load wait for a store that comes later. The test of
/// the first ring sees it in the same protocol over slots that are not atomic.
#[test]
fn packets_between_processes_arrive_whole_and_in_order() {
    explore(|| {
        let shape = Shape::new(1, 8).unwrap();
        let words = (0..shape.memory() / 8).map(|_| AtomicU64::new(0));
        let memory: std::sync::Arc<[AtomicU64]> = words.collect();
        let mut consumer = Reader::new(std::sync::Arc::clone(&memory), shape).unwrap();
        let mut producer = Writer::new(memory).unwrap();
        let sender = thread::spawn(move || {
            let mut seq = 0;
            for _ in 0..3 {
                seq += u64::from(producer.push(seq, &[7 + seq as u8; 8]).is_ok());
            }
            seq
        });
        let mut seq = 0;
        let mut take = || {
            let mut body = [0; 8];
            match consumer.pop(&mut body) {
                Ok(Some(head)) => {
                    assert_eq!((head.stamp, head.bytes, body), (seq, 8, [7 + seq as u8; 8]));
                    seq += 1;
                }
                Ok(None) => {}
                Err(PopError::Small { .. } | PopError::Broken(_)) => panic!("an honest producer"),
            }
            seq
        };
        take();
        take();
        let pushed = sender.join().unwrap();
        take();
        assert_eq!(take(), pushed);
    });
}
