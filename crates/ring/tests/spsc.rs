//! The ring between threads, as its users see it. Orders of memory accesses that this machine
//! happens not to produce are tried in `loom.rs`.
#![cfg(not(loom))]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use laxity_ring::spsc::{Full, channel};

/// Pseudo-random numbers, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 32) * bound) >> 32
    }
}

/// Every method against a queue that is obviously right, one thread, every small capacity. The
/// values are counted, so one that is lost, doubled or dropped twice shows.
///
/// Fails when full is seen one slot late (`self.back == self.front` in `push`), when `pop` does not
/// move front, when a batch ends one early, when a forgotten `Drain`'s values are read again (front
/// moved in its `drop` alone).
#[test]
fn a_ring_is_a_bounded_queue() {
    let steps = if cfg!(miri) { 300 } else { 20_000 };
    for capacity in 0..6 {
        let token = Arc::new(());
        let make = |number: u64| (number, Arc::clone(&token));
        let (mut producer, mut consumer) = channel(capacity);
        let mut queue = VecDeque::new();
        let mut random = Random(capacity as u64);
        let mut seq = 0;
        for _ in 0..steps {
            match random.below(8) {
                0 | 1 => {
                    let pushed = producer.push(make(seq)).map_err(|Full((number, _))| number);
                    if queue.len() < capacity {
                        assert_eq!(pushed, Ok(()));
                        queue.push_back(seq);
                    } else {
                        assert_eq!(pushed, Err(seq));
                    }
                    seq += 1;
                }
                2 => {
                    let count = random.below(5);
                    let mut values = (seq..seq + count).map(make);
                    let pushed = producer.push_iter(&mut values);
                    assert_eq!(pushed, (capacity - queue.len()).min(count as usize));
                    assert_eq!(values.count(), count as usize - pushed, "the rest stays");
                    queue.extend(seq..seq + pushed as u64);
                    seq += count;
                }
                3 | 4 => assert_eq!(consumer.pop().map(|v| v.0), queue.pop_front()),
                5 => assert_eq!(consumer.peek().map(|v| v.0), queue.front().copied()),
                6 => {
                    let some = random.below(4) as usize;
                    let popped: Vec<u64> = consumer.drain().take(some).map(|v| v.0).collect();
                    let count = queue.len().min(some);
                    assert_eq!(popped, queue.drain(..count).collect::<Vec<_>>());
                }
                _ => {
                    let mut drain = consumer.drain();
                    assert_eq!(drain.len(), queue.len());
                    assert_eq!(drain.next().map(|v| v.0), queue.pop_front());
                    std::mem::forget(drain);
                    // The producer learns with the next batch that there is room.
                    drop(consumer.drain());
                }
            }
            assert_eq!((consumer.len(), consumer.is_empty()), (queue.len(), queue.is_empty()));
            assert_eq!((producer.len(), producer.is_empty()), (queue.len(), queue.is_empty()));
            assert_eq!(producer.free(), capacity - queue.len());
            assert!(Arc::strong_count(&token) > queue.len(), "a value was dropped early");
        }
        assert_eq!((producer.capacity(), consumer.capacity()), (capacity, capacity));
        drop(producer);
        assert_eq!(Arc::strong_count(&token), 1 + queue.len());
        drop(consumer);
        assert_eq!(Arc::strong_count(&token), 1, "what remains is dropped, once");
    }
}

/// Fails when `pop_slice` takes a value for which there is no place, or `push_slice` skips one.
#[test]
fn slices_are_pushed_and_popped_in_parts() {
    let (mut producer, mut consumer) = channel(5);
    assert_eq!(producer.push_slice(&[1, 2, 3]), 3);
    let mut two = [0; 2];
    assert_eq!((consumer.pop_slice(&mut two), two), (2, [1, 2]));
    assert_eq!(producer.push_slice(&[4, 5, 6, 7, 8]), 4);
    let mut many = [0; 9];
    assert_eq!((consumer.pop_slice(&mut many), &many[..5]), (5, &[3, 4, 5, 6, 7][..]));
    assert_eq!(consumer.pop_slice(&mut many), 0);
}

/// Fails when `push_iter` counts a value that never came, or loses those that came before.
#[test]
fn a_panic_of_the_iterator_loses_nothing() {
    let (mut producer, mut consumer) = channel(4);
    let mut values = (0..3).map(|i| if i < 2 { Box::new(i) } else { panic!("no third") });
    assert!(catch_unwind(AssertUnwindSafe(|| producer.push_iter(&mut values))).is_err());
    producer.push(Box::new(2)).unwrap();
    assert_eq!(consumer.drain().map(|v| *v).collect::<Vec<_>>(), [0, 1, 2]);
}

/// Fails when either end's `drop` does not close the ring.
#[test]
fn each_end_sees_the_other_close() {
    let (producer, consumer) = channel::<u8>(1);
    assert!(!producer.is_closed() && !consumer.is_closed());
    drop(producer);
    assert!(consumer.is_closed());
    let (mut producer, consumer) = channel(1);
    drop(consumer);
    assert!(producer.is_closed());
    assert_eq!(producer.push(1), Ok(()), "it has room, and drops what it holds");
}

/// Fails when values of no size confuse the indices.
#[test]
fn zero_sized_values_are_counted() {
    let (mut producer, mut consumer) = channel(3);
    assert_eq!(producer.push_iter(&mut std::iter::repeat(())), 3);
    assert_eq!(consumer.drain().count(), 3);
    assert_eq!(consumer.pop(), None);
}

/// Fails when a consumer that goes does not tell the ring what it took.
#[test]
fn values_of_a_forgotten_drain_are_dropped_once() {
    let token = Arc::new(());
    let (mut producer, mut consumer) = channel(3);
    producer.push_iter(&mut (0..3).map(|_| Arc::clone(&token)));
    let mut drain = consumer.drain();
    let popped = drain.next();
    std::mem::forget(drain);
    drop((producer, consumer));
    assert_eq!(Arc::strong_count(&token), 2, "the token and the one that was taken");
    drop(popped);
}

/// All values arrive in order through a small ring, single and in batches, while the ends run
/// on their own threads; then the producer's end is seen.
///
/// Fails when full is seen one slot late.
#[test]
fn a_stream_arrives_whole_and_in_order() {
    for capacity in [1, 2, 7, 64] {
        // On a busy machine the ends take turns, a ring's length each.
        let count = if cfg!(miri) { 200 } else { 2000 * capacity as u64 };
        let (mut producer, mut consumer) = channel(capacity);
        let sender = thread::spawn(move || {
            let mut seq = 0;
            while seq < count {
                let before = seq;
                if seq % 3 == 0 {
                    seq += u64::from(producer.push(Box::new(seq)).is_ok());
                } else {
                    let mut values = (seq..count.min(seq + 5)).map(Box::new);
                    seq += producer.push_iter(&mut values) as u64;
                }
                if seq == before {
                    thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < count {
            let before = expected;
            if expected % 4 == 0 {
                if let Some(value) = consumer.peek().map(|v| **v) {
                    assert_eq!((value, consumer.pop().as_deref()), (expected, Some(&value)));
                    expected += 1;
                }
            } else {
                for value in consumer.drain() {
                    assert_eq!(*value, expected);
                    expected += 1;
                }
            }
            if expected == before {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
        assert!(consumer.is_closed() && consumer.pop().is_none());
    }
}
