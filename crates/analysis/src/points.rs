//! Exact curves as points to draw.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::{Curve, Rational};

/// Time in ns and bytes.
pub type Point = (f64, f64);

/// For what is printed only; everything that is decided is decided in fractions.
pub fn float(x: Rational) -> f64 {
    x.numerator() as f64 / x.denominator() as f64
}

/// Nanobits in bytes.
pub fn bytes(x: Rational) -> f64 {
    float(x) / NANOBITS_PER_BYTE as f64
}

/// A curve up to `end` ns; a jump is two points of one time.
pub fn polyline(curve: &Curve, end: f64) -> Vec<Point> {
    let pieces = curve.pieces();
    let mut points = Vec::with_capacity(2 * pieces.len());
    for (i, p) in pieces.iter().enumerate() {
        let from = float(p.start);
        if from > end {
            break;
        }
        let to = pieces.get(i + 1).map_or(end, |next| float(next.start).min(end));
        let at = |t: f64| (float(p.intercept) + float(p.slope) * t) / NANOBITS_PER_BYTE as f64;
        points.push((from, at(from)));
        points.push((to, at(to)));
    }
    points
}
