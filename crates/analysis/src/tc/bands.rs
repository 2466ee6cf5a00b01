//! Strict bands (prio, the first bands of ETS) and deficit round robin (DRR, the other bands of ETS).

use laxity_curve::{Curve, CurveError, Rational};

use super::service::{Device, Offered, Reason, Rule, Service, nanobits, scaled, served, sum};

/// The service of a band behind others, whose traffic is bounded by the curves `above`; a name stands for a
/// band without bound.
pub fn strict(
    above: &[Result<Curve, String>],
    offered: &Service,
    device: &Device,
) -> Result<Offered, CurveError> {
    let mut curves = Vec::with_capacity(above.len());
    for band in above {
        match band {
            Ok(curve) => curves.push(curve),
            Err(name) => return Ok(Err(Reason::UnboundedBand(name.clone()))),
        }
    }
    let taken = sum(curves.iter().copied())?.raised(device.packet())?;
    let left = offered.curve.difference(&taken)?;
    if left.long_term_slope()?.signum() <= 0 {
        return Ok(Err(Reason::BandsFillLink));
    }
    let curve = served(&left)?;
    // The rate that is left, later by what goes first and the packet that blocks.
    let rate = curve.long_term_slope()?;
    let link = match (offered.link, Curve::line(rate, Rational::ZERO).backlog(&curve)?) {
        (Some(_), Some(behind)) => Some((rate, behind.over(rate)?)),
        _ => None,
    };
    Ok(Ok(Service { curve, link, rule: Rule::Strict }))
}

/// The service of a class with a quantum among all quanta (`F` is their sum):
/// `Q/F [beta - (F - Q)(1 + L/Q) - n L]+`. The own packet counts among the `n`, since the kernel takes a
/// class off the list with its last packet.
pub fn round_robin(
    quantum: u64,
    all: &[u64],
    offered: &Service,
    device: &Device,
) -> Result<Offered, CurveError> {
    if quantum == 0 {
        return Ok(Err(Reason::Zero));
    }
    let mut frame = Rational::ZERO;
    for q in all {
        frame = frame.plus(nanobits(*q))?;
    }
    let own = nanobits(quantum);
    let per_packet = Rational::ONE.plus(device.packet().over(own)?)?;
    let packets = device.packet().times(Rational::whole(all.len() as i128))?;
    let wait = frame.minus(own)?.times(per_packet)?.plus(packets)?;
    let late = offered.curve.difference(&Curve::line(Rational::ZERO, wait))?;
    let curve = scaled(&served(&late)?, own.over(frame)?)?;
    Ok(Ok(Service { curve, link: None, rule: Rule::Drr }))
}
