//! Colours, dashes and markers.
//!
//! The eight series colours were chosen after the palette of Okabe and Ito ("Color universal
//! design", 2008), darkened for white and lightened for black until each has a contrast of at
//! least 3:1 to its ground (WCAG 2.1, 1.4.11). Series differ in dash and marker too, so colour never carries meaning alone.

use std::fmt::Write;

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hue {
    /// The n-th of a family of things compared; repeats after eight. The first is neutral, for
    /// the reference.
    Series(usize),
    /// The colour of text.
    Ink,
    /// Quieter than text.
    Muted,
    /// A limit that must not be crossed.
    Limit,
}

/// The dash pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long pieces.
    Long,
    /// Short pieces.
    Short,
    /// Dots.
    Dots,
    /// Long piece and dot.
    Mixed,
}

/// A marker's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Ring,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ink {
    /// Colour.
    pub hue: Hue,
    /// Breaks.
    pub dash: Dash,
    /// Width in pixels.
    pub width: f64,
    /// Drawn at a few places along the line, if any.
    pub marker: Option<Marker>,
}

impl Ink {
    /// A thin unbroken line.
    pub fn new(hue: Hue) -> Ink {
        Ink { hue, dash: Dash::Solid, width: 1.5, marker: None }
    }

    /// The line of the n-th of the things compared, different from its neighbours in colour,
    /// marker and dash.
    pub fn series(n: usize) -> Ink {
        const DASHES: [Dash; 4] = [Dash::Long, Dash::Solid, Dash::Mixed, Dash::Short];
        const MARKERS: [Marker; 6] = [
            Marker::Ring,
            Marker::Circle,
            Marker::Square,
            Marker::Triangle,
            Marker::Diamond,
            Marker::Cross,
        ];
        Ink { hue: Hue::Series(n), dash: DASHES[n % 4], width: 1.75, marker: Some(MARKERS[n % 6]) }
    }

    /// The line of a deadline.
    pub fn limit() -> Ink {
        Ink { hue: Hue::Limit, dash: Dash::Short, width: 1.5, marker: None }
    }

    /// Sets the dash.
    pub fn dashed(mut self, dash: Dash) -> Ink {
        self.dash = dash;
        self
    }

    /// Sets the width in pixels.
    pub fn wide(mut self, width: f64) -> Ink {
        self.width = width;
        self
    }

    /// Sets the marker.
    pub fn marked(mut self, marker: Option<Marker>) -> Ink {
        self.marker = marker;
        self
    }
}

impl Hue {
    /// Class that sets the stroke.
    pub(crate) fn stroke(self) -> String {
        format!("s{}", self.key())
    }

    /// Class that sets the fill.
    pub(crate) fn fill(self) -> String {
        format!("f{}", self.key())
    }

    fn key(self) -> String {
        match self {
            Hue::Series(n) => (n % SERIES).to_string(),
            Hue::Ink => "i".into(),
            Hue::Muted => "m".into(),
            Hue::Limit => "l".into(),
        }
    }
}

impl Dash {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Dash::Solid => "",
            Dash::Long => " dl",
            Dash::Short => " ds",
            Dash::Dots => " dd",
            Dash::Mixed => " dm",
        }
    }
}

impl Marker {
    /// Path of the marker around a place, about `2 r` wide, and whether it is filled.
    pub(crate) fn path(self, x: f64, y: f64, r: f64) -> (String, bool) {
        let n = super::draw::px;
        let circle = |r: f64| {
            format!(
                "M{},{}a{r},{r} 0 1 0 {},0a{r},{r} 0 1 0 {},0z",
                n(x - r),
                n(y),
                n(2.0 * r),
                n(-2.0 * r)
            )
        };
        match self {
            Marker::Circle => (circle(r), true),
            Marker::Ring => (circle(r), false),
            Marker::Square => {
                let r = r * 0.9;
                let (d, m) = (n(2.0 * r), n(-2.0 * r));
                (format!("M{},{}h{d}v{d}h{m}z", n(x - r), n(y - r)), true)
            }
            Marker::Triangle => {
                let (w, h) = (r * 1.15, r * 1.9);
                let (dw, m) = (n(w), n(-2.0 * w));
                (format!("M{},{}l{dw},{}h{m}z", n(x), n(y - h * 0.6), n(h)), true)
            }
            Marker::Diamond => {
                let (d, m) = (n(r * 1.25), n(-r * 1.25));
                (format!("M{},{}l{d},{d}l{m},{d}l{m},{m}z", n(x), n(y - r * 1.25)), true)
            }
            Marker::Cross => {
                let (d, m) = (n(2.0 * r), n(-2.0 * r));
                (format!("M{},{}l{d},{d}m0,{m}l{m},{d}", n(x - r), n(y - r)), false)
            }
        }
    }
}

const SERIES: usize = 8;

/// Variable, light value, dark value.
const PALETTE: [(&str, &str, &str); 15] = [
    ("c0", "#5a626d", "#a9b3bf"),
    ("c1", "#0068a8", "#5ab4f0"),
    ("c2", "#c24e00", "#ff9a56"),
    ("c3", "#00805f", "#35c9a0"),
    ("c4", "#9a3d86", "#e597d3"),
    ("c5", "#8a6d00", "#e0bf3c"),
    ("c6", "#4b4fc4", "#a3a8ff"),
    ("c7", "#8c3b2a", "#e58f7c"),
    ("ink", "#1c232b", "#e7ebf0"),
    ("muted", "#57616d", "#9fabb8"),
    ("limit", "#b3122f", "#ff7d8e"),
    ("bg", "#fdfdfb", "#13171c"),
    ("grid", "#e6e8e9", "#272e36"),
    ("axis", "#8b949e", "#667180"),
    ("panel", "#f4f5f3", "#1a2027"),
];

/// Declares the colours on `selector`, light, dark and for paper.
pub(crate) fn palette_css(selector: &str) -> String {
    let list = |dark: bool| {
        PALETTE.iter().fold(String::new(), |mut s, (name, l, d)| {
            let _ = write!(s, "--{name}:{};", if dark { d } else { l });
            s
        })
    };
    format!(
        "{selector}{{{}}}\n@media screen and (prefers-color-scheme:dark){{{selector}{{{}}}}}\n",
        list(false),
        list(true)
    )
}

/// The rules that plots need, below class `lx`.
pub(crate) fn svg_css() -> String {
    let light = |name: &str| {
        PALETTE.iter().find(|(n, ..)| *n == name).map_or("#000", |(_, light, _)| *light)
    };
    // A viewer that does not know variables skips the second declaration.
    let both = |property: &str, name: &str| {
        format!("{property}:{};{property}:var(--{name});", light(name))
    };
    let mut css = String::from(
        ".lx{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\
         \"Noto Sans\",\"Liberation Sans\",Arial,sans-serif;font-size:12px;\
         font-variant-numeric:tabular-nums}\n",
    );
    let mut keys: Vec<(String, String)> =
        (0..SERIES).map(|n| (n.to_string(), format!("c{n}"))).collect();
    keys.extend([("i", "ink"), ("m", "muted"), ("l", "limit")].map(|(k, v)| (k.into(), v.into())));
    for (key, name) in keys {
        let _ = writeln!(
            css,
            ".lx .s{key}{{fill:none;{}}}.lx .f{key}{{{}}}",
            both("stroke", &name),
            both("fill", &name)
        );
    }
    let _ = writeln!(css, ".lx text{{{}}}", both("fill", "ink"));
    let _ = writeln!(css, ".lx text.q{{{}}}", both("fill", "muted"));
    let _ = writeln!(css, ".lx text.fl{{{}}}", both("fill", "limit"));
    let _ = writeln!(
        css,
        ".lx text.h{{{}stroke-width:3px;stroke-linejoin:round;paint-order:stroke}}",
        both("stroke", "bg")
    );
    let _ = writeln!(css, ".lx .g{{fill:none;{}}}", both("stroke", "grid"));
    let _ = writeln!(css, ".lx .ax{{fill:none;{}}}", both("stroke", "axis"));
    let _ = writeln!(css, ".lx .o,.lx text.o{{{}}}", both("fill", "bg"));
    css.push_str(
        ".lx .b{font-weight:600}.lx .t{font-size:13px;font-weight:600}\
         .lx .tt{font-size:15px;font-weight:600}\
         .lx .dl{stroke-dasharray:7 3}.lx .ds{stroke-dasharray:4 3}\
         .lx .dd{stroke-dasharray:1 3;stroke-linecap:round}.lx .dm{stroke-dasharray:8 3 2 3}\
         .lx .a{fill-opacity:.16;stroke:none}.lx .k{stroke-linejoin:round}\n",
    );
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(hex: &str) -> f64 {
        let channel = |i: usize| {
            let v = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    // Fails when a colour is made too pale on light or too dark on dark.
    #[test]
    fn colours_have_enough_contrast() {
        let (_, light, dark) = PALETTE[11];
        for (name, l, d) in PALETTE {
            let least = match name {
                "bg" | "grid" | "panel" => continue,
                "ink" | "muted" | "limit" => 4.5,
                _ => 3.0,
            };
            assert!(contrast(l, light) >= least, "{name} light {}", contrast(l, light));
            assert!(contrast(d, dark) >= least, "{name} dark {}", contrast(d, dark));
        }
    }

    #[test]
    fn neighbours_differ_in_dash_and_marker() {
        for n in 0..12 {
            let (a, b) = (Ink::series(n), Ink::series(n + 1));
            assert!(a.dash != b.dash && a.marker != b.marker && a.hue != b.hue);
        }
    }
}
