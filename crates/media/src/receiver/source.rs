//! Measurements of one source. Times are passed in.

use laxity_core::Histogram;
use laxity_dwcs::Tolerance;
use rtp_types::RtpPacket;
use serde::{Serialize, Serializer};

use super::Stamp;
use super::sequence::{Place, Sequence};
use super::windows::{Windows, WindowsReport};
use crate::rtcp::{self, ReceptionReport};

/// When a packet arrived, on the receiver's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Monotonic, ns.
    pub monotonic: u64,
    /// Since 1970, ns.
    pub wall: u64,
}

/// The measured properties of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub number: u16,
    pub timestamp: u32,
    pub stamp: Option<Stamp>,
    /// UDP payload.
    pub bytes: usize,
    pub at: Arrival,
}

impl Seen {
    pub fn of(packet: &RtpPacket<'_>, bytes: usize, at: Arrival) -> Seen {
        let stamp = Stamp::read(packet.payload());
        let (number, timestamp) = (packet.sequence_number(), packet.timestamp());
        Seen { number, timestamp, stamp, bytes, at }
    }
}

/// Measures one source.
#[derive(Clone, Debug)]
pub struct SourceMeter {
    ssrc: u32,
    clock: u32,
    same_machine: bool,
    sequence: Option<Sequence>,
    windows: Windows,
    counts: Counts,
    /// Expected by sequences before the current one.
    expected_before: u64,
    delay: Histogram,
    transit: Option<u32>,
    /// In 1/16 of a tick, as RFC 3550, appendix A.8, has it.
    jitter: u32,
    sender: Option<SenderReport>,
    reported: (u64, u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    received: u64,
    bytes: u64,
    lost: u64,
    reordered: u64,
    duplicates: u64,
    late_arrivals: u64,
    bad_sequence: u64,
    restarts: u64,
    negative_delays: u64,
}

/// A sender report: the source's RTP clock beside its wall clock.
#[derive(Clone, Copy, Debug)]
struct SenderReport {
    ntp: u64,
    rtp: u32,
    came: u64,
}

/// Measurements of one source.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// Synchronisation source.
    pub ssrc: u32,
    /// Packets received, each once.
    pub received: u64,
    /// UDP payload of those, bytes.
    pub bytes: u64,
    /// Sequence numbers between the first and the newest packet, both included.
    pub expected: u64,
    /// Those that never came, or too late to count.
    pub lost: u64,
    /// Packets that came after one with a higher number.
    pub reordered: u64,
    /// Packets that came again.
    pub duplicates: u64,
    /// Packets that came after they had been given up.
    pub late_arrivals: u64,
    /// Packets with numbers far from what was expected.
    pub bad_sequence: u64,
    /// How often the source began another sequence.
    pub restarts: u64,
    /// Packets that seem to have come before they were sent: clocks disagree.
    pub negative_delays: u64,
    /// Loss against the tolerance.
    pub windows: WindowsReport,
    /// Interarrival jitter, ns.
    pub jitter_ns: u64,
    /// From sending to arrival, ns; empty when packets have no time stamps and no sender report came.
    #[serde(rename = "delay_ns", serialize_with = "summary")]
    pub delay: Histogram,
}

/// Summary of a distribution; `null` of an empty one.
fn summary<S: Serializer>(histogram: &Histogram, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Summary {
        count: u64,
        mean: f64,
        p50: Option<u64>,
        p99: Option<u64>,
        max: Option<u64>,
    }
    let summary = histogram.mean().map(|mean| Summary {
        count: histogram.count(),
        mean,
        p50: histogram.quantile(500),
        p99: histogram.quantile(990),
        max: histogram.max(),
    });
    summary.serialize(serializer)
}

impl SourceMeter {
    /// Measures a source with timestamps of `clock` ticks a second, against a tolerance.
    /// `same_machine`: stamps can be read on the monotonic clock.
    pub fn new(ssrc: u32, clock: u32, tolerance: Tolerance, same_machine: bool) -> SourceMeter {
        SourceMeter {
            ssrc,
            clock: clock.max(1),
            same_machine,
            sequence: None,
            windows: Windows::new(tolerance),
            counts: Counts::default(),
            expected_before: 0,
            delay: Histogram::new(),
            transit: None,
            jitter: 0,
            sender: None,
            reported: (0, 0),
        }
    }

    /// Records a packet.
    pub fn packet(&mut self, packet: &RtpPacket<'_>, bytes: usize, at: Arrival) {
        self.record(&Seen::of(packet, bytes, at));
    }

    /// The same, of what was kept of a packet.
    pub(super) fn record(&mut self, packet: &Seen) {
        let Seen { number, at, .. } = *packet;
        let SourceMeter { windows, counts, .. } = self;
        let mut settle = |lost: bool| {
            counts.lost += u64::from(lost);
            windows.count(lost);
        };
        let place = match &mut self.sequence {
            None => {
                self.sequence = Some(Sequence::new(number));
                Place::Next
            }
            Some(sequence) => {
                let expected = sequence.expected();
                let place = sequence.record(number, &mut settle);
                if place == Place::Restart {
                    self.expected_before += expected;
                    self.transit = None;
                }
                place
            }
        };
        let counts = &mut self.counts;
        match place {
            Place::Next => {}
            Place::Reordered => counts.reordered += 1,
            Place::Restart => counts.restarts += 1,
            Place::Twice => {
                counts.duplicates += 1;
                return;
            }
            Place::TooLate => {
                counts.late_arrivals += 1;
                return;
            }
            Place::Strange => {
                counts.bad_sequence += 1;
                return;
            }
        }
        counts.received += 1;
        counts.bytes += packet.bytes as u64;
        self.count_jitter(packet.timestamp, at);
        match self.sent(packet) {
            Some(Sent::Monotonic(sent)) => self.count_delay(at.monotonic, sent),
            Some(Sent::Wall(sent)) => self.count_delay(at.wall, sent),
            None => {}
        }
    }

    fn count_delay(&mut self, at: u64, sent: u64) {
        match at.checked_sub(sent) {
            Some(delay) => self.delay.record(delay),
            None => self.counts.negative_delays += 1,
        }
    }

    fn sent(&self, packet: &Seen) -> Option<Sent> {
        if let Some(stamp) = packet.stamp {
            let same = self.same_machine;
            return Some(if same {
                Sent::Monotonic(stamp.monotonic)
            } else {
                Sent::Wall(stamp.wall)
            });
        }
        // The clock of a sender report applies to later packets, too.
        let report = self.sender?;
        let ticks = i64::from(packet.timestamp.wrapping_sub(report.rtp) as i32);
        let ns = i128::from(ticks) * 1_000_000_000 / i128::from(self.clock);
        let sent = i128::from(rtcp::from_ntp(report.ntp)?) + ns;
        u64::try_from(sent).ok().map(Sent::Wall)
    }

    fn count_jitter(&mut self, timestamp: u32, at: Arrival) {
        let ticks = u128::from(at.monotonic) * u128::from(self.clock) / 1_000_000_000;
        let transit = (ticks as u32).wrapping_sub(timestamp);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i32).unsigned_abs();
            let smoothed = self.jitter - (self.jitter.saturating_add(8) >> 4);
            self.jitter = smoothed.saturating_add(difference);
        }
    }

    /// Records a sender report.
    pub fn sender_report(&mut self, ntp: u64, rtp: u32, at: Arrival) {
        self.sender = Some(SenderReport { ntp, rtp, came: at.monotonic });
    }

    /// The current receiver report; the fraction counts from the last call on.
    pub fn reception(&mut self, now: u64) -> Option<ReceptionReport> {
        let sequence = self.sequence.as_ref()?;
        let expected = self.expected_before + sequence.expected();
        let received = self.counts.received + self.counts.duplicates;
        let since = (expected - self.reported.0, received - self.reported.1);
        self.reported = (expected, received);
        let lost = since.0.saturating_sub(since.1);
        let fraction = (lost << 8).checked_div(since.0).unwrap_or(0).min(255);
        let (last_report, since_report) = self.sender.map_or((0, 0), |s| {
            let held = u128::from(now.saturating_sub(s.came)) << 16;
            (rtcp::middle(s.ntp), (held / 1_000_000_000) as u32)
        });
        Some(ReceptionReport {
            ssrc: self.ssrc,
            fraction_lost: fraction as u8,
            lost: (i128::from(expected) - i128::from(received)).clamp(-0x80_0000, 0x7f_ffff) as i32,
            highest: sequence.newest as u32,
            jitter: self.jitter >> 4,
            last_report,
            since_report,
        })
    }

    /// Counts missing packets as lost and returns the measurements.
    pub fn finish(mut self) -> SourceReport {
        let mut expected = self.expected_before;
        let SourceMeter { windows, counts, sequence, .. } = &mut self;
        if let Some(sequence) = sequence {
            sequence.finish(&mut |lost| {
                counts.lost += u64::from(lost);
                windows.count(lost);
            });
            expected += sequence.expected();
        }
        let c = self.counts;
        SourceReport {
            ssrc: self.ssrc,
            received: c.received,
            bytes: c.bytes,
            expected,
            lost: c.lost,
            reordered: c.reordered,
            duplicates: c.duplicates,
            late_arrivals: c.late_arrivals,
            bad_sequence: c.bad_sequence,
            restarts: c.restarts,
            negative_delays: c.negative_delays,
            windows: self.windows.report(),
            jitter_ns: u64::from(self.jitter >> 4) * 1_000_000_000 / u64::from(self.clock),
            delay: self.delay,
        }
    }
}

enum Sent {
    Monotonic(u64),
    Wall(u64),
}
