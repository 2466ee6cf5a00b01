//! The baseline: a plain server with a thread for each stream that sleeps, sends, and sleeps again.
//!
//! It is what one writes first, and what the [server](crate::server) is measured against. It drops
//! nothing and knows no tolerance; under overload all streams fall behind alike.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use laxity_core::{Histogram, Span};

use crate::rtp::{Numbering, Payload};
use crate::server::{monotonic, thread_cpu};

/// A stream of packets of one size at a constant gap.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// Where to.
    pub destination: SocketAddr,
    /// Between packets.
    pub gap: Span,
    /// UDP payload, RTP header included.
    pub bytes: usize,
}

/// Totals over all threads.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Packets sent.
    pub sent: u64,
    /// CPU time of all threads, kernel time included, ns.
    pub cpu: u64,
    /// From the instant at which a packet was due to the call that sends it, ns.
    pub send_lateness: Histogram,
}

impl Done {
    fn merge(&mut self, other: &Done) {
        self.sent += other.sent;
        self.cpu += other.cpu;
        self.send_lateness.merge(&other.send_lateness);
    }
}

/// Sends all streams for `duration`, over the sockets in turn.
///
/// # Errors
/// The system has no more threads.
pub fn run(streams: &[Plain], sockets: &[UdpSocket], duration: Duration) -> io::Result<Done> {
    let stop = AtomicBool::new(false);
    let start = Arc::new(Barrier::new(streams.len() + 1));
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(streams.len());
        for (number, stream) in streams.iter().enumerate() {
            let socket = &sockets[number % sockets.len().max(1)];
            let (begin, stop) = (Arc::clone(&start), &stop);
            let part = stream.gap.0 * number as u64 / streams.len() as u64;
            // A histogram for each thread would be most of the memory.
            let builder = std::thread::Builder::new().stack_size(64 << 10);
            threads.push(builder.spawn_scoped(scope, move || {
                begin.wait();
                send(stream, number as u32, socket, part, stop)
            })?);
        }
        start.wait();
        std::thread::sleep(duration);
        stop.store(true, Ordering::Relaxed);
        let mut all = Done::default();
        for thread in threads {
            if let Ok(done) = thread.join() {
                all.merge(&done);
            }
        }
        Ok(all)
    })
}

fn send(stream: &Plain, ssrc: u32, socket: &UdpSocket, part: u64, stop: &AtomicBool) -> Done {
    let mut done = Done::default();
    let Ok(mut numbering) = Numbering::new(ssrc, 96) else { return done };
    let body = vec![0; stream.bytes.saturating_sub(crate::rtp::HEADER)];
    let payload = Payload { prefix: &[], body: &body, marker: false };
    let (mut packet, mut ticks) = (Vec::new(), 0);
    let mut due = monotonic() + part;
    while !stop.load(Ordering::Relaxed) {
        let now = monotonic();
        if due > now {
            std::thread::sleep(Duration::from_nanos(due - now));
        }
        numbering.write(&mut packet, ticks, &payload);
        ticks += stream.gap.0 * 9 / 100_000;
        done.send_lateness.record(monotonic().saturating_sub(due));
        // A full buffer loses the packet, as it would in a server written like this.
        done.sent += u64::from(socket.send_to(&packet, stream.destination).is_ok());
        due += stream.gap.0;
    }
    done.cpu = thread_cpu();
    done
}
