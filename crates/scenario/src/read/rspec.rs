//! `rspec`: a reservation of a rate, turned into a deadline (RFC 2212).

use laxity_core::{NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::{Bucket, Envelope};

use super::Context;
use super::walk::{MAX_SPAN, Section};
use crate::quantity::print_rate;

/// Reads the reservation of a flow and returns the deadline that it stands for.
pub(super) fn read(
    flow: &Section<'_>,
    envelope: Option<&Envelope>,
    cx: &mut Context<'_, '_>,
) -> Option<Span> {
    let section = flow.table("rspec", cx.out)?;
    let rate = section.positive_rate("rate", cx.out);
    let slack = section.time("slack", cx.out).unwrap_or(Span::ZERO);
    let (envelope, rate) = (envelope?, rate?);
    if rate < envelope.rate() {
        let (rate, least) = (print_rate(rate), print_rate(envelope.rate()));
        let what = format!("a reservation of {rate} is below the envelope's rate {least}");
        section.wrong("rate", cx.out, what, format!("raise it to at least {least}"));
        return None;
    }
    let deadline = delay(envelope, rate).map(|d| d + slack);
    let (what, remedy) = match deadline {
        Some(Span::ZERO) => ("the reservation stands for a deadline below 1 ns", "lower its rate"),
        Some(deadline) if deadline <= MAX_SPAN => return Some(deadline),
        _ => ("the reservation stands for a deadline of more than 1000 h", "raise its rate"),
    };
    flow.wrong("rspec", cx.out, what, format!("{remedy}, or give `deadline`"));
    None
}

/// The longest delay of a flow that is served at `rate`: the widest horizontal distance between
/// envelope and service, which for a TSpec is `(b - M) (p - R) / (R (p - r)) + M / R` while
/// `p > R >= r`, and `M / R` once `R >= p` (RFC 2212, with no error terms, because the deadline
/// is what this link keeps). Rounded down. `None` when it does not fit.
fn delay(envelope: &Envelope, rate: Rate) -> Option<Span> {
    let service = i128::from(rate.0);
    // At time t with A(t) arrived the delay is A(t)/R - t; it is widest at a corner.
    let mut widest = 0;
    match envelope {
        Envelope::Buckets { buckets, .. } => {
            let work = |b: &Bucket| i128::from(b.burst.0) * NANOBITS_PER_BYTE;
            if let Some(first) = buckets.first() {
                widest = work(first) / service;
            }
            for pair in buckets.windows(2) {
                let (rise, fall) = (
                    work(&pair[1]) - work(&pair[0]),
                    i128::from(pair[0].rate.0) - i128::from(pair[1].rate.0),
                );
                let excess = rise.checked_mul(i128::from(pair[0].rate.0) - service)?;
                let arrived = work(&pair[0]).checked_mul(fall)?.checked_add(excess)?;
                widest = widest.max(arrived.checked_div(service.checked_mul(fall)?)?);
            }
        }
        Envelope::Periodic { period, size, jitter, .. } => {
            let size = i128::from(size.0) * NANOBITS_PER_BYTE;
            let (late, part) = (jitter.0.checked_div(period.0)?, jitter.0 % period.0);
            let at_once = size.checked_mul(i128::from(late) + 1)?;
            let next = i128::from(period.0 - part);
            widest = (at_once / service).max((at_once + size) / service - next);
        }
    }
    u64::try_from(widest).ok().map(Span)
}

#[cfg(test)]
mod tests {
    use laxity_core::Bytes;

    use super::*;

    fn rate(kilobytes: u64) -> Rate {
        Rate::bytes_per_second(kilobytes * 1000)
    }

    // Fails when the knee is left out, or when the term of the peak is dropped.
    #[test]
    fn a_tspec_follows_rfc_2212() {
        let e = Envelope::tspec(Bytes(1500), rate(800), Bytes(15_000), rate(600)).unwrap();
        // (15000 - 1500) / 700000 * (800 - 700) / (800 - 600) + 1500 / 700000 = 11.785714 ms
        assert_eq!(delay(&e, rate(700)), Some(Span(11_785_714)));
        assert_eq!(delay(&e, rate(600)), Some(Span(25_000_000)));
        assert_eq!(delay(&e, rate(800)), Some(Span(1_875_000)));
        assert_eq!(delay(&e, rate(1600)), Some(Span(937_500)));
    }

    // Fails when late packets that come at once are forgotten.
    #[test]
    fn a_periodic_flow_waits_for_its_late_packets() {
        let ms = Span::from_millis;
        let e = Envelope::periodic(ms(10), Bytes(1000), ms(0)).unwrap();
        assert_eq!(delay(&e, rate(100)), Some(ms(10)));
        let e = Envelope::periodic(ms(10), Bytes(1000), ms(25)).unwrap();
        // Three at once, a fourth after 5 ms.
        assert_eq!(delay(&e, rate(100)), Some(ms(35)));
        assert_eq!(delay(&e, rate(1000)), Some(ms(3)));
    }
}
