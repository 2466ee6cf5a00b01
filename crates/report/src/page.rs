//! The self-contained page.

use crate::escape::{markup, slug};
use crate::figure::Figure;
use crate::plot::{palette_css, svg_css};
use crate::table::{Table, Tone};
use std::collections::HashSet;
use std::fmt::Write;

/// The source of a page's numbers, printed on top of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Computed by the simulator.
    #[default]
    Simulated,
    /// Measured on a running system.
    Live,
    /// Computed by the simulator; columns headed live were measured on a running system.
    SimulatedAndLive,
    /// Computed from the scenario alone, for any conforming traffic.
    Analysed,
}

impl Kind {
    /// The label of the chip.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Simulated => "Simulated",
            Kind::Live => "Measured live",
            Kind::SimulatedAndLive => "Simulated, live beside it",
            Kind::Analysed => "Analysed",
        }
    }

    /// The sentence in the footer.
    pub fn sentence(self) -> &'static str {
        match self {
            Kind::Simulated => {
                "All times on this page were simulated; no packet was sent on a network, and no \
                 kernel ran a task."
            }
            Kind::Live => "All delays on this page were measured on a running system.",
            Kind::SimulatedAndLive => {
                "Columns headed live were measured on a running kernel, in a virtual machine; all \
                 other times on this page were simulated."
            }
            Kind::Analysed => {
                "All numbers on this page were computed from the scenario; nothing was run."
            }
        }
    }
}

/// The tone of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assessment {
    /// Yes.
    Good,
    /// No.
    Bad,
    /// Neither.
    Neutral,
}

/// Provenance of a page. Nothing of it is read from the machine, so a page is the same wherever
/// it is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Source of the numbers.
    pub kind: Kind,
    /// Version of the program, `0.1.0`.
    pub version: String,
    /// The command line that makes this page again.
    pub command: String,
    /// Rate of the link in bit/s.
    pub link_rate: Option<u64>,
    /// Largest best-effort packet in bytes.
    pub max_packet: Option<u64>,
    /// Name and deadline in ns of each real-time flow; those of the results when absent.
    pub deadlines: Vec<(String, u64)>,
    /// The policy that the scenario uses, named in the headline; else the last of the results.
    pub policy: Option<String>,
    /// Real-time and best-effort flow shown over time; else chosen by their delays.
    pub featured: Vec<String>,
    /// Window in ns of the excerpt over time; else around the largest best-effort delay under the
    /// first policy.
    pub excerpt: Option<(u64, u64)>,
    /// Further facts for the footer, name and value.
    pub facts: Vec<(String, String)>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A statement in a box, with a label (such as `Admitted`) before it.
    Statement(Assessment, String, String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Tables beside each other where there is room.
    Tables(Vec<Table>),
    /// A figure.
    Figure(Figure),
    /// Collapsed until opened.
    More(String, Vec<Block>),
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Contents.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { title: title.into(), blocks }
    }
}

/// A page, and the figures in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Heading and title of the document.
    pub title: String,
    /// The kind of report, in small type above the heading.
    pub scenario: String,
    /// Where the numbers come from.
    pub kind: Kind,
    /// Parts in order; the first stands without a heading in the table of contents.
    pub sections: Vec<Section>,
    /// The footer's names and values.
    pub provenance: Vec<(String, String)>,
}

impl Page {
    /// Adds the sections of another page behind these.
    pub fn append(&mut self, other: Page) {
        self.sections.extend(other.sections);
        for fact in other.provenance {
            if !self.provenance.contains(&fact) {
                self.provenance.push(fact);
            }
        }
    }

    /// Every figure as (file name, SVG document), names unique, in page order.
    pub fn svgs(&self) -> Vec<(String, String)> {
        let mut names = Names::default();
        let mut out = Vec::new();
        let mut stack: Vec<&Block> =
            self.sections.iter().rev().flat_map(|s| s.blocks.iter().rev()).collect();
        while let Some(block) = stack.pop() {
            match block {
                Block::Figure(f) => out.push((format!("{}.svg", names.take(&f.name)), f.svg())),
                Block::More(_, blocks) => stack.extend(blocks.iter().rev()),
                _ => {}
            }
        }
        out
    }

    /// The page. It needs no other file, no network and no script.
    pub fn html(&self) -> String {
        let mut out = String::with_capacity(256 * 1024);
        let title = markup(&self.title);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; img-src data:\">\n\
             <title>{title} \u{b7} Laxity</title>\n<style>\n{}{}{}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n\
             <p class=\"kicker\"><span class=\"brand\">Laxity</span> {} \
             <span class=\"chip neutral\">{}</span></p>\n<h1>{title}</h1>\n",
            palette_css(":root"),
            svg_css(),
            include_str!("style.css"),
            markup(&self.scenario),
            self.kind.label(),
        );
        let mut ids = Names::default();
        ids.take("main");
        let anchors: Vec<String> =
            self.sections.iter().map(|s| ids.take(&format!("s {}", s.title))).collect();
        if self.sections.len() > 2 {
            out.push_str("<nav aria-label=\"Contents\"><ul>");
            for (section, id) in self.sections.iter().zip(&anchors).skip(1) {
                let _ = write!(out, "<li><a href=\"#{id}\">{}</a></li>", markup(&section.title));
            }
            out.push_str("</ul></nav>\n");
        }
        out.push_str("</header>\n<main id=\"main\">\n");
        let mut names = Names::default();
        for (section, id) in self.sections.iter().zip(&anchors) {
            let title = markup(&section.title);
            let _ =
                write!(out, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n");
            for block in &section.blocks {
                write_block(&mut out, block, &mut names);
            }
            out.push_str("</section>\n");
        }
        out.push_str("</main>\n<footer>\n<h2>Where this comes from</h2>\n");
        let _ = writeln!(out, "<p><strong>{}</strong></p>", self.kind.sentence());
        write_facts(&mut out, &self.provenance);
        out.push_str("</footer>\n</body>\n</html>\n");
        out
    }
}

/// Hands out names that were not used before.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn take(&mut self, preferred: &str) -> String {
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

fn write_block(out: &mut String, block: &Block, names: &mut Names) {
    match block {
        Block::Text(text) => {
            let _ = writeln!(out, "<p>{}</p>", markup(text));
        }
        Block::Statement(assessment, label, text) => {
            let class = match assessment {
                Assessment::Good => "good",
                Assessment::Bad => "bad",
                Assessment::Neutral => "neutral",
            };
            let sign = match assessment {
                Assessment::Good => "\u{2713}\u{a0}",
                Assessment::Bad => "\u{2717}\u{a0}",
                Assessment::Neutral => "",
            };
            let _ = writeln!(
                out,
                "<p class=\"statement {class}\"><strong>{sign}{}</strong> {}</p>",
                markup(label),
                markup(text)
            );
        }
        Block::Facts(facts) => write_facts(out, facts),
        Block::Table(table) => write_table(out, table),
        Block::Tables(tables) => {
            let widest = tables.iter().map(|t| t.columns.len()).max().unwrap_or(1);
            let _ = write!(out, "<div class=\"beside\" style=\"--w:{}px\">", widest * 104 + 60);
            for table in tables {
                write_table(out, table);
            }
            out.push_str("</div>\n");
        }
        Block::Figure(figure) => {
            let id = names.take(&figure.name);
            figure.html(out, &format!("fig-{id}"), &format!("{id}.svg"));
        }
        Block::More(summary, blocks) => {
            let _ = writeln!(out, "<details><summary>{}</summary>", markup(summary));
            for block in blocks {
                write_block(out, block, names);
            }
            out.push_str("</details>\n");
        }
    }
}

fn write_facts(out: &mut String, facts: &[(String, String)]) {
    if facts.is_empty() {
        return;
    }
    out.push_str("<dl class=\"facts\">");
    for (name, value) in facts {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", markup(name), markup(value));
    }
    out.push_str("</dl>\n");
}

fn write_table(out: &mut String, table: &Table) {
    // A wide page does not stretch a small table; text columns may use the full width.
    let all_numbers = table.columns.iter().skip(1).all(|c| c.numeric);
    let least = match all_numbers {
        true => format!("{}px", table.columns.len() * 168),
        false => "100%".into(),
    };
    let _ = write!(out, "<div class=\"table\" style=\"--t:{least}\">");
    out.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"region\"");
    let _ = write!(out, " aria-label=\"{}\"><table>", markup(&table.caption));
    let _ = write!(out, "<caption><span>{}</span></caption><thead><tr>", markup(&table.caption));
    for column in &table.columns {
        let class = if column.numeric { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", markup(&column.title));
    }
    out.push_str("</tr></thead>");
    for group in &table.groups {
        out.push_str("<tbody>");
        if !group.title.is_empty() {
            let _ = write!(
                out,
                "<tr class=\"group\"><th colspan=\"{}\" scope=\"rowgroup\">{}</th></tr>",
                table.columns.len(),
                markup(&group.title)
            );
        }
        for (head, cells) in &group.rows {
            // Labels such as `policy/flow/statistic` may break at their slashes.
            let head = markup(head).replace('/', "/<wbr>");
            let _ = write!(out, "<tr><th scope=\"row\"><span>{head}</span></th>");
            for (i, cell) in cells.iter().enumerate() {
                write_cell(out, cell, table.columns.get(i + 1).is_some_and(|c| c.numeric));
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody>");
    }
    out.push_str("</table></div>");
    if !table.note.is_empty() {
        let _ = write!(out, "<p class=\"note\">{}</p>", markup(&table.note));
    }
    out.push_str("</div>\n");
}

fn write_cell(out: &mut String, cell: &crate::table::Cell, numeric: bool) {
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
    let text = markup(&cell.text);
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
            None => write!(out, " <span class=\"secondary\">{}</span>", markup(&cell.secondary)),
        };
    }
    out.push_str("</td>");
}

/// Facts of the footer: the version, those given, the command and those of `meta`.
pub(crate) fn footer(meta: &Meta, facts: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    if !meta.version.is_empty() {
        out.push(("Version".into(), format!("laxity {}", meta.version)));
    }
    out.extend(facts);
    if !meta.command.is_empty() {
        out.push(("Command".into(), meta.command.clone()));
    }
    out.extend(meta.facts.iter().cloned());
    out
}
