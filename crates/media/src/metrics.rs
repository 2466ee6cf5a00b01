//! Metrics for Prometheus, on loopback.

use std::net::SocketAddr;

use laxity_daemon::privileges;
use laxity_telemetry::exposition::{Family, Text, Value};
use laxity_telemetry::http::{self, Page};
use laxity_telemetry::table::stream as table;

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
        let server = http::Server::listen(bind, vec![Page::metrics(make)], || {
            let _ = privileges::drop_all();
        });
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
    text.family(&table::STREAMS).sample(&[], snapshot.streams.len() as u64);
    packets(&mut text.family(&table::PACKETS_TOTAL), snapshot);
    let mut each = |metric, value: &dyn Fn(&StreamSnapshot) -> u64| {
        let mut family = text.family(metric);
        for stream in &snapshot.streams {
            family.sample(&[&stream.config.name], value(stream));
        }
    };
    each(&table::MADE_PACKETS_TOTAL, &|s| s.made);
    each(&table::OVERFLOW_PACKETS_TOTAL, &|s| s.overflow);
    each(&table::TOO_LARGE_TOTAL, &|s| s.too_large);
    each(&table::SENT_BYTES_TOTAL, &|s| s.row.counts.sent_bytes);
    each(&table::WAITING_PACKETS, &|s| s.row.waiting as u64);
    each(&table::DEADLINE_MISSES_TOTAL, &|s| s.row.measures.missed);
    each(&table::VIOLATED_WINDOWS_TOTAL, &|s| s.row.measures.tumbling);
    each(&table::ENDED, &|s| u64::from(s.row.ended));
    each(&table::UNREACHABLE_TOTAL, &|s| s.unreachable);
    each(&table::REPORTED_LOST_PACKETS, &|s| u64::try_from(s.receiver_report.lost).unwrap_or(0));
    network(&mut text.family(&table::NETWORK_TOTAL), snapshot);
    let timing = &snapshot.timing;
    let sum = u64::try_from(timing.start_error.sum()).unwrap_or(u64::MAX);
    text.family(&table::START_ERROR_SECONDS).histogram(&[], timing.start_error.iter(), sum);
    text.family(&table::SEND_CALLS_TOTAL).sample(&[], timing.calls);
    let mut full = text.family(&table::FULL_TOTAL);
    full.sample(&["socket"], timing.full);
    full.sample(&["device"], timing.busy);
    let mut cpu = text.family(&table::THREAD_CPU_SECONDS_TOTAL);
    for (thread, ns) in &snapshot.threads {
        cpu.sample(&[thread], Value::Nanoseconds(*ns));
    }
    text.page()
}

fn packets(family: &mut Family<'_>, snapshot: &Snapshot) {
    for stream in &snapshot.streams {
        let (name, counts) = (stream.config.name.as_str(), stream.row.counts);
        family.sample(&[name, "sent"], counts.sent);
        for (reason, n) in counts.not_sent() {
            family.sample(&[name, reason], n);
        }
    }
}

fn network(family: &mut Family<'_>, snapshot: &Snapshot) {
    let n = snapshot.network;
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
        family.sample(&[kind], count);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;
    use crate::server::{Config, Server, Source, Stop, StreamConfig};
    use laxity_core::Span;
    use laxity_dwcs::{Attributes, Tolerance};
    use laxity_telemetry::exposition::BUCKETS;
    use laxity_telemetry::http::LONGEST;

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
