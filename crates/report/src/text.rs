//! Tables and verdicts for a terminal or a file.

use crate::escape::terminal;
use crate::page::Assessment;
use crate::reproduction;
use crate::table::{Cell, Group, Table, Tone};
use laxity_results::Reproduction;
use unicode_width::UnicodeWidthStr;

pub use crate::cpu::text::{cpu_check, cpu_simulation};
pub use crate::link::text::{check, simulation};
pub use crate::stream::text::{stream_check, stream_simulation};
pub use crate::tc::tc_check;
pub use crate::tc_plan::tc_plan;

/// How text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours and bold; meaning never depends on them.
    pub colour: bool,
    /// Width in columns; long text of the last column wraps. Zero: no limit.
    pub width: usize,
}

impl Style {
    /// No colours, no limit: for files and pipes.
    pub const PLAIN: Style = Style { colour: false, width: 0 };
}

/// The output of `laxity reproduce`.
pub fn reproduction(papers: &[Reproduction], style: Style) -> String {
    let mut out = String::new();
    let experiments = papers.iter().flat_map(|p| p.experiments.iter().map(|e| (p.quick, e)));
    for (quick, e) in experiments {
        let marked = if quick { ", quick run" } else { "" };
        out.push_str(&wrap(
            &terminal(&format!("{} ({}{marked}): {}", e.id, e.source, e.reading)),
            style.width,
            0,
        ));
        out.push('\n');
        push(&mut out, &reproduction::experiment_table(e, quick), style);
    }
    out.push_str(&statement(
        Assessment::Neutral,
        "Outcome.",
        &reproduction::outcome_sentences(papers),
        style,
    ));
    out
}

/// The output of `laxity simulate`: tables, and a sentence.
pub(crate) fn tables_and_statement(
    tables: &[Table],
    (assessment, label, text): (Assessment, String, String),
    style: Style,
) -> String {
    let mut out = String::new();
    for table in tables {
        push(&mut out, table, style);
    }
    out.push_str(&statement(assessment, &label, &text, style));
    out
}

/// The output of `laxity check`: a sentence, reasons, and a table.
pub(crate) fn statement_and_table(
    (assessment, label, text): (Assessment, &str, &str),
    reasons: &[String],
    table: &Table,
    style: Style,
) -> String {
    statement_and_tables((assessment, label, text), reasons, std::slice::from_ref(table), style)
}

/// The same with several tables; empty ones are left out.
pub(crate) fn statement_and_tables(
    (assessment, label, text): (Assessment, &str, &str),
    reasons: &[String],
    tables: &[Table],
    style: Style,
) -> String {
    let mut out = statement(assessment, label, text, style);
    for reason in reasons {
        out.push_str(&format!("- {}\n", wrap(&terminal(reason), style.width, 2)));
    }
    for table in tables.iter().filter(|table| !table.is_empty()) {
        out.push('\n');
        push(&mut out, table, style);
        out.pop();
    }
    out
}

pub(crate) fn push(out: &mut String, t: &Table, style: Style) {
    if !t.is_empty() {
        out.push_str(&table(t, style));
        out.push('\n');
    }
}

pub(crate) fn statement(assessment: Assessment, label: &str, text: &str, style: Style) -> String {
    let code = match assessment {
        Assessment::Good => "1;32",
        Assessment::Bad => "1;31",
        Assessment::Neutral => "1",
    };
    let body = wrap(&terminal(&format!("{label} {text}")), style.width, 0);
    let label = terminal(label);
    match body.strip_prefix(label.as_str()) {
        Some(rest) if style.colour => format!("{}{rest}\n", paint(&label, code, style)),
        _ => format!("{body}\n"),
    }
}

/// Least width at which a text column is wrapped in place.
const NARROW: usize = 24;

/// The place of a wrapped last column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Whole,
    /// In so many columns.
    Wrapped(usize),
    /// On lines of its own below the row.
    Below,
}

/// One table with its caption above; every line ends without spaces.
pub fn table(t: &Table, style: Style) -> String {
    let columns = t.columns.len();
    let mut widths: Vec<usize> = t.columns.iter().map(|c| clean(&c.title).width()).collect();
    for group in &t.groups {
        for (head, cells) in &group.rows {
            let head = std::iter::once(indented(group, head));
            for (w, text) in widths.iter_mut().zip(head.chain(cells.iter().map(plain))) {
                *w = (*w).max(text.width());
            }
        }
    }
    // Only text in the last column may wrap: numbers never break.
    let before: usize = widths.iter().take(columns.saturating_sub(1)).map(|w| w + 2).sum();
    let wraps = style.width > 0 && t.columns.last().is_some_and(|c| !c.numeric) && columns > 1;
    let room = style.width.saturating_sub(before);
    let whole = widths.last().copied().unwrap_or(0);
    let tail = match wraps {
        false => Tail::Whole,
        true if whole <= room => Tail::Whole,
        true if room >= NARROW => Tail::Wrapped(room),
        true => Tail::Below,
    };
    let mut out = String::new();
    out.push_str(&paint(&clean(&t.caption), "1", style));
    out.push('\n');
    let mut line = Line::default();
    for (i, c) in t.columns.iter().enumerate() {
        if tail != Tail::Below || i + 1 < columns {
            line.cell(&clean(&c.title), "2", widths[i], c.numeric, style);
        }
    }
    line.end(&mut out);
    for group in &t.groups {
        if !group.title.is_empty() {
            out.push_str(&paint(&clean(&group.title), "2", style));
            out.push('\n');
        }
        for (head, cells) in &group.rows {
            let width = widths.first().copied().unwrap_or(0);
            line.cell(&indented(group, head), "", width, false, style);
            let mut below = String::new();
            for (i, cell) in cells.iter().enumerate() {
                let column = i + 1;
                let numeric = t.columns.get(column).is_some_and(|c| c.numeric);
                let mut text = plain(cell);
                match tail {
                    Tail::Wrapped(room) if column + 1 == columns => {
                        let wrapped = wrap(&text, room, before);
                        let (first, rest) = wrapped.split_once('\n').unwrap_or((&wrapped, ""));
                        below = rest.to_string();
                        text = first.to_string();
                    }
                    Tail::Below if column + 1 == columns => {
                        let wide = style.width.saturating_sub(4).max(NARROW);
                        if !text.is_empty() {
                            below = format!("    {}", wrap(&text, wide, 4));
                        }
                        text.clear();
                    }
                    _ => {}
                }
                let width = widths.get(column).copied().unwrap_or(0);
                line.cell(&text, tone(cell.tone), width, numeric, style);
            }
            line.end(&mut out);
            if !below.is_empty() {
                out.push_str(&below);
                out.push('\n');
            }
        }
    }
    if !t.note.is_empty() {
        let note = if style.colour { t.note.clone() } else { without_colour(&t.note) };
        out.push_str(&paint(&wrap(&clean(&note), style.width.min(100), 0), "2", style));
        out.push('\n');
    }
    out
}

/// Removes the note on colours, which a terminal without them has no use for.
fn without_colour(note: &str) -> String {
    note.split_inclusive(". ")
        .filter(|s| !s.contains("green"))
        .collect::<String>()
        .trim_end()
        .into()
}

#[derive(Default)]
struct Line {
    text: String,
    /// Spaces owed before the next word.
    owed: usize,
}

impl Line {
    fn cell(&mut self, text: &str, code: &str, width: usize, right: bool, style: Style) {
        let pad = width.saturating_sub(text.width());
        let (before, after) = if right { (pad, 0) } else { (0, pad) };
        self.owed += before;
        if !text.is_empty() {
            self.text.extend(std::iter::repeat_n(' ', self.owed));
            self.text.push_str(&paint(text, code, style));
            self.owed = 0;
        }
        self.owed += after + 2;
    }

    fn end(&mut self, out: &mut String) {
        out.push_str(&self.text);
        out.push('\n');
        *self = Line::default();
    }
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Muted | Tone::ChipNeutral => "2",
        Tone::Better | Tone::ChipGood => "32",
        Tone::Best => "1;32",
        Tone::Bad | Tone::ChipBad => "1;31",
    }
}

/// Rows under a title stand two columns in.
fn indented(group: &Group, head: &str) -> String {
    let indent = if group.title.is_empty() { "" } else { "  " };
    format!("{indent}{}", clean(head))
}

fn plain(cell: &Cell) -> String {
    let text = match cell.secondary.as_str() {
        "" => cell.text.clone(),
        // Percentages stand in a column of their own.
        secondary => match secondary.strip_prefix("/ ") {
            Some(share) => format!("{} / {share:>4}", cell.text),
            None => format!("{} {secondary}", cell.text),
        },
    };
    clean(&text)
}

/// Safe on a terminal, and with spaces that every font has.
fn clean(text: &str) -> String {
    terminal(text).replace(['\u{202f}', '\u{a0}'], " ")
}

fn paint(text: &str, code: &str, style: Style) -> String {
    if style.colour && !code.is_empty() && !text.is_empty() {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.into()
    }
}

/// Breaks at spaces; following lines are indented.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    if width == 0 {
        return text.into();
    }
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let w = word.width();
        if used > 0 && used + 1 + w > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += w;
    }
    out
}
