//! Measures the media server with real sockets over loopback: packets for each CPU-second of its
//! threads, and how late packets start. Beside it the same load from a thread for each stream.
//!
//! ```text
//! cargo run --release -p laxity-live --example serve_bench [STREAMS] [SECONDS]
//! ```
//!
//! The receiving side looks at its sockets a few hundred times a second, so that no packet wakes a
//! thread: a receiver elsewhere would not burden the sender either.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use laxity_core::{Histogram, Span};
use laxity_live::server::{Config, Server, Source, Stop, StreamConfig};
use laxity_live::socket::receive_buffer;
use laxity_live::thread_per_stream::{self, Plain};
use laxity_stream::{Attributes, Tolerance};

const BYTES: usize = 200;
const CLIENTS: usize = 64;

struct Sink {
    addresses: Vec<SocketAddr>,
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Sink {
    fn open() -> Sink {
        let sockets: Vec<UdpSocket> = (0..CLIENTS)
            .map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a UDP socket"))
            .collect();
        for socket in &sockets {
            socket.set_nonblocking(true).expect("a socket that does not block");
            receive_buffer(socket, 4 << 20).expect("a receive buffer");
        }
        let addresses = sockets.iter().map(|s| s.local_addr().expect("an address")).collect();
        let (received, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopped) = (Arc::clone(&received), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                for socket in &sockets {
                    while socket.recv(&mut buffer).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        Sink { addresses, received, stop, thread }
    }

    fn close(self) -> u64 {
        std::thread::sleep(Duration::from_millis(50));
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the receiver");
        self.received.load(Ordering::Relaxed)
    }
}

struct Result {
    sent: u64,
    late: u64,
    received: u64,
    cpu: f64,
    seconds: f64,
    start_error: Histogram,
}

fn show(name: &str, r: &Result) -> f64 {
    let per_cpu = r.sent as f64 / r.cpu;
    let us = |q| r.start_error.quantile(q).unwrap_or(0) as f64 / 1000.0;
    println!(
        "{name:<28} {:>8.0}/s  {:>9.0}/CPU-s  CPU {:>5.1} %  start error µs: p50 {:>7.1}  \
         p99 {:>8.1}  p99.9 {:>8.1}  dropped late {}  lost on loopback {}",
        r.sent as f64 / r.seconds,
        per_cpu,
        100.0 * r.cpu / r.seconds,
        us(500),
        us(990),
        us(999),
        r.late,
        r.sent.saturating_sub(r.received),
    );
    per_cpu
}

fn serve(streams: usize, gap: Span, seconds: f64, quantum: Span) -> Result {
    let sink = Sink::open();
    let tolerance = Tolerance::new(1, 100).expect("a tolerance");
    let attributes = Attributes::new(tolerance, gap);
    let config = |i: usize| {
        let mut stream = StreamConfig::new(
            format!("s{i}"),
            attributes,
            sink.addresses[i % CLIENTS],
            i as u32,
            Source::Constant { bytes: BYTES },
        );
        stream.ring = std::env::var("RING").ok().and_then(|r| r.parse().ok()).unwrap_or(8);
        stream
    };
    let server = Server::start(Config { quantum, ..Config::default() }).expect("a server");
    for i in 0..streams {
        server.handle().add(config(i)).expect("a stream");
    }
    // Joining and warming up are not what is measured.
    std::thread::sleep(Duration::from_millis(300));
    let before = server.handle().snapshot().expect("a running server");
    let began = Instant::now();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let after = server.handle().snapshot().expect("a running server");
    let seconds = began.elapsed().as_secs_f64();
    let whole = server.stop(Stop::Drop);
    let received = sink.close();
    let cpu = |s: &laxity_live::server::Snapshot| s.threads.iter().map(|t| t.1).sum::<u64>();
    let (a, b) = (after.total(), before.total());
    Result {
        sent: a.sent - b.sent,
        late: a.late - b.late,
        received: (received + a.sent).saturating_sub(b.sent + whole.total().sent),
        cpu: (cpu(&after) - cpu(&before)) as f64 / 1e9,
        seconds,
        start_error: after.timing.start_error,
    }
}

fn rival(streams: usize, gap: Span, seconds: f64) -> Result {
    let sink = Sink::open();
    let sockets: Vec<UdpSocket> =
        (0..4).map(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket")).collect();
    let plain: Vec<Plain> = (0..streams)
        .map(|i| Plain { destination: sink.addresses[i % CLIENTS], gap, bytes: BYTES })
        .collect();
    let done = thread_per_stream::run(&plain, &sockets, Duration::from_secs_f64(seconds))
        .expect("as many threads as streams");
    let received = sink.close();
    Result {
        sent: done.sent,
        late: 0,
        received,
        cpu: done.cpu as f64 / 1e9,
        seconds,
        start_error: done.start_error,
    }
}

fn main() {
    let argument = |n: usize| std::env::args().nth(n);
    let streams = argument(1).and_then(|a| a.parse().ok()).unwrap_or(3000);
    let seconds = argument(2).and_then(|a| a.parse().ok()).unwrap_or(3.0);
    let gap = |rate: usize| Span(1_000_000_000 * streams as u64 / rate as u64);
    println!("{streams} streams of {BYTES} B packets to {CLIENTS} receivers, {seconds} s a row");
    let quantum = Span(100_000);
    if let Some(load) = argument(3).and_then(|a| a.parse().ok()) {
        show("server", &serve(streams, gap(load), seconds, quantum));
        return;
    }
    let half = show("server, 150 thousand a s", &serve(streams, gap(150_000), seconds, quantum));
    for load in [200_000, 250_000, 300_000, 350_000] {
        let name = format!("server, {} thousand a s", load / 1000);
        show(&name, &serve(streams, gap(load), seconds, quantum));
    }
    let few = streams.min(1000);
    let gap = Span(1_000_000_000 * few as u64 / 50_000);
    let rival = show("thread per stream, 50 thousand", &rival(few, gap, seconds));
    show("server, 50 thousand a s", &serve(few, gap, seconds, quantum));
    println!("ratio of packets for each CPU-second, half load to rival: {:.1}", half / rival);
}
