//! The terminal's view drawn: one table, and a part alone with its delays against its bound.

use laxity_report::escape::terminal;
use laxity_report::number;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table, TableState, Wrap};

use super::app::{App, Shown};
use super::parts::PartKind;

const KEYS: &str = "q quit  \u{2191}\u{2193} choose  Enter alone  s sort  / filter  p pause";
/// Headings and widths of numbers, and whether they are left out where there is little room.
const NUMBERS: [(&str, u16, bool); 8] = [
    ("a second", 9, false),
    ("kbit/s", 9, true),
    ("mean", 9, true),
    ("99%", 9, false),
    ("longest", 9, true),
    ("bound", 9, false),
    ("late", 7, false),
    ("dropped", 8, false),
];
/// Widths of the part and its name, where there is room and where there is little.
const NAMES: [(u16, u16); 2] = [(22, 18), (15, 14)];
/// The width from which on there is room for all numbers.
const ROOMY: u16 = 118;
/// Cells of the sparkline of a row.
const SPARK: u16 = 24;

/// Draws everything. `colour` is false where the user wants none.
pub fn draw(frame: &mut Frame, app: &App, colour: bool) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    let rows = app.rows();
    let mut title = format!("laxity top: {} parts, sorted by {}", rows.len(), app.sort.text());
    if !app.filter.is_empty() || app.typing {
        let cursor = if app.typing { "_" } else { "" };
        title.push_str(&format!(", filter: {}{cursor}", terminal(&app.filter)));
    }
    if app.paused {
        title.push_str(", paused");
    }
    frame.render_widget(
        Paragraph::new(title).style(Style::new().add_modifier(Modifier::BOLD)),
        head,
    );
    frame.render_widget(Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::DIM)), foot);
    match rows.get(app.chosen).filter(|_| app.detail) {
        Some(shown) => alone(frame, body, shown, colour),
        None => table(frame, body, app, &rows, colour),
    }
}

fn red(colour: bool) -> Style {
    if colour { Style::new().fg(Color::Red) } else { Style::new().add_modifier(Modifier::BOLD) }
}

fn table(frame: &mut Frame, area: Rect, app: &App, rows: &[&Shown], colour: bool) {
    let notes = u16::try_from(app.notes.len()).unwrap_or(u16::MAX).min(area.height / 3);
    let [area, below] =
        Layout::vertical([Constraint::Min(2), Constraint::Length(notes)]).areas(area);
    let text: Vec<Line> = app.notes.iter().map(|n| Line::from(terminal(n))).collect();
    frame
        .render_widget(Paragraph::new(text).style(Style::new().add_modifier(Modifier::DIM)), below);
    let roomy = area.width >= ROOMY;
    let spark = area.width > ROOMY + SPARK;
    let numbers: Vec<(usize, u16)> = NUMBERS
        .iter()
        .enumerate()
        .filter(|(_, (_, _, optional))| roomy || !optional)
        .map(|(i, (_, wide, _))| (i, *wide))
        .collect();
    let (part, name) = NAMES[usize::from(!roomy)];
    let mut widths = vec![Constraint::Length(part), Constraint::Length(name)];
    widths.extend(numbers.iter().map(|(_, wide)| Constraint::Length(*wide)));
    let right = |value: &str, wide: u16| format!("{value:>0$}", usize::from(wide));
    let mut heads = vec!["part".to_owned(), "name".to_owned()];
    heads.extend(numbers.iter().map(|(i, wide)| right(NUMBERS[*i].0, *wide)));
    if spark {
        widths.push(Constraint::Length(SPARK));
        heads.push("delay, 0 to the bound".to_owned());
    }
    let lines = rows.iter().map(|shown| {
        let part = &shown.part;
        let within = if part.is_within() { "  " } else { "" };
        let what = match part.kind {
            PartKind::Link | PartKind::MediaServer => format!("{} {}", part.kind.text(), part.of),
            PartKind::Cpu => part.of.clone(),
            kind => format!("{within}{}", kind.text()),
        };
        let mut cells = vec![terminal(&what), terminal(&part.name)];
        let values = [
            count(shown.per_second),
            count(shown.bits_per_second.map(|b| b / 1000.0)),
            ms(part.mean_ms),
            ms(part.p99_ms),
            ms(part.max_ms),
            ms(part.deadline_ms),
            part.deadline_misses.to_string(),
            part.dropped.to_string(),
        ];
        cells.extend(numbers.iter().map(|(i, wide)| right(&values[*i], *wide)));
        if spark {
            cells.push(sparks(shown));
        }
        let late = part.deadline_misses > 0;
        Row::new(cells).style(if late { red(colour) } else { Style::new() })
    });
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let table = Table::new(lines.collect::<Vec<_>>(), widths)
        .header(Row::new(heads).style(bold))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(Some(app.chosen));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The last intervals as bars of eight heights; the highest is the bound, or where there is none, the most.
fn sparks(shown: &Shown) -> String {
    const BARS: [char; 8] = [
        '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
        '\u{2588}',
    ];
    let top = top(shown);
    let skip = shown.history.len().saturating_sub(usize::from(SPARK));
    let bar = |value: &f64| match (value / top * 8.0) as usize {
        0 if *value <= 0.0 => ' ',
        n => BARS[n.min(7)],
    };
    shown.history.iter().skip(skip).map(bar).collect()
}

fn top(shown: &Shown) -> f64 {
    let most = shown.history.iter().copied().fold(0.0, f64::max);
    shown.part.deadline_ms.filter(|ms| *ms > 0.0).unwrap_or(most).max(f64::MIN_POSITIVE)
}

fn alone(frame: &mut Frame, area: Rect, shown: &Shown, colour: bool) {
    let part = &shown.part;
    let [chart, facts] =
        Layout::vertical([Constraint::Percentage(45), Constraint::Min(6)]).areas(area);
    let what = match (part.kind, part.deadline_ms) {
        (PartKind::Flow, Some(bound)) => {
            format!("mean delay, 0 to the bound of {}", ms(Some(bound)))
        }
        (PartKind::Flow, None) => "mean delay".to_owned(),
        _ => "a second".to_owned(),
    };
    let title = terminal(&format!("{} {} {}: {what}", part.kind.text(), part.of, part.name));
    let wide = usize::from(chart.width.saturating_sub(2));
    let skip = shown.history.len().saturating_sub(wide);
    let scale = 1e6 / top(shown);
    let data: Vec<u64> = shown.history.iter().skip(skip).map(|v| (v * scale) as u64).collect();
    let late = part.deadline_misses > 0;
    let style = if late { red(colour) } else { Style::new() };
    let line =
        Sparkline::default().block(Block::bordered().title(title)).data(&data).max(1_000_000);
    frame.render_widget(line.style(style), chart);
    let mut lines = Vec::new();
    let mut fact = |name: &str, value: String| {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        lines.push(Line::from(vec![Span::raw(format!("{name:<16}")), Span::styled(value, bold)]));
    };
    fact("a second", count(shown.per_second));
    fact("mean", ms(part.mean_ms));
    fact("99%", ms(part.p99_ms));
    fact("longest", ms(part.max_ms));
    fact("bound", ms(part.deadline_ms));
    fact("late", part.deadline_misses.to_string());
    if let Some(share) = part.reserved {
        fact("reserved", format!("{} %", number::short(share * 100.0)));
    }
    fact("dropped", part.dropped.to_string());
    for (reason, n) in &part.drop_reasons {
        fact(&format!("  {}", terminal(reason)), n.to_string());
    }
    if let Some(process) = part.process {
        fact("process", process.to_string());
    }
    lines.extend(part.facts.iter().map(|f| Line::from(terminal(f))));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), facts);
}

fn count(value: Option<f64>) -> String {
    value.map_or_else(|| number::NONE.to_owned(), |v| number::fixed(v, 0))
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| number::NONE.to_owned(), |v| format!("{} ms", number::short(v)))
}
