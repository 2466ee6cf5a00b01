//! HTB: the rates of its leaves, each behind the leaves with the same or a smaller `prio`.

use laxity_curve::{CurveError, Rational};
use laxity_tc::HtbClass;

use super::service::{Device, Offered, Reason, Rule, Service, nanobits, rate_latency};

/// Whether bytes counted are bytes sent.
pub fn exact_sizes(class: &HtbClass) -> bool {
    class.overhead == 0 && class.mpu == 0 && !class.cells
}

/// The longest that a leaf waits for its turn, in ns: `theta = (L + sum (burst + L))/(C - sum rate) +
/// tau` over the leaves `ahead`; `None` where they leave less than the own rate.
pub fn wait(
    own: &HtbClass,
    ahead: &[HtbClass],
    (rate, latency): (Rational, Rational),
    device: &Device,
) -> Result<Option<Rational>, CurveError> {
    let mut work = device.packet().plus(rate.times(latency)?)?;
    let mut left = rate;
    for class in ahead {
        work = work.plus(nanobits(class.burst))?.plus(device.packet())?;
        left = left.minus(class.rate.into())?;
    }
    if left < own.rate.into() || left.signum() <= 0 {
        return Ok(None);
    }
    work.over(left)?.plus(device.late()).map(Some)
}

/// The service of a leaf: `R = min(rate, burst/theta, ceil, cburst/theta)` after `theta + L/R`. With a burst
/// below `rate theta` tokens are lost while it waits; without tokens of the ceiling a class may not send
/// either (`htb_class_mode`).
pub fn leaf(
    own: &HtbClass,
    ahead: &[HtbClass],
    link: (Rational, Rational),
    device: &Device,
) -> Result<Offered, CurveError> {
    if !exact_sizes(own) || ahead.iter().any(|c| c.overhead < 0) {
        return Ok(Err(Reason::SizeTable));
    }
    if [own.rate, own.burst, own.ceil, own.cburst].contains(&0) {
        return Ok(Err(Reason::Zero));
    }
    let Some(theta) = wait(own, ahead, link, device)? else {
        return Ok(Err(Reason::RatesExceedLink));
    };
    let burst = nanobits(own.burst.min(own.cburst));
    let rate = Rational::from(own.rate.min(own.ceil)).least(burst.over(theta)?);
    let latency = theta.plus(device.packet().over(rate)?)?;
    let curve = rate_latency(rate, latency)?;
    Ok(Ok(Service { curve, link: Some((rate, latency)), rule: Rule::HtbRate }))
}
