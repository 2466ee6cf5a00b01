//! The receiving loop: sockets, sources, reports.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_stream::Tolerance;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use rtcp_types::{Compound, Packet};
use rtp_types::RtpPacket;
use serde::Serialize;

use super::source::{Arrival, SourceMeter, SourceReport};
use crate::media::VIDEO_CLOCK;
use crate::rtcp::receiver_report;
use crate::server::{monotonic, wall};
use crate::socket::{address, receive_buffer};

/// Sources beyond this many are not measured: anybody can make up more.
const SOURCES: usize = 65_536;

/// Sources in one receiver report (RFC 3550, section 6.4.2).
const BLOCKS: usize = 31;

/// What a receiver is told.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// Where RTP comes in; RTCP comes in at the next port.
    pub bind: SocketAddr,
    /// What losses are counted against.
    pub tolerance: Tolerance,
    /// Ticks a second of the timestamps: 48000 for Opus, 90000 for video and synthetic streams.
    pub clock: u32,
    /// The sender runs on this machine, so its monotonic clock can be compared with ours.
    pub same_machine: bool,
    /// Send receiver reports this often, to where sender reports come from, or to the port after
    /// the one that RTP comes from.
    pub reports: Option<Duration>,
    /// Receive buffer, bytes; the system may give less.
    pub buffer: Option<usize>,
}

impl ReceiverConfig {
    /// Receives on an address, tolerating nothing, with the clock of video.
    pub fn new(bind: SocketAddr) -> ReceiverConfig {
        ReceiverConfig {
            bind,
            tolerance: NOTHING,
            clock: VIDEO_CLOCK,
            same_machine: true,
            reports: Some(Duration::from_secs(5)),
            buffer: Some(4 << 20),
        }
    }
}

const NOTHING: Tolerance = match Tolerance::new(0, 1) {
    Ok(nothing) => nothing,
    Err(_) => unreachable!(),
};

/// Why a receiver cannot run.
#[derive(Debug)]
pub struct ReceiverError {
    /// What was asked of the system.
    pub what: String,
    /// Its answer.
    pub source: io::Error,
}

impl fmt::Display for ReceiverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.source)
    }
}

impl std::error::Error for ReceiverError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// What was received.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// By synchronisation source.
    pub sources: Vec<SourceReport>,
    /// Datagrams that are not RTP.
    pub not_rtp: u64,
    /// Datagrams on the RTCP port that are not RTCP.
    pub not_rtcp: u64,
    /// Packets of sources beyond those that are measured.
    pub too_many_sources: u64,
    /// Packets that this receiver was too slow for; they count as lost with their source.
    pub overflow: u64,
    /// Receiver reports sent.
    pub reports: u64,
    /// Sources that said goodbye.
    pub goodbyes: u64,
}

/// Receives and measures.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    rtp: UdpSocket,
    rtcp: Option<UdpSocket>,
    sources: BTreeMap<u32, SourceMeter>,
    report: Report,
    rtp_from: Option<SocketAddr>,
    rtcp_from: Option<SocketAddr>,
}

impl Receiver {
    /// Opens the sockets.
    ///
    /// # Errors
    /// The address cannot be bound. An RTCP port that is taken is done without.
    pub fn open(config: ReceiverConfig) -> Result<Receiver, ReceiverError> {
        let bind = config.bind;
        let failed = |source| ReceiverError { what: format!("UDP socket on {bind}"), source };
        let rtp = UdpSocket::bind(bind).map_err(failed)?;
        rtp.set_nonblocking(true).map_err(failed)?;
        if let Some(bytes) = config.buffer {
            receive_buffer(&rtp, bytes).map_err(failed)?;
        }
        setsockopt(&rtp, sockopt::RxqOvfl, &1).map_err(|e| failed(e.into()))?;
        let local = rtp.local_addr().map_err(failed)?;
        let next = local.port().checked_add(1).map(|port| SocketAddr::new(local.ip(), port));
        let rtcp = next.and_then(|address| UdpSocket::bind(address).ok());
        if let Some(rtcp) = &rtcp {
            rtcp.set_nonblocking(true).map_err(failed)?;
        }
        Ok(Receiver {
            config,
            rtp,
            rtcp,
            sources: BTreeMap::new(),
            report: Report::default(),
            rtp_from: None,
            rtcp_from: None,
        })
    }

    /// Where RTP comes in.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.rtp.local_addr()
    }

    /// Receives for a time or until told to stop, and answers what was measured.
    ///
    /// # Errors
    /// The system does not let this thread wait.
    pub fn run(mut self, limit: Duration, stop: &AtomicBool) -> Result<Report, ReceiverError> {
        let end = Instant::now().checked_add(limit);
        let mut buffer = vec![0; 65_536];
        let mut next_report = self.config.reports.map(|every| Instant::now() + every);
        while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
            let mut fds = vec![PollFd::new(self.rtp.as_fd(), PollFlags::POLLIN)];
            fds.extend(self.rtcp.as_ref().map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN)));
            match poll(&mut fds, PollTimeout::from(20u16)) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(e) => return Err(ReceiverError { what: "poll".into(), source: e.into() }),
            }
            self.take_rtp(&mut buffer);
            self.take_rtcp(&mut buffer);
            if let Some((at, every)) = next_report.as_mut().zip(self.config.reports) {
                if Instant::now() >= *at {
                    *at = Instant::now() + every;
                    self.send_reports();
                }
            }
        }
        self.take_rtp(&mut buffer);
        let sources = self.sources.into_values().map(SourceMeter::finish).collect();
        Ok(Report { sources, ..self.report })
    }

    /// Takes what waits, but not more than leaves time for reports.
    fn take_rtp(&mut self, buffer: &mut [u8]) {
        let mut control = nix::cmsg_space!(u32);
        for _ in 0..4096 {
            let mut into = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let fd = self.rtp.as_raw_fd();
            let received = recvmsg::<SockaddrStorage>(fd, &mut into, Some(&mut control), flags);
            let Ok(message) = received else { break };
            for control in message.cmsgs().into_iter().flatten() {
                if let ControlMessageOwned::RxqOvfl(count) = control {
                    self.report.overflow = count.into();
                }
            }
            self.rtp_from = message.address.as_ref().and_then(address).or(self.rtp_from);
            let bytes = message.bytes;
            let at = Arrival { monotonic: monotonic(), wall: wall() };
            match RtpPacket::parse(&buffer[..bytes]) {
                Ok(packet) => {
                    let ssrc = packet.ssrc();
                    if self.sources.len() >= SOURCES && !self.sources.contains_key(&ssrc) {
                        self.report.too_many_sources += 1;
                        continue;
                    }
                    let ReceiverConfig { clock, tolerance, same_machine, .. } = self.config;
                    let source = self
                        .sources
                        .entry(ssrc)
                        .or_insert_with(|| SourceMeter::new(ssrc, clock, tolerance, same_machine));
                    source.packet(&packet, bytes, at);
                }
                Err(_) => self.report.not_rtp += 1,
            }
        }
    }

    fn take_rtcp(&mut self, buffer: &mut [u8]) {
        let Some(socket) = &self.rtcp else { return };
        for _ in 0..256 {
            let Ok((bytes, from)) = socket.recv_from(buffer) else { break };
            let at = Arrival { monotonic: monotonic(), wall: wall() };
            let Ok(compound) = Compound::parse(&buffer[..bytes]) else {
                self.report.not_rtcp += 1;
                continue;
            };
            for packet in compound {
                match packet {
                    Ok(Packet::Sr(report)) => {
                        self.rtcp_from = Some(from);
                        if let Some(source) = self.sources.get_mut(&report.ssrc()) {
                            source.sender_report(
                                report.ntp_timestamp(),
                                report.rtp_timestamp(),
                                at,
                            );
                        }
                    }
                    Ok(Packet::Bye(_)) => self.report.goodbyes += 1,
                    Ok(_) => {}
                    Err(_) => self.report.not_rtcp += 1,
                }
            }
        }
    }

    fn send_reports(&mut self) {
        let beside = |a: SocketAddr| Some(SocketAddr::new(a.ip(), a.port().checked_add(1)?));
        let to = self.rtcp_from.or_else(|| self.rtp_from.and_then(beside));
        let (Some(socket), Some(to)) = (&self.rtcp, to) else { return };
        let now = monotonic();
        let blocks: Vec<_> = self.sources.values_mut().filter_map(|s| s.reception(now)).collect();
        // Any number that is none of the sources' will do.
        let own = (0..).find(|n| !self.sources.contains_key(n)).unwrap_or(0);
        for some in blocks.chunks(BLOCKS) {
            let report = receiver_report(own, "receiver", some);
            let sent = report.is_ok_and(|report| socket.send_to(&report, to).is_ok());
            self.report.reports += u64::from(sent);
        }
    }
}
