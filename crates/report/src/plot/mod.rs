//! Small plots as SVG text.
//!
//! A [`Plot`] is one panel: two axes and a list of marks in data coordinates. It is independent of
//! pages; [`crate::Figure`] puts panels together. Output depends on the input alone. Colours are
//! CSS variables with a fixed fallback, so one text serves light and dark pages and plain viewers.

mod axis;
mod draw;
mod ink;
mod live;
pub(crate) mod reduce;
pub(crate) mod schedule;
pub(crate) mod vega;

use crate::escape::markup;
pub use axis::{Axis, Scale, Unit};
pub(crate) use draw::{px, sample, sample_marks, text, text_width, width_for_names};
pub use ink::{Dash, Hue, Ink, Marker};
pub(crate) use ink::{palette_css, svg_css};
pub(crate) use live::{key, number};
pub use reduce::{columns, thin};
pub(crate) use schedule::Schedule;

/// A point in data coordinates.
pub type Point = (f64, f64);

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// How a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// With its colour.
    Solid,
    /// Translucent with an outline; hides what lies behind.
    Outline,
    /// Translucent.
    Faint,
}

/// Something drawn between the axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A polyline; jumps are two points of equal x. Reduced to the resolution of the pixels.
    Line {
        /// In drawing order.
        points: Vec<Point>,
        /// How it is drawn.
        ink: Ink,
    },
    /// The area between a polyline and a level.
    Area {
        /// Rising in x.
        points: Vec<Point>,
        /// The level.
        base: f64,
        /// Its colour, drawn translucent.
        hue: Hue,
    },
    /// For each pixel column the largest value in it, as a bar from zero.
    Skyline {
        /// Rising in x.
        points: Vec<Point>,
        /// Its colour.
        hue: Hue,
    },
    /// A thin stem from zero and a dot for each point.
    Stems {
        /// In any order.
        points: Vec<Point>,
        /// Colour and marker.
        ink: Ink,
    },
    /// Single markers.
    Dots {
        /// In any order.
        points: Vec<Point>,
        /// Colour and marker.
        ink: Ink,
    },
    /// A horizontal bar.
    Bar {
        /// Its middle.
        y: f64,
        /// From and to.
        x: (f64, f64),
        /// Thickness in pixels.
        thick: f64,
        /// Its colour.
        hue: Hue,
        /// How it is filled.
        body: Body,
    },
    /// A straight piece, perhaps with an arrow head at its end.
    Segment {
        /// Where it begins.
        from: Point,
        /// Where it ends.
        to: Point,
        /// How it is drawn.
        ink: Ink,
        /// Whether it has a head.
        arrow: bool,
    },
    /// A vertical line over the whole height with a label at its top.
    Vertical {
        /// Where.
        x: f64,
        /// Printed beside it; may be empty.
        label: String,
        /// How it is drawn.
        ink: Ink,
    },
    /// A horizontal line over the whole width with a label at its right end.
    Horizontal {
        /// Where.
        y: f64,
        /// Printed above it; may be empty.
        label: String,
        /// How it is drawn.
        ink: Ink,
    },
    /// A text inside a solid bar, beginning at the point.
    Inside {
        /// Where.
        at: Point,
        /// What.
        text: String,
    },
    /// A text, kept inside the panel.
    Text {
        /// Where.
        at: Point,
        /// Shift in pixels, right and down.
        shift: (f64, f64),
        /// What.
        text: String,
        /// On which side of the point.
        anchor: Anchor,
    },
}

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Printed at the top left, in bold.
    pub title: String,
    /// Printed at the top right, quietly: the number to take away.
    pub note: String,
    /// Text alternative for readers who cannot see it.
    pub desc: String,
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// In drawing order.
    pub marks: Vec<Mark>,
    /// For each name of a vertical axis of names its values as a sentence; may be empty.
    pub hints: Vec<String>,
    /// The whole of what the panel shows a window of, for pages.
    pub(crate) schedule: Option<Schedule>,
    /// Width in pixels at natural size.
    pub width: f64,
    /// Height in pixels at natural size.
    pub height: f64,
}

impl Plot {
    /// An empty panel of the usual size.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Plot {
        Plot {
            title: title.into(),
            note: String::new(),
            desc: String::new(),
            x,
            y,
            marks: Vec::new(),
            hints: Vec::new(),
            schedule: None,
            width: 380.0,
            height: 240.0,
        }
    }

    /// Sets the size in pixels.
    pub fn sized(mut self, width: f64, height: f64) -> Plot {
        (self.width, self.height) = (width, height);
        self
    }

    /// Sets the number to take away.
    pub fn noted(mut self, note: impl Into<String>) -> Plot {
        self.note = note.into();
        self
    }

    /// Sets the description.
    pub fn described(mut self, desc: impl Into<String>) -> Plot {
        self.desc = desc.into();
        self
    }

    /// Sets the sentences of the names of the vertical axis.
    pub fn hinted(mut self, hints: Vec<String>) -> Plot {
        self.hints = hints;
        self
    }

    /// Adds a mark on top of the others.
    pub fn with(mut self, mark: Mark) -> Plot {
        self.marks.push(mark);
        self
    }

    /// Adds marks on top of the others.
    pub fn with_all(mut self, marks: impl IntoIterator<Item = Mark>) -> Plot {
        self.marks.extend(marks);
        self
    }

    /// The panel as an `<svg>` element for use inside a page or another SVG. `id` must be unique
    /// in the page.
    pub fn svg(&self, id: &str) -> String {
        draw::panel(self, id, None)
    }

    /// The same for a page with script: with its values, and further attributes.
    pub(crate) fn live_svg(&self, id: &str, attributes: &str) -> String {
        let mut attributes = attributes.to_owned();
        if self.hints.iter().any(|h| !h.is_empty()) {
            let hints = serde_json::json!(self.hints).to_string();
            attributes.push_str(&format!(" data-hints=\"{}\"", markup(&hints)));
        }
        if let Some(schedule) = &self.schedule {
            attributes.push_str(&schedule.attributes());
        }
        draw::panel(self, id, Some(&attributes))
    }
}
