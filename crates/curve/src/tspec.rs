//! The TSpec of a recorded flow.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Time};

use crate::error::overflow;
use crate::trace::{highest, mean_rate, smallest_burst, validate};
use crate::{Bucket, CurveError, Envelope, Rational};

/// A traffic specification `(M, p), (b, r)` (RFC 2215).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TSpec {
    /// The largest packet, M.
    pub packet: Bytes,
    /// The peak rate, p; `None` when more than M bytes came at one instant, so that no finite
    /// peak rate describes the flow.
    pub peak: Option<Rate>,
    /// The burst, b.
    pub burst: Bytes,
    /// The long-term rate, r.
    pub rate: Rate,
}

impl TSpec {
    /// The envelope `min(M + p t, b + r t)`, without the first part where p is unbounded.
    pub fn envelope(&self) -> Result<Envelope, CurveError> {
        match self.peak {
            Some(peak) => Envelope::tspec(self.packet, peak, self.burst, self.rate),
            None => {
                let bucket = Bucket { burst: self.burst, rate: self.rate };
                Envelope::buckets(&[bucket], self.packet)
            }
        }
    }
}

/// The smallest rate with which a burst of `burst` bytes covers the trace; `None` when more than
/// that comes at one instant. Each pass raises the rate to what its worst interval needs.
fn smallest_rate_for(trace: &[(Time, Bytes)], burst: Bytes) -> Result<Option<Rate>, CurveError> {
    const OP: &str = "the peak rate of a trace";
    let mut rate: i128 = 0;
    loop {
        let top = highest(trace, NANOBITS_PER_BYTE, rate)?;
        let above = top.work - i128::from(burst.0);
        let above = above.checked_mul(NANOBITS_PER_BYTE).ok_or(overflow(OP))?;
        if above <= rate.checked_mul(top.length).ok_or(overflow(OP))? {
            return Ok(Some(Rate(u64::try_from(rate).map_err(|_| overflow(OP))?)));
        }
        if top.length == 0 {
            return Ok(None);
        }
        rate = above.div_euclid(top.length) + i128::from(above.rem_euclid(top.length) != 0);
    }
}

/// The minimal TSpec of a recorded flow.
///
/// The trace conforms to many TSpecs: the higher the rate, the smaller the burst. `tightness`
/// chooses. At 1 the rate is the mean rate of the trace, the tightest that can last, and the
/// burst as large as the flow needs then; at 0 the rate is the peak rate and the burst that of a
/// single instant; between them the rate is `p - tightness * (p - mean)`. For that rate the burst
/// is the smallest with which every packet conforms, and the peak the smallest with which packets
/// of up to `packet` do. Rates are rounded up to whole bit/s, the burst up to whole bytes.
///
/// # Errors
/// An empty or unsorted trace, a packet larger than `packet`, or a tightness outside `[0, 1]`.
pub fn fit_tspec(
    trace: &[(Time, Bytes)],
    packet: Bytes,
    tightness: Rational,
) -> Result<TSpec, CurveError> {
    validate(trace)?;
    if tightness.signum() < 0 || tightness > Rational::ONE {
        return Err(CurveError::OutOfRange { what: "the tightness, from 0 to 1" });
    }
    let largest = trace.iter().map(|(_, size)| *size).fold(Bytes(0), Bytes::max);
    if largest > packet {
        return Err(CurveError::PacketLargerThanBurst { packet: largest, burst: packet });
    }
    let mean = mean_rate(trace)?;
    let peak = smallest_rate_for(trace, packet)?.map(|peak| peak.max(mean));
    let top = match peak {
        Some(peak) => peak,
        None => {
            let at_once = highest(trace, NANOBITS_PER_BYTE, i128::from(u64::MAX))?.work;
            let at_once = u64::try_from(at_once).map_err(|_| overflow("the burst of a trace"))?;
            smallest_rate_for(trace, Bytes(at_once))?.unwrap_or(mean).max(mean)
        }
    };
    let less = tightness.times((top.0 - mean.0).into())?.floor();
    let rate = Rate(top.0 - u64::try_from(less).unwrap_or(0));
    let burst = smallest_burst(trace, rate)?.max(packet);
    Ok(TSpec { packet, peak, burst, rate })
}
