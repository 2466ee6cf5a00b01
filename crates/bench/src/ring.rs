//! Packets from a producer to the scheduler: rings beside the usual queues.
//!
//! - `ring/NAME`: one packet in and one out, both ends on one thread, half full: the cost
//!   without contention.
//! - `ring/threads/NAME`: the same from one thread to another, by the clock on the wall.
//! - `ring/streams-480/NAME`: in and out of 480 queues in turn and a peek at the next head, as a
//!   scheduler does: the part of Figure 5(b) of DWCS that is synchronisation.
//! - `ring/process/BYTES`: bodies through the shared ring, copied in and out, beside a Unix
//!   datagram socket, which crosses processes too.
//!
//! [`cost_per_packet`] is for the experiment of Figure 5(b) itself.

use std::hint::{black_box, spin_loop};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::thread;

use laxity_ring::shared::{self, Shape};

use crate::baselines::channels::{
    Channel, Crossbeam, Descriptor, Heads, Locked, Ring, Rtrb, StdMpsc, SystemV,
};
use crate::{Contender, Group, cpu_time};

/// Packets that a queue holds.
const CAPACITY: usize = 64;

/// Streams of the paper just below its full load.
const STREAMS: usize = 480;

pub(crate) fn groups() -> Vec<Group> {
    vec![
        Group(vec![
            alone::<Ring>(),
            alone::<Rtrb>(),
            alone::<Crossbeam>(),
            alone::<StdMpsc>(),
            alone::<Locked>(),
            alone::<SystemV>(),
        ]),
        Group(vec![
            across::<Ring>(),
            across::<Rtrb>(),
            across::<Crossbeam>(),
            across::<StdMpsc>(),
            across::<Locked>(),
            across::<SystemV>(),
        ]),
        Group(vec![in_turn::<Ring>(), in_turn::<SystemV>(), in_turn::<Locked>()]),
        process(200),
        process(1400),
    ]
}

fn packet(seq: u64) -> Descriptor {
    Descriptor { arrival: seq, bytes: 200, body: seq as u32 }
}

fn queues<C: Channel>(count: usize) -> Vec<(C::In, C::Out)> {
    C::many(count, CAPACITY).expect("the kernel has semaphores left; `ipcs -s` lists them")
}

fn alone<C: Channel>() -> Contender {
    Contender::new(format!("ring/{}", C::NAME), || {
        let (mut input, mut output) = queues::<C>(1).remove(0);
        let mut seq = 0;
        for _ in 0..CAPACITY / 2 {
            C::push(&mut input, packet(seq));
        }
        move |count| {
            for _ in 0..count {
                seq += 1;
                black_box(C::push(&mut input, packet(seq)));
                black_box(C::pop(&mut output));
            }
        }
    })
}

fn across<C: Channel>() -> Contender {
    let contender = Contender::new(format!("ring/threads/{}", C::NAME), || {
        let (mut input, mut output) = queues::<C>(1).remove(0);
        move |count| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    for seq in 0..count {
                        patiently(|| C::push(&mut input, packet(seq)));
                    }
                });
                for _ in 0..count {
                    patiently(|| black_box(C::pop(&mut output)).is_some());
                }
            });
        }
    });
    contender.by_wall_clock()
}

/// Tries until it is done: for a moment without giving up the processor, since the other end
/// usually runs beside it.
#[inline]
fn patiently(mut done: impl FnMut() -> bool) {
    let mut tries = 0;
    while !done() {
        tries += 1;
        if tries % 128 == 0 {
            thread::yield_now();
        } else {
            spin_loop();
        }
    }
}

fn in_turn<C: Heads>() -> Contender {
    Contender::new(format!("ring/streams-{STREAMS}/{}", C::NAME), || {
        let mut queues = filled::<C>(STREAMS).expect("the kernel has semaphores left");
        let mut stream = 0;
        move |count| {
            for _ in 0..count {
                let (input, output) = &mut queues[stream];
                let popped = black_box(C::take(output));
                C::push(input, popped.map_or(packet(0), |(packet, _)| packet));
                stream = if stream + 1 == STREAMS { 0 } else { stream + 1 };
            }
        }
    })
}

/// Packets that wait in each stream of [`filled`].
const DEPTH: usize = 4;

/// Queues in which some packets wait, of arrivals 0, 1, ...
fn filled<C: Channel>(streams: usize) -> io::Result<Vec<(C::In, C::Out)>> {
    let mut queues = C::many(streams, CAPACITY)?;
    for (input, _) in &mut queues {
        for seq in 0..DEPTH {
            C::push(input, packet(seq as u64));
        }
    }
    Ok(queues)
}

/// CPU time in nanoseconds of putting a packet into its stream's queue, deciding which stream is
/// served, and taking its head, over `packets` packets of `streams` streams that are always
/// backlogged.
///
/// `decide` is the scheduler: given the step, it takes one packet or more with [`Heads::take`] and
/// says from which stream the one that is sent came; that stream's producer inserts the next. The
/// ends share a thread, so nobody waits for a semaphore: the best case for it.
///
/// # Errors
/// When the kernel has no semaphores left for `streams` queues.
pub fn cost_per_packet<C: Heads>(
    streams: usize,
    packets: u64,
    mut decide: impl FnMut(u64, &mut [(C::In, C::Out)]) -> usize,
) -> io::Result<f64> {
    let mut queues = filled::<C>(streams)?;
    let begun = cpu_time();
    for step in 0..packets {
        let served = decide(step, &mut queues);
        if let Some((input, _)) = queues.get_mut(served) {
            black_box(C::push(input, packet(step)));
        }
    }
    Ok(cpu_time().saturating_sub(begun).as_nanos() as f64 / packets.max(1) as f64)
}

/// A body in and out, both ends on one thread.
fn process(bytes: usize) -> Group {
    let ring = Contender::new(format!("ring/process/{bytes}"), move || {
        let shape = Shape::new(CAPACITY as u32, bytes as u32).expect("a small ring");
        let (mut consumer, memory) = shared::create(shape).expect("a memfd");
        let mut producer = shared::attach(&memory).expect("the ring just made");
        let (body, mut place, mut seq) = (vec![7; bytes], vec![0; bytes], 0);
        for _ in 0..CAPACITY / 2 {
            producer.push(0, &body).expect("room");
        }
        move |count| {
            for _ in 0..count {
                seq += 1;
                let _ = black_box(producer.push(seq, black_box(&body)));
                let _ = black_box(consumer.pop(black_box(&mut place)));
            }
        }
    });
    let socket = Contender::new(format!("ring/process/{bytes}/unix-datagram"), move || {
        let (sender, receiver) = UnixDatagram::pair().expect("a pair of sockets");
        let (body, mut place) = (vec![7; bytes], vec![0; bytes]);
        move |count| {
            for _ in 0..count {
                let _ = black_box(sender.send(black_box(&body)));
                let _ = black_box(receiver.recv(black_box(&mut place)));
            }
        }
    });
    Group(vec![ring, socket])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a queue runs dry, or the next packet goes to another stream.
    #[test]
    fn streams_stay_backlogged() {
        fn serve<C: Heads>() {
            let mut served = 0;
            let cost = cost_per_packet::<C>(8, 1000, |step, queues| {
                let stream = step as usize * 5 % 8;
                let (_, next) = C::take(&mut queues[stream].1).expect("always backlogged");
                assert!(next.is_some());
                served += 1;
                stream
            });
            assert!(cost.unwrap() >= 0.0);
            assert_eq!(served, 1000);
        }
        serve::<Ring>();
        serve::<Locked>();
        serve::<SystemV>();
    }
}
