//! Envelopes of flows: token buckets, or one packet each period.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};

use crate::curve::{Curve, Piece};
use crate::error::overflow;
use crate::{CurveError, Rational};

/// The largest burst of a bucket: 1 GB. Beyond it nanobits would leave 64 bits.
pub const MAX_BURST: Bytes = Bytes(1_000_000_000);

/// The most buckets of one envelope.
pub const MAX_BUCKETS: usize = 16;

/// The smallest packet where none is named: an IP header with the shortest TCP header, which is
/// also the smallest packet of the paper's generators (section 5).
pub const DEFAULT_MIN_PACKET: Bytes = Bytes(40);

/// One token bucket: in any interval of length `t` at most `burst + rate * t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// Depth of the bucket.
    pub burst: Bytes,
    /// Rate at which it fills.
    pub rate: Rate,
}

/// An upper bound on a flow's traffic; exactly what its policer enforces.
///
/// Built by the constructors, which check their arguments; the variants are open for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// The minimum over token buckets. A TSpec `(M, p), (b, r)` is two of them (RFC 2215).
    #[non_exhaustive]
    Buckets {
        /// Only buckets that bind somewhere, by falling rate and rising burst.
        buckets: Vec<Bucket>,
        /// The largest packet; no larger than any burst.
        max_packet: Bytes,
        /// Packets below this count as this long (the minimum policed unit `m` of RFC 2215).
        min_packet: Bytes,
    },
    /// One packet of at most `size` each `period`, released up to `jitter` late:
    /// `A(t) = size * (floor((t + jitter) / period) + 1)`.
    #[non_exhaustive]
    Periodic {
        /// Distance of two nominal releases.
        period: Span,
        /// The largest packet.
        size: Bytes,
        /// How late a packet may be released after its nominal instant.
        jitter: Span,
    },
}

impl Envelope {
    /// A TSpec: packets of at most `packet` (M) at `peak` (p), `burst` (b) and `rate` (r):
    /// `A(t) = min(M + p t, b + r t)`.
    ///
    /// # Errors
    /// `M > b`, `p < r`, `M = 0` or a burst above [`MAX_BURST`].
    pub fn tspec(
        packet: Bytes,
        peak: Rate,
        burst: Bytes,
        rate: Rate,
    ) -> Result<Envelope, CurveError> {
        if peak < rate {
            return Err(CurveError::PeakBelowRate { peak, rate });
        }
        let both = [Bucket { burst: packet, rate: peak }, Bucket { burst, rate }];
        Envelope::buckets(&both, packet)
    }

    /// A single bucket; a packet may be as large as the burst.
    ///
    /// # Errors
    /// A burst of zero or above [`MAX_BURST`].
    pub fn leaky_bucket(burst: Bytes, rate: Rate) -> Result<Envelope, CurveError> {
        Envelope::buckets(&[Bucket { burst, rate }], burst)
    }

    /// The minimum over some buckets, with packets of at most `max_packet`. Buckets that bind
    /// nowhere are left out: the flows that conform stay the same.
    ///
    /// # Errors
    /// No bucket, more than [`MAX_BUCKETS`], a burst above [`MAX_BURST`], `max_packet` zero or
    /// larger than the smallest burst.
    pub fn buckets(given: &[Bucket], max_packet: Bytes) -> Result<Envelope, CurveError> {
        if given.is_empty() {
            return Err(CurveError::NoBuckets);
        }
        if given.len() > MAX_BUCKETS {
            return Err(CurveError::TooManyBuckets { count: given.len() });
        }
        if max_packet.0 == 0 {
            return Err(CurveError::ZeroPacket);
        }
        for bucket in given {
            if bucket.burst > MAX_BURST {
                return Err(CurveError::BurstTooLarge { burst: bucket.burst });
            }
            if bucket.burst < max_packet {
                return Err(CurveError::PacketLargerThanBurst {
                    packet: max_packet,
                    burst: bucket.burst,
                });
            }
        }
        let min_packet = DEFAULT_MIN_PACKET.min(max_packet);
        Ok(Envelope::Buckets { buckets: lower_hull(given), max_packet, min_packet })
    }

    /// Buckets with another last one and another largest packet.
    pub(crate) fn with_last_bucket(
        &self,
        bucket: Bucket,
        packet: Bytes,
    ) -> Result<Envelope, CurveError> {
        let Envelope::Buckets { buckets, min_packet, .. } = self else {
            return Err(CurveError::NoBuckets);
        };
        let mut changed = buckets.clone();
        if let Some(last) = changed.last_mut() {
            *last = bucket;
        }
        Envelope::buckets(&changed, packet)?.with_min_packet(packet.min(*min_packet))
    }

    /// The same envelope with another minimum policed unit. No effect on a periodic one, which
    /// counts packets, not bytes.
    ///
    /// # Errors
    /// Zero, or more than the largest packet.
    pub fn with_min_packet(self, minimum: Bytes) -> Result<Envelope, CurveError> {
        if minimum.0 == 0 {
            return Err(CurveError::ZeroPacket);
        }
        match self {
            Envelope::Buckets { buckets, max_packet, .. } => {
                if minimum > max_packet {
                    return Err(CurveError::MinimumAboveMaximum { minimum, maximum: max_packet });
                }
                Ok(Envelope::Buckets { buckets, max_packet, min_packet: minimum })
            }
            periodic => Ok(periodic),
        }
    }

    /// One packet of at most `size` each `period`, each up to `jitter` late.
    ///
    /// # Errors
    /// Period or size zero, or so many packets late at once that they exceed [`MAX_BURST`].
    pub fn periodic(period: Span, size: Bytes, jitter: Span) -> Result<Envelope, CurveError> {
        if period.0 == 0 {
            return Err(CurveError::ZeroPeriod);
        }
        if size.0 == 0 {
            return Err(CurveError::ZeroPacket);
        }
        let at_once = u128::from(size.0) * (u128::from(jitter.0 / period.0) + 2);
        if at_once > u128::from(MAX_BURST.0) {
            let burst = Bytes(u64::try_from(at_once).unwrap_or(u64::MAX));
            return Err(CurveError::BurstTooLarge { burst });
        }
        Ok(Envelope::Periodic { period, size, jitter })
    }

    /// The largest packet.
    pub fn max_packet(&self) -> Bytes {
        match self {
            Envelope::Buckets { max_packet, .. } => *max_packet,
            Envelope::Periodic { size, .. } => *size,
        }
    }

    /// The long-term rate, rounded up to a whole bit/s.
    pub fn rate(&self) -> Rate {
        match self {
            Envelope::Buckets { buckets, .. } => buckets.last().map_or(Rate(0), |b| b.rate),
            Envelope::Periodic { period, size, .. } => {
                let work = u128::from(size.0) * NANOBITS_PER_BYTE as u128;
                Rate(work.div_ceil(u128::from(period.0.max(1))).try_into().unwrap_or(u64::MAX))
            }
        }
    }

    /// The burst of the tightest single bucket of rate [`rate`](Self::rate) above the envelope.
    pub fn burst(&self) -> Bytes {
        match self {
            Envelope::Buckets { buckets, .. } => buckets.last().map_or(Bytes(0), |b| b.burst),
            Envelope::Periodic { period, size, jitter } => {
                let late = (u128::from(size.0) * u128::from(jitter.0))
                    .div_ceil(u128::from(period.0.max(1)));
                Bytes(size.0.saturating_add(late.try_into().unwrap_or(u64::MAX)))
            }
        }
    }

    /// The buckets, or `None` for a periodic envelope.
    pub fn lines(&self) -> Option<&[Bucket]> {
        match self {
            Envelope::Buckets { buckets, .. } => Some(buckets),
            Envelope::Periodic { .. } => None,
        }
    }

    /// `A(t)` in nanobits for a length of time in (fractions of) nanoseconds, 0 below zero.
    pub fn value(&self, t: Rational) -> Result<Rational, CurveError> {
        if t.signum() < 0 {
            return Ok(Rational::ZERO);
        }
        match self {
            Envelope::Buckets { buckets, .. } => {
                let mut least: Option<Rational> = None;
                for b in buckets {
                    let y = t.times(b.rate.0.into())?.plus(nanobits(b.burst).into())?;
                    least = Some(least.map_or(y, |x| x.least(y)));
                }
                Ok(least.unwrap_or(Rational::ZERO))
            }
            Envelope::Periodic { period, size, jitter } => {
                let late = t.plus(jitter.0.into())?.over(period.0.into())?.floor();
                let work = (late + 1).checked_mul(nanobits(*size));
                Ok(work.ok_or(overflow("a periodic envelope"))?.into())
            }
        }
    }

    /// The envelope as a curve, in nanobits over nanoseconds.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        match self {
            Envelope::Buckets { buckets, .. } => {
                let mut pieces = Vec::with_capacity(buckets.len());
                let mut start = Rational::ZERO;
                for (i, b) in buckets.iter().enumerate() {
                    if i > 0 {
                        start = knee(&buckets[i - 1], b)?;
                    }
                    pieces.push(Piece {
                        start,
                        slope: b.rate.0.into(),
                        intercept: nanobits(b.burst).into(),
                    });
                }
                Curve::affine(pieces)
            }
            Envelope::Periodic { period, size, jitter } => {
                let step = nanobits(*size);
                let at_zero = i128::from(jitter.0 / period.0) + 1;
                let flat = |start: u64, packets: i128| -> Result<Piece, CurveError> {
                    let work = step.checked_mul(packets).ok_or(overflow("a periodic envelope"))?;
                    Ok(Piece { start: start.into(), slope: Rational::ZERO, intercept: work.into() })
                };
                let mut pieces = alloc::vec![flat(0, at_zero)?];
                if jitter.0 % period.0 != 0 {
                    pieces.push(flat(period.0 - jitter.0 % period.0, at_zero + 1)?);
                }
                Curve::periodic(pieces, 0, period.0.into(), step.into())
            }
        }
    }

    /// The same flow counted in bytes on the wire, where a packet of `w` bytes takes
    /// `max(w + overhead, min_frame)`.
    ///
    /// The policer counts `max(w, m)` for a packet of `w` bytes, `m` the smallest policed packet.
    /// The ratio of what it takes on the wire to what it counts is largest at `w <= m`, namely
    /// `phi = max(m + overhead, min_frame) / m`. Hence `phi * A` bounds the flow on the wire,
    /// tighter than `A + overhead * ceil(A / m)` and still a minimum of buckets. Bursts and rates
    /// are rounded up. Without overhead and minimum frame nothing changes.
    pub fn on_wire(&self, overhead: Bytes, min_frame: Bytes) -> Result<Envelope, CurveError> {
        let frame = |w: Bytes| Bytes(w.0.saturating_add(overhead.0)).max(min_frame);
        match self {
            Envelope::Buckets { buckets, max_packet, min_packet } => {
                let m = min_packet.0.max(1);
                let longest = frame(Bytes(m));
                if longest.0 == m {
                    return Ok(self.clone());
                }
                let up = |x: u64| -> Result<u64, CurveError> {
                    (u128::from(x) * u128::from(longest.0))
                        .div_ceil(u128::from(m))
                        .try_into()
                        .map_err(|_| overflow("an envelope on the wire"))
                };
                let mut scaled = Vec::with_capacity(buckets.len());
                for b in buckets {
                    scaled.push(Bucket { burst: Bytes(up(b.burst.0)?), rate: Rate(up(b.rate.0)?) });
                }
                Envelope::buckets(&scaled, frame(*max_packet))?.with_min_packet(longest)
            }
            Envelope::Periodic { period, size, jitter } => {
                Envelope::periodic(*period, frame(*size), *jitter)
            }
        }
    }
}

/// The buckets that bind for some `t >= 0`, by falling rate and rising burst.
fn lower_hull(given: &[Bucket]) -> Vec<Bucket> {
    let mut sorted = given.to_vec();
    sorted.sort_by_key(|b| (b.burst, b.rate));
    let mut hull: Vec<Bucket> = Vec::with_capacity(sorted.len());
    for b in sorted {
        if hull.last().is_some_and(|last| b.rate >= last.rate) {
            continue;
        }
        while let [.., before, last] = hull[..] {
            // `last` binds only when it meets `before` earlier than `b` does.
            let meets = |x: Bucket, y: Bucket| {
                (u128::from(y.burst.0 - x.burst.0), u128::from(x.rate.0 - y.rate.0))
            };
            let (rise, fall) = meets(before, last);
            let (rise2, fall2) = meets(before, b);
            if rise * fall2 < rise2 * fall {
                break;
            }
            hull.pop();
        }
        // Equal bursts sort by rate, so a steeper line of the same burst never binds.
        hull.push(b);
    }
    hull
}

/// Where the envelope passes from one bucket to the next, in ns.
pub(crate) fn knee(first: &Bucket, second: &Bucket) -> Result<Rational, CurveError> {
    let rise = nanobits(second.burst) - nanobits(first.burst);
    Rational::new(rise, i128::from(first.rate.0) - i128::from(second.rate.0))
}

/// Bytes in nanobits.
pub(crate) fn nanobits(work: Bytes) -> i128 {
    i128::from(work.0) * NANOBITS_PER_BYTE
}
