//! Measured beside published: mean over seeds, spread, verdict; and the outcome of each claim.

use laxity_results::{
    ClaimResult, ClaimVerdict, Experiment, Origin, ReadingResult, ReproductionRow,
    ReproductionVerdict,
};

use crate::sheet::{Entry, Published, Range};

/// One number of an experiment, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// `policy/object/statistic`.
    pub label: String,
    /// Of the values.
    pub unit: &'static str,
    /// One for each seed, or a single one for values that no seed changes.
    pub values: Vec<f64>,
    /// Half the width of the 95 % confidence interval of their mean, where it is known.
    pub half_width: Option<f64>,
    /// A note on the number, printed after the sheet's own.
    pub note: String,
}

impl Measured {
    /// A number.
    pub fn new(label: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Measured {
        Measured { label: label.into(), unit, values, half_width: None, note: String::new() }
    }

    /// Sets the note.
    pub fn noted(mut self, note: impl Into<String>) -> Measured {
        self.note = note.into();
        self
    }

    /// Sets the confidence interval of its mean.
    pub fn known_within(mut self, half_width: f64) -> Measured {
        self.half_width = Some(half_width);
        self
    }

    /// Mean, least and greatest over seeds; `None` without any.
    fn spread(&self) -> Option<(f64, f64, f64)> {
        let spread = laxity_sim::summary::spread(self.values.iter().copied())?;
        Some((spread.mean, spread.min, spread.max))
    }
}

/// The length of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent<'a> {
    /// Seeds measured.
    pub seeds: &'a [u64],
    /// Fewer and shorter runs than the sheet requires.
    pub quick: bool,
}

/// The published rows in their order, then the numbers measured beyond them.
///
/// # Errors
/// Names the row that was not measured, or in another unit, and the reading of which nothing was.
pub fn judge(
    entry: &Entry,
    extent: Extent<'_>,
    measured: &[Measured],
) -> Result<Experiment, String> {
    let find = |label: &str| measured.iter().find(|m| m.label == *label);
    let mut rows = Vec::with_capacity(measured.len());
    let mut columns: Vec<String> = Vec::new();
    let mut used = vec![false; entry.readings.len()];
    for published in &entry.rows {
        let missing = || format!("{}: `{}` was not measured", entry.id, published.label);
        let m = find(&published.label).ok_or_else(missing)?;
        if m.unit != published.unit {
            return Err(format!(
                "{}: `{}` is in {}, measured in {}",
                entry.id, m.label, published.unit, m.unit
            ));
        }
        let mut judged = row(entry, extent, Some(published), m).ok_or_else(missing)?;
        for (reading, used) in entry.readings.iter().zip(&mut used) {
            let other = reading.label(&published.label).and_then(|label| find(&label));
            let Some((m, (mean, least, most))) = other.and_then(|m| Some((m, m.spread()?))) else {
                continue;
            };
            *used = true;
            columns.push(m.label.clone());
            judged.readings.push(ReadingResult {
                name: reading.name.clone(),
                measured: rounded(mean),
                spread: rounded((most - least) / 2.0),
                verdict: verdict(entry, extent, published, m, mean),
            });
        }
        rows.push(judged);
    }
    if let Some((reading, _)) = entry.readings.iter().zip(used).find(|(_, used)| !used) {
        return Err(format!("{}: reading `{}` was not measured", entry.id, reading.name));
    }
    let is_shown = |m: &&Measured| {
        entry.rows.iter().all(|p| p.label != m.label) && !columns.contains(&m.label)
    };
    for m in measured.iter().filter(is_shown) {
        rows.extend(row(entry, extent, None, m));
    }
    let mut reading = entry.reading.trim().to_owned();
    for other in &entry.readings {
        reading += &format!(" Column {}: {}", other.name, other.what.trim());
    }
    let (id, source) = (entry.id.clone(), entry.source.clone());
    Ok(Experiment { id, source, reading, seeds: extent.seeds.to_vec(), rows })
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

fn row(
    entry: &Entry,
    extent: Extent<'_>,
    published: Option<&Published>,
    m: &Measured,
) -> Option<ReproductionRow> {
    let (mean, least, greatest) = m.spread()?;
    let verdict =
        published.map_or(ReproductionVerdict::NotStated, |p| verdict(entry, extent, p, m, mean));
    let mut why: Vec<String> = published.map(|p| p.claim.clone()).into_iter().collect();
    why.push(m.note.clone());
    match (verdict, published) {
        (ReproductionVerdict::Differs, Some(p)) => {
            why.push(p.differs.clone().unwrap_or_else(|| entry.differs.trim().to_owned()));
            if least < greatest {
                let (least, greatest) = (short(least), short(greatest));
                why.push(format!("Over these seeds: {least} to {greatest} {}.", m.unit));
            }
        }
        (ReproductionVerdict::Inconclusive, Some(p)) if is_whole(entry, p) => {
            why.push("A quick run cannot judge it; run it without --quick.".into());
        }
        (ReproductionVerdict::Inconclusive, _) => {
            let half = m.half_width.filter(|half| half.is_finite()).map(short);
            let half = half.map_or_else(String::new, |half| format!(" to \u{b1}{half} only"));
            why.push(
                format!("A quick run knows it{half} too badly to decide.")
                    .replace(" only too badly to decide", " only, which does not decide"),
            );
        }
        _ => {}
    }
    why.retain(|w| !w.is_empty());
    let (claim, origin) = published.and_then(|p| p.judges(entry)).unwrap_or_default();
    let range = published.filter(|p| p.published.is_none()).and_then(Published::range);
    Some(ReproductionRow {
        label: m.label.clone(),
        unit: m.unit.to_owned(),
        published: published.and_then(|p| p.published),
        measured: rounded(mean),
        spread: rounded((greatest - least) / 2.0),
        tolerance: published.and_then(Published::relative_tolerance).unwrap_or(0.0),
        accept: range.map(|r| (r.low, r.high)),
        claim,
        origin,
        verdict,
        why: why.join(" "),
        ..ReproductionRow::default()
    })
}

fn is_whole(entry: &Entry, p: &Published) -> bool {
    p.whole.unwrap_or(entry.whole)
}

fn verdict(
    entry: &Entry,
    extent: Extent<'_>,
    p: &Published,
    m: &Measured,
    mean: f64,
) -> ReproductionVerdict {
    let Some(range) = p.range() else { return ReproductionVerdict::NotStated };
    let unsure = m.half_width.is_some_and(|half| range.is_near(mean, half));
    match extent.quick && (is_whole(entry, p) || unsure) {
        true => ReproductionVerdict::Inconclusive,
        false => within(range, mean),
    }
}

/// Of a value that is known.
pub fn within(range: Range, value: f64) -> ReproductionVerdict {
    match range.contains(value) {
        true => ReproductionVerdict::Reproduced,
        false => ReproductionVerdict::Differs,
    }
}

/// The outcome of each claim, in the order in which the rows name them.
pub fn claims(experiments: &[Experiment]) -> Vec<ClaimResult> {
    let mut claims: Vec<(&str, Origin, Vec<&ReproductionRow>)> = Vec::new();
    for row in experiments.iter().flat_map(|e| &e.rows).filter(|r| !r.claim.is_empty()) {
        match claims.iter_mut().find(|c| c.0 == row.claim) {
            Some((.., rows)) => rows.push(row),
            None => claims.push((&row.claim, row.origin, vec![row])),
        }
    }
    let result = |(claim, origin, rows): (&str, Origin, Vec<&ReproductionRow>)| {
        let live: Vec<_> = rows.iter().filter_map(|r| r.live_verdict).collect();
        ClaimResult {
            claim: claim.to_owned(),
            origin,
            rows: rows.len() as u64,
            verdict: outcome(&rows),
            live: (!live.is_empty()).then(|| of_all(&live)),
        }
    };
    claims.into_iter().map(result).collect()
}

fn of_all(verdicts: &[ReproductionVerdict]) -> ClaimVerdict {
    let any = |v| verdicts.contains(&v);
    match (any(ReproductionVerdict::Reproduced), any(ReproductionVerdict::Differs)) {
        (true, false) if any(ReproductionVerdict::Inconclusive) => ClaimVerdict::Inconclusive,
        (true, false) => ClaimVerdict::Reproduced,
        (true, true) => ClaimVerdict::InPart,
        (false, true) => ClaimVerdict::Differs,
        (false, false) => ClaimVerdict::Inconclusive,
    }
}

fn outcome(rows: &[&ReproductionRow]) -> ClaimVerdict {
    let first = of_all(&rows.iter().map(|r| r.verdict).collect::<Vec<_>>());
    if matches!(first, ClaimVerdict::Reproduced | ClaimVerdict::Inconclusive) {
        return first;
    }
    let mut some = first == ClaimVerdict::InPart;
    for name in rows.iter().flat_map(|r| &r.readings).map(|r| r.name.as_str()) {
        let readings = rows.iter().flat_map(|r| &r.readings).filter(|o| o.name == name);
        let verdicts: Vec<_> = readings.map(|o| o.verdict).collect();
        match of_all(&verdicts) {
            ClaimVerdict::Reproduced if verdicts.len() == rows.len() => {
                return ClaimVerdict::SecondReading;
            }
            ClaimVerdict::Reproduced | ClaimVerdict::InPart => some = true,
            _ => {}
        }
    }
    if some { ClaimVerdict::InPart } else { ClaimVerdict::Differs }
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
    use crate::sheet::Reading;

    fn published(published: Option<f64>, tolerance: Option<f64>) -> Published {
        Published {
            label: "p/f/mean".into(),
            unit: "ms".into(),
            published,
            tolerance,
            ..Published::default()
        }
    }

    const WHOLE: Extent<'static> = Extent { seeds: &[1, 2], quick: false };
    const QUICK: Extent<'static> = Extent { seeds: &[1, 2], quick: true };

    fn judged(p: &Published, mean: f64) -> ReproductionVerdict {
        let m = Measured::new("p/f/mean", "ms", vec![mean]);
        verdict(&entry(Vec::new()), WHOLE, p, &m, mean)
    }

    fn entry(rows: Vec<Published>) -> Entry {
        Entry {
            id: "p.a".into(),
            source: "Table 1".into(),
            reading: "r".into(),
            readings: Vec::new(),
            origin: Origin::Paper,
            whole: false,
            differs: "because".into(),
            rows,
        }
    }

    // Fails when the tolerance is relative to the measured value or uses < instead of <=; tried.
    #[test]
    fn tolerance_is_relative_to_the_published_number() {
        let p = published(Some(2.0), Some(0.25));
        for (measured, right) in [(1.5, true), (2.5, true), (1.49, false), (2.51, false)] {
            assert_eq!(judged(&p, measured) == ReproductionVerdict::Reproduced, right);
        }
        let none = published(Some(0.0), Some(0.0));
        assert_eq!(judged(&none, 0.0), ReproductionVerdict::Reproduced);
        assert_eq!(judged(&none, 0.2), ReproductionVerdict::Differs);
        let near = Published { within: Some(0.5), ..published(Some(0.0), None) };
        assert_eq!(judged(&near, 0.5), ReproductionVerdict::Reproduced);
        assert_eq!(judged(&near, 0.6), ReproductionVerdict::Differs);
    }

    // Fails when the spread is the range, or a differing row has no reason; tried.
    #[test]
    fn rows_hold_mean_half_range_and_reason() {
        let e = entry(vec![published(Some(2.0), Some(0.1))]);
        let m = Measured::new("p/f/mean", "ms", vec![3.0, 5.0]);
        let more = Measured::new("q/f/mean", "ms", vec![1.0]);
        let judged = judge(&e, WHOLE, &[more, m]).unwrap();
        let [first, second] = &judged.rows[..] else { panic!("{:?}", judged.rows) };
        assert_eq!((first.measured, first.spread), (4.0, 1.0));
        assert_eq!(first.verdict, ReproductionVerdict::Differs);
        assert_eq!(first.why, "because Over these seeds: 3 to 5 ms.");
        assert_eq!(second.verdict, ReproductionVerdict::NotStated);
        assert_eq!(second.published, None);
    }

    // Fails when a published number may go unmeasured; tried.
    #[test]
    fn every_published_row_must_be_measured() {
        let e = entry(vec![published(Some(2.0), Some(0.1))]);
        assert!(judge(&e, WHOLE, &[]).is_err());
        assert!(judge(&e, WHOLE, &[Measured::new("p/f/mean", "%", vec![1.0])]).is_err());
    }

    /// A claim of three rows that has a second reading.
    fn of_three() -> Entry {
        let half = |n: u64| Published {
            label: format!("p/load-{n}/over"),
            unit: "times".into(),
            at_most: Some(0.5),
            of: Some("half".into()),
            ..Published::default()
        };
        let reading = Reading {
            name: "often".into(),
            of: None,
            suffix: Some("-often".into()),
            policy: None,
            what: "w".into(),
        };
        Entry { readings: vec![reading], ..entry([70, 80, 90].map(half).into()) }
    }

    fn three(first: [f64; 3], second: [f64; 3]) -> Vec<Measured> {
        let row = |policy: &str, n: u64, v| {
            Measured::new(format!("{policy}/load-{n}/over"), "times", vec![v])
        };
        let rows = |policy: &'static str, values: [f64; 3]| {
            [70, 80, 90].into_iter().zip(values).map(move |(n, v)| row(policy, n, v))
        };
        rows("p", first).chain(rows("p-often", second)).collect()
    }

    /// Fails when each row counts as a claim, when a second reading of which one row differs makes a
    /// claim hold, or when a reading's numbers stand in rows as well; tried.
    #[test]
    fn each_claim_is_counted_once() {
        use ClaimVerdict::*;
        for (first, second, verdict) in [
            ([0.4; 3], [0.9; 3], Reproduced),
            ([0.9; 3], [0.4; 3], SecondReading),
            ([0.9; 3], [0.4, 0.4, 0.6], InPart),
            ([0.4, 0.6, 0.6], [0.9; 3], InPart),
            ([0.9; 3], [0.9; 3], Differs),
        ] {
            let judged = judge(&of_three(), WHOLE, &three(first, second)).unwrap();
            assert_eq!(judged.rows.len(), 3);
            assert_eq!(judged.rows[0].readings[0].measured, second[0]);
            assert!(judged.reading.contains("Column often: w"));
            let claims = claims(&[judged.clone(), judged]);
            assert_eq!(claims.len(), 1, "{claims:?}");
            assert_eq!((claims[0].rows, claims[0].verdict), (6, verdict));
        }
        let none = judge(&of_three(), WHOLE, &three([0.4; 3], [0.4; 3])[..3]);
        assert!(none.unwrap_err().contains("often"));
    }

    /// Fails when quick runs are judged as whole ones are, or when a claim of which a row was not
    /// judged counts as reproduced.
    #[test]
    fn quick_runs_are_judged_by_measured_rows_only() {
        let known = |mean: f64, half| {
            let mut measured = three([mean; 3], [mean; 3]);
            for m in &mut measured {
                *m = m.clone().known_within(half);
            }
            measured
        };
        let verdict = |entry: &Entry, extent, mean, half| {
            judge(entry, extent, &known(mean, half)).unwrap().rows.remove(0)
        };
        let entry = of_three();
        use ReproductionVerdict::*;
        assert_eq!(verdict(&entry, QUICK, 0.45, 0.01).verdict, Reproduced);
        assert_eq!(verdict(&entry, QUICK, 0.9, 0.3).verdict, Differs);
        assert_eq!(verdict(&entry, QUICK, 0.6, 0.3).verdict, Inconclusive);
        assert_eq!(verdict(&entry, WHOLE, 0.6, 0.3).verdict, Differs);
        let unsure = verdict(&entry, QUICK, 0.45, 0.1);
        assert!(unsure.why.contains("0.1"), "{}", unsure.why);
        let whole = Entry { whole: true, ..of_three() };
        let short = verdict(&whole, QUICK, 0.1, 0.01);
        assert_eq!(short.verdict, Inconclusive);
        assert!(short.why.contains("--quick"), "{}", short.why);
        assert_eq!(verdict(&whole, WHOLE, 0.1, 0.01).verdict, Reproduced);
        let claims = claims(&[judge(&whole, QUICK, &known(0.1, 0.0)).unwrap()]);
        assert_eq!(claims[0].verdict, ClaimVerdict::Inconclusive);
        // One row that could not be judged leaves a claim open, unless another differs.
        assert_eq!(of_all(&[Reproduced, Inconclusive]), ClaimVerdict::Inconclusive);
        assert_eq!(of_all(&[Differs, Inconclusive]), ClaimVerdict::Differs);
    }
}
