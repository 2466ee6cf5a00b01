//! Panels of a page: what its script needs beside the picture, as attributes.
//!
//! Values are places along their axes, so that a page has no more digits than a screen can show: 24 bits
//! across, 18 bits up. `crates/report/src/page/script/data.js` reads them.

use super::draw::Frame;
use super::reduce::{columns, thin};
use super::{Axis, Hue, Mark, Plot, Point, Scale};
use std::fmt::Write;

/// Columns at which series are reduced: a panel of usual width, zoomed in four times.
const COLUMNS: usize = 1500;
/// The same for lines, which keep four points of a column.
const LINE_COLUMNS: usize = 500;
const ACROSS: f64 = (1u32 << 24) as f64;
const UP: f64 = ((1u32 << 18) - 1) as f64;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Attributes of the panel: both axes as least, greatest, scale and unit, and the frame in pixels.
pub(super) fn attributes(frame: &Frame) -> String {
    let axis = |a: &Axis| {
        let scale = match (a.scale, a.zero, &a.ticks) {
            (Scale::Log, true, _) => "zero",
            (Scale::Log, false, _) => "log",
            (Scale::Linear, _, Some(_)) => "names",
            (Scale::Linear, ..) => "linear",
        };
        let (per, unit) = a.prefix();
        format!("{} {} {scale} {per} {unit}", a.min, a.max)
    };
    let px = super::px;
    let zoom = if zoomable(frame.plot) { " data-zoom=\"\"" } else { "" };
    format!(
        "{zoom} data-x=\"{}\" data-y=\"{}\" data-frame=\"{} {} {} {}\"",
        axis(&frame.plot.x),
        axis(&frame.plot.y),
        px(frame.left),
        px(frame.right),
        px(frame.top),
        px(frame.bottom)
    )
}

/// The key by which a legend and a mark know each other.
pub(crate) fn key(hue: Hue) -> String {
    match hue {
        Hue::Series(n) => n.to_string(),
        Hue::Ink => "i".into(),
        Hue::Muted => "m".into(),
        Hue::Limit => "l".into(),
    }
}

/// Whether a page can zoom the panel across: it knows how to draw all of its marks again.
fn zoomable(plot: &Plot) -> bool {
    let drawn = |mark: &Mark| match mark {
        Mark::Line { .. } | Mark::Skyline { .. } | Mark::Stems { .. } | Mark::Area { .. } => true,
        Mark::Vertical { .. } | Mark::Horizontal { .. } | Mark::Text { .. } => true,
        Mark::Dots { points, .. } => points.is_empty(),
        Mark::Bar { .. } | Mark::Segment { .. } | Mark::Inside { .. } => false,
    };
    plot.x.scale == Scale::Linear && plot.x.ticks.is_none() && plot.marks.iter().all(drawn)
}

/// The attributes of a mark: its hue, its kind and its values.
pub(super) fn mark(frame: &Frame, mark: &Mark) -> String {
    let (kind, hue, points): (&str, Hue, Vec<Point>) = match mark {
        Mark::Line { points, ink } => ("line", ink.hue, reduced(&frame.plot.x, points)),
        Mark::Area { points, hue, .. } => ("area", *hue, reduced(&frame.plot.x, points)),
        Mark::Skyline { points, hue } => ("sky", *hue, tops(&frame.plot.x, points)),
        Mark::Stems { points, ink } => ("stem", ink.hue, tops(&frame.plot.x, points)),
        Mark::Bar { hue, .. } => ("", *hue, Vec::new()),
        Mark::Dots { ink, .. } | Mark::Segment { ink, .. } => ("", ink.hue, Vec::new()),
        Mark::Vertical { x, .. } | Mark::Text { at: (x, _), .. } => {
            return format!(" data-m=\"move\" data-v=\"{}\"", frame.plot.x.place(*x));
        }
        Mark::Horizontal { .. } | Mark::Inside { .. } => return String::new(),
    };
    let mut out = format!(" data-k=\"{}\"", key(hue));
    let linear = frame.plot.x.scale == Scale::Linear && frame.plot.x.ticks.is_none();
    if linear && !kind.is_empty() {
        let _ = write!(out, " data-m=\"{kind}\" data-v=\"{}\"", packed(frame, &points));
    }
    out
}

/// A polyline at the resolution of [`LINE_COLUMNS`], in data units.
pub(super) fn reduced(x: &Axis, points: &[Point]) -> Vec<Point> {
    let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    let fine = finite.map(|p| (x.place(p.0) * LINE_COLUMNS as f64, p.1)).collect::<Vec<_>>();
    let back = |p: Point| (x.min + p.0 / LINE_COLUMNS as f64 * (x.max - x.min), p.1);
    thin(&fine).into_iter().map(back).collect()
}

/// The greatest value of each column, at the middle of the column where it is.
pub(super) fn tops(x: &Axis, points: &[Point]) -> Vec<Point> {
    let inside = points.iter().filter(|p| p.0 >= x.min && p.0 <= x.max && p.1.is_finite());
    let inside: Vec<Point> = inside.copied().collect();
    if inside.len() <= COLUMNS {
        return inside;
    }
    let wide = (x.max - x.min) / COLUMNS as f64;
    let middle = |(column, y)| (x.min + (column as f64 + 0.5) * wide, y);
    columns(&inside, x.min, x.max, COLUMNS).into_iter().map(middle).collect()
}

/// For each point the way from the point before, of variable length, and three digits of height.
fn packed(frame: &Frame, points: &[Point]) -> String {
    let mut out = String::with_capacity(points.len() * 6);
    let mut last = 0i64;
    for (x, y) in points {
        let at = (frame.plot.x.place(*x).clamp(-1.0, 2.0) * ACROSS).round() as i64;
        let up = (frame.plot.y.place(*y).clamp(0.0, 1.0) * UP).round() as u32;
        number(&mut out, at - last);
        for shift in [12, 6, 0] {
            out.push(DIGITS[(up >> shift & 63) as usize] as char);
        }
        last = at;
    }
    out
}

/// A signed number as digits of five bits and a bit that says that more follow, the sign in the lowest
/// bit of the first: as source maps write them.
pub(crate) fn number(out: &mut String, value: i64) {
    let mut rest = value.unsigned_abs() << 1 | u64::from(value < 0);
    loop {
        let digit = (rest & 31) as usize;
        rest >>= 5;
        out.push(DIGITS[digit | if rest > 0 { 32 } else { 0 }] as char);
        if rest == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reader of the page's script, in Rust.
    fn read(text: &str) -> Vec<i64> {
        let mut out = Vec::new();
        let (mut value, mut shift) = (0u64, 0);
        for b in text.bytes() {
            let digit = DIGITS.iter().position(|d| *d == b).unwrap() as u64;
            value |= (digit & 31) << shift;
            shift += 5;
            if digit < 32 {
                let magnitude = (value >> 1) as i64;
                out.push(if value & 1 == 1 { -magnitude } else { magnitude });
                (value, shift) = (0, 0);
            }
        }
        out
    }

    proptest! {
        // Fails when a digit, a sign or an end is lost.
        #[test]
        fn numbers_survive(values in proptest::collection::vec(-(1i64 << 58)..1 << 58, 0..20)) {
            let mut text = String::new();
            values.iter().for_each(|v| number(&mut text, *v));
            prop_assert_eq!(read(&text), values);
        }
    }
}
