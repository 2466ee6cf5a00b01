//! Residual capacity and its approximations, as in the paper's Figure 8 (Chakraborty, Gries,
//! Thiele, RTAS 2002).

use crate::figure::{Figure, Key};
use crate::number::span;
use crate::plot::{Axis, Dash, Hue, Ink, Mark, Marker, Plot, Point, Unit};

/// Most corners of a panel with dots; beyond, lines have none.
const DOTTED: usize = 40;

/// Curves over the length of an interval: ns and bytes, polylines whose jumps are two points of
/// equal time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResidualPlot {
    /// Residual capacity R(t): capacity less real-time demand. May be empty.
    pub residual: Vec<Point>,
    /// Effective residual capacity E(t), the largest rising curve below R(t), with its flats.
    pub effective: Vec<Point>,
    /// Lines that stay below E(t), with the name of the policy that uses them.
    pub approximations: Vec<(String, Vec<Point>)>,
    /// Right end of the first panel in ns; a fifth of the whole when absent.
    pub near_ns: Option<f64>,
    /// Right end of the second panel in ns; the last point when absent.
    pub whole_ns: Option<f64>,
}

impl ResidualPlot {
    /// E(t) alone, from the corners that `laxity check --json` prints: time in ns, bytes, and
    /// slope in B/s from there on. The last piece is drawn for a third of the whole again.
    pub fn from_corners(corners: &[(u64, f64, f64)]) -> ResidualPlot {
        let mut effective = Vec::with_capacity(corners.len() * 2 + 1);
        for (i, (t, bytes, slope)) in corners.iter().enumerate() {
            let from = *t as f64;
            let to = corners.get(i + 1).map_or(from * 4.0 / 3.0 + 1e6, |next| next.0 as f64);
            effective.push((from, *bytes));
            effective.push((to, bytes + slope * (to - from) / 1e9));
        }
        ResidualPlot { effective, ..ResidualPlot::default() }
    }

    /// The figure: the beginning beside the whole. `policies` gives approximations the colours
    /// that their policies have elsewhere on the page.
    pub fn figure(&self, policies: &[&str]) -> Option<Figure> {
        let end = |points: &[Point]| points.last().map_or(0.0, |p| p.0);
        let last = end(&self.effective).max(end(&self.residual));
        let whole = self.whole_ns.unwrap_or_else(|| two_digits(last));
        let near = self.near_ns.unwrap_or_else(|| two_digits(whole / 5.0)).min(whole);
        if whole.is_nan() || whole <= 0.0 || (self.effective.is_empty() && self.residual.is_empty())
        {
            return None;
        }
        let lines = self.lines(policies);
        let mut panels = vec![self.panel(format!("First {}", span(near as u64)), near, &lines)];
        if near < whole {
            panels.push(self.panel(format!("First {}", span(whole as u64)), whole, &lines));
        }
        let mut legend: Vec<Key> =
            lines.iter().map(|(n, _, ink)| Key::line(n.as_str(), *ink)).collect();
        legend.dedup();
        Some(
            Figure::new("residual-capacity", "Capacity left by real-time traffic", 2)
                .keyed(legend)
                .with(panels)
                .captioned(
                    "Over any interval of the length on the horizontal axis, best effort may have \
                     E(t) without harm to a deadline: its flats are where real-time bursts must \
                     come first, dots are its corners. Policies that use a simpler line below \
                     E(t) give away what lies between.",
                ),
        )
    }

    fn lines(&self, policies: &[&str]) -> Vec<(String, &[Point], Ink)> {
        let mut lines: Vec<(String, &[Point], Ink)> = Vec::new();
        if !self.residual.is_empty() {
            let ink = Ink::new(Hue::Muted).dashed(Dash::Dots);
            lines.push(("residual R(t)".into(), &self.residual, ink));
        }
        if !self.effective.is_empty() {
            lines.push(("effective E(t)".into(), &self.effective, Ink::new(Hue::Ink).wide(2.0)));
        }
        for (i, (name, points)) in self.approximations.iter().enumerate() {
            let n = policies.iter().position(|p| p == name).unwrap_or(i + 1);
            let ink = Ink { hue: Hue::Series(n), dash: Dash::Long, width: 2.0, ..Ink::series(n) };
            lines.push((name.clone(), points, ink));
        }
        lines
    }

    fn panel(&self, title: String, end: f64, lines: &[(String, &[Point], Ink)]) -> Plot {
        let (mut low, mut high) = (0.0f64, 1.0f64);
        for (_, points, _) in lines {
            let mut last: Option<Point> = None;
            for p in points.iter() {
                if p.0 <= end && p.1.is_finite() {
                    (low, high) = (low.min(p.1), high.max(p.1));
                } else if let Some(q) = last.filter(|q| q.0 < end && p.0 > q.0) {
                    let cut = q.1 + (p.1 - q.1) * (end - q.0) / (p.0 - q.0);
                    (low, high) = (low.min(cut), high.max(cut));
                }
                last = Some(*p);
            }
        }
        // R(t) may fall far below zero at the start; the axis shows the part above.
        low = low.max(-0.12 * high);
        let corners: Vec<Point> =
            self.effective.iter().copied().filter(|p| p.0 > 0.0 && p.0 < end * 0.999).collect();
        let x = Axis::linear("length of interval", Unit::Time, 0.0, end);
        let y = Axis::linear("capacity", Unit::Bytes, low * 1.02, high * 1.04);
        let mut plot = Plot::new(title, x, y).sized(440.0, 280.0);
        plot.desc = format!(
            "Residual capacity against interval length up to {}. Curves: {}.",
            span(end as u64),
            lines.iter().map(|l| l.0.as_str()).collect::<Vec<_>>().join(", ")
        );
        if !self.effective.is_empty() {
            plot.marks.push(Mark::Area {
                points: self.effective.clone(),
                base: 0.0,
                hue: Hue::Muted,
            });
        }
        for (_, points, ink) in lines {
            plot.marks.push(Mark::Line { points: points.to_vec(), ink: *ink });
        }
        if corners.len() <= DOTTED {
            let ink = Ink::new(Hue::Ink).wide(0.6).marked(Some(Marker::Circle));
            plot.marks.push(Mark::Dots { points: corners, ink });
        }
        plot
    }
}

/// Rounded down to two significant digits, for panels that end at a round place.
pub(super) fn two_digits(v: f64) -> f64 {
    if !v.is_finite() || v < 100.0 {
        return v;
    }
    let exponent = libm::floor(libm::log10(v)) as i32 - 1;
    let unit = crate::ticks::decimal(1, exponent);
    libm::floor(v / unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when the slope counts per nanosecond or a jump is smoothed.
    #[test]
    fn corners_become_a_polyline() {
        let r = ResidualPlot::from_corners(&[(0, 0.0, 0.0), (1_000_000, 100.0, 1e6)]);
        assert_eq!(r.effective[..3], [(0.0, 0.0), (1e6, 0.0), (1e6, 100.0)]);
        let (t, bytes) = r.effective[3];
        assert!((bytes - (100.0 + 1e6 * (t - 1e6) / 1e9)).abs() < 1e-6);
        assert!(ResidualPlot::default().figure(&[]).is_none());
    }

    #[test]
    fn panels_end_at_round_values() {
        assert_eq!(two_digits(934_333_333.0), 930_000_000.0);
        assert_eq!(two_digits(0.0), 0.0);
        assert!(two_digits(f64::NAN).is_nan());
    }

    #[test]
    fn approximations_keep_the_colour_of_their_policy() {
        let line = vec![(0.0, 0.0), (10e6, 5.0)];
        let plot = ResidualPlot {
            effective: line.clone(),
            approximations: vec![("exact".into(), line)],
            ..ResidualPlot::default()
        };
        let figure = plot.figure(&["a", "b", "c", "exact"]);
        let keys = figure.map(|f| f.legend).unwrap_or_default();
        assert_eq!(keys.last().map(|k| k.ink.hue), Some(Hue::Series(3)));
    }
}
