//! Published numbers beside measured ones.

use crate::figure::Figure;
use crate::number::{count, short};
use crate::page::{Assessment, Block, Kind, Meta, Page, Section, footer};
use crate::plot::{Anchor, Axis, Body, Hue, Ink, Mark, Marker, Plot, Unit, width_for_names};
use crate::table::{Cell, Column, Table, Tone};
use crate::ticks::Tick;
use laxity_results::{
    ClaimResult, ClaimVerdict as C, Experiment, Origin, Reproduction, ReproductionRow,
    ReproductionVerdict as V,
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
        vec![Block::Statement(Assessment::Neutral, "Outcome.".into(), outcome_sentences(papers))];
    blocks.push(Block::Table(overview_table(papers)));
    let mut sections = vec![Section::new("In short", blocks)];
    for paper in papers {
        for e in &paper.experiments {
            let mut blocks = vec![Block::Text(e.reading.clone())];
            blocks.extend(ratio_figure(e).map(Block::Figure));
            let own = figures.iter().filter(|(id, _)| *id == e.id);
            blocks.extend(own.map(|(_, f)| Block::Figure(f.clone())));
            blocks.push(Block::Table(experiment_table(e, paper.quick)));
            let mut title = match e.source.as_str() {
                "" => e.id.clone(),
                source => format!("{}: {source}", paper.paper),
            };
            if paper.quick {
                title.push_str(" (quick run)");
            }
            sections.push(Section::new(title, blocks));
        }
    }
    let names: Vec<&str> = papers.iter().map(|p| p.paper.as_str()).collect();
    let facts = vec![("Papers".to_string(), names.join(", "))];
    let live = papers.iter().flat_map(|p| &p.experiments).any(has_live);
    let quick = if papers.iter().any(|p| p.quick) { ", quick run" } else { "" };
    Page {
        title: match names[..] {
            [one] => format!("{one}: published and measured{quick}"),
            _ => format!("Published and measured{quick}"),
        },
        scenario: "reproduction report".into(),
        filters: Vec::new(),
        kind: if live { Kind::SimulatedAndLive } else { meta.kind },
        sections,
        provenance: footer(meta, facts),
    }
}

fn has_live(e: &Experiment) -> bool {
    e.rows.iter().any(|r| r.live.is_some())
}

/// Numbers of claims by outcome, in sentences: the papers' first, then Laxity's own, then those that
/// rows on other readings judge.
pub fn outcome_sentences(papers: &[Reproduction]) -> String {
    let mut sentences = Vec::new();
    for paper in papers.iter().filter(|p| p.quick) {
        sentences.push(format!(
            "Made with `--quick`: runs of {} are of {} and few, and only rows that they can judge are \
             judged.",
            paper.paper, paper.duration
        ));
    }
    let of = |origin: Origin| -> Vec<&ClaimResult> {
        papers.iter().flat_map(|p| &p.claims).filter(|c| c.origin == origin).collect()
    };
    let theirs = if papers.len() == 1 { "the paper" } else { "the papers" };
    let numbers = format!("numbers and claims of {theirs}");
    sentences.extend(counted(&of(Origin::Paper), &numbers));
    sentences.extend(counted(&of(Origin::Laxity), "claims of Laxity's own"));
    sentences
        .extend(counted(&of(Origin::Reading), "numbers and claims tried under other readings"));
    let live: Vec<C> = of(Origin::Paper).iter().filter_map(|c| c.live).collect();
    if !live.is_empty() {
        let held = live.iter().filter(|v| **v == C::Reproduced).count() as u64;
        let all = count(live.len() as u64);
        sentences.push(format!("On live CPUs {} of {all} that can be judged hold.", count(held)));
    }
    let rows = papers.iter().flat_map(|p| &p.experiments).flat_map(|e| &e.rows);
    let more = rows.filter(|r| r.verdict == V::NotStated).count() as u64;
    if more > 0 {
        let noun = if more == 1 { "measured number has" } else { "measured numbers have" };
        sentences.push(format!("{} {noun} no published counterpart.", count(more)));
    }
    sentences.join(" ")
}

fn counted(claims: &[&ClaimResult], what: &str) -> Option<String> {
    let of = |v: C| claims.iter().filter(|c| c.verdict == v).count() as u64;
    let judged = claims.len() as u64 - of(C::Inconclusive);
    let rows: u64 = claims.iter().map(|c| c.rows).sum();
    if claims.is_empty() {
        return None;
    }
    let mut text = format!(
        "Of {} {what} ({} rows) {} reproduced within the stated tolerance",
        count(judged),
        count(rows),
        match of(C::Reproduced) {
            1 => "1 is".into(),
            n => format!("{} are", count(n)),
        }
    );
    for (verdict, outcome) in [
        (C::SecondReading, "under a second reading only"),
        (C::InPart, "in part"),
        (C::Differs, "not, with the reason beside each"),
    ] {
        if of(verdict) > 0 {
            text.push_str(&format!(", {} {outcome}", count(of(verdict))));
        }
    }
    text.push('.');
    if of(C::Inconclusive) > 0 {
        let n = count(of(C::Inconclusive));
        text.push_str(&format!(" {n} more need longer runs to be judged."));
    }
    Some(text)
}

/// One row for each experiment: numbers of claims by outcome. A claim on which rows of several
/// experiments bear counts in the first of them.
pub fn overview_table(papers: &[Reproduction]) -> Table {
    let columns = vec![
        Column::text("Experiment"),
        Column::text("source"),
        Column::number("reproduced"),
        Column::number("second reading"),
        Column::number("in part"),
        Column::number("differs"),
        Column::number("inconclusive"),
        Column::number("Laxity's own"),
        Column::number("rows not stated"),
        Column::number("seeds"),
    ];
    let mut table = Table::new("Claims of the papers by experiment", columns);
    for paper in papers {
        let mut seen: Vec<&str> = Vec::new();
        let rows = paper
            .experiments
            .iter()
            .map(|e| {
                let claims = paper.claims.iter().filter(|c| {
                    let bears = |r: &ReproductionRow| r.claim == c.claim;
                    !seen.contains(&c.claim.as_str()) && e.rows.iter().any(bears)
                });
                let claims: Vec<&ClaimResult> = claims.collect();
                seen.extend(claims.iter().map(|c| c.claim.as_str()));
                let of = |v: C| {
                    let one = |c: &&&ClaimResult| c.origin == Origin::Paper && c.verdict == v;
                    claims.iter().filter(one).count() as u64
                };
                let own = claims.iter().filter(|c| c.origin == Origin::Laxity).count() as u64;
                let more = e.rows.iter().filter(|r| r.verdict == V::NotStated).count() as u64;
                let quiet = |n: u64| match n {
                    0 => Cell::toned("0", Tone::Muted),
                    n => Cell::new(count(n)),
                };
                let cells = vec![
                    Cell::new(e.source.as_str()),
                    quiet(of(C::Reproduced)),
                    quiet(of(C::SecondReading)),
                    quiet(of(C::InPart)),
                    quiet(of(C::Differs)),
                    quiet(of(C::Inconclusive)),
                    quiet(own),
                    quiet(more),
                    Cell::new(count(e.seeds.len() as u64)),
                ];
                (e.id.clone(), cells)
            })
            .collect();
        let title = if paper.quick { " (quick run)" } else { "" };
        table = table.group(format!("{}{title}", paper.paper), rows);
    }
    table
}

/// The readings of an experiment beside the first, each a column.
fn readings(e: &Experiment) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for reading in e.rows.iter().flat_map(|r| &r.readings) {
        if !names.contains(&reading.name.as_str()) {
            names.push(&reading.name);
        }
    }
    names
}

/// Published beside measured, with spread, difference, other readings, tolerance, verdict and reason.
pub fn experiment_table(e: &Experiment, quick: bool) -> Table {
    let live = has_live(e);
    let readings = readings(e);
    let mut columns = vec![
        Column::text("Number"),
        Column::text("unit"),
        Column::number("published"),
        Column::number("measured"),
        Column::number("difference"),
    ];
    columns.extend(readings.iter().map(|name| Column::number(*name)));
    if live {
        columns.push(Column::number("live"));
    }
    columns.extend([Column::number("tolerance"), Column::text("verdict"), Column::text("why")]);
    let rows = e.rows.iter().map(|r| (r.label.clone(), row_cells(r, live, &readings))).collect();
    let n = e.seeds.len();
    let seeds = match n {
        0 => String::new(),
        1 => format!(" (seed {})", e.seeds[0]),
        _ => format!(" (mean of {n} seeds \u{b1} half the range)"),
    };
    let quick = if quick { ", quick run" } else { "" };
    let mut table = Table::new(format!("{}{quick}{seeds}", e.id), columns).group("", rows);
    if !readings.is_empty() || live {
        table = table.noted("A \u{2713} or \u{2717} is the verdict on that number alone.");
    }
    table
}

/// The sign of a verdict on a number that has no column for it.
fn sign(verdict: Option<V>) -> &'static str {
    match verdict {
        Some(V::Reproduced) => " \u{2713}",
        Some(V::Differs) => " \u{2717}",
        _ => "",
    }
}

fn row_cells(r: &ReproductionRow, live: bool, readings: &[&str]) -> Vec<Cell> {
    let mut measured = Cell::new(number(r.measured));
    if r.spread != 0.0 {
        measured = measured.with_secondary(format!("\u{b1} {}", short(r.spread)));
    }
    let published = r.published;
    let mut cells = vec![
        Cell::new(r.unit.as_str()),
        published.map_or_else(Cell::none, |p| Cell::new(number(p))),
        measured,
        published.and_then(|p| difference(r.measured, p)).map_or_else(Cell::none, Cell::new),
    ];
    cells.extend(readings.iter().map(|name| {
        let found = r.readings.iter().find(|o| o.name == **name);
        let cell = |o: &laxity_results::ReadingResult| {
            Cell::new(format!("{}{}", number(o.measured), sign(Some(o.verdict))))
        };
        found.map_or_else(Cell::none, cell)
    }));
    if live {
        cells.push(r.live.map_or_else(Cell::none, |v| {
            let cell = Cell::new(format!("{}{}", number(v), sign(r.live_verdict)));
            cell.with_secondary(r.live_scheduler.clone().unwrap_or_default())
        }));
    }
    cells.push(match (published, r.accept) {
        (Some(_), _) => Cell::new(format!("\u{b1} {}%", short(r.tolerance * 100.0))),
        (None, Some((Some(low), Some(high)))) if low == high => Cell::new(number(low)),
        (None, Some((Some(low), Some(high)))) => {
            Cell::new(format!("{} to {}", number(low), number(high)))
        }
        (None, Some((Some(low), None))) => Cell::new(format!("\u{2265} {}", number(low))),
        (None, Some((None, Some(high)))) => Cell::new(format!("\u{2264} {}", number(high))),
        _ => Cell::none(),
    });
    let (label, tone) = match r.verdict {
        V::Reproduced => ("reproduced", Tone::ChipGood),
        V::Differs => ("differs", Tone::ChipBad),
        V::NotStated => ("not stated", Tone::ChipNeutral),
        V::Inconclusive => ("inconclusive", Tone::ChipNeutral),
    };
    cells.push(Cell::toned(label, tone));
    let own = if r.origin == Origin::Laxity && !r.claim.is_empty() { "Laxity's own. " } else { "" };
    cells.push(Cell::new(format!("{own}{}", r.why)));
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
            V::NotStated | V::Inconclusive => (Hue::Muted, Marker::Ring),
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
