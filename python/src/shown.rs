//! Curves and envelopes as texts and pictures.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::{Curve, Envelope, Piece, Rational, Tail};
use laxity_report::curves::{Curve as Line, LinePlot};
use laxity_report::plot::Unit;
use laxity_scenario::quantity::{print_bytes, print_rate, print_span};

/// The most pieces that a text lists.
const LISTED: usize = 6;

fn counted(value: Rational) -> Option<u64> {
    value.is_whole().then(|| u64::try_from(value.numerator()).ok()).flatten()
}

fn time(ns: Rational) -> String {
    match counted(ns) {
        Some(0) => "0 s".to_owned(),
        Some(ns) => print_span(Span(ns)),
        None => format!("{ns} ns"),
    }
}

fn data(nanobits: Rational) -> String {
    let bytes = nanobits.over(Rational::whole(NANOBITS_PER_BYTE));
    match bytes {
        Ok(bytes) => counted(bytes).map_or_else(|| format!("{bytes} B"), |b| print_bytes(Bytes(b))),
        Err(_) => format!("{nanobits} nbit"),
    }
}

fn rate(slope: Rational) -> String {
    counted(slope).map_or_else(|| format!("{slope} bit/s"), |rate| print_rate(Rate(rate)))
}

/// One line for a curve: its pieces as "from instant: value + slope".
pub fn curve(curve: &Curve) -> String {
    let piece = |p: &Piece| match p.at(p.start) {
        Ok(value) => format!("from {}: {} + {}", time(p.start), data(value), rate(p.slope)),
        Err(error) => format!("from {}: {error}", time(p.start)),
    };
    let pieces = curve.pieces();
    let mut parts: Vec<String> = pieces.iter().take(LISTED).map(piece).collect();
    if pieces.len() > LISTED {
        parts.push(format!("... {} more", pieces.len() - LISTED));
    }
    if let Tail::Periodic { from, period, rise } = curve.tail() {
        parts.push(format!("from {} every {}: + {}", time(from), time(period), data(rise)));
    }
    format!("<Curve {}>", parts.join("; "))
}

/// One line for an envelope.
pub fn envelope(envelope: &Envelope) -> String {
    let what = match envelope.lines() {
        Some(lines) => {
            let line = |l: &laxity_curve::Bucket| {
                format!("{} + {}", print_bytes(l.burst), print_rate(l.rate))
            };
            let lines: Vec<String> = lines.iter().map(line).collect();
            format!("min({})", lines.join(", "))
        }
        None => format!("{} in the long run", print_rate(envelope.rate())),
    };
    format!("<Envelope {what}; packets up to {}>", print_bytes(envelope.max_packet()))
}

/// A picture of a curve by its points, in seconds and bytes, as SVG.
pub fn figure(title: &str, x: &[f64], y: &[f64]) -> String {
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    // The report's axes count nanoseconds.
    let points = x.iter().zip(y).map(|(x, y)| (x * 1e9, *y)).collect();
    let plot = LinePlot {
        title: String::new(),
        desc: title.to_owned(),
        x: ("length of the interval".to_owned(), Unit::Time, 0.0, (most(x) * 1e9).max(1.0)),
        y: ("data".to_owned(), Unit::Bytes, 0.0, most(y).max(1.0)),
        curves: vec![Line::new("curve", points, 0)],
        annotations: Vec::new(),
        numbers: true,
    };
    LinePlot::figure("curve", title, &[plot], 1).svg()
}
