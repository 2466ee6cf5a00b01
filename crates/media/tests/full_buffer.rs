//! A link that is too slow, in a network namespace of the test's own: socket buffer and device
//! queue fill up, and DWCS decides which streams lose packets.
//!
//! Needs root and the programs `ip` and `tc`; elsewhere it prints a note and passes, unless
//! LAXITY_REQUIRE_ALL=1.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use laxity_core::Span;
use laxity_dwcs::{Attributes, Tolerance};
use laxity_media::server::{Config, Counts, Server, Snapshot, Source, Stop, StreamConfig};
use laxity_media::socket::receive_buffer;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;

const MS: u64 = 1_000_000;

/// Moves this thread into a namespace whose loopback sends 2 Mbit/s and queues `limit` bytes.
fn slow_link(limit: u32) -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("only root can make a network namespace".into());
    }
    unshare(CloneFlags::CLONE_NEWNET).map_err(|e| format!("no network namespace: {e}"))?;
    let run = |line: String| {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = Command::new(arguments[0]).args(&arguments[1..]).output();
        let output = output.map_err(|e| format!("{}: {e}", arguments[0]))?;
        let error = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("{line}: {error}")) }
    };
    run("ip link set lo mtu 1500 up".into())?;
    run(format!("tc qdisc add dev lo root tbf rate 2mbit burst 3000 limit {limit}"))
}

/// Two streams that together want twice the link, for a second; what was sent has arrived.
fn overload(limit: u32) -> Result<Snapshot, String> {
    slow_link(limit)?;
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let receiver = UdpSocket::bind(any).unwrap();
    receive_buffer(&receiver, 4 << 20).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let to = receiver.local_addr().unwrap();
    let stream = |name: &str, ssrc, tolerance: (u64, u64), gap, bytes| {
        let tolerance = Tolerance::new(tolerance.0, tolerance.1).unwrap();
        let source = Source::Constant { bytes };
        StreamConfig::new(name, Attributes::new(tolerance, Span(gap)), to, ssrc, source)
    };
    let server = Server::start(Config {
        streams: vec![
            stream("voice", 1, (0, 100), 20 * MS, 100),
            stream("bulk", 2, (19, 20), 2 * MS, 1000),
        ],
        bind: vec![any],
        send_buffer: Some(8 << 10),
        ..Config::default()
    })
    .unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let counts = server.handle().snapshot().unwrap().total();
        if counts.expired > 200 || Instant::now() > end {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = server.stop(Stop::Drop);
    let mut buffer = [0; 2000];
    let mut arrived = 0;
    while receiver.recv(&mut buffer).is_ok() {
        arrived += 1;
    }
    assert_eq!(arrived, seen.total().sent);
    Ok(seen)
}

fn judge(result: Result<Snapshot, String>, met: impl Fn(&Snapshot) -> u64) {
    let seen = match result {
        Ok(seen) => seen,
        Err(reason) => {
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{reason}");
            println!("skipped: {reason}");
            return;
        }
    };
    assert!(met(&seen) > 0, "nothing was full: {:?}", seen.timing);
    for s in &seen.streams {
        let Counts { send_error, too_long, socket_full, .. } = s.row.counts;
        assert_eq!((send_error, too_long, socket_full), (0, 0, 0), "{s:?}");
        assert_eq!(s.row.counts.popped(), s.produced, "{s:?}");
    }
    let late = |name: &str| seen.stream(name).unwrap().row.counts.expired;
    assert!(late("bulk") > 100, "{seen:?}");
    assert!(seen.stream("voice").unwrap().row.counts.sent > 10, "{seen:?}");
    println!("late: voice {}, bulk {}", late("voice"), late("bulk"));
}

/// Fails when packets that a full socket buffer held back are lost or sent twice, or the server
/// goes on deciding as if it were empty: tried with them dropped, and with `Full` ignored.
#[test]
fn a_full_socket_buffer_holds_packets_back() {
    judge(overload(1_000_000), |seen| seen.timing.full);
}

/// The same for the queue of the device, which drops packets beyond its limit and reports it.
#[test]
fn a_full_device_queue_holds_packets_back() {
    judge(overload(5_000), |seen| seen.timing.busy);
}
