//! The thread that listens to receivers and to the network, and sends sender reports.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::read::SentRange;
use super::{ReceptionReport, Sending, middle, ntp, report_blocks, sender_report};
use crate::rtp::Numbering;
use crate::server::{Handle, Registered, ServerError, monotonic, spawn, thread_cpu, wall};
use crate::socket::complaints;

/// Between sender reports of a stream (RFC 3550, section 6.2: five seconds at least).
const INTERVAL: u64 = 5_000_000_000;

/// How long the thread sleeps at most.
const NAP: u16 = 100;

/// Work done for one socket before the others have their turn.
const BURST: usize = 256;

/// The running thread; dropping it ends it, with a goodbye to those that play a stream.
#[derive(Debug)]
pub struct Service {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Listens to the error queues of the server's sockets, and for RTCP on `bind`.
    pub(crate) fn start(handle: Handle, bind: Option<SocketAddr>) -> Result<Service, ServerError> {
        let stop = Arc::new(AtomicBool::new(false));
        let socket = match bind {
            Some(bind) => {
                let what = format!("RTCP socket on {bind}");
                let socket = UdpSocket::bind(bind).map_err(ServerError::system(&what))?;
                socket.set_nonblocking(true).map_err(ServerError::system(what))?;
                Some(socket)
            }
            None => None,
        };
        handle.shared().set_rtcp_address(socket.as_ref().and_then(|s| s.local_addr().ok()));
        let stopped = Arc::clone(&stop);
        let thread = spawn("rtcp", move || listen(&handle, socket.as_ref(), &stopped))?;
        Ok(Service { stop, thread: Some(thread) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(handle: &Handle, rtcp: Option<&UdpSocket>, stop: &AtomicBool) {
    let shared = handle.shared();
    let mut buffer = vec![0; 2048];
    while !stop.load(Ordering::Relaxed) {
        // Errors are reported for any requested event.
        let mut fds: Vec<PollFd<'_>> =
            shared.sockets.iter().map(|s| PollFd::new(s.as_fd(), PollFlags::empty())).collect();
        fds.extend(rtcp.map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN)));
        if poll(&mut fds, PollTimeout::from(NAP)).is_err() {
            // Interrupted, or out of memory: either way later.
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut more = false;
        for socket in &shared.sockets {
            let received = complaints(socket, BURST);
            more |= !received.is_empty();
            let mut registry = shared.registry();
            for complaint in received {
                match registry.destinations.get_mut(&complaint.destination) {
                    Some((_, count)) => {
                        *count += 1;
                        registry.network.icmp_errors += 1;
                    }
                    None => registry.network.unmatched_icmp_errors += 1,
                }
            }
        }
        if let Some(socket) = rtcp {
            for _ in 0..BURST {
                let Ok((bytes, from)) = socket.recv_from(&mut buffer) else { break };
                process(handle, &buffer[..bytes], from);
            }
            report(handle, socket, false);
        }
        shared.set_cpu("rtcp", thread_cpu());
        if more {
            // A flood of complaints must not take a core.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    if let Some(socket) = rtcp {
        report(handle, socket, true);
    }
}

/// Processes the reports of a datagram.
pub(super) fn process(handle: &Handle, datagram: &[u8], from: SocketAddr) {
    let mut registry = handle.shared().registry();
    let registry = &mut *registry;
    let Ok((blocks, goodbyes)) = report_blocks(datagram) else {
        registry.network.malformed += 1;
        return;
    };
    registry.network.goodbyes += goodbyes;
    for block in blocks {
        let name = registry.ssrcs.get(&block.ssrc);
        let Some(stream) = name.and_then(|name| registry.streams.get_mut(name)) else {
            registry.network.unknown_stream += 1;
            continue;
        };
        let to = stream.config.destination.ip();
        let rtcp_to = stream.config.rtcp_destination().map(|a| a.ip());
        if from.ip() != to && Some(from.ip()) != rtcp_to && !to.is_multicast() {
            registry.network.wrong_address += 1;
            continue;
        }
        let round_trip = stream.round_trip(&block, monotonic());
        if block.apply(stream.sent_range(), round_trip, &mut stream.receiver_report) {
            registry.network.receiver_reports += 1;
        } else {
            registry.network.implausible += 1;
        }
    }
}

impl Registered {
    fn sent_range(&self) -> SentRange {
        let first = Numbering::new(self.config.ssrc, 0).map_or(0, |n| n.next_sequence());
        SentRange { first, numbered: self.made.packets.get() + self.made.oversize.get() }
    }

    /// Only sender reports that were really sent count, by the monotonic clock.
    fn round_trip(&self, block: &ReceptionReport, now: u64) -> Option<u64> {
        let (_, sent) =
            self.reports.iter().find(|(id, at)| *id == block.last_report && *at != 0)?;
        let held = (u64::from(block.since_report) * 1_000_000_000) >> 16;
        now.checked_sub(*sent)?.checked_sub(held)
    }
}

/// Sends the sender reports that are due; at the end one for each stream that has sent anything.
fn report(handle: &Handle, socket: &UdpSocket, ends: bool) {
    let shared = handle.shared();
    let mut registry = shared.registry();
    let registry = &mut *registry;
    let now = monotonic();
    let mut sent = 0;
    for stream in registry.streams.values_mut() {
        let Some(reported) = &stream.reported else { continue };
        let at = reported.at.get();
        if at == 0 || (now < stream.next_report && !ends) {
            continue;
        }
        stream.next_report = now + INTERVAL;
        let clock = u128::from(stream.config.codec().clock());
        let ticks = u128::from(now.saturating_sub(at)) * clock / 1_000_000_000;
        let rtp = (reported.timestamp.get() as u32).wrapping_add(ticks as u32);
        let time = ntp(wall());
        let (packets, octets) = (reported.packets.get() as u32, reported.octets.get() as u32);
        let sending = Sending { ntp: time, rtp, packets, octets, ends };
        let report = sender_report(stream.config.ssrc, &shared.cname, &sending);
        let Some((report, to)) = report.ok().zip(stream.config.rtcp_destination()) else {
            continue;
        };
        stream.reports.rotate_right(1);
        stream.reports[0] = (middle(time), now);
        // One that is lost is followed by another.
        sent += u64::from(socket.send_to(&report, to).is_ok());
    }
    registry.network.sender_reports += sent;
}
