//! Published numbers beside measured ones.

use crate::figure::Figure;
use crate::number::{count, short};
use crate::page::{Block, Kind, Meta, Mood, Page, Section};
use crate::plot::{Anchor, Axis, Body, Hue, Ink, Mark, Marker, Plot, Unit, width_for_names};
use crate::table::{Cell, Column, Table, Tone};
use crate::ticks::Tick;
use laxity_scenario::result::{
    Experiment, Reproduction, ReproductionRow, ReproductionVerdict as V,
};

/// Rows in one ratio plot; more make it unreadable.
const PLOTTED: usize = 40;

/// The page of `laxity reproduce`. `figures` are drawn in the section of the experiment whose id
/// they are given with.
pub fn reproduction_page(
    papers: &[Reproduction],
    figures: &[(String, Figure)],
    meta: &Meta,
) -> Page {
    let mut blocks =
        vec![Block::Statement(Mood::Neutral, "Outcome.".into(), outcome_words(papers))];
    blocks.push(Block::Table(overview_table(papers)));
    let mut sections = vec![Section::new("In short", blocks)];
    for paper in papers {
        for e in &paper.experiments {
            let mut blocks = vec![Block::Text(e.reading.clone())];
            blocks.extend(ratio_figure(e).map(Block::Figure));
            let own = figures.iter().filter(|(id, _)| *id == e.id);
            blocks.extend(own.map(|(_, f)| Block::Figure(f.clone())));
            blocks.push(Block::Table(experiment_table(e)));
            let title = match e.source.as_str() {
                "" => e.id.clone(),
                source => format!("{}: {source}", paper.paper),
            };
            sections.push(Section::new(title, blocks));
        }
    }
    let names: Vec<&str> = papers.iter().map(|p| p.paper.as_str()).collect();
    let facts = vec![("Papers".to_string(), names.join(", "))];
    let live = papers.iter().flat_map(|p| &p.experiments).any(has_live);
    Page {
        title: match names[..] {
            [one] => format!("{one}: published and measured"),
            _ => "Published and measured".into(),
        },
        scenario: "reproduction report".into(),
        kind: if live { Kind::Beside } else { meta.kind },
        sections,
        provenance: crate::simulation::footer(meta, facts),
    }
}

fn has_live(e: &Experiment) -> bool {
    e.rows.iter().any(|r| r.live.is_some())
}

/// How many rows came out how, in a sentence.
pub fn outcome_words(papers: &[Reproduction]) -> String {
    let rows = || papers.iter().flat_map(|p| &p.experiments).flat_map(|e| &e.rows);
    let of = |v: V| rows().filter(|r| r.verdict == v).count() as u64;
    let stated = of(V::Reproduced) + of(V::Differs);
    let many =
        |n: u64, one: &str, more: &str| format!("{} {}", count(n), if n == 1 { one } else { more });
    let mut text = format!(
        "{} of {} reproduced within the stated tolerance",
        count(of(V::Reproduced)),
        many(stated, "published number or claim is", "published numbers and claims are")
    );
    if of(V::Differs) > 0 {
        text.push_str(&format!("; {}", many(of(V::Differs), "differs", "differ")));
        text.push_str(", with the reason beside it");
    }
    text.push('.');
    if of(V::NotStated) > 0 {
        let n = many(of(V::NotStated), "measured number has", "measured numbers have");
        text.push_str(&format!(" {n} no published counterpart."));
    }
    text
}

/// One row for each experiment: how many numbers came out how.
pub fn overview_table(papers: &[Reproduction]) -> Table {
    let columns = vec![
        Column::words("Experiment"),
        Column::words("source"),
        Column::number("reproduced"),
        Column::number("differs"),
        Column::number("not stated"),
        Column::number("seeds"),
    ];
    let mut table = Table::new("Numbers and claims by experiment", columns);
    for paper in papers {
        let rows = paper
            .experiments
            .iter()
            .map(|e| {
                let of = |v: V| e.rows.iter().filter(|r| r.verdict == v).count() as u64;
                let quiet = |n: u64| match n {
                    0 => Cell::toned("0", Tone::Quiet),
                    n => Cell::new(count(n)),
                };
                let cells = vec![
                    Cell::new(e.source.as_str()),
                    quiet(of(V::Reproduced)),
                    quiet(of(V::Differs)),
                    quiet(of(V::NotStated)),
                    Cell::new(count(e.seeds.len() as u64)),
                ];
                (e.id.clone(), cells)
            })
            .collect();
        table = table.group(paper.paper.as_str(), rows);
    }
    table
}

/// Published beside measured, with spread, difference, tolerance, verdict and reason.
pub fn experiment_table(e: &Experiment) -> Table {
    let live = has_live(e);
    let mut columns = vec![
        Column::words("Number"),
        Column::words("unit"),
        Column::number("published"),
        Column::number("measured"),
        Column::number("difference"),
    ];
    if live {
        columns.push(Column::number("live"));
    }
    columns.extend([Column::number("tolerance"), Column::words("verdict"), Column::words("why")]);
    let rows = e.rows.iter().map(|r| (r.label.clone(), row_cells(r, live))).collect();
    let n = e.seeds.len();
    let seeds = match n {
        0 => String::new(),
        1 => format!(" (seed {})", e.seeds[0]),
        _ => format!(" (mean of {n} seeds \u{b1} half the range)"),
    };
    Table::new(format!("{}{seeds}", e.id), columns).group("", rows)
}

fn row_cells(r: &ReproductionRow, live: bool) -> Vec<Cell> {
    let mut measured = Cell::new(number(r.measured));
    if r.spread != 0.0 {
        measured = measured.beside(format!("\u{b1} {}", short(r.spread)));
    }
    let published = r.published;
    let mut cells = vec![
        Cell::new(r.unit.as_str()),
        published.map_or_else(Cell::none, |p| Cell::new(number(p))),
        measured,
        published.and_then(|p| difference(r.measured, p)).map_or_else(Cell::none, Cell::new),
    ];
    if live {
        cells.push(r.live.map_or_else(Cell::none, |v| Cell::new(number(v))));
    }
    cells.push(match published {
        Some(_) => Cell::new(format!("\u{b1} {}%", short(r.tolerance * 100.0))),
        None => Cell::none(),
    });
    let (word, tone) = match r.verdict {
        V::Reproduced => ("reproduced", Tone::ChipGood),
        V::Differs => ("differs", Tone::ChipBad),
        V::NotStated => ("not stated", Tone::ChipNeutral),
    };
    cells.push(Cell::toned(word, tone));
    cells.push(Cell::new(r.why.as_str()));
    cells
}

/// As many digits as the papers print.
fn number(v: f64) -> String {
    match v.abs() {
        a if v.fract() == 0.0 && a < 1e15 => crate::number::fixed(v, 0),
        a if a >= 0.1 => crate::number::fixed(v, 2),
        _ => short(v),
    }
}

fn difference(measured: f64, published: f64) -> Option<String> {
    let d = (measured - published) / published.abs() * 100.0;
    if !d.is_finite() {
        return None;
    }
    let text = crate::number::fixed(d, 0);
    Some(if d > 0.0 && text != "0" { format!("+{text}%") } else { format!("{text}%") })
}

/// Measured over published, on a logarithmic axis, tolerance shaded.
fn ratio_figure(e: &Experiment) -> Option<Figure> {
    let rows: Vec<(&ReproductionRow, f64)> = e
        .rows
        .iter()
        .filter_map(|r| {
            let ratio = r.measured / r.published?;
            (ratio.is_finite() && ratio > 0.0).then_some((r, ratio))
        })
        .collect();
    if rows.len() < 2 || rows.len() > PLOTTED {
        return None;
    }
    let furthest = rows.iter().map(|(r, q)| {
        let edge = 1.0 + r.tolerance.clamp(0.0, 9.0);
        q.max(1.0 / q).max(edge)
    });
    let limit = furthest.fold(1.25, f64::max).min(1e6) * 1.08;
    let mut x = Axis::log("measured / published", Unit::Plain, 1.0 / limit, limit);
    x.ticks = Some(ratio_ticks(limit));
    let names = rows.iter().map(|(r, _)| r.label.as_str());
    let width = width_for_names(names.clone()).clamp(440.0, 900.0);
    let y = Axis::names(names);
    let mut marks = Vec::new();
    for (i, (r, ratio)) in rows.iter().enumerate() {
        let y = -(i as f64);
        let t = r.tolerance.clamp(0.0, 1e6);
        // A tolerance of one or more has no lower end on a logarithmic axis.
        let low = if t < 1.0 { 1.0 - t } else { 1.0 / limit };
        let band = (low, (1.0 + t).min(limit));
        marks.push(Mark::Bar { y, x: band, thick: 13.0, hue: Hue::Series(0), body: Body::Faint });
        let (hue, shape) = match r.verdict {
            V::Reproduced => (Hue::Series(3), Marker::Circle),
            V::Differs => (Hue::Limit, Marker::Cross),
            V::NotStated => (Hue::Muted, Marker::Ring),
        };
        let scale = ratio / r.measured;
        let ends = ((r.measured - r.spread) * scale, (r.measured + r.spread) * scale);
        if r.spread > 0.0 && ends.0 > 0.0 {
            let ink = Ink::new(hue);
            marks.push(Mark::Segment { from: (ends.0, y), to: (ends.1, y), ink, arrow: false });
        }
        let ink = Ink::new(hue).wide(2.2).marked(Some(shape));
        marks.push(Mark::Dots { points: vec![(*ratio, y)], ink });
        if r.verdict == V::Differs {
            marks.push(Mark::Text {
                at: (if *ratio > 1.0 { ends.0 } else { ends.1 }.max(1.0 / limit), y),
                shift: if *ratio > 1.0 { (-9.0, 4.0) } else { (9.0, 4.0) },
                text: format!("\u{d7}{}", short((ratio * 100.0).round() / 100.0)),
                anchor: if *ratio > 1.0 { Anchor::End } else { Anchor::Start },
            });
        }
    }
    let one = Mark::Vertical { x: 1.0, label: String::new(), ink: Ink::new(Hue::Ink).wide(1.0) };
    let plot = Plot::new("", x, y)
        .sized(width, 48.0 + 22.0 * rows.len() as f64)
        .described(format!(
            "Ratio of measured to published for {} numbers of {}; the table below holds the same.",
            rows.len(),
            e.id
        ))
        .with(one)
        .with_all(marks);
    Some(Figure::new(format!("{}-ratio", e.id), "Measured over published", 1).with(vec![plot]).captioned(
        "Bars: tolerance around the published number. Dots: reproduced; crosses: differs; thin \
         lines: range over seeds.",
    ))
}

fn ratio_ticks(limit: f64) -> Vec<Tick> {
    let candidates: [(f64, &str); 15] = [
        (0.001, "1/1000"),
        (0.01, "1/100"),
        (0.1, "1/10"),
        (0.2, "1/5"),
        (0.5, "1/2"),
        (0.8, "0.8"),
        (0.9, "0.9"),
        (1.0, "1"),
        (1.1, "1.1"),
        (1.25, "1.25"),
        (2.0, "2"),
        (5.0, "5"),
        (10.0, "10"),
        (100.0, "100"),
        (1000.0, "1000"),
    ];
    let fine = |v: f64| match v {
        0.8 | 1.25 => limit < 3.0,
        0.9 | 1.1 => limit < 1.5,
        0.2 | 0.5 | 2.0 | 5.0 => limit < 40.0,
        _ => true,
    };
    candidates
        .into_iter()
        .filter(|(v, _)| *v <= limit && *v >= 1.0 / limit && fine(*v))
        .map(|(value, label)| Tick { value, label: label.into() })
        .collect()
}
