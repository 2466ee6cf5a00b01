//! Measured beside published: mean over seeds, spread, verdict.

use laxity_scenario::result::{Experiment, ReproductionRow, ReproductionVerdict};

use crate::sheet::{Entry, Published};

/// One number of an experiment, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// `policy/object/statistic`.
    pub label: String,
    /// Of the values.
    pub unit: &'static str,
    /// One for each seed, or a single one for what no seed changes.
    pub values: Vec<f64>,
    /// Said beside it, after what the sheet says.
    pub note: String,
}

impl Measured {
    /// A number.
    pub fn new(label: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Measured {
        Measured { label: label.into(), unit, values, note: String::new() }
    }

    /// Sets what is said beside it.
    pub fn noted(mut self, note: impl Into<String>) -> Measured {
        self.note = note.into();
        self
    }

    /// Mean, least and greatest over seeds; `None` without any.
    fn spread(&self) -> Option<(f64, f64, f64)> {
        let spread = laxity_sim::summary::spread(self.values.iter().copied())?;
        Some((spread.mean, spread.min, spread.max))
    }
}

/// The published rows in their order, then what was measured beyond them.
///
/// # Errors
/// Names the row that was not measured, or in another unit.
pub fn judge(entry: &Entry, seeds: &[u64], measured: &[Measured]) -> Result<Experiment, String> {
    let mut rows = Vec::with_capacity(measured.len());
    for published in &entry.rows {
        let found = measured.iter().find(|m| m.label == published.label);
        let missing = || format!("{}: `{}` was not measured", entry.id, published.label);
        let m = found.ok_or_else(missing)?;
        if m.unit != published.unit {
            return Err(format!(
                "{}: `{}` is in {}, measured in {}",
                entry.id, m.label, published.unit, m.unit
            ));
        }
        rows.push(row(entry, Some(published), m).ok_or_else(missing)?);
    }
    for m in measured.iter().filter(|m| entry.rows.iter().all(|p| p.label != m.label)) {
        rows.extend(row(entry, None, m));
    }
    Ok(Experiment {
        id: entry.id.clone(),
        source: entry.source.clone(),
        reading: entry.reading.trim().to_owned(),
        seeds: seeds.to_vec(),
        rows,
    })
}

/// An experiment that this machine cannot do.
pub fn unmeasured(entry: &Entry, lacking: &str) -> Experiment {
    Experiment {
        id: entry.id.clone(),
        source: entry.source.clone(),
        reading: format!("Not measured: {lacking}. {}", entry.reading.trim()),
        seeds: Vec::new(),
        rows: Vec::new(),
    }
}

fn row(entry: &Entry, published: Option<&Published>, m: &Measured) -> Option<ReproductionRow> {
    let (mean, least, greatest) = m.spread()?;
    let verdict = published.map_or(ReproductionVerdict::NotStated, |p| verdict(p, mean));
    let mut why: Vec<String> = published.map(|p| p.claim.clone()).into_iter().collect();
    why.push(m.note.clone());
    if let (ReproductionVerdict::Differs, Some(p)) = (verdict, published) {
        why.push(p.differs.clone().unwrap_or_else(|| entry.differs.trim().to_owned()));
        if least < greatest {
            let (least, greatest) = (short(least), short(greatest));
            why.push(format!("Over the seeds here: {least} to {greatest} {}.", m.unit));
        }
    }
    why.retain(|w| !w.is_empty());
    Some(ReproductionRow {
        label: m.label.clone(),
        unit: m.unit.to_owned(),
        published: published.and_then(|p| p.published),
        measured: rounded(mean),
        spread: rounded((greatest - least) / 2.0),
        live: None,
        tolerance: published.and_then(Published::relative_tolerance).unwrap_or(0.0),
        verdict,
        why: why.join(" "),
    })
}

fn verdict(p: &Published, mean: f64) -> ReproductionVerdict {
    let holds = match (p.published, p.allowed(), p.accept) {
        (Some(published), Some(allowed), _) => (mean - published).abs() <= allowed,
        (_, _, Some((low, high))) => (low..=high).contains(&mean),
        _ => return ReproductionVerdict::NotStated,
    };
    if holds { ReproductionVerdict::Reproduced } else { ReproductionVerdict::Differs }
}

/// Delays are whole nanoseconds and means of them: six decimals of a millisecond.
fn rounded(v: f64) -> f64 {
    let r = (v * 1e6).round() / 1e6;
    if r == 0.0 { 0.0 } else { r }
}

fn short(v: f64) -> String {
    laxity_report::number::short((v * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(published: Option<f64>, tolerance: Option<f64>) -> Published {
        Published {
            label: "p/f/mean".into(),
            unit: "ms".into(),
            published,
            tolerance,
            within: None,
            accept: None,
            claim: String::new(),
            differs: None,
        }
    }

    fn entry(rows: Vec<Published>) -> Entry {
        let (source, reading) = ("Table 1".into(), "r".into());
        Entry { id: "p.a".into(), source, reading, differs: "because".into(), rows }
    }

    // Fails when the tolerance is taken of the measured value or with < instead of <=; tried.
    #[test]
    fn tolerance_is_relative_to_the_published_number() {
        let p = published(Some(2.0), Some(0.25));
        for (measured, right) in [(1.5, true), (2.5, true), (1.49, false), (2.51, false)] {
            assert_eq!(verdict(&p, measured) == ReproductionVerdict::Reproduced, right);
        }
        let none = published(Some(0.0), Some(0.0));
        assert_eq!(verdict(&none, 0.0), ReproductionVerdict::Reproduced);
        assert_eq!(verdict(&none, 0.2), ReproductionVerdict::Differs);
        let near = Published { within: Some(0.5), ..published(Some(0.0), None) };
        assert_eq!(verdict(&near, 0.5), ReproductionVerdict::Reproduced);
        assert_eq!(verdict(&near, 0.6), ReproductionVerdict::Differs);
    }

    // Fails when the spread is the range, or a differing row has no reason; tried.
    #[test]
    fn rows_hold_mean_half_range_and_reason() {
        let e = entry(vec![published(Some(2.0), Some(0.1))]);
        let m = Measured::new("p/f/mean", "ms", vec![3.0, 5.0]);
        let more = Measured::new("q/f/mean", "ms", vec![1.0]);
        let judged = judge(&e, &[1, 2], &[more, m]).unwrap();
        let [first, second] = &judged.rows[..] else { panic!("{:?}", judged.rows) };
        assert_eq!((first.measured, first.spread), (4.0, 1.0));
        assert_eq!(first.verdict, ReproductionVerdict::Differs);
        assert_eq!(first.why, "because Over the seeds here: 3 to 5 ms.");
        assert_eq!(second.verdict, ReproductionVerdict::NotStated);
        assert_eq!(second.published, None);
    }

    // Fails when a published number may go unmeasured; tried.
    #[test]
    fn every_published_row_must_be_measured() {
        let e = entry(vec![published(Some(2.0), Some(0.1))]);
        assert!(judge(&e, &[1], &[]).is_err());
        assert!(judge(&e, &[1], &[Measured::new("p/f/mean", "%", vec![1.0])]).is_err());
    }
}
