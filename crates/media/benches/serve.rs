//! Measures the media server with real sockets over loopback: packets for each CPU-second of its
//! threads, and how late packets start. Beside it the same load from a thread for each stream, and
//! the kernel's time alone for the packets.
//!
//! ```text
//! cargo bench -p laxity-media --bench serve -- [STREAMS] [SECONDS] [LOAD]...
//! ```
//!
//! Streams have 64 receivers, so a receiver gets many streams on one port, as from a conference
//! server, and packets for one receiver that are due together leave as one. `apart` gives each
//! stream a receiver of its own (up to 1000), where nothing can be joined.
//!
//! The receiving side looks at its sockets a few hundred times a second, so that no packet wakes a
//! thread: a receiver elsewhere would not burden the sender either.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use laxity_core::{Histogram, Span};
use laxity_dwcs::{Attributes, Tolerance};
use laxity_media::server::{Config, Server, Snapshot, Source, Stop, StreamConfig, thread_cpu};
use laxity_media::socket::{Address, AnyChannel, BATCH, Datagram, open, receive_buffer};
use laxity_media::thread_per_stream::{self, Plain};

const BYTES: usize = 200;
const TOGETHER: usize = 64;
const APART: usize = 1000;

/// Receives and counts.
struct Sink {
    addresses: Vec<SocketAddr>,
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Sink {
    fn open(receivers: usize) -> Sink {
        let any = (Ipv4Addr::LOCALHOST, 0);
        let sockets: Vec<UdpSocket> =
            (0..receivers).map(|_| UdpSocket::bind(any).expect("a UDP socket")).collect();
        for socket in &sockets {
            socket.set_nonblocking(true).expect("a socket that does not block");
            receive_buffer(socket, 4 << 20).expect("a receive buffer");
        }
        let addresses = sockets.iter().map(|s| s.local_addr().expect("an address")).collect();
        let (received, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopped) = (Arc::clone(&received), Arc::clone(&stop));
        let thread = spawn(move || {
            let mut buffer = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                for socket in &sockets {
                    while socket.recv(&mut buffer).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
                sleep(Duration::from_millis(3));
            }
        });
        Sink { addresses, received, stop, thread }
    }

    fn close(self) -> u64 {
        sleep(Duration::from_millis(50));
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the receiver");
        self.received.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Measured {
    sent: u64,
    /// Dropped by DWCS because the server was too slow for the load.
    late: u64,
    /// Sent and not received: the receiver was too slow.
    lost: u64,
    cpu: f64,
    seconds: f64,
    send_lateness: Histogram,
}

impl Measured {
    fn per_cpu_second(&self) -> f64 {
        self.sent as f64 / self.cpu
    }

    fn show(&self, name: &str) {
        let us = |q| self.send_lateness.quantile(q).map_or(f64::NAN, |ns| ns as f64 / 1000.0);
        println!(
            "{name:<34} {:>7.0} {:>9.0} {:>6.1} {:>9.1} {:>9.1} {:>9.1} {:>8} {:>6}",
            self.sent as f64 / self.seconds,
            self.per_cpu_second(),
            100.0 * self.cpu / self.seconds,
            us(500),
            us(990),
            us(999),
            self.late,
            self.lost,
        );
    }
}

fn cpu(snapshot: &Snapshot) -> u64 {
    snapshot.threads.iter().map(|(_, ns)| ns).sum()
}

fn serve(streams: usize, receivers: usize, gap: Span, seconds: f64) -> Measured {
    let sink = Sink::open(receivers);
    let tolerance = Tolerance::new(1, 100).expect("a tolerance");
    let server = Server::start(Config::default()).expect("a server");
    for i in 0..streams {
        let (to, source) = (sink.addresses[i % receivers], Source::Constant { bytes: BYTES });
        let attributes = Attributes::new(tolerance, gap);
        let stream = StreamConfig::new(format!("s{i}"), attributes, to, i as u32, source);
        server.handle().add(StreamConfig { ring: 8, ..stream }).expect("a stream");
    }
    // Joining and the first packets are not measured.
    sleep(Duration::from_millis(300));
    let snapshot = || server.handle().snapshot().expect("a running server");
    let before = snapshot();
    server.handle().restart_timing().expect("a running server");
    let began = Instant::now();
    sleep(Duration::from_secs_f64(seconds));
    let after = snapshot();
    let seconds = began.elapsed().as_secs_f64();
    let whole = server.stop(Stop::Drop).total().sent;
    let (a, b) = (after.total(), before.total());
    Measured {
        sent: a.sent - b.sent,
        late: a.expired - b.expired,
        lost: whole - sink.close(),
        cpu: (cpu(&after) - cpu(&before)) as f64 / 1e9,
        seconds,
        send_lateness: after.timing.send_lateness,
    }
}

fn baseline(streams: usize, gap: Span, seconds: f64) -> Measured {
    let sink = Sink::open(TOGETHER);
    let sockets: Vec<UdpSocket> =
        (0..4).map(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket")).collect();
    let plain: Vec<Plain> = (0..streams)
        .map(|i| Plain { destination: sink.addresses[i % TOGETHER], gap, bytes: BYTES })
        .collect();
    let done = thread_per_stream::run(&plain, &sockets, Duration::from_secs_f64(seconds))
        .expect("as many threads as streams");
    Measured {
        sent: done.sent,
        lost: done.sent - sink.close(),
        cpu: done.cpu as f64 / 1e9,
        seconds,
        send_lateness: done.send_lateness,
        ..Measured::default()
    }
}

/// Full batches, one after the other, of prepared packets: the cost of sending alone.
fn kernel(receivers: usize, seconds: f64) -> Measured {
    let sink = Sink::open(receivers);
    let socket = open((Ipv4Addr::UNSPECIFIED, 0).into(), None).expect("a socket");
    let mut channel = AnyChannel::new(socket, receivers < APART).expect("a channel");
    let to: Vec<Address> = sink.addresses.iter().map(|a| Address::from(*a)).collect();
    let mut bodies = vec![vec![0; BYTES]; BATCH];
    let (began, cpu) = (Instant::now(), thread_cpu());
    let mut sent = 0u64;
    // Receivers in no order, as streams come.
    let mut place = 0usize;
    while began.elapsed().as_secs_f64() < seconds {
        for _ in 0..BATCH {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let body = bodies.pop().expect("as many bodies as a batch");
            let datagram = Datagram { body, ..Datagram::default() };
            channel.push(&to[(place >> 33) % receivers], datagram).expect("room");
        }
        channel.flush(|datagram, _| {
            sent += 1;
            bodies.push(datagram.body);
        });
    }
    let (cpu, seconds) = ((thread_cpu() - cpu) as f64 / 1e9, began.elapsed().as_secs_f64());
    Measured { sent, lost: sent - sink.close(), cpu, seconds, ..Measured::default() }
}

fn main() {
    let argument = |n: usize| std::env::args().nth(n).and_then(|a| a.parse::<f64>().ok());
    let streams = argument(1).map_or(3000, |n| n as usize).max(1);
    let seconds = argument(2).unwrap_or(2.0);
    let mut loads: Vec<usize> = (3..).map_while(argument).map(|n| n as usize).collect();
    if loads.is_empty() {
        loads = vec![50_000, 150_000, 200_000, 250_000, 300_000, 350_000];
    }
    let gap = |streams: usize, rate: usize| Span(1_000_000_000 * streams as u64 / rate as u64);
    println!("{streams} streams, packets of {BYTES} B, {seconds} s a row\n");
    println!(
        "{:<34} {:>7} {:>9} {:>6} {:>29} {:>8} {:>6}\n{:<34} {:>7} {:>9} {:>6} {:>9} {:>9} {:>9}",
        "",
        "sent/s",
        "sent for",
        "CPU %",
        "start error, us",
        "dropped",
        "lost",
        "",
        "",
        "a CPU-s",
        "",
        "p50",
        "p99",
        "p99.9",
    );
    for load in &loads {
        serve(streams, TOGETHER, gap(streams, *load), seconds)
            .show(&format!("server, {load} a second"));
    }
    for load in &loads {
        serve(streams, APART, gap(streams, *load), seconds)
            .show(&format!("server, {load} a second, apart"));
    }
    kernel(TOGETHER, seconds).show("sending alone");
    kernel(APART, seconds).show("sending alone, apart");
    let few = streams.min(1000);
    let gap = gap(few, 50_000);
    let plain = baseline(few, gap, seconds);
    plain.show(&format!("{few} threads, 50000 a second"));
    let same = serve(few, TOGETHER, gap, seconds);
    same.show("server, the same streams");
    let ratio = same.per_cpu_second() / plain.per_cpu_second();
    println!("\npackets for a CPU-second at that load, server to threads: {ratio:.1}");
}
