//! The claims of the data files: each once, each range one that can fail, no empty reason. [`Sheet::parse`] refuses most faults; that it does is tested beside it.

use std::collections::BTreeMap;

use laxity_experiments::{Order, PAPERS, Sheet, plan};
use laxity_results::Origin;
use laxity_sim::Control;

fn sheets() -> impl Iterator<Item = (&'static str, Sheet)> {
    PAPERS.iter().map(|p| (p.name, Sheet::parse(p.name, p.sheet).unwrap()))
}

/// Fails when a range has an end that stands for none, holds all that its number can be, or is of
/// another width than that of the same claim. Written without the checks of the reader on purpose.
#[test]
fn ranges_have_equal_widths_and_can_fail() {
    for (paper, sheet) in sheets() {
        let mut widths: BTreeMap<(String, String, String), f64> = BTreeMap::new();
        for entry in &sheet.experiment {
            for row in &entry.rows {
                let Some(range) = row.range() else { continue };
                let ends = [range.low, range.high];
                let place = format!("{paper}: {}", row.label);
                assert!(ends.into_iter().flatten().all(|end| end.abs() < 1e6), "{place}");
                // Possible values of such numbers, far from and near to the printed one.
                let share = row.unit.starts_with('%');
                let possible =
                    if share { vec![0.0, 50.0, 100.0] } else { vec![0.0, 1.0, 1e5, 1e9] };
                let negative = if row.unit == "B" { vec![-1e5] } else { Vec::new() };
                let mut all = possible.iter().chain(&negative);
                assert!(!all.all(|v| range.contains(*v)), "{place} cannot fail");
                let (claim, _) = row.judges(entry).unwrap();
                let (how, width) = match (row.within, row.tolerance, ends) {
                    (Some(w), ..) => ("within", w),
                    (_, Some(t), _) => ("tolerance", t),
                    (_, _, [Some(low), Some(high)]) => ("range", high - low),
                    (_, _, [low, high]) => {
                        (if low.is_some() { "from" } else { "to" }, low.or(high).unwrap())
                    }
                };
                let key = (claim, row.unit.clone(), how.to_owned());
                let first = *widths.entry(key).or_insert(width);
                assert_eq!(first, width, "{place} is judged by another width");
            }
        }
    }
}

/// Fails when rows of one sentence count each, or when Laxity's own claims pass for the paper's.
#[test]
fn claims_are_attributed_to_the_papers_that_make_them() {
    let mut claims: BTreeMap<(&str, String), (Origin, usize)> = BTreeMap::new();
    for (paper, sheet) in sheets() {
        for entry in &sheet.experiment {
            for row in &entry.rows {
                let Some((claim, origin)) = row.judges(entry) else { continue };
                claims.entry((paper, claim)).or_insert((origin, 0)).1 += 1;
                // Claims that are not in the paper are marked.
                let foreign = entry.source == "not in the paper"
                    || ["Ours:", "Not in the paper"].iter().any(|w| row.claim.starts_with(w));
                assert!(!foreign || origin == Origin::Laxity, "{paper}: {}", row.label);
            }
        }
    }
    let rows = |paper, claim: &str| claims[&(paper, claim.to_owned())];
    // One sentence on Figure 1(c) at three loads.
    assert_eq!(rows("bebs", "less-than-half-of-cbs"), (Origin::Paper, 3));
    // A number that stands in the table, in a figure's caption and in per cent is one.
    assert_eq!(rows("berate", "table1/linux-2.4/1/1"), (Origin::Paper, 2));
    assert_eq!(rows("low-delay", "table/background/ftp/max"), (Origin::Paper, 1));
    assert_eq!(rows("low-delay", "table/two-segment/ftp/max"), (Origin::Paper, 2));
}

/// Fails when a reason points at the row that it stands in.
#[test]
fn every_deviation_has_a_reason() {
    for (paper, sheet) in sheets() {
        for entry in &sheet.experiment {
            let own = entry.rows.iter().filter_map(|r| r.differs.as_deref());
            for reason in own.chain([entry.differs.as_str()]) {
                let reason = reason.to_lowercase();
                assert!(!reason.contains("see the row."), "{paper}: {} in {}", reason, entry.id);
            }
        }
    }
}

/// Fails when a quick run is not marked, or a claim that it is too short for is judged.
#[test]
fn quick_runs_are_marked() {
    for (paper, only, unjudged) in [
        ("dwcs", "fig2b", "paper/480-streams/violated-share"),
        ("low-delay", "table1", "background/ftp/max"),
    ] {
        let order = Order { only: vec![only.into()], quick: true, seeds: Some(1) };
        let quick = plan(paper, &order).unwrap()[0].run(&Control::default()).unwrap().reproduction;
        assert!(quick.quick && !quick.duration.is_empty());
        let rows = &quick.experiments[0].rows;
        let row = rows.iter().find(|r| r.label == unjudged).unwrap();
        let verdict = serde_json::to_string(&row.verdict).unwrap();
        assert_eq!(verdict, "\"inconclusive\"", "{row:?}");
        assert!(row.why.contains("--quick"), "{row:?}");
    }
}
