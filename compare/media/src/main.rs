//! The same paced streams from the media server, or from plain sockets that the kernel's `fq` paces
//! (SO_MAX_PACING_RATE). `scripts/compare-fq.sh` runs both in the virtual machine, whose clock counts
//! instructions.
//!
//! ```text
//! laxity-compare-media laxity|precise|fq|nothing TO STREAMS GAP_US SECONDS   sends, and prints its cost
//! laxity-compare-media receive AT STREAMS GAP_US SECONDS          receives, and prints the spacing
//! ```
//!
//! Busy: the time in which the processor did not idle, which includes the interrupts in which `fq`
//! sends, and the receiver. Spacing: by how much the time between two packets of a stream, as the
//! kernel stamped their arrival, missed the gap.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::error::Error;
use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use laxity_core::{Histogram, Span};
use laxity_dwcs::{Attributes, Tolerance};
use laxity_media::server::{Config, Server, Source, Stop, StreamConfig};
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, recvmsg, sendmmsg, setsockopt,
};
use nix::{cmsg_space, getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

sockopt_impl!(
    /// Bytes a second at which `fq` lets packets of a socket go.
    PacingRate, Both, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u32);

const BYTES: usize = 200;
/// IPv4, UDP and Ethernet: what `fq` counts of a packet.
const HEADERS: u64 = 42;
/// Packets handed to the kernel at a time: half of what may wait, as in the server.
const AT_ONCE: u64 = 8;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Streams that start evenly over a gap.
#[derive(Clone, Copy)]
struct Streams {
    to: SocketAddr,
    count: u64,
    gap: Duration,
    time: Duration,
}

impl Streams {
    /// The server, each stream with a gap.
    fn laxity(self, config: Config) -> Outcome<u64> {
        let server = Server::start(config)?;
        let gap = Span(self.gap.as_nanos() as u64);
        let attributes = Attributes::new(Tolerance::new(1, 100)?, gap);
        let began = Instant::now();
        for i in 0..self.count {
            self.wait(began, i);
            let source = Source::Constant { bytes: BYTES };
            let stream = StreamConfig::new(format!("{i}"), attributes, self.to, i as u32, source);
            server.handle().add(StreamConfig { ring: 2 * AT_ONCE as usize, ..stream })?;
        }
        sleep(self.time.saturating_sub(began.elapsed()));
        Ok(server.stop(Stop::Drop).total().sent)
    }

    /// A socket for each stream, filled ahead of time; the kernel holds packets back.
    fn fq(self) -> Outcome<u64> {
        let rate = (BYTES as u64 + HEADERS) * 1_000_000_000 / self.gap.as_nanos() as u64;
        let (mut sent, mut sockets) = (0, Vec::new());
        for _ in 0..self.count {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            setsockopt(&socket, PacingRate, &u32::try_from(rate)?)?;
            socket.connect(self.to)?;
            sockets.push(socket);
        }
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(AT_ONCE as usize, None);
        let none = [None; AT_ONCE as usize];
        let mut bodies = [[0; BYTES]; AT_ONCE as usize];
        let began = Instant::now();
        let mut batch = |i: u32, socket: &UdpSocket, first: u64| -> Outcome<u64> {
            for (body, n) in bodies.iter_mut().zip(first..) {
                // As RTP: a number, and the stream as the synchronisation source.
                body[2..4].copy_from_slice(&(n as u16).to_be_bytes());
                body[8..12].copy_from_slice(&i.to_be_bytes());
            }
            let slices = bodies.each_ref().map(|b| [IoSlice::new(b)]);
            let (fd, flags) = (socket.as_raw_fd(), MsgFlags::empty());
            Ok(sendmmsg(fd, &mut headers, &slices, none, [], flags)?.count() as u64)
        };
        for (i, socket) in (0..).zip(&sockets) {
            self.wait(began, i.into());
            sent += batch(i, socket, 0)?;
        }
        // A batch waits in the kernel when the next comes, which is in turn.
        let mut first = AT_ONCE;
        while began.elapsed() < self.time {
            for (i, socket) in (0..).zip(&sockets) {
                self.wait(began, (first - AT_ONCE) * self.count + u64::from(i) * AT_ONCE);
                sent += batch(i, socket, first)?;
            }
            first += AT_ONCE;
        }
        Ok(sent)
    }

    /// Until so many `gap / count` have passed, but never for less than a millisecond: a sender
    /// wakes seldom and leaves precision to what paces.
    fn wait(self, began: Instant, many: u64) {
        let at = self.gap.as_nanos() as u64 * many / self.count;
        let left = Duration::from_nanos(at).saturating_sub(began.elapsed());
        if left >= Duration::from_millis(1) {
            sleep(left);
        }
    }

    fn receive(self) -> Outcome<()> {
        let socket = UdpSocket::bind(self.to)?;
        socket.set_nonblocking(true)?;
        laxity_media::socket::receive_buffer(&socket, 16 << 20)?;
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        let (mut last, mut spacing): (HashMap<u32, (u16, i128)>, _) =
            (HashMap::new(), Histogram::new());
        let (mut received, mut missing) = (0u64, 0u64);
        let mut body = [0; 2048];
        let began = Instant::now();
        while began.elapsed() < self.time {
            let mut control = cmsg_space!(libc::timespec);
            let slices = &mut [IoSliceMut::new(&mut body)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let Ok(message) = recvmsg::<()>(socket.as_raw_fd(), slices, Some(&mut control), flags)
            else {
                sleep(Duration::from_millis(5));
                continue;
            };
            let at = message.cmsgs()?.find_map(|c| match c {
                ControlMessageOwned::ScmTimestampns(t) => {
                    Some(i128::from(t.tv_sec()) * 1_000_000_000 + i128::from(t.tv_nsec()))
                }
                _ => None,
            });
            let at = at.ok_or("no time of arrival")?;
            received += 1;
            let number = u16::from_be_bytes([body[2], body[3]]);
            let stream = u32::from_be_bytes([body[8], body[9], body[10], body[11]]);
            if let Some((before, then)) = last.insert(stream, (number, at)) {
                if number.wrapping_sub(before) == 1 {
                    let missed = (at - then - self.gap.as_nanos() as i128).unsigned_abs();
                    spacing.record(missed as u64);
                } else {
                    missing += 1;
                }
            }
        }
        let us = |q| spacing.quantile(q).map(|ns| ns as f64 / 1000.0);
        let row = serde_json::json!({
            "received": received, "streams": last.len(), "holes": missing,
            "spacing_us": { "p50": us(500), "p99": us(990), "p999": us(999) },
        });
        println!("{row}");
        Ok(())
    }
}

/// Idle time of all processors since the start of the machine, 10 ms exact.
fn idle() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/uptime")?;
    Ok(text.split_whitespace().nth(1).ok_or("no idle time")?.parse()?)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, what, to, count, gap, seconds] = &arguments[..] else {
        return Err(
            "it wants: laxity|precise|fq|nothing|receive ADDRESS STREAMS GAP_US SECONDS".into()
        );
    };
    let to: SocketAddrV4 = to.parse()?;
    let gap = Duration::from_micros(gap.parse()?);
    let time = Duration::from_secs(seconds.parse()?);
    let streams = Streams { to: to.into(), count: count.parse()?, gap, time };
    if what == "receive" {
        return streams.receive();
    }
    let (began, idle_before) = (Instant::now(), idle()?);
    let sent = match what.as_str() {
        "laxity" => streams.laxity(Config::default())?,
        "precise" => streams.laxity(Config { quantum: Span::ZERO, ..Config::default() })?,
        "fq" => streams.fq()?,
        "nothing" => {
            sleep(time);
            0
        }
        other => return Err(format!("{other} does not send").into()),
    };
    let busy = began.elapsed().as_secs_f64() - (idle()? - idle_before);
    println!("{}", serde_json::json!({ "sent": sent, "busy_s": busy }));
    Ok(())
}
