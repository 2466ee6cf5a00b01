//! Metrics for Prometheus, on loopback.

use std::net::SocketAddr;

use crate::exposition::{Text, seconds};
use crate::http::{self, Page};
use crate::server::{Handle, ServerError, Snapshot, StreamSnapshot};

/// The metrics page. Dropping it closes it.
#[derive(Debug)]
pub struct Metrics(http::Server);

impl Metrics {
    /// Serves on an address of this machine's loopback.
    ///
    /// # Errors
    /// As [`http::Server::listen`].
    pub fn listen(handle: Handle, bind: SocketAddr) -> Result<Metrics, ServerError> {
        let make = move || handle.snapshot().map(|s| page(&s)).map_err(|e| e.to_string());
        let server = http::Server::listen(bind, vec![Page::new("/metrics", http::METRICS, make)]);
        server.map(Metrics).map_err(ServerError::system(format!("metrics on {bind}")))
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// The page.
pub fn page(snapshot: &Snapshot) -> String {
    let mut text = Text::default();
    text.family("laxity_streams", "gauge", "Streams.");
    text.sample("laxity_streams", &[], snapshot.streams.len() as u64);
    packets(&mut text, snapshot);
    let streams = &snapshot.streams;
    each(&mut text, streams, "made_packets_total", "counter", "Packets put into the ring.", |s| {
        s.made
    });
    let help = "Packets offered to a full ring.";
    each(&mut text, streams, "overflow_packets_total", "counter", help, |s| s.overflow);
    let help = "Access units and packets too large to be sent.";
    each(&mut text, streams, "too_large_total", "counter", help, |s| s.too_large);
    let help = "UDP payload given to the kernel.";
    each(&mut text, streams, "sent_bytes_total", "counter", help, |s| s.row.counts.sent_bytes);
    let help = "Packets that wait.";
    each(&mut text, streams, "waiting_packets", "gauge", help, |s| s.row.waiting as u64);
    let help = "Deadlines missed.";
    each(&mut text, streams, "deadline_misses_total", "counter", help, |s| s.row.measures.missed);
    let help = "Back-to-back windows with more misses than tolerated.";
    each(&mut text, streams, "violated_windows_total", "counter", help, |s| {
        s.row.measures.tumbling
    });
    let help = "1 when the producer has ended.";
    each(&mut text, streams, "ended", "gauge", help, |s| u64::from(s.row.ended));
    let help = "Complaints of the network about the destination (ICMP).";
    each(&mut text, streams, "unreachable_total", "counter", help, |s| s.unreachable);
    let help = "Packets lost as the receiver reports.";
    let lost = |s: &StreamSnapshot| u64::try_from(s.heard.lost).unwrap_or(0);
    each(&mut text, streams, "reported_lost_packets", "gauge", help, lost);
    network(&mut text, snapshot);
    let timing = &snapshot.timing;
    let help = "From the instant at which a packet could go to the system call that sends it.";
    let name = "laxity_start_error_seconds";
    text.family(name, "histogram", help);
    let sum = u64::try_from(timing.start_error.sum()).unwrap_or(u64::MAX);
    text.histogram(name, &[], timing.start_error.iter(), sum);
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
    text.page()
}

fn packets(text: &mut Text, snapshot: &Snapshot) {
    let name = "laxity_packets_total";
    text.family(name, "counter", "Packets popped from rings, by outcome.");
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

fn each(
    text: &mut Text,
    streams: &[StreamSnapshot],
    name: &str,
    kind: &str,
    help: &str,
    value: impl Fn(&StreamSnapshot) -> u64,
) {
    let name = format!("laxity_stream_{name}");
    text.family(&name, kind, help);
    for stream in streams {
        text.sample(&name, &[("stream", &stream.config.name)], value(stream));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;
    use crate::exposition::BUCKETS;
    use crate::http::LONGEST;
    use crate::server::{Config, Server, Source, Stop, StreamConfig};
    use laxity_core::Span;
    use laxity_stream::{Attributes, Tolerance};

    /// Whether a line is a sample: a name, labels with escaped values, a number.
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
        let answer = get(metrics.address(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
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
}
