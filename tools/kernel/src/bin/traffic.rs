//! Sends and receives UDP packets that carry their sending time, for tests in the virtual machine, where
//! both ends share one clock.
//!
//! ```text
//! traffic send TRACE ADDRESS FLOW=PORT:DSCP... [LOG]     a packet trace, its lengths with headers
//! traffic receive SECONDS FLOW=PORT:DEADLINE_US...       one-way delays
//! traffic collect SILENCE_MS FLOW=PORT:BIT_S...          until nothing came for so long: the largest delay, and
//!     the smallest burst of a bucket of the rate to which the packets conformed when they were sent
//! traffic flood ADDRESS:PORT DSCP BYTES PACKETS ROUNDS BURST PAUSE_US [ECN]   as fast as it goes, with
//!     a pause after each burst; prints the ns that a packet took, pauses left out
//! ```
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use laxity_tools_kernel::command::{self, Failure};
use rustix::net::sockopt::{set_ip_tos, set_ipv6_tclass};

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;

fn main() {
    command::main(|arguments| match arguments {
        ["send", trace, address, flows @ ..] => send(trace, address, flows),
        ["receive", seconds, flows @ ..] => receive(seconds, flows),
        ["collect", silence, flows @ ..] => collect(silence, flows),
        ["flood", to, numbers @ ..] => flood(to, numbers),
        _ => Err("traffic send|receive|collect|flood ...".into()),
    });
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

fn sleep_until(at: u64) {
    let now = now();
    if at > now {
        std::thread::sleep(Duration::from_nanos(at - now));
    }
}

/// `NAME=A:B[:C]` as a name and its numbers.
fn flow(text: &str) -> Result<(&str, Vec<u64>), Failure> {
    let (name, numbers) = text.split_once('=').ok_or("a flow is NAME=NUMBER:NUMBER")?;
    let numbers = numbers.split(':').map(str::parse).collect::<Result<_, _>>()?;
    Ok((name, numbers))
}

fn socket(to: &SocketAddr, dscp: u64, ecn: u64) -> Result<UdpSocket, Failure> {
    let class = dscp << 2 | ecn;
    let socket = if to.is_ipv6() {
        let socket = UdpSocket::bind("[::]:0")?;
        set_ipv6_tclass(&socket, class as u32)?;
        socket
    } else {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        set_ip_tos(&socket, class as u8)?;
        socket
    };
    // A flow that waits must not hold up the others.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn send(trace: &str, address: &str, flows: &[&str]) -> Result<(), Failure> {
    let address: Ipv4Addr = address.parse()?;
    let (flows, log) = match flows {
        [flows @ .., log] if !log.contains('=') => (flows, Some(*log)),
        _ => (flows, None),
    };
    let mut outlets = Vec::new();
    for text in flows {
        let (name, numbers) = flow(text)?;
        let [port, dscp, ..] = numbers[..] else { return Err("a port and a code point".into()) };
        let to = SocketAddr::V4(SocketAddrV4::new(address, port as u16));
        outlets.push((name, to, socket(&to, dscp, 0)?, 0u64));
    }
    let text = std::fs::read_to_string(trace)?;
    let mut packets = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let mut next = || fields.next().ok_or("time_ns,bytes,flow");
        let (time, bytes, name) = (next()?.parse::<u64>()?, next()?.parse::<usize>()?, next()?);
        let outlet = outlets.iter().position(|o| o.0 == name).ok_or("a flow without a port")?;
        packets.push((time, bytes.saturating_sub(HEADERS).max(16), outlet));
    }
    let mut payload = [0u8; 1500];
    let begin = now() + 100_000_000;
    let (mut behind, mut blocked) = (0, 0);
    // How much later than the trace has it each packet was sent, in ns.
    let mut late = Vec::with_capacity(packets.len() * 4);
    for (time, bytes, outlet) in packets {
        sleep_until(begin + time);
        let (_, to, socket, sent) = &mut outlets[outlet];
        let at = now();
        late.extend_from_slice(&(at.saturating_sub(begin + time) as u32).to_ne_bytes());
        payload[..8].copy_from_slice(&at.to_ne_bytes());
        payload[8..16].copy_from_slice(&sent.to_ne_bytes());
        // Packets that the qdisc drops count as sent, those for which the socket has no memory do not.
        match socket.send_to(&payload[..bytes], *to) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => blocked += 1,
            _ => *sent += 1,
        }
        behind = behind.max(now().saturating_sub(begin + time));
    }
    for (name, _, _, sent) in &outlets {
        println!("sent {name} {sent}");
    }
    println!("behind_us {} blocked {blocked}", behind / 1000);
    if let Some(log) = log {
        std::fs::write(log, late)?;
    }
    Ok(())
}

fn receive(seconds: &str, flows: &[&str]) -> Result<(), Failure> {
    let end = now() + (seconds.parse::<f64>()? * 1e9) as u64;
    let mut threads = Vec::new();
    for text in flows {
        let (name, numbers) = flow(text)?;
        let [port, deadline] = numbers[..] else { return Err("a port and a deadline".into()) };
        let socket = UdpSocket::bind(("0.0.0.0", port as u16))?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let name = name.to_string();
        threads.push(std::thread::spawn(move || {
            let (mut packets, mut late, mut sum, mut max) = (0u64, 0u64, 0u64, 0u64);
            let mut buffer = [0; 2048];
            while now() < end {
                let Ok(16..) = socket.recv(&mut buffer) else { continue };
                let sent = u64::from_ne_bytes(buffer[..8].try_into().unwrap_or_default());
                let delay = now().saturating_sub(sent);
                packets += 1;
                sum += delay;
                max = max.max(delay);
                late += u64::from(deadline > 0 && delay > deadline * 1000);
            }
            let mean = sum.checked_div(packets).unwrap_or(0);
            format!(
                "got {name} {packets} late {late} mean_us {} max_us {}",
                mean / 1000,
                max / 1000
            )
        }));
    }
    for thread in threads {
        println!("{}", thread.join().map_err(|_| "a receiver panicked")?);
    }
    Ok(())
}

/// The fill of a token bucket of a rate: what was sent beyond the rate, in bytes times 8e9.
#[derive(Default)]
struct Excess {
    at: u64,
    now: u128,
    most: u128,
}

impl Excess {
    fn add(&mut self, at: u64, bytes: usize, bit_s: u64) {
        let passed = u128::from(at.saturating_sub(self.at)) * u128::from(bit_s);
        self.now = self.now.saturating_sub(passed) + bytes as u128 * 8_000_000_000;
        self.most = self.most.max(self.now);
        self.at = at;
    }
}

fn collect(silence: &str, flows: &[&str]) -> Result<(), Failure> {
    let silence = silence.parse::<u64>()? * 1_000_000;
    let last = Arc::new(AtomicU64::new(now() + silence));
    let mut threads = Vec::new();
    for text in flows {
        let (name, numbers) = flow(text)?;
        let [port, rate] = numbers[..] else { return Err("a port and a rate".into()) };
        let socket = UdpSocket::bind(("0.0.0.0", port as u16))?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let (name, last) = (name.to_string(), Arc::clone(&last));
        threads.push(std::thread::spawn(move || {
            let (mut packets, mut max, mut sum, mut largest, mut excess) =
                (0u64, 0u64, 0u64, 0usize, Excess::default());
            let mut buffer = [0; 2048];
            while now() < last.load(Ordering::Relaxed) + silence {
                let Ok(payload @ 16..) = socket.recv(&mut buffer) else { continue };
                let came = now();
                last.store(came, Ordering::Relaxed);
                let sent = u64::from_ne_bytes(buffer[..8].try_into().unwrap_or_default());
                excess.add(sent, payload + HEADERS, rate);
                packets += 1;
                largest = largest.max(payload + HEADERS);
                let delay = came.saturating_sub(sent);
                (sum, max) = (sum.saturating_add(delay), max.max(delay));
            }
            let (burst, mean) = (excess.most.div_ceil(8_000_000_000), sum / packets.max(1));
            format!(
                "got {name} {packets} burst {burst} largest {largest} mean_ns {mean} max_ns {max}"
            )
        }));
    }
    for thread in threads {
        println!("{}", thread.join().map_err(|_| "a receiver panicked")?);
    }
    Ok(())
}

/// Watches the clock for a time; returns the part of it that nothing else took. What interrupts the
/// watch, timers and the transmissions that they start, shows as a gap between two looks.
fn watch(time: u64) -> u64 {
    let (begin, mut least, mut idle) = (now(), u64::MAX, 0);
    let mut last = begin;
    while last < begin + time {
        let at = now();
        let gap = at - last;
        least = least.min(gap.max(1));
        if gap <= least + least / 2 {
            idle += gap;
        }
        last = at;
    }
    idle
}

fn flood(to: &str, numbers: &[&str]) -> Result<(), Failure> {
    let numbers: Vec<u64> = numbers.iter().map(|n| n.parse()).collect::<Result<_, _>>()?;
    let [dscp, bytes, packets, rounds, burst, pause, ref more @ ..] = numbers[..] else {
        return Err("DSCP BYTES PACKETS ROUNDS BURST PAUSE_US [ECN]".into());
    };
    let to: SocketAddr = to.parse()?;
    let payload = vec![0; (bytes as usize).saturating_sub(HEADERS)];
    let socket = socket(&to, dscp, more.first().copied().unwrap_or(0))?;
    for _ in 0..rounds {
        let (begin, mut idle) = (now(), 0);
        for i in 0..packets {
            let _ = socket.send_to(&payload, to);
            if burst > 0 && i % burst == burst - 1 {
                idle += watch(pause * 1000);
            }
        }
        let busy = (now() - begin).saturating_sub(idle);
        println!("{}", busy / packets);
    }
    Ok(())
}
