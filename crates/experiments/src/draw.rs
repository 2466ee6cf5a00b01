//! Figures of lines over counts of streams, time or periods.

use laxity_report::plot::{Axis, Ink, Mark, Plot, Point, Unit};
use laxity_report::{Figure, Key};

/// A line with a name.
pub struct Line {
    /// In the legend.
    pub name: String,
    /// Rising in x.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub ink: Ink,
}

impl Line {
    /// The n-th of those in one figure.
    pub fn new(name: impl Into<String>, points: Vec<Point>, n: usize) -> Line {
        Line { name: name.into(), points, ink: Ink::series(n) }
    }
}

/// A panel.
pub struct Panel<'a> {
    /// Heading.
    pub title: &'a str,
    /// Text alternative for readers who cannot see it.
    pub desc: &'a str,
    /// Label of the horizontal axis.
    pub x: &'a str,
    /// Label of the vertical axis.
    pub y: &'a str,
    /// Of the vertical axis.
    pub unit: Unit,
    /// Least value of a logarithmic vertical axis; smaller values lie on its edge, zero beyond a break.
    pub log_from: Option<f64>,
    /// In drawing order.
    pub lines: Vec<Line>,
}

impl Panel<'_> {
    fn plot(&self) -> Plot {
        let xs = || self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.0));
        let (least, most) = (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max));
        let ys = self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.1));
        let top = ys.fold(0.0, f64::max);
        let none = self.lines.iter().flat_map(|l| &l.points).any(|p| p.1 <= 0.0);
        let y = match self.log_from {
            Some(from) => {
                let axis = Axis::log(self.y, self.unit, from, top.max(from * 10.0) * 1.5);
                if none { axis.with_zero() } else { axis }
            }
            None => Axis::linear(self.y, self.unit, 0.0, top * 1.06),
        };
        let x = Axis::linear(self.x, Unit::Plain, least, most);
        let lines = self.lines.iter().map(|l| Mark::Line { points: l.points.clone(), ink: l.ink });
        Plot::new(self.title, x, y).sized(440.0, 300.0).described(self.desc).with_all(lines)
    }
}

/// Panels side by side with one legend.
pub fn figure(name: &str, title: &str, caption: &str, panels: &[Panel]) -> Figure {
    let mut legend: Vec<Key> = Vec::new();
    for line in panels.iter().flat_map(|p| &p.lines) {
        if legend.iter().all(|key| key.label != line.name) {
            legend.push(Key::line(&line.name, line.ink));
        }
    }
    let panels = panels.iter().map(Panel::plot).collect();
    Figure::new(name, title, 2).keyed(legend).with(panels).captioned(caption)
}
