//! Figures of several panels: small multiples with one caption and one legend.

use crate::escape::{markup, slug};
use crate::page::html::Writer;
use crate::page::prose::prose;
use crate::plot::{self, Anchor, Ink, Plot, palette_css, svg_css, text_width};
use std::fmt::Write;

/// One entry of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its label.
    pub label: String,
    /// How it is drawn.
    pub ink: Ink,
    /// Shown as a filled patch instead of a line.
    pub patch: bool,
}

impl Key {
    /// A line.
    pub fn line(label: impl Into<String>, ink: Ink) -> Key {
        Key { label: label.into(), ink, patch: false }
    }

    /// A patch.
    pub fn patch(label: impl Into<String>, ink: Ink) -> Key {
        Key { label: label.into(), ink, patch: true }
    }
}

/// A figure of a page: one or many panels of equal size.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Stem of its file name and its identifier in the page; made plain when written.
    pub name: String,
    /// A short title.
    pub title: String,
    /// The contents of the figure and how it was made.
    pub caption: String,
    /// Shared by all panels.
    pub legend: Vec<Key>,
    /// Panels, in reading order.
    pub panels: Vec<Plot>,
    /// Panels side by side where there is room.
    pub columns: usize,
}

/// From one line of a title to the next.
const TITLE_LINE: f64 = 19.0;
/// The size at which letters that are not bold are as wide.
const TITLE_SIZE: f64 = 16.0;

/// A title wrapped at spaces to a width; at least one line.
fn lines(title: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in title.split(' ') {
        let last = lines.len() - 1;
        let longer =
            if lines[last].is_empty() { word.into() } else { format!("{} {word}", lines[last]) };
        if text_width(&longer, TITLE_SIZE) > width && !lines[last].is_empty() {
            lines.push(word.into());
        } else {
            lines[last] = longer;
        }
    }
    lines
}

impl Figure {
    /// A figure without panels.
    pub fn new(name: impl Into<String>, title: impl Into<String>, columns: usize) -> Figure {
        Figure {
            name: name.into(),
            title: title.into(),
            caption: String::new(),
            legend: Vec::new(),
            panels: Vec::new(),
            columns: columns.max(1),
        }
    }

    /// Sets the caption.
    pub fn captioned(mut self, caption: impl Into<String>) -> Figure {
        self.caption = caption.into();
        self
    }

    /// Sets the legend.
    pub fn keyed(mut self, legend: Vec<Key>) -> Figure {
        self.legend = legend;
        self
    }

    /// Sets the panels.
    pub fn with(mut self, panels: Vec<Plot>) -> Figure {
        self.panels = panels;
        self
    }

    /// Its file name: `NAME.svg`.
    pub fn file_name(&self) -> String {
        format!("{}.svg", slug(&self.name))
    }

    /// The whole figure as one SVG document that needs nothing else, light or dark as the viewer
    /// prefers.
    pub fn svg(&self) -> String {
        let columns = self.columns.min(self.panels.len()).max(1);
        let (gap, margin) = (22.0, 14.0);
        let cell_w = self.panels.iter().map(|p| p.width).fold(0.0, f64::max).max(240.0);
        let cell_h = self.panels.iter().map(|p| p.height).fold(0.0, f64::max);
        let width = columns as f64 * (cell_w + gap) - gap + 2.0 * margin;
        let mut body = String::new();
        let mut y = margin + 13.0 - TITLE_LINE;
        for line in lines(&self.title, width - 2.0 * margin) {
            y += TITLE_LINE;
            plot::text(&mut body, (margin, y), Anchor::Start, "tt", &line);
        }
        y += 11.0;
        if !self.legend.is_empty() {
            let mut x = margin;
            y += 12.0;
            for key in &self.legend {
                let wide = 38.0 + text_width(&key.label, 12.0) + 18.0;
                if x + wide > width && x > margin {
                    x = margin;
                    y += 19.0;
                }
                body.push_str(&plot::sample_marks(&key.ink, key.patch, x, y - 4.0));
                plot::text(&mut body, (x + 36.0, y), Anchor::Start, "", &key.label);
                x += wide;
            }
            y += 14.0;
        }
        let id = slug(&self.name);
        for (i, panel) in self.panels.iter().enumerate() {
            let x = margin + (i % columns) as f64 * (cell_w + gap);
            let top = y + (i / columns) as f64 * (cell_h + gap);
            // A nested `<svg>` is placed by x and y.
            let inner = panel.svg(&format!("{id}-{i}"));
            let inner = inner.strip_prefix("<svg ").unwrap_or(&inner);
            let _ = write!(body, "<svg x=\"{}\" y=\"{}\" {inner}", plot::px(x), plot::px(top));
        }
        let rows = self.panels.len().div_ceil(columns);
        let height = (y + rows as f64 * (cell_h + gap) - gap + margin).max(40.0);
        let (w, h) = (plot::px(width), plot::px(height));
        format!(
            "<svg class=\"lx\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" \
             width=\"{w}\" height=\"{h}\" role=\"img\" aria-labelledby=\"{id}-title\" \
             aria-describedby=\"{id}-desc\">\
             <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>\
             <style>{}{}</style><rect class=\"o\" width=\"{w}\" height=\"{h}\"/>{body}</svg>\n",
            markup(&self.title),
            markup(&self.caption.replace('`', "")),
            palette_css("svg"),
            svg_css(),
        )
    }

    /// The figure as a Vega-Lite specification with its data inside.
    pub fn vega(&self) -> String {
        let panels: Vec<_> =
            self.panels.iter().map(|p| plot::vega::panel(p, &self.legend)).collect();
        let figure = serde_json::json!({
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "title": self.title,
            "description": self.caption,
            "columns": self.columns,
            "concat": panels,
        });
        format!("{figure}\n")
    }

    /// The figure as part of a page that has the styles already. `id` must be unique there.
    pub(crate) fn html(&self, w: &mut Writer<'_>, id: &str, file: &str) {
        let cell = self.panels.iter().map(|p| p.width).fold(0.0, f64::max).max(160.0);
        // Panels shrink hardly before a row breaks, so that their labels stay readable, and grow to
        // fill it.
        let least = w.width('w', format!("{}px", plot::px((cell * 0.92).round())));
        let columns = w.width('n', self.columns.min(self.panels.len()).max(1).to_string());
        let (of, file) = (w.of(&self.title), markup(file));
        let title = markup(&self.title);
        let _ = write!(w.out, "<figure id=\"{id}\" data-file=\"{file}\"{of}><h3>{title}</h3>");
        self.legend_html(w);
        let _ = write!(w.out, "<div class=\"panels {least} {columns}\">");
        for (i, panel) in self.panels.iter().enumerate() {
            let of = w.of(&panel.title);
            w.out.push_str(&panel.live_svg(&format!("{id}-{i}"), &of));
        }
        let _ = writeln!(w.out, "</div><figcaption>{}</figcaption></figure>", prose(&self.caption));
    }

    fn legend_html(&self, w: &mut Writer<'_>) {
        if self.legend.is_empty() {
            return;
        }
        w.out.push_str("<ul class=\"legend\">");
        for key in &self.legend {
            let sample = plot::sample(&key.ink, key.patch);
            let (of, hue) = (w.of(&key.label), plot::key(key.ink.hue));
            let _ = write!(w.out, "<li data-k=\"{hue}\"{of}>{sample}{}</li>", markup(&key.label));
        }
        w.out.push_str("</ul>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a long title stays on one line, which the picture then cuts.
    #[test]
    fn titles_wrap_at_the_figure_width() {
        assert_eq!(lines("short", 400.0), ["short"]);
        assert_eq!(lines("", 400.0), [""]);
        let title =
            "100 us of work after 4 ms of sleep, beside a periodic 60 % and three that compute";
        let wrapped = lines(title, 320.0);
        assert!(wrapped.len() > 1 && wrapped.join(" ") == title, "{wrapped:?}");
        assert!(wrapped.iter().all(|line| text_width(line, TITLE_SIZE) <= 320.0), "{wrapped:?}");
        // Without panels it has the minimum width.
        let svg = Figure::new("long", title, 1).svg();
        for line in lines(title, 240.0) {
            assert!(svg.contains(&format!(">{line}</text>")), "no {line} in {svg}");
        }
    }
}
