//! `rspec`: a reservation of a rate, turned into a deadline (RFC 2212).

use laxity_core::Span;
use laxity_curve::{Envelope, deadline_from_rspec};

use crate::quantity::print_rate;
use crate::read::Context;
use crate::read::walk::{MAX_SPAN, Section};

/// Reads the reservation of a flow and returns the deadline that it implies.
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
    let (what, remedy) = match deadline_from_rspec(envelope, rate, slack) {
        Ok(Span::ZERO) => ("the reservation implies a deadline below 1 ns", "lower its rate"),
        Ok(deadline) if deadline <= MAX_SPAN => return Some(deadline),
        _ => ("the reservation implies a deadline of more than 1000 h", "raise its rate"),
    };
    flow.wrong("rspec", cx.out, what, format!("{remedy}, or give `deadline`"));
    None
}
