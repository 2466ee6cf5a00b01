//! A page as text.

use super::filter::{Filter, subject};
use super::prose::prose;
use super::{Assessment, Block, Page, csp};
use crate::escape::{markup, slug};
use crate::plot::{palette_css, svg_css};
use crate::table::{Cell, Table, Tone};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

/// The page's own code, an idea a file, in one scope.
const SCRIPT: [&str; 12] = [
    "(()=>{\"use strict\";\n",
    include_str!("script/dom.js"),
    include_str!("script/data.js"),
    include_str!("script/axis.js"),
    include_str!("script/zoom.js"),
    include_str!("script/plot.js"),
    include_str!("script/hover.js"),
    include_str!("script/legend.js"),
    include_str!("script/table.js"),
    include_str!("script/filter.js"),
    include_str!("script/schedule.js"),
    "})();\n",
];

/// Writes a page.
pub(super) fn write(page: &Page) -> String {
    let mut w = Writer { filters: &page.filters, ..Writer::default() };
    let mut ids = Names::default();
    ids.take("main");
    let anchors: Vec<String> =
        page.sections.iter().map(|s| ids.take(&format!("s {}", s.title))).collect();
    for (section, id) in page.sections.iter().zip(&anchors) {
        let title = markup(&section.title);
        let _ = write!(w.out, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n");
        for block in &section.blocks {
            w.block(block);
        }
        w.out.push_str("</section>\n");
    }
    let body = std::mem::take(&mut w.out);
    w.facts(&page.provenance);
    let facts = std::mem::take(&mut w.out);
    let style = w.style();
    let script = SCRIPT.concat();
    let title = markup(&page.title);
    let mut out = String::with_capacity(body.len() + style.len() + script.len() + 8192);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} \u{b7} Laxity</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n\
         <p class=\"kicker\"><span class=\"brand\">Laxity</span> {} \
         <span class=\"chip neutral\">{}</span></p>\n<h1>{title}</h1>\n",
        csp::policy(&style, &script),
        markup(&page.scenario),
        page.kind.label(),
    );
    if page.sections.len() > 2 {
        out.push_str("<nav aria-label=\"Contents\"><ul>");
        for (section, id) in page.sections.iter().zip(&anchors).skip(1) {
            let _ = write!(out, "<li><a href=\"#{id}\">{}</a></li>", markup(&section.title));
        }
        out.push_str("</ul></nav>\n");
    }
    out.push_str("</header>\n");
    filters(&mut out, &page.filters);
    let _ = write!(
        out,
        "<main id=\"main\">\n{body}</main>\n<footer>\n<h2>Where this comes from</h2>\n\
         <p><strong>{}</strong></p>\n{facts}</footer>\n<script>{script}</script>\n</body>\n</html>\n",
        page.kind.sentence()
    );
    out
}

/// The names of the filters, which the script makes boxes of: without it they choose nothing.
fn filters(out: &mut String, filters: &[Filter]) {
    let of = filters.iter().enumerate().filter(|(_, f)| f.names.len() > 1);
    let data: Vec<_> = of.map(|(i, f)| (i, &f.label, &f.names)).collect();
    if data.is_empty() {
        return;
    }
    let data = serde_json::json!(data).to_string();
    let _ = writeln!(out, "<div id=\"filters\" data-names=\"{}\"></div>", markup(&data));
}

/// Hands out names that were not used before.
#[derive(Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    pub(crate) fn take(&mut self, preferred: &str) -> String {
        let preferred = slug(preferred);
        let mut name = preferred.clone();
        let mut n = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{preferred}-{n}");
            n += 1;
        }
        name
    }
}

/// The body of a page so far, and the names in it.
#[derive(Default)]
pub(crate) struct Writer<'a> {
    pub(crate) out: String,
    figures: Names,
    filters: &'a [Filter],
    /// Widths that elements of the page declare, as (name of the variable, value).
    widths: BTreeSet<(char, String)>,
}

impl Writer<'_> {
    /// The class that sets a variable of the style sheet: the policy of the page allows no style beside
    /// an element.
    pub(crate) fn width(&mut self, variable: char, value: String) -> String {
        let class = format!("{variable}-{}", value.replace('%', "p").replace('.', "_"));
        self.widths.insert((variable, value));
        class
    }

    /// ` data-of="0.1"` for what a filter chooses by this heading.
    pub(crate) fn of(&self, heading: &str) -> String {
        subject(self.filters, heading).map_or(String::new(), |key| format!(" data-of=\"{key}\""))
    }

    fn style(&self) -> String {
        let mut style = String::with_capacity(16 * 1024);
        style.push('\n');
        style.push_str(&palette_css(":root"));
        style.push_str(&svg_css());
        style.push_str(include_str!("style.css"));
        for (variable, value) in &self.widths {
            let class = format!("{variable}-{}", value.replace('%', "p").replace('.', "_"));
            let _ = writeln!(style, ".{class}{{--{variable}:{value}}}");
        }
        style
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(text) => {
                let _ = writeln!(self.out, "<p>{}</p>", prose(text));
            }
            Block::Statement(assessment, label, text) => {
                let (class, sign) = match assessment {
                    Assessment::Good => ("good", "\u{2713}\u{a0}"),
                    Assessment::Bad => ("bad", "\u{2717}\u{a0}"),
                    Assessment::Neutral => ("neutral", ""),
                };
                let _ = writeln!(
                    self.out,
                    "<p class=\"statement {class}\"><strong>{sign}{}</strong> {}</p>",
                    prose(label),
                    prose(text)
                );
            }
            Block::Facts(facts) => self.facts(facts),
            Block::Table(table) => self.table(table),
            Block::Tables(tables) => {
                let widest = tables.iter().map(|t| t.columns.len()).max().unwrap_or(1);
                let class = self.width('w', format!("{}px", widest * 104 + 60));
                let _ = write!(self.out, "<div class=\"beside {class}\">");
                for table in tables {
                    self.table(table);
                }
                self.out.push_str("</div>\n");
            }
            Block::Figure(figure) => {
                let id = self.figures.take(&figure.name);
                figure.html(self, &format!("fig-{id}"), &format!("{id}.svg"));
            }
            Block::More(summary, blocks) => {
                let _ = writeln!(self.out, "<details><summary>{}</summary>", prose(summary));
                for block in blocks {
                    self.block(block);
                }
                self.out.push_str("</details>\n");
            }
        }
    }

    fn facts(&mut self, facts: &[(String, String)]) {
        if facts.is_empty() {
            return;
        }
        self.out.push_str("<dl class=\"facts\">");
        for (name, value) in facts {
            let (name, value) = (prose(name), markup(value));
            let _ = write!(self.out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        self.out.push_str("</dl>\n");
    }

    fn table(&mut self, table: &Table) {
        // A wide page does not stretch a small table; text columns may use the full width.
        let all_numbers = table.columns.iter().skip(1).all(|c| c.numeric);
        let least = match all_numbers {
            true => format!("{}px", table.columns.len() * 168),
            false => "100%".into(),
        };
        let class = self.width('t', least);
        let caption = prose(&table.caption);
        let _ = write!(
            self.out,
            "<div class=\"table {class}\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"{}\"><table><caption><span>{caption}</span></caption><thead><tr>",
            markup(&table.caption)
        );
        for column in &table.columns {
            let class = if column.numeric { " class=\"n\"" } else { "" };
            let of = self.of(&column.title);
            let _ = write!(self.out, "<th scope=\"col\"{class}{of}>{}</th>", prose(&column.title));
        }
        self.out.push_str("</tr></thead>");
        for group in &table.groups {
            self.out.push_str("<tbody>");
            if !group.title.is_empty() {
                let (wide, title) = (table.columns.len(), prose(&group.title));
                let _ = write!(
                    self.out,
                    "<tr class=\"group\"><th colspan=\"{wide}\" scope=\"rowgroup\">{title}</th></tr>"
                );
            }
            for (head, cells) in &group.rows {
                // Labels such as `policy/flow/statistic` may break at their slashes.
                let of = self.of(head);
                let head = markup(head).replace('/', "/<wbr>");
                let _ = write!(self.out, "<tr{of}><th scope=\"row\"><span>{head}</span></th>");
                for (i, cell) in cells.iter().enumerate() {
                    self.cell(cell, table.columns.get(i + 1).is_some_and(|c| c.numeric));
                }
                self.out.push_str("</tr>");
            }
            self.out.push_str("</tbody>");
        }
        self.out.push_str("</table></div>");
        if !table.note.is_empty() {
            let _ = write!(self.out, "<p class=\"note\">{}</p>", prose(&table.note));
        }
        self.out.push_str("</div>\n");
    }

    fn cell(&mut self, cell: &Cell, numeric: bool) {
        let tone = match cell.tone {
            Tone::Plain if !numeric && cell.text.len() > 28 => "long",
            Tone::Plain => "",
            Tone::Muted => "quiet",
            Tone::Better => "better",
            Tone::Best => "best",
            Tone::Bad => "wrong",
            Tone::ChipGood | Tone::ChipBad | Tone::ChipNeutral => "",
        };
        let class = match (numeric, tone) {
            (false, "") => String::new(),
            (true, "") => " class=\"n\"".into(),
            (false, tone) => format!(" class=\"{tone}\""),
            (true, tone) => format!(" class=\"n {tone}\""),
        };
        let chip = match cell.tone {
            Tone::ChipGood => Some("good"),
            Tone::ChipBad => Some("bad"),
            Tone::ChipNeutral => Some("neutral"),
            _ => None,
        };
        let text = if numeric { markup(&cell.text) } else { prose(&cell.text) };
        let out = &mut self.out;
        let _ = write!(out, "<td{class}>");
        match chip {
            Some(chip) => {
                let _ = write!(out, "<span class=\"chip {chip}\">{text}</span>");
            }
            None => out.push_str(&text),
        }
        if !cell.secondary.is_empty() {
            let _ = match cell.secondary.strip_prefix("/ ") {
                // Percentages align in a column of their own.
                Some(share) => write!(
                    out,
                    " <span class=\"secondary\">/ <span class=\"share\">{}</span></span>",
                    markup(share)
                ),
                None => {
                    write!(out, " <span class=\"secondary\">{}</span>", markup(&cell.secondary))
                }
            };
        }
        out.push_str("</td>");
    }
}
