//! Colours, dashes and markers.
//!
//! The eight series colours began as the palette of Okabe and Ito ("Color universal design", 2008). They
//! were moved until each has a contrast of at least 3:1 to its ground (WCAG 2.1, 1.4.11) and any two stay
//! apart for readers who lack one kind of cone, as Machado, Oliveira and Fernandes simulate them ("A
//! physiologically-based model for simulation of color vision deficiency", IEEE TVCG 2009, severity 1).
//! Dash and marker extend them: see [`Ink::series`]. Bars beyond the eighth carry stripes.

use std::fmt::Write;

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hue {
    /// The n-th of a family of things compared. The first is neutral, for the reference. Colours
    /// repeat after eight; lines then differ in dash and marker, bars in stripes.
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
    Box,
    Plus,
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

    /// The line of the n-th of the things compared. Neighbours differ in colour, marker and dash; of
    /// the first 40 any two differ in at least two of these, so no two look alike to readers who see no
    /// colours or no dashes.
    pub fn series(n: usize) -> Ink {
        const DASHES: [Dash; 5] = [Dash::Long, Dash::Solid, Dash::Mixed, Dash::Short, Dash::Dots];
        const MARKERS: [Marker; 8] = [
            Marker::Ring,
            Marker::Diamond,
            Marker::Circle,
            Marker::Cross,
            Marker::Square,
            Marker::Box,
            Marker::Triangle,
            Marker::Plus,
        ];
        // A Latin square over colour and dash, whose numbers are coprime.
        let marker = (n % SERIES + n % DASHES.len()) % MARKERS.len();
        let (dash, marker) = (DASHES[n % DASHES.len()], Some(MARKERS[marker]));
        Ink { hue: Hue::Series(n), dash, width: 1.75, marker }
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

    /// Stripes that a bar of this hue carries: one more each time the colours repeat.
    pub(crate) fn stripes(self) -> usize {
        match self {
            Hue::Series(n) => n / SERIES,
            _ => 0,
        }
    }

    /// The colour on white, `#rrggbb`.
    pub(crate) fn hex(self) -> &'static str {
        let name = match self {
            Hue::Series(n) => return PALETTE[n % SERIES].1,
            Hue::Ink => "ink",
            Hue::Muted => "muted",
            Hue::Limit => "limit",
        };
        PALETTE.iter().find(|(n, ..)| *n == name).map_or("#000000", |(_, light, _)| *light)
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
            Marker::Square | Marker::Box => {
                let r = r * 0.9;
                let (d, m) = (n(2.0 * r), n(-2.0 * r));
                (format!("M{},{}h{d}v{d}h{m}z", n(x - r), n(y - r)), self == Marker::Square)
            }
            Marker::Plus => {
                let (r, d) = (r * 1.2, n(2.4 * r));
                (format!("M{},{}h{d}M{},{}v{d}", n(x - r), n(y), n(x), n(y - r)), false)
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
    ("c0", "#9a899c", "#d5ead7"),
    ("c1", "#0086e2", "#1c6bb7"),
    ("c2", "#d7750d", "#ff5a10"),
    ("c3", "#005a4b", "#00da60"),
    ("c4", "#8b2088", "#c681ae"),
    ("c5", "#5f4e00", "#ffdd12"),
    ("c6", "#4f0ece", "#8f56ff"),
    ("c7", "#460000", "#a45137"),
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
    let _ = writeln!(
        css,
        ".lx .o{{{}}}.lx .so{{fill:none;{}}}",
        both("fill", "bg"),
        both("stroke", "bg")
    );
    css.push_str(
        ".lx .b{font-weight:600}.lx .t{font-size:13px;font-weight:600}\
         .lx .tt{font-size:15px;font-weight:600}\
         .lx .dl{stroke-dasharray:7 3}.lx .ds{stroke-dasharray:4 3}\
         .lx .dd{stroke-dasharray:1 3;stroke-linecap:round}.lx .dm{stroke-dasharray:8 3 2 3}\
         .lx .a{fill-opacity:.16;stroke:none}.lx .k{stroke-linejoin:round}.lx .r{stroke-linecap:round}\n",
    );
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(hex: &str, i: usize) -> f64 {
        let v = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    }

    fn luminance(hex: &str) -> f64 {
        0.2126 * linear(hex, 1) + 0.7152 * linear(hex, 3) + 0.0722 * linear(hex, 5)
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

    // Fails when two series share two of colour, dash and marker (tried: markers that repeat with the
    // colours), or neighbours share one.
    #[test]
    fn series_share_at_most_one_property() {
        let key = |n: usize| match Ink::series(n) {
            Ink { hue, dash, marker: Some(marker), .. } => (hue.key(), dash, marker),
            ink => panic!("{ink:?} has no marker"),
        };
        for (a, b) in (0..40).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let (x, y) = (key(a), key(b));
            let shared = [x.0 == y.0, x.1 == y.1, x.2 == y.2].into_iter().filter(|s| *s).count();
            assert!(shared <= usize::from(a != b + 1), "{a} and {b}: {x:?} {y:?}");
        }
    }

    /// CIELAB of a colour as seen through a matrix over linear RGB.
    fn seen(hex: &str, through: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = [1, 3, 5].map(|i| linear(hex, i));
        let seen = through
            .map(|row| row.iter().zip(linear).map(|(m, v)| m * v).sum::<f64>().clamp(0.0, 1.0));
        let xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let white = [0.95047, 1.0, 1.08883];
        let mut f = [0.0; 3];
        for ((f, row), white) in f.iter_mut().zip(xyz).zip(white) {
            let t: f64 = row.iter().zip(seen).map(|(m, v)| m * v).sum::<f64>() / white;
            *f = if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        }
        [116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])]
    }

    // Fails when two colours of a palette look alike without one kind of cone: the colours before
    // these were 3 apart.
    #[test]
    fn colours_differ_without_one_kind_of_cone() {
        // Machado et al., Table 1, severity 1.0: protanomaly, deuteranomaly, tritanomaly.
        let cones = [
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.01182, 0.04294, 0.968881],
            ],
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.3039],
            ],
        ];
        for through in cones {
            for of in [|n: usize| PALETTE[n].1, |n: usize| PALETTE[n].2] {
                for (a, b) in (0..SERIES).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    let (p, q) = (seen(of(a), through), seen(of(b), through));
                    let far = p.iter().zip(q).map(|(p, q)| (p - q).powi(2)).sum::<f64>().sqrt();
                    assert!(far >= 25.0, "{} and {}: {far}", of(a), of(b));
                }
            }
        }
    }
}
