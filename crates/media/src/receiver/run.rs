//! The receiving loop: sockets, sources, reports.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_dwcs::Tolerance;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use rtcp_types::{Compound, Packet};
use rtp_types::RtpPacket;
use serde::Serialize;

use super::probation::Probation;
use super::source::{Arrival, Seen, SourceMeter, SourceReport};
use crate::media::VIDEO_CLOCK;
use crate::rtcp::{ReceptionReport, receiver_report};
use crate::server::{monotonic, wall};
use crate::socket::{address, receive_buffer};

/// Default limit on measured sources: anyone can invent more, and each uses some
/// 32 KiB.
const SOURCES: usize = 256;

/// Sources in one receiver report (RFC 3550, section 6.4.2).
const BLOCKS: usize = 31;

/// How often it looks whether it was stopped.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// The version of [`Report`] as JSON.
pub const REPORT_VERSION: u32 = 1;

/// Configuration of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// Where RTP comes in; RTCP comes in at the next port.
    pub bind: SocketAddr,
    /// The tolerance against which losses are counted.
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
    /// How many sources are measured at most. Of the places that are left one address gets half,
    /// so that none shuts out the others.
    pub sources: usize,
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
            sources: SOURCES,
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
    /// The system call.
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

/// Measurements of all that was received.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// `REPORT_VERSION`.
    pub version: u32,
    /// By synchronisation source.
    pub sources: Vec<SourceReport>,
    /// Datagrams that are not RTP.
    pub not_rtp: u64,
    /// Datagrams on the RTCP port that are not RTCP.
    pub not_rtcp: u64,
    /// Packets of sources beyond those that are measured.
    pub over_source_limit: u64,
    /// Packets of sources that never sent two in sequence (RFC 3550, appendix A.1: probation).
    pub on_probation: u64,
    /// Packets that came under the number of a source from another address than that source's.
    pub wrong_address: u64,
    /// Packets that this receiver was too slow for; they count as lost with their source.
    pub receive_overflows: u64,
    /// Receiver reports sent.
    pub receiver_reports: u64,
    /// Goodbyes of sources.
    pub goodbyes: u64,
}

/// Receives and measures.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    rtp: UdpSocket,
    rtcp: Option<UdpSocket>,
    sources: BTreeMap<u32, Source>,
    /// How many of them each address has.
    addresses: HashMap<IpAddr, usize>,
    probation: Probation,
    report: Report,
}

/// A source that has proved itself.
#[derive(Debug)]
struct Source {
    meter: SourceMeter,
    rtp_from: SocketAddr,
    rtcp_from: Option<SocketAddr>,
}

impl Source {
    /// Where reports about it go: where its own come from, or to the port after that of its RTP.
    fn reports_to(&self) -> Option<SocketAddr> {
        let next_port = |a: SocketAddr| Some(SocketAddr::new(a.ip(), a.port().checked_add(1)?));
        self.rtcp_from.or_else(|| next_port(self.rtp_from))
    }
}

impl Receiver {
    /// Opens the sockets.
    ///
    /// # Errors
    /// The address cannot be bound. An RTCP port in use is not an error: the receiver runs without.
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
        let probation = Probation::new(config.sources);
        Ok(Receiver {
            config,
            rtp,
            rtcp,
            sources: BTreeMap::new(),
            addresses: HashMap::new(),
            probation,
            report: Report::default(),
        })
    }

    /// Where RTP comes in.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.rtp.local_addr()
    }

    /// Local RTCP address; `None` where the next port is in use, or there is none.
    pub fn rtcp_address(&self) -> Option<SocketAddr> {
        self.rtcp.as_ref()?.local_addr().ok()
    }

    /// Receives for a time or until stopped, and returns the measurements.
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
            let now = Instant::now();
            let due = [end, next_report]
                .into_iter()
                .flatten()
                .map(|at| at.saturating_duration_since(now));
            let wait = due.min().map_or(LONGEST_WAIT, |due| due.min(LONGEST_WAIT));
            // Rounded up, or the last millisecond would be spent in a loop.
            let wait = PollTimeout::from(wait.as_millis() as u16 + 1);
            match poll(&mut fds, wait) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(e) => return Err(ReceiverError { what: "poll".into(), source: e.into() }),
            }
            self.receive_rtp(&mut buffer);
            self.receive_rtcp(&mut buffer);
            if let Some((at, every)) = next_report.as_mut().zip(self.config.reports) {
                if Instant::now() >= *at {
                    *at = Instant::now() + every;
                    self.send_reports();
                }
            }
        }
        self.receive_rtp(&mut buffer);
        let sources = self.sources.into_values().map(|source| source.meter.finish()).collect();
        let (version, on_probation) = (REPORT_VERSION, self.probation.unproven());
        Ok(Report { version, sources, on_probation, ..self.report })
    }

    /// Receives waiting packets, bounded so that reports stay on time.
    fn receive_rtp(&mut self, buffer: &mut [u8]) {
        let mut control = nix::cmsg_space!(u32);
        for _ in 0..4096 {
            let mut into = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let fd = self.rtp.as_raw_fd();
            let received = recvmsg::<SockaddrStorage>(fd, &mut into, Some(&mut control), flags);
            let Ok(message) = received else { break };
            for control in message.cmsgs().into_iter().flatten() {
                if let ControlMessageOwned::RxqOvfl(count) = control {
                    self.report.receive_overflows = count.into();
                }
            }
            let from = message.address.as_ref().and_then(address);
            let bytes = message.bytes;
            let at = Arrival { monotonic: monotonic(), wall: wall() };
            match (RtpPacket::parse(&buffer[..bytes]), from) {
                (Ok(packet), Some(from)) => {
                    self.on_packet(packet.ssrc(), from, Seen::of(&packet, bytes, at));
                }
                _ => self.report.not_rtp += 1,
            }
        }
    }

    fn on_packet(&mut self, ssrc: u32, from: SocketAddr, packet: Seen) {
        if let Some(source) = self.sources.get_mut(&ssrc) {
            // A sender that starts again may have another port.
            if source.rtp_from.ip() == from.ip() {
                source.rtp_from = from;
                source.meter.record(&packet);
            } else {
                self.report.wrong_address += 1;
            }
            return;
        }
        let Some(held) = self.probation.record(ssrc, from.ip(), packet) else { return };
        let left = self.config.sources.saturating_sub(self.sources.len());
        let of_address = self.addresses.get(&from.ip()).copied().unwrap_or_default();
        if of_address >= left {
            self.report.over_source_limit += held.iter().count() as u64;
            return;
        }
        self.addresses.insert(from.ip(), of_address + 1);
        let ReceiverConfig { clock, tolerance, same_machine, .. } = self.config;
        let mut meter = SourceMeter::new(ssrc, clock, tolerance, same_machine);
        held.iter().for_each(|packet| meter.record(packet));
        self.sources.insert(ssrc, Source { meter, rtp_from: from, rtcp_from: None });
    }

    fn receive_rtcp(&mut self, buffer: &mut [u8]) {
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
                        if let Some(source) = of(&mut self.sources, report.ssrc(), from) {
                            source.rtcp_from = Some(from);
                            let (ntp, rtp) = (report.ntp_timestamp(), report.rtp_timestamp());
                            source.meter.sender_report(ntp, rtp, at);
                        }
                    }
                    Ok(Packet::Bye(bye)) => {
                        let known = |ssrc: &u32| of(&mut self.sources, *ssrc, from).is_some();
                        self.report.goodbyes += bye.ssrcs().filter(known).count() as u64;
                    }
                    Ok(_) => {}
                    Err(_) => self.report.not_rtcp += 1,
                }
            }
        }
    }

    fn send_reports(&mut self) {
        let Some(socket) = &self.rtcp else { return };
        let now = monotonic();
        let mut blocks: BTreeMap<SocketAddr, Vec<ReceptionReport>> = BTreeMap::new();
        for source in self.sources.values_mut() {
            let to = source.reports_to();
            if let Some((to, about)) = to.zip(source.meter.reception(now)) {
                blocks.entry(to).or_default().push(about);
            }
        }
        // Any number that is none of the sources' will do.
        let own = (0..).find(|n| !self.sources.contains_key(n)).unwrap_or(0);
        for (to, blocks) in blocks {
            for some in blocks.chunks(BLOCKS) {
                let report = receiver_report(own, "receiver", some);
                let sent = report.is_ok_and(|report| socket.send_to(&report, to).is_ok());
                self.report.receiver_reports += u64::from(sent);
            }
        }
    }
}

/// A source, for what comes from its address.
fn of(sources: &mut BTreeMap<u32, Source>, ssrc: u32, from: SocketAddr) -> Option<&mut Source> {
    sources.get_mut(&ssrc).filter(|source| source.rtp_from.ip() == from.ip())
}
