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

/// The service behind CBS in the queue that the device serves first, or behind others whose traffic is bounded
/// (`offered` is then the service of its band): it waits `T = L/C + tau`, or as long as the band; then the
/// latency is `T + L (1/idle - 1/C)`. A credit of `idle T` keeps what it earns while it waits. Without `offload` the
/// kernel credits a wait only if the credit was negative before (`cbs_dequeue_soft`): a busy period begins either
/// with a negative credit, at most `L (C - idle)/C`, or with a wait that is not credited, so the latency is at least
/// `2 T`. Slopes in bit/s, credit in bytes.
pub fn cbs(
    (idle, send, hicredit): (i64, i64, i64),
    offload: bool,
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
    let blocked = match offered.rule {
        Rule::Strict => Rational::ZERO,
        _ => device.packet().over(rate)?,
    };
    let wait = latency.plus(blocked)?.plus(device.late())?;
    let credit = Rational::whole(i128::from(hicredit)).times(nanobits(1))?;
    if port != device.rate.0.into() || credit < slope.times(wait)? {
        return Ok(Err(Reason::Credits));
    }
    if slope > rate {
        return Ok(Err(Reason::RatesExceedLink));
    }
    let own = device.packet().over(slope)?.minus(device.packet().over(port)?)?;
    let uncredited = if offload { Rational::ZERO } else { wait };
    let late = wait.plus(own.greatest(uncredited))?;
    let curve = rate_latency(slope, late)?;
    Ok(Ok(Service { curve, link: Some((slope, late)), rule: Rule::Cbs }))
}

/// What bounds the output of CBS: its idle slope, from the largest credit to the least, `-L (C - idle)/C`.
pub fn credit_bounded((idle, hicredit): (i64, i64), device: &Device) -> Result<Curve, CurveError> {
    let slope = Rational::whole(i128::from(idle));
    let rate = Rational::from(device.rate.0);
    let debt = device.packet().times(rate.minus(slope)?)?.over(rate)?;
    let credit = Rational::whole(i128::from(hicredit.max(0))).times(nanobits(1))?;
    Ok(Curve::line(slope, credit.plus(debt)?))
}
