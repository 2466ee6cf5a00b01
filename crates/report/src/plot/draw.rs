//! A panel as SVG text.

use super::axis::BREAK;
use super::reduce::{clip, columns, thin};
use super::{Anchor, Body, Dash, Hue, Ink, Mark, Marker, Plot, Point, Scale, live};
use crate::escape::markup;
use std::fmt::Write;

/// Where the data area lies in the panel, in pixels.
pub(super) struct Frame<'a> {
    pub(super) plot: &'a Plot,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame<'_> {
    fn x(&self, value: f64) -> f64 {
        self.left + self.plot.x.place(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.plot.y.place(value) * (self.bottom - self.top)
    }

    fn clip(&self, points: &[Point]) -> Vec<Vec<Point>> {
        let pixels: Vec<Point> = points.iter().map(|p| (self.x(p.0), self.y(p.1))).collect();
        clip(&thin(&pixels), (self.left, self.right), (self.top, self.bottom))
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        x >= self.left - 0.5
            && x <= self.right + 0.5
            && y >= self.top - 0.5
            && y <= self.bottom + 0.5
    }
}

/// A pixel coordinate with one decimal at most; never `-0`.
pub(crate) fn px(v: f64) -> String {
    let tenths = (v * 10.0).clamp(-1e7, 1e7).round() as i64;
    let (sign, t) = (if tenths < 0 { "-" } else { "" }, tenths.unsigned_abs());
    if t % 10 == 0 { format!("{sign}{}", t / 10) } else { format!("{sign}{}.{}", t / 10, t % 10) }
}

/// Estimated width of a text at `size` pixels; on the wide side, so that nothing collides.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'l' | 'j' | '.' | ',' | ':' | '\'' | '|' | 'I' | ' ' | '\u{202f}' => 0.32,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.92,
            'A'..='Z' => 0.70,
            c if (c as u32) < 0x2e80 => 0.58,
            _ => 1.05,
        })
        .sum::<f64>()
        * size
}

/// The share of a panel's width that names beside its vertical axis may have.
const NAMES: f64 = 0.45;

/// Cuts a text to a width in pixels, with an ellipsis.
fn fit(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.into();
    }
    let mut out = String::new();
    for c in text.chars() {
        if text_width(&out, size) + size * 1.5 > width {
            break;
        }
        out.push(c);
    }
    out.push('\u{2026}');
    out
}

/// Cuts a name to a width in pixels in its middle: names that begin alike differ at their ends.
fn fit_name(name: &str, size: f64, width: f64) -> String {
    if text_width(name, size) <= width {
        return name.into();
    }
    let chars: Vec<char> = name.chars().collect();
    let room = width - size * 1.5;
    let (mut head, mut tail, mut used) = (0, 0, 0.0);
    while head + tail < chars.len() {
        // The end first, and as much of it as of the beginning.
        let next = if tail <= head { chars[chars.len() - 1 - tail] } else { chars[head] };
        used += text_width(next.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        if tail <= head { tail += 1 } else { head += 1 }
    }
    let (first, last) = (&chars[..head], &chars[chars.len() - tail..]);
    first.iter().chain(&['\u{2026}']).chain(last).collect()
}

/// How wide a panel has to be for all of its names, written beside its vertical axis.
pub(crate) fn width_for_names<'a>(names: impl IntoIterator<Item = &'a str>) -> f64 {
    let widest = names.into_iter().map(|n| text_width(n, 12.0)).fold(0.0, f64::max);
    (widest / NAMES).ceil()
}

/// A panel. `live` adds what the script of a page needs.
pub(super) fn panel(plot: &Plot, id: &str, live: Option<&str>) -> String {
    let y_target = ((plot.height - 80.0) / 22.0).clamp(2.0, 8.0) as usize;
    let y_ticks = plot.y.marks(y_target);
    let named = plot.y.ticks.is_some();
    let room = plot.width * if named { NAMES } else { 0.36 };
    let widest = y_ticks.iter().map(|t| text_width(&t.label, 12.0)).fold(0.0, f64::max).min(room);
    let y_title = plot.y.title();
    let frame = Frame {
        plot,
        left: (widest + 10.0).max(14.0).round(),
        right: plot.width - 10.0,
        top: if plot.title.is_empty() { 6.0 } else { 24.0 }
            + if y_title.is_empty() { 4.0 } else { 21.0 },
        bottom: plot.height - if plot.x.title().is_empty() { 22.0 } else { 38.0 },
    };
    let mut s = String::with_capacity(4096);
    let (w, h, id) = (px(plot.width), px(plot.height), markup(id));
    let more = live.map_or(String::new(), |of| format!("{}{of}", live::attributes(&frame)));
    let _ = write!(
        s,
        "<svg class=\"lx\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" \
         width=\"{w}\" height=\"{h}\" role=\"img\" aria-labelledby=\"{id}-t\" \
         aria-describedby=\"{id}-d\"{more}><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        markup(if plot.title.is_empty() { "Plot" } else { &plot.title }),
        markup(&plot.desc)
    );
    titles(&mut s, plot, &frame, &y_title);
    axes(&mut s, &frame, &y_ticks, named, widest);
    let mut labels = String::new();
    for mark in &plot.marks {
        let data = if live.is_some() { live::mark(&frame, mark) } else { String::new() };
        if data.is_empty() {
            draw(&mut s, &mut labels, &frame, mark);
            continue;
        }
        // Labels are on top of all marks and move with theirs.
        let (mut body, mut label) = (String::new(), String::new());
        draw(&mut body, &mut label, &frame, mark);
        for (to, part) in [(&mut s, body), (&mut labels, label)] {
            if !part.is_empty() {
                let _ = write!(to, "<g{data}>{part}</g>");
            }
        }
    }
    s.push_str(&labels);
    s.push_str("</svg>");
    s
}

fn titles(s: &mut String, plot: &Plot, frame: &Frame, y_title: &str) {
    let width = plot.width - 4.0;
    let note = fit(&plot.note, 12.0, width);
    let margin = |line: f64| {
        let used = if note.is_empty() { 0.0 } else { text_width(&note, 12.0) + 12.0 };
        (width - used).max(line)
    };
    // The note shares the line of the axis' title, which is short, rather than the panel's.
    let shared = !y_title.is_empty();
    if !plot.title.is_empty() {
        let room = if shared { width } else { margin(width * 0.3) };
        let text = markup(&fit(&plot.title, 13.5, room));
        let _ = write!(s, "<text class=\"t\" x=\"2\" y=\"15\">{text}</text>");
    }
    if !note.is_empty() {
        let y = if shared { frame.top - 10.0 } else { 15.0 };
        text(s, (plot.width - 10.0, y), Anchor::End, "q", &note);
    }
    if shared {
        let title = fit(y_title, 12.0, margin(24.0));
        text(s, (2.0, frame.top - 10.0), Anchor::Start, "q", &title);
    }
}

fn axes(s: &mut String, frame: &Frame, y_ticks: &[crate::ticks::Tick], named: bool, room: f64) {
    let plot = frame.plot;
    let (mut grid, mut across) = (String::new(), String::new());
    for t in y_ticks {
        let y = frame.y(t.value);
        if !frame.holds(frame.left, y) {
            continue;
        }
        if plot.y.grid {
            let _ = write!(grid, "M{},{}H{}", px(frame.left), px(y.round()), px(frame.right));
        }
        let class = if named { "" } else { "q" };
        let cut = if named { fit_name } else { fit };
        let label = cut(&t.label, 12.0, room + 6.0);
        text(s, (frame.left - 6.0, y + 4.0), Anchor::End, class, &label);
    }
    let mut x_target = ((frame.right - frame.left) / 52.0).clamp(2.0, 10.0) as usize;
    let mut x_ticks = plot.x.marks(x_target);
    // Wide labels: fewer ticks until they keep apart.
    while x_target > 2 && plot.x.ticks.is_none() {
        let widest = x_ticks.iter().map(|t| text_width(&t.label, 12.0)).fold(0.0, f64::max);
        if (widest + 14.0) * x_ticks.len() as f64 <= frame.right - frame.left + widest {
            break;
        }
        x_target -= 1;
        x_ticks = plot.x.marks(x_target);
    }
    s.push_str("<g class=\"tx\">");
    for t in &x_ticks {
        let x = frame.x(t.value);
        if !frame.holds(x, frame.bottom) {
            continue;
        }
        if plot.x.grid {
            let _ = write!(across, "M{},{}V{}", px(x.round()), px(frame.top), px(frame.bottom));
        }
        let half = text_width(&t.label, 12.0) / 2.0;
        let at = x.min(plot.width - 2.0 - half).max(half);
        text(s, (at, frame.bottom + 15.0), Anchor::Middle, "q", &t.label);
    }
    s.push_str("</g>");
    for (class, d) in [("g", &grid), ("g gx", &across)] {
        if !d.is_empty() {
            let _ = write!(s, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }
    let zero = if plot.y.scale == Scale::Linear && plot.y.min < 0.0 && !named {
        frame.y(0.0).round()
    } else {
        frame.bottom
    };
    let _ =
        write!(s, "<path class=\"ax\" d=\"M{},{}H{}", px(frame.left), px(zero), px(frame.right));
    if named {
        let _ = write!(s, "M{},{}V{}", px(frame.left), px(frame.top), px(frame.bottom));
    }
    if plot.x.zero {
        let middle = frame.left + BREAK / 2.0 * (frame.right - frame.left);
        for x in [middle - 4.0, middle + 1.0] {
            let _ = write!(s, "M{},{}l5,-10", px(x), px(zero + 5.0));
        }
    }
    if plot.y.zero {
        // The sign of a broken axis: two slanted strokes between zero and the least value.
        let middle = frame.bottom - BREAK / 2.0 * (frame.bottom - frame.top);
        for y in [middle - 1.0, middle + 4.0] {
            let _ = write!(s, "M{},{}l10,-5", px(frame.left - 5.0), px(y));
        }
    }
    s.push_str("\"/>");
    let title = plot.x.title();
    if !title.is_empty() {
        let title = fit(&title, 12.0, plot.width - 12.0);
        text(s, (frame.right, plot.height - 6.0), Anchor::End, "q", &title);
    }
}

fn draw(s: &mut String, labels: &mut String, frame: &Frame, mark: &Mark) {
    match mark {
        Mark::Line { points, ink } => line(s, frame, points, ink),
        Mark::Area { points, base, hue } => {
            let base = frame.y(*base).clamp(frame.top, frame.bottom);
            for part in frame.clip(points) {
                let (first, last) = (part[0].0, part[part.len() - 1].0);
                let d = format!("{}V{}H{}z", path(&part), px(base), px(first));
                debug_assert!(last.is_finite());
                let _ = write!(s, "<path class=\"{} a\" d=\"{d}\"/>", hue.fill());
            }
        }
        Mark::Skyline { points, hue } => skyline(s, frame, points, *hue),
        Mark::Stems { points, ink } => stems(s, frame, points, ink),
        Mark::Dots { points, ink } => {
            let shape = ink.marker.unwrap_or(Marker::Circle);
            let inside: Vec<Point> = points
                .iter()
                .map(|p| (frame.x(p.0), frame.y(p.1)))
                .filter(|p| frame.holds(p.0, p.1))
                .collect();
            markers(s, &inside, shape, ink.hue, 2.0 + ink.width);
        }
        Mark::Bar { y, x, thick, hue, body } => bar(s, frame, *y, *x, *thick, *hue, *body),
        Mark::Inside { at, text: content } => {
            let (x, y) = (frame.x(at.0) + 6.0, frame.y(at.1) + 4.0);
            if frame.holds(x, y) {
                // On a ground of its own: no one colour is readable on all bars.
                let _ = write!(
                    labels,
                    "<rect class=\"o\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"13\" rx=\"2\"/>",
                    px(x - 3.0),
                    px(y - 10.5),
                    px(text_width(content, 12.0) + 6.0)
                );
                text(labels, (x, y), Anchor::Start, "", content);
            }
        }
        Mark::Segment { from, to, ink, arrow } => segment(s, frame, *from, *to, ink, *arrow),
        Mark::Vertical { x, label, ink } => {
            let at = frame.x(*x);
            if !frame.holds(at, frame.top) {
                return;
            }
            stroke(s, ink, &format!("M{},{}V{}", px(at), px(frame.top), px(frame.bottom)));
            let wide = text_width(label, 12.0) + 6.0;
            let (place, anchor) = if at + wide > frame.right && at - wide > frame.left {
                (at - 4.0, Anchor::End)
            } else {
                (at + 4.0, Anchor::Start)
            };
            text(labels, (place, frame.top + 10.0), anchor, &rule_class(ink), label);
        }
        Mark::Horizontal { y, label, ink } => {
            let at = frame.y(*y);
            if !frame.holds(frame.left, at) {
                return;
            }
            stroke(s, ink, &format!("M{},{}H{}", px(frame.left), px(at), px(frame.right)));
            let place = if at - 14.0 < frame.top { at + 13.0 } else { at - 4.0 };
            text(labels, (frame.right, place), Anchor::End, &rule_class(ink), label);
        }
        Mark::Text { at, shift, text: content, anchor } => {
            let (x, y) = (frame.x(at.0), frame.y(at.1));
            if !frame.holds(x, y) {
                return;
            }
            let wide = text_width(content, 12.0);
            let (low, high) = match anchor {
                Anchor::Start => (2.0, frame.plot.width - 2.0 - wide),
                Anchor::Middle => (2.0 + wide / 2.0, frame.plot.width - 2.0 - wide / 2.0),
                Anchor::End => (2.0 + wide, frame.plot.width - 2.0),
            };
            let x = (x + shift.0).min(high).max(low);
            let y = (y + shift.1).clamp(10.0, frame.plot.height - 4.0);
            text(labels, (x, y), *anchor, "h", content);
        }
    }
}

fn bar(s: &mut String, frame: &Frame, y: f64, x: Point, thick: f64, hue: Hue, body: Body) {
    let (a, b) = (frame.x(x.0.min(x.1)), frame.x(x.0.max(x.1)));
    let (a, b) = (a.max(frame.left), b.min(frame.right));
    let (middle, tall) = (frame.y(y), thick.min(40.0));
    if b < a || !frame.holds(a, middle) {
        return;
    }
    let place = format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        px(a),
        px(middle - tall / 2.0),
        px((b - a).max(1.0)),
        px(tall)
    );
    let mut rect = |class: &str| {
        let _ = write!(s, "<rect class=\"{class}\" {place}/>");
    };
    match body {
        Body::Solid => rect(&hue.fill()),
        Body::Faint => rect(&format!("{} a", hue.fill())),
        Body::Outline => {
            rect("o");
            rect(&format!("{} a", hue.fill()));
            rect(&hue.stroke());
        }
    }
    if body == Body::Solid {
        stripes(s, hue, (a, b.max(a + 1.0)), middle, tall);
    }
}

/// Lines along a solid bar whose colour another one has too.
fn stripes(s: &mut String, hue: Hue, (a, b): Point, middle: f64, tall: f64) {
    let n = hue.stripes();
    if n == 0 {
        return;
    }
    let mut d = String::new();
    for i in 0..n {
        let y = middle - tall / 2.0 + tall * (i + 1) as f64 / (n + 1) as f64;
        let _ = write!(d, "M{},{}H{}", px(a), px(y), px(b));
    }
    let _ = write!(s, "<path class=\"so\" stroke-width=\"2\" d=\"{d}\"/>");
}

fn rule_class(ink: &Ink) -> String {
    if ink.hue == Hue::Limit { "fl h".into() } else { "q h".into() }
}

fn line(s: &mut String, frame: &Frame, points: &[Point], ink: &Ink) {
    let parts = frame.clip(points);
    let d: String = parts.iter().map(|p| path(p)).collect();
    if d.is_empty() {
        return;
    }
    stroke(s, ink, &d);
    if let Some(shape) = ink.marker {
        // Spread along the line as seen, shifted by hue so that coinciding lines show both.
        let gap = 64.0;
        let Hue::Series(n) = ink.hue else { return };
        let mut next = gap * (0.3 + 0.17 * (n % 6) as f64);
        let mut places = Vec::new();
        for part in &parts {
            for pair in part.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                let length = libm::hypot(b.0 - a.0, b.1 - a.1);
                while length > 0.0 && next <= length {
                    let t = next / length;
                    places.push((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)));
                    next += gap;
                }
                next -= length;
            }
        }
        markers(s, &places, shape, ink.hue, 3.2);
    }
}

fn skyline(s: &mut String, frame: &Frame, points: &[Point], hue: Hue) {
    let n = (frame.right - frame.left).max(1.0) as usize;
    let x = &frame.plot.x;
    let (zero, mut d) = (frame.y(frame.plot.y.min.max(0.0)), String::new());
    let mut end = None;
    for (column, value) in columns(points, x.min, x.max, n) {
        let top = frame.y(value).clamp(frame.top, frame.bottom).min(zero - 0.6);
        if end != Some(column) {
            if end.is_some() {
                let _ = write!(d, "V{}z", px(zero));
            }
            let _ = write!(d, "M{},{}", px(frame.left + column as f64), px(zero));
        }
        let _ = write!(d, "V{}h1", px(top));
        end = Some(column + 1);
    }
    if end.is_some() {
        let _ = write!(s, "<path class=\"{}\" d=\"{d}V{}z\"/>", hue.fill(), px(zero));
    }
}

fn stems(s: &mut String, frame: &Frame, points: &[Point], ink: &Ink) {
    let n = (frame.right - frame.left).max(1.0) as usize;
    let kept = columns(points, frame.plot.x.min, frame.plot.x.max, n);
    let (zero, mut d, mut dots) = (frame.y(0.0).min(frame.bottom), String::new(), Vec::new());
    for (column, value) in kept {
        let (x, y) = (frame.left + column as f64 + 0.5, frame.y(value));
        if frame.holds(x, y) {
            let _ = write!(d, "M{},{}V{}", px(x), px(zero), px(y));
            dots.push((x, y));
        }
    }
    if !d.is_empty() {
        let _ =
            write!(s, "<path class=\"{}\" stroke-opacity=\".45\" d=\"{d}\"/>", ink.hue.stroke());
        markers(s, &dots, ink.marker.unwrap_or(Marker::Circle), ink.hue, 1.8);
    }
}

fn segment(s: &mut String, frame: &Frame, from: Point, to: Point, ink: &Ink, arrow: bool) {
    let parts = frame.clip(&[from, to]);
    let Some((a, b)) = parts.first().map(|p| (p[0], p[p.len() - 1])) else { return };
    stroke(s, ink, &path(&[a, b]));
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = libm::hypot(dx, dy);
    if arrow && length > 0.0 {
        let (ux, uy) = (dx / length * 6.0, dy / length * 6.0);
        let d = format!(
            "M{},{}L{},{}L{},{}z",
            px(b.0),
            px(b.1),
            px(b.0 - ux - uy * 0.5),
            px(b.1 - uy + ux * 0.5),
            px(b.0 - ux + uy * 0.5),
            px(b.1 - uy - ux * 0.5)
        );
        let _ = write!(s, "<path class=\"{}\" d=\"{d}\"/>", ink.hue.fill());
    }
}

fn markers(s: &mut String, places: &[Point], shape: Marker, hue: Hue, r: f64) {
    if shape == Marker::Circle && !places.is_empty() {
        // The round end of a line without length is a dot, in a tenth of the text.
        let _ =
            write!(s, "<path class=\"{} r\" stroke-width=\"{}\" d=\"", hue.stroke(), px(2.0 * r));
        for (x, y) in places {
            let _ = write!(s, "M{},{}h0", px(*x), px(*y));
        }
        s.push_str("\"/>");
        return;
    }
    let (mut d, mut filled) = (String::new(), true);
    for (x, y) in places {
        let (path, fill) = shape.path(*x, *y, r);
        d.push_str(&path);
        filled = fill;
    }
    if d.is_empty() {
        return;
    }
    let class = if filled { hue.fill() } else { hue.stroke() };
    let style = if filled { "" } else { " stroke-width=\"1.5\"" };
    let _ = write!(s, "<path class=\"{class}\"{style} d=\"{d}\"/>");
}

/// A legend sample: a short line with its marker, as an `<svg>` element.
pub(crate) fn sample(ink: &Ink, area: bool) -> String {
    let mut s = String::from(
        "<svg class=\"lx\" xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"12\" \
         viewBox=\"0 0 30 12\" aria-hidden=\"true\">",
    );
    s.push_str(&sample_marks(ink, area, 0.0, 6.0));
    s.push_str("</svg>");
    s
}

pub(crate) fn sample_marks(ink: &Ink, area: bool, x: f64, y: f64) -> String {
    let mut s = String::new();
    if area {
        let (a, b) = (px(x + 1.0), px(y - 5.0));
        let _ = write!(
            s,
            "<rect class=\"{}\" x=\"{a}\" y=\"{b}\" width=\"28\" height=\"10\"/>",
            ink.hue.fill()
        );
        stripes(&mut s, ink.hue, (x + 1.0, x + 29.0), y, 10.0);
    } else {
        stroke(&mut s, ink, &format!("M{},{}h28", px(x + 1.0), px(y)));
        if let Some(shape) = ink.marker {
            markers(&mut s, &[(x + 15.0, y)], shape, ink.hue, 3.2);
        }
    }
    s
}

fn stroke(s: &mut String, ink: &Ink, d: &str) {
    let dash = if ink.dash == Dash::Solid { "" } else { ink.dash.class() };
    let _ = write!(
        s,
        "<path class=\"{} k{dash}\" stroke-width=\"{}\" d=\"{d}\"/>",
        ink.hue.stroke(),
        crate::number::short(ink.width)
    );
}

/// A polyline; horizontal and vertical pieces are written short.
fn path(points: &[Point]) -> String {
    let mut d = String::with_capacity(points.len() * 10);
    let mut last = (String::new(), String::new());
    for (i, p) in points.iter().enumerate() {
        let now = (px(p.0), px(p.1));
        if i == 0 {
            let _ = write!(d, "M{},{}", now.0, now.1);
        } else if now.0 == last.0 && now.1 == last.1 {
            continue;
        } else if now.1 == last.1 {
            let _ = write!(d, "H{}", now.0);
        } else if now.0 == last.0 {
            let _ = write!(d, "V{}", now.1);
        } else {
            let _ = write!(d, "L{},{}", now.0, now.1);
        }
        last = now;
    }
    d
}

pub(crate) fn text(s: &mut String, at: Point, anchor: Anchor, class: &str, content: &str) {
    if content.is_empty() {
        return;
    }
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let (x, y, content) = (px(at.0), px(at.1), markup(content));
    let _ = write!(s, "<text{class} x=\"{x}\" y=\"{y}\"{anchor}>{content}</text>");
}
