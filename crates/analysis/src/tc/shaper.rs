//! Shapers with one class: TBF and CBS.

use laxity_curve::{Curve, CurveError, Rational};
use laxity_tc::Tbf;

use super::service::{Device, Offered, Reason, Rule, Service, nanobits, rate_latency};

/// The token buckets of TBF: also what bounds its output.
pub fn buckets(tbf: &Tbf) -> Result<Curve, CurveError> {
    let long = Curve::line(tbf.rate.into(), nanobits(tbf.burst));
    match tbf.peak {
        Some((rate, burst)) => long.min(&Curve::line(rate.into(), nanobits(burst))),
        None => Ok(long),
    }
}

/// The service behind TBF, and the link of its child.
pub fn tbf(tbf: &Tbf, offered: &Service, device: &Device) -> Result<Offered, CurveError> {
    if tbf.overhead != 0 || tbf.mpu != 0 {
        return Ok(Err(Reason::SizeTable));
    }
    if tbf.rate == 0 || tbf.peak.is_some_and(|(rate, _)| rate == 0) {
        return Ok(Err(Reason::Zero));
    }
    let smallest = tbf.peak.map_or(tbf.burst, |(_, burst)| burst.min(tbf.burst));
    if smallest < device.max_packet.0 {
        return Ok(Err(Reason::BurstBelowPacket));
    }
    let Some((rate, latency)) = offered.link else {
        return Ok(Err(Reason::NeedsConstantRate("tbf".into())));
    };
    let blocked = device.packet().over(rate)?;
    let late = latency.plus(blocked)?.plus(device.late())?;
    let curve = buckets(tbf)?.later(late)?.min(&offered.curve.later(blocked)?)?;
    let own = Rational::from(tbf.rate).least(rate);
    Ok(Ok(Service { curve, link: Some((own, late)), rule: Rule::TokenBucket }))
}

/// The service behind CBS in the queue that the device serves first: latency `L/C + L (1/idle - 1/C) +
/// tau`. Slopes in bit/s, credit in bytes.
pub fn cbs(
    (idle, send, hicredit): (i64, i64, i64),
    offered: &Service,
    device: &Device,
) -> Result<Offered, CurveError> {
    let Some((rate, latency)) = offered.link else {
        return Ok(Err(Reason::NeedsConstantRate("cbs".into())));
    };
    if idle <= 0 {
        return Ok(Err(Reason::Zero));
    }
    let slope = Rational::whole(i128::from(idle));
    let port = slope.minus(Rational::whole(i128::from(send)))?;
    let blocked = device.packet().over(rate)?;
    let credit = Rational::whole(i128::from(hicredit)).times(nanobits(1))?;
    if port != rate || credit < slope.times(blocked)? {
        return Ok(Err(Reason::Credits));
    }
    let own = device.packet().over(slope)?.minus(blocked)?;
    let late = blocked.plus(own)?.plus(latency)?.plus(device.late())?;
    let curve = rate_latency(slope, late)?;
    Ok(Ok(Service { curve, link: Some((slope, late)), rule: Rule::Cbs }))
}
