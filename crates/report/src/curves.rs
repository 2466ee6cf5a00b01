//! Diagrams of how curves are built, for the documentation: the constructions of the paper's
//! Figures 1, 2, 3 and 6 (Chakraborty, Gries, Thiele, RTAS 2002), from points given by the caller.

use crate::figure::{Figure, Key};
use crate::plot::{Anchor, Axis, Dash, Hue, Ink, Mark, Marker, Plot, Point, Unit};

/// A curve of a diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// In the legend; curves without a name are not in it.
    pub name: String,
    /// A polyline; jumps are two points of equal x.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub ink: Ink,
    /// Whether the area below is shaded.
    pub shaded: bool,
}

impl Curve {
    /// The n-th curve of a diagram.
    pub fn new(name: impl Into<String>, points: Vec<Point>, n: usize) -> Curve {
        let ink = Ink { marker: None, width: 2.0, ..Ink::series(n) };
        Curve { name: name.into(), points, ink, shaded: false }
    }

    /// Steps that rise by the given heights at the given times: a demand curve.
    pub fn steps(name: impl Into<String>, rises: &[Point], end: f64, n: usize) -> Curve {
        let mut points = vec![(0.0, 0.0)];
        let mut level = 0.0;
        for (at, by) in rises {
            points.push((*at, level));
            level += by;
            points.push((*at, level));
        }
        points.push((end, level));
        Curve::new(name, points, n)
    }

    /// Shades the area below.
    pub fn shade(mut self) -> Curve {
        self.shaded = true;
        self
    }

    /// Sets the line.
    pub fn inked(mut self, ink: Ink) -> Curve {
        self.ink = ink;
        self
    }
}

/// An annotation of a diagram.
#[derive(Clone, Debug, PartialEq)]
pub enum Annotation {
    /// A label at a point: text, place, shift in pixels.
    Text(String, Point, (f64, f64)),
    /// An arrow with a label at its beginning.
    Arrow(String, Point, Point),
    /// A dashed line down to the horizontal axis with a label at its foot, and a dot.
    Foot(String, Point),
    /// A dot.
    Dot(Point),
}

/// A panel with curves.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    /// Heading of the panel.
    pub title: String,
    /// Text alternative for readers who cannot see it.
    pub desc: String,
    /// Horizontal axis: label, unit, least and greatest value.
    pub x: (String, Unit, f64, f64),
    /// Vertical axis, likewise.
    pub y: (String, Unit, f64, f64),
    /// Curves in drawing order.
    pub curves: Vec<Curve>,
    /// Annotations, drawn on top of the curves.
    pub annotations: Vec<Annotation>,
    /// Whether axes carry numbers; a sketch does without.
    pub numbers: bool,
}

impl LinePlot {
    /// The panel.
    pub fn plot(&self) -> Plot {
        let axis = |a: &(String, Unit, f64, f64)| {
            let mut axis = Axis::linear(a.0.as_str(), a.1, a.2, a.3);
            if !self.numbers {
                // Without numbers a unit would mislead.
                (axis.ticks, axis.grid, axis.unit) = (Some(Vec::new()), false, Unit::Plain);
            }
            axis
        };
        let mut plot = Plot::new(&self.title, axis(&self.x), axis(&self.y))
            .sized(420.0, 280.0)
            .described(self.desc.as_str());
        for c in &self.curves {
            if c.shaded {
                let hue = c.ink.hue;
                plot.marks.push(Mark::Area { points: c.points.clone(), base: 0.0, hue });
            }
            plot.marks.push(Mark::Line { points: c.points.clone(), ink: c.ink });
        }
        let thin = Ink::new(Hue::Muted).wide(1.0);
        let dot = |p: Point| Mark::Dots {
            points: vec![p],
            ink: Ink::new(Hue::Ink).wide(1.2).marked(Some(Marker::Circle)),
        };
        let label = |text: &str, at: Point, shift: (f64, f64)| Mark::Text {
            at,
            shift,
            text: text.into(),
            anchor: if shift.0 < 0.0 { Anchor::End } else { Anchor::Start },
        };
        for a in &self.annotations {
            match a {
                Annotation::Text(text, at, shift) => plot.marks.push(label(text, *at, *shift)),
                Annotation::Arrow(text, from, to) => {
                    let (from, to) = (*from, *to);
                    let side = if to.0 >= from.0 { (-4.0, 4.0) } else { (4.0, 4.0) };
                    plot.marks.push(Mark::Segment { from, to, ink: thin, arrow: true });
                    plot.marks.push(label(text, from, side));
                }
                Annotation::Foot(text, at) => {
                    let (from, ink) = ((at.0, self.y.2.max(0.0)), thin.dashed(Dash::Short));
                    plot.marks.push(Mark::Segment { from, to: *at, ink, arrow: false });
                    // A sketch has room below its axis, where others have numbers.
                    plot.marks.push(match self.numbers {
                        true => label(text, from, (4.0, -4.0)),
                        false => Mark::Text {
                            at: from,
                            shift: (0.0, 16.0),
                            text: text.clone(),
                            anchor: Anchor::Middle,
                        },
                    });
                    plot.marks.push(dot(*at));
                }
                Annotation::Dot(at) => plot.marks.push(dot(*at)),
            }
        }
        plot
    }

    /// Combines panels into one figure with a legend of the named curves of all.
    pub fn figure(name: &str, title: &str, panels: &[LinePlot], columns: usize) -> Figure {
        let mut legend: Vec<Key> = Vec::new();
        for c in panels.iter().flat_map(|p| &p.curves) {
            if !c.name.is_empty() && !legend.iter().any(|k| k.label == c.name) {
                legend.push(Key::line(&c.name, c.ink));
            }
        }
        Figure::new(name, title, columns)
            .keyed(legend)
            .with(panels.iter().map(LinePlot::plot).collect())
    }
}
