//! Metrics for Prometheus: its text format (version 0.0.4) over HTTP on loopback.
//!
//! The server answers `GET /metrics` and nothing else, one request a connection, so no HTTP crate
//! is worth its code.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_core::Histogram;

use crate::server::{Handle, ServerError, Snapshot, StreamSnapshot, spawn};

/// Upper ends of the histogram's buckets, ns.
const BUCKETS: [u64; 12] = [
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    200_000_000,
    1_000_000_000,
];

/// The longest request that is read.
const LONGEST: usize = 8 << 10;

/// How long one client may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The metrics page. Dropping it closes it.
#[derive(Debug)]
pub struct Metrics {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Serves on an address of this machine's loopback.
    ///
    /// # Errors
    /// Another address than loopback: counts and names are nobody else's business, and a proxy
    /// can decide otherwise. Or the address cannot be bound.
    pub fn listen(handle: Handle, bind: SocketAddr) -> Result<Metrics, ServerError> {
        let failed = || ServerError::system(format!("metrics on {bind}"));
        if !bind.ip().is_loopback() {
            let only = "metrics are served on loopback only; put a proxy before it";
            return Err(failed()(io::Error::new(io::ErrorKind::InvalidInput, only)));
        }
        let listener = TcpListener::bind(bind).map_err(failed())?;
        listener.set_nonblocking(true).map_err(failed())?;
        let address = listener.local_addr().map_err(failed())?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = spawn("metrics", move || {
            while !stopped.load(Ordering::Relaxed) {
                match listener.accept() {
                    // A client that hangs up has what it wanted.
                    Ok((stream, _)) => drop(answer(stream, &handle)),
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        })?;
        Ok(Metrics { address, stop, thread: Some(thread) })
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, handle: &Handle) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_head(&mut stream)?;
    let first = request.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
    let mut words = first.split(|b| *b == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|b| *b == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => match handle.snapshot() {
            Ok(snapshot) => ("200 OK", page(&snapshot)),
            Err(error) => ("503 Service Unavailable", format!("{error}\n")),
        },
        (b"GET" | b"HEAD", _) => ("404 Not Found", "GET /metrics\n".into()),
        _ => ("405 Method Not Allowed", "GET /metrics\n".into()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if method != b"HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    Ok(())
}

/// Reads up to the empty line that ends the head of a request.
fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let began = Instant::now();
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let left = PATIENCE.saturating_sub(began.elapsed());
        if left.is_zero() || head.len() > LONGEST {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let bytes = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..bytes]);
        let ended =
            head.windows(4).any(|w| w == b"\r\n\r\n") || head.windows(2).any(|w| w == b"\n\n");
        if bytes == 0 || ended {
            return Ok(head);
        }
    }
}

/// The page.
pub fn page(snapshot: &Snapshot) -> String {
    let mut text = Text::default();
    text.family("laxity_streams", "gauge", "Streams.");
    text.sample("laxity_streams", &[], snapshot.streams.len() as u64);
    packets(&mut text, snapshot);
    let streams = &snapshot.streams;
    text.each(streams, "made_packets_total", "counter", "Packets put into the ring.", |s| s.made);
    let help = "Packets offered to a full ring.";
    text.each(streams, "overflow_packets_total", "counter", help, |s| s.overflow);
    let help = "Access units and packets too large to be sent.";
    text.each(streams, "too_large_total", "counter", help, |s| s.too_large);
    let help = "UDP payload given to the kernel.";
    text.each(streams, "sent_bytes_total", "counter", help, |s| s.row.counts.sent_bytes);
    let help = "Packets that wait.";
    text.each(streams, "waiting_packets", "gauge", help, |s| s.row.waiting as u64);
    let help = "Deadlines missed.";
    text.each(streams, "missed_deadlines_total", "counter", help, |s| s.row.measures.missed);
    let help = "Back-to-back windows with more misses than tolerated.";
    text.each(streams, "violated_windows_total", "counter", help, |s| s.row.measures.tumbling);
    let help = "1 when the producer is gone.";
    text.each(streams, "ended", "gauge", help, |s| u64::from(s.row.ended));
    let help = "Complaints of the network about the destination (ICMP).";
    text.each(streams, "unreachable_total", "counter", help, |s| s.unreachable);
    let help = "Packets lost as the receiver reports.";
    let lost = |s: &StreamSnapshot| u64::try_from(s.heard.lost).unwrap_or(0);
    text.each(streams, "reported_lost_packets", "gauge", help, lost);
    network(&mut text, snapshot);
    let timing = &snapshot.timing;
    let help = "From the instant at which a packet could go to the system call that sends it.";
    text.histogram("laxity_start_error_seconds", help, &timing.start_error);
    text.family("laxity_send_calls_total", "counter", "System calls that sent packets.");
    text.sample("laxity_send_calls_total", &[], timing.calls);
    let name = "laxity_full_total";
    text.family(name, "counter", "Sends cut short by a full socket buffer or device queue.");
    text.sample(name, &[("what", "socket")], timing.full);
    text.sample(name, &[("what", "device")], timing.busy);
    text.family("laxity_thread_cpu_seconds_total", "counter", "CPU time, kernel included.");
    for (thread, cpu) in &snapshot.threads {
        let labels = [("thread", thread.as_str())];
        text.line("laxity_thread_cpu_seconds_total", &labels, &seconds(*cpu));
    }
    text.0
}

fn packets(text: &mut Text, snapshot: &Snapshot) {
    let name = "laxity_packets_total";
    text.family(name, "counter", "Packets taken from rings, by what became of them.");
    for stream in &snapshot.streams {
        let (label, counts) = (stream.config.name.as_str(), stream.row.counts);
        let mut fate = |fate, n| text.sample(name, &[("stream", label), ("fate", fate)], n);
        fate("sent", counts.sent);
        counts.not_sent().into_iter().for_each(|(reason, n)| fate(reason, n));
    }
}

fn network(text: &mut Text, snapshot: &Snapshot) {
    let name = "laxity_network_total";
    text.family(name, "counter", "What came in from the network, and sender reports.");
    let n = snapshot.listened;
    for (kind, count) in [
        ("reports", n.reports),
        ("sender_reports", n.sender_reports),
        ("malformed", n.malformed),
        ("unknown", n.unknown),
        ("foreign", n.foreign),
        ("implausible", n.implausible),
        ("goodbyes", n.goodbyes),
        ("complaints", n.complaints),
        ("stray_complaints", n.stray_complaints),
    ] {
        text.sample(name, &[("kind", kind)], count);
    }
}

/// Nanoseconds as seconds, exactly.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// The text format. Writing into a string does not fail.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.line(name, labels, &value.to_string());
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        self.0.push_str(name);
        for (i, (label, value)) in labels.iter().enumerate() {
            let _ =
                write!(self.0, "{}{label}=\"{}\"", if i == 0 { '{' } else { ',' }, escape(value));
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn each(
        &mut self,
        streams: &[StreamSnapshot],
        name: &str,
        kind: &str,
        help: &str,
        value: impl Fn(&StreamSnapshot) -> u64,
    ) {
        let name = format!("laxity_stream_{name}");
        self.family(&name, kind, help);
        for stream in streams {
            self.sample(&name, &[("stream", &stream.config.name)], value(stream));
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let mut counted = histogram.iter().peekable();
        let mut below = 0;
        let bucket = format!("{name}_bucket");
        for end in BUCKETS {
            while let Some((_, n)) = counted.next_if(|(upper, _)| *upper <= end) {
                below += n;
            }
            self.sample(&bucket, &[("le", &seconds(end))], below);
        }
        self.sample(&bucket, &[("le", "+Inf")], histogram.count());
        let sum = u64::try_from(histogram.sum()).unwrap_or(u64::MAX);
        self.line(&format!("{name}_sum"), &[], &seconds(sum));
        self.sample(&format!("{name}_count"), &[], histogram.count());
    }
}

/// A label's value: backslash, quote and line feed are written with a backslash.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Config, Server, Source, Stop, StreamConfig};
    use laxity_core::Span;
    use laxity_stream::{Attributes, Tolerance};

    /// Whether a line is a sample: a name, labels whose values are escaped, a number.
    fn sample(line: &str) -> Option<(&str, f64)> {
        let (series, value) = line.rsplit_once(' ')?;
        let name = series.split('{').next()?;
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(good) {
            return None;
        }
        let mut rest = series[name.len()..].chars();
        let mut quoted = false;
        while let Some(c) = rest.next() {
            match c {
                '\\' if quoted => matches!(rest.next()?, '\\' | '"' | 'n').then_some(())?,
                '"' => quoted = !quoted,
                _ => {}
            }
        }
        if quoted { None } else { Some((name, value.parse().ok()?)) }
    }

    fn get(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // A request that is not read to its end is answered with a reset.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// Fails when the page is not what Prometheus reads: tried with labels written as they are.
    #[test]
    fn the_page_is_well_formed() {
        let to = "127.0.0.1:9".parse().unwrap();
        let attributes = Attributes::new(Tolerance::new(1, 2).unwrap(), Span(1_000_000));
        let name = "a \"quoted\\ \n name} 7";
        let stream = StreamConfig::new(name, attributes, to, 1, Source::Constant { bytes: 50 });
        let config = Config { streams: vec![stream], ..Config::default() };
        let server = Server::start(config).unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let metrics = Metrics::listen(server.handle().clone(), any).unwrap();
        while server.handle().snapshot().unwrap().total().sent == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let answer = get(metrics.address(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("version=0.0.4"));
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        let mut family = "";
        let mut samples = 0;
        for line in body.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap();
            } else if !line.starts_with("# HELP ") {
                let (name, _) = sample(line).unwrap_or_else(|| panic!("{line}"));
                assert!(name.starts_with(family), "{name} after {family}");
                samples += 1;
            }
        }
        assert!(samples > 40, "{body}");
        assert!(
            body.contains("{stream=\"a \\\"quoted\\\\ \\n name} 7\",fate=\"sent\"} "),
            "{body}"
        );
        let buckets: Vec<f64> = body
            .lines()
            .filter(|l| l.starts_with("laxity_start_error_seconds_bucket"))
            .map(|l| sample(l).unwrap().1)
            .collect();
        assert!(buckets.len() == BUCKETS.len() + 1 && buckets.is_sorted(), "{buckets:?}");

        assert!(get(metrics.address(), "GET / HTTP/1.0\n\n").starts_with("HTTP/1.1 404"));
        assert!(get(metrics.address(), "POST /metrics HTTP/1.0\n\n").starts_with("HTTP/1.1 405"));
        assert_eq!(get(metrics.address(), &"x".repeat(LONGEST + 2000)), "");
        let wide = Metrics::listen(server.handle().clone(), "0.0.0.0:0".parse().unwrap());
        assert!(wide.unwrap_err().to_string().contains("on loopback only"));
        server.stop(Stop::Drop);
    }

    #[test]
    fn nanoseconds_are_seconds() {
        assert_eq!(seconds(1_002_000_003), "1.002000003");
        assert_eq!(seconds(20_000), "0.000020000");
    }
}
