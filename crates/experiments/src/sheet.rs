//! A paper's published numbers and the reading of it: a data file, so that code holds none of them.

use laxity_results::Origin;
use serde::Deserialize;

use crate::ExperimentError;

/// One paper's data file, `experiments/PAPER/published.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    /// The paper's name, as on the command line.
    pub paper: String,
    /// Authors, venue, year.
    pub citation: String,
    /// Seeds of a whole run.
    pub seeds: u64,
    /// Length of a whole run, as a quantity.
    pub duration: String,
    /// A short run.
    pub quick: Quick,
    /// One for each table and figure that holds a result.
    pub experiment: Vec<Entry>,
}

/// A short run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Its seeds.
    pub seeds: u64,
    /// Its length, as a quantity.
    pub duration: String,
}

/// One table or figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Such as `low-delay.table2`.
    pub id: String,
    /// Such as `Table 2`.
    pub source: String,
    /// The reading of the paper.
    pub reading: String,
    /// Other readings of it, each a column.
    #[serde(default)]
    pub readings: Vec<Reading>,
    /// Origin of the claims that its rows judge, unless a row has its own.
    #[serde(default)]
    pub origin: Origin,
    /// Whether only runs of whole length can judge its rows, unless a row has its own.
    #[serde(default)]
    pub whole: bool,
    /// Default reason for rows that differ without one of their own.
    #[serde(default)]
    pub differs: String,
    /// Numbers and claims.
    pub rows: Vec<Published>,
}

/// Another reading of the paper: measurements under it have a column of their own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Heads the column.
    pub name: String,
    /// The policy of the rows that it belongs to; any when absent.
    pub of: Option<String>,
    /// Suffix of the policy that is measured in place of the row's.
    pub suffix: Option<String>,
    /// Or is this one.
    pub policy: Option<String>,
    /// The difference from the first reading.
    pub what: String,
}

impl Reading {
    /// The label of the measurement for a row under this reading.
    pub fn label(&self, row: &str) -> Option<String> {
        let (policy, rest) = row.split_once('/')?;
        if self.of.as_ref().is_some_and(|of| of != policy) {
            return None;
        }
        let policy = match (&self.policy, &self.suffix) {
            (Some(other), _) => other.clone(),
            (None, Some(suffix)) => format!("{policy}{suffix}"),
            (None, None) => return None,
        };
        Some(format!("{policy}/{rest}"))
    }
}

/// One number or claim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// `policy/object/statistic`.
    pub label: String,
    /// Of all numbers of this row.
    pub unit: String,
    /// As printed.
    pub published: Option<f64>,
    /// Relative difference up to which the number counts as reproduced; 0 means exactly.
    pub tolerance: Option<f64>,
    /// Difference in the row's unit up to which the number counts as reproduced, where a relative
    /// one makes no sense.
    pub within: Option<f64>,
    /// A claim without a number holds when the measured value is in this range, both ends included.
    pub accept: Option<(f64, f64)>,
    /// Or when it is no less than this.
    pub at_least: Option<f64>,
    /// Or no more.
    pub at_most: Option<f64>,
    /// Names the claim where several rows, also of other experiments of the paper, bear on one.
    pub of: Option<String>,
    /// Origin of the claim; the experiment's when absent.
    pub origin: Option<Origin>,
    /// Whether only runs of whole length can judge it; the experiment's when absent.
    pub whole: Option<bool>,
    /// The live scheduler that is this row's policy, where it is not `laxity-` and its name.
    pub live: Option<String>,
    /// The claim, paraphrased.
    #[serde(default)]
    pub claim: String,
    /// The reason of a difference, where there is one.
    pub differs: Option<String>,
    /// The reason of a live difference.
    pub differs_live: Option<String>,
}

/// The range in which a measured value confirms a row; an absent end is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Included.
    pub low: Option<f64>,
    /// Included.
    pub high: Option<f64>,
}

impl Range {
    /// Whether a value is in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }

    /// Whether an end is nearer to a value than its uncertainty.
    pub fn is_near(&self, value: f64, uncertain: f64) -> bool {
        [self.low, self.high].into_iter().flatten().any(|end| (value - end).abs() < uncertain)
    }
}

/// The value from which on an end would be as good as open.
const BEYOND: f64 = 1e6;

impl Published {
    /// Tolerance of a published number, in the row's unit.
    pub fn allowed(&self) -> Option<f64> {
        match (self.within, self.tolerance) {
            (Some(within), _) => Some(within),
            (None, Some(tolerance)) => Some(tolerance * self.published?.abs()),
            (None, None) => None,
        }
    }

    /// The same as a fraction of the published number; zero where that is zero.
    pub fn relative_tolerance(&self) -> Option<f64> {
        match (self.within, self.tolerance) {
            (Some(within), _) => {
                let published = self.published?.abs();
                Some(if published > 0.0 { within / published } else { 0.0 })
            }
            (None, tolerance) => tolerance,
        }
    }

    /// The range for the measured value; `None` where nothing is judged.
    pub fn range(&self) -> Option<Range> {
        if let (Some(published), Some(allowed)) = (self.published, self.allowed()) {
            // Which is read from decimals, as the ends are not.
            let slack = 1e-12 * published.abs();
            let (low, high) = (published - allowed - slack, published + allowed + slack);
            return Some(Range { low: Some(low), high: Some(high) });
        }
        match (self.accept, self.at_least, self.at_most) {
            (Some((low, high)), ..) => Some(Range { low: Some(low), high: Some(high) }),
            (None, None, None) => None,
            (None, low, high) => Some(Range { low, high }),
        }
    }

    /// The fault of the row, if it has one.
    fn fault(&self) -> Option<&'static str> {
        let ends = (self.accept, self.at_least, self.at_most);
        let sound = match (self.published, self.tolerance.xor(self.within), ends) {
            (Some(p), Some(t), (None, None, None)) => p.is_finite() && t.is_finite() && t >= 0.0,
            (None, None, (Some((low, high)), None, None)) => low <= high,
            (None, None, (None, Some(_), None) | (None, None, Some(_))) => true,
            (None, None, (None, None, None)) => !self.claim.is_empty(),
            _ => false,
        };
        if !sound || (self.tolerance.is_some() && self.within.is_some()) {
            return Some(
                "needs `published` and `tolerance` or `within`, or one of `accept`, `at_least` and \
                 `at_most`, or a `claim`",
            );
        }
        let range = self.range()?;
        let ends = [range.low, range.high];
        if ends.into_iter().flatten().any(|end| end.abs() >= BEYOND && self.published.is_none()) {
            return Some("has an end that stands for none; write `at_least` or `at_most`");
        }
        // The least and the most that such a number can be. Growth in per cent can be less and more,
        // but a range over all shares is none.
        let (least, most) = match self.unit.as_str() {
            "%" | "% of seeds" | "% of counts" => (0.0, 100.0),
            "points" => (-100.0, 100.0),
            "B" => (f64::NEG_INFINITY, f64::INFINITY),
            _ => (0.0, f64::INFINITY),
        };
        let all =
            range.low.is_none_or(|low| low <= least) && range.high.is_none_or(|high| high >= most);
        all.then_some("cannot fail")
    }

    /// The width of the range, with its unit.
    fn width(&self) -> Option<(&'static str, f64)> {
        match (self.within, self.tolerance, self.accept, self.at_least, self.at_most) {
            (Some(v), ..) => Some(("within", v)),
            (_, Some(v), ..) => Some(("tolerance", v)),
            (.., Some((low, high)), _, _) => Some(("accept", high - low)),
            (.., Some(v), _) => Some(("at_least", v)),
            (.., Some(v)) => Some(("at_most", v)),
            _ => None,
        }
    }

    /// The claim that the row bears on, with its origin; `None` where nothing is judged.
    pub fn judges(&self, entry: &Entry) -> Option<(String, Origin)> {
        self.range()?;
        let claim = self.of.clone().unwrap_or_else(|| format!("{}/{}", entry.id, self.label));
        Some((claim, self.origin.unwrap_or(entry.origin)))
    }
}

impl Sheet {
    /// Reads a data file and checks it.
    ///
    /// # Errors
    /// [`ExperimentError::Sheet`] with the place.
    pub fn parse(paper: &'static str, text: &str) -> Result<Sheet, ExperimentError> {
        let sheet: Sheet =
            toml::from_str(text).map_err(|e| ExperimentError::sheet(paper, e.to_string()))?;
        sheet.check(paper).map_err(|what| ExperimentError::sheet(paper, what))?;
        Ok(sheet)
    }

    fn check(&self, paper: &str) -> Result<(), String> {
        if self.paper != paper {
            return Err(format!("it is of `{}`", self.paper));
        }
        for (i, e) in self.experiment.iter().enumerate() {
            let own = e.id.strip_prefix(paper).is_some_and(|rest| rest.starts_with('.'));
            if !own || self.experiment[..i].iter().any(|o| o.id == e.id) {
                return Err(format!("`{}` stands twice or is not of this paper", e.id));
            }
            for (k, row) in e.rows.iter().enumerate() {
                if e.rows[..k].iter().any(|o| o.label == row.label) {
                    return Err(format!("{}: `{}` stands twice", e.id, row.label));
                }
                if let Some(fault) = row.fault() {
                    return Err(format!("{}: `{}` {fault}", e.id, row.label));
                }
            }
        }
        self.check_claims()
    }

    /// Rows of one claim are judged alike and are of one origin.
    fn check_claims(&self) -> Result<(), String> {
        let mut seen: Vec<(String, Origin, &str, &Published)> = Vec::new();
        for e in &self.experiment {
            for row in &e.rows {
                let Some((claim, origin)) = row.judges(e) else { continue };
                for (_, before, id, other) in seen.iter().filter(|s| s.0 == claim) {
                    let both = [(e.id.as_str(), row), (*id, *other)];
                    let [first, second] = both.map(|(id, r)| format!("{id} `{}`", r.label));
                    if *before != origin {
                        return Err(format!("{first} and {second}: `{claim}` is of two origins"));
                    }
                    let alike = match (row.width(), other.width()) {
                        (Some((how, a)), Some((same, b))) if how == same => a == b,
                        _ => true,
                    };
                    if row.unit == other.unit && !alike {
                        return Err(format!("{first} and {second}: ranges of `{claim}` differ"));
                    }
                }
                seen.push((claim, origin, &e.id, row));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        paper = "p"
        citation = "c"
        seeds = 1
        duration = "1 s"
        quick = { seeds = 1, duration = "1 s" }
        [[experiment]]
        id = "p.a"
        source = "Table 1"
        reading = "r"
        differs = "d"
        rows = [
            { label = "x/y/z", unit = "ms", published = 1, tolerance = 0.1 },
            { label = "x/y/one", unit = "%", accept = [-2, 2], of = "same" },
            { label = "x/y/two", unit = "%", accept = [-1, 3], of = "same" },
            { label = "x/y/part", unit = "% of seeds", at_least = 100 },
        ]
    "#;

    // Fails when a check is left out: each change alone must be refused.
    #[test]
    fn errors_in_a_data_file_are_reported() {
        assert!(Sheet::parse("p", GOOD).is_ok());
        let slips = [
            ("tolerance = 0.1", "tolerance = -0.1"),
            (", tolerance = 0.1", ""),
            ("tolerance = 0.1", "tolerance = 0.1, within = 1"),
            ("published = 1,", ""),
            ("published = 1,", "published = 1, accept = [0, 1],"),
            ("id = \"p.a\"", "id = \"q.a\""),
            ("unit = \"ms\",", ""),
            ("differs = \"d\"", "differ = \"d\""),
            ("paper = \"p\"", "paper = \"q\""),
            // Ranges of one claim are of one width, and it has one origin.
            ("accept = [-1, 3]", "accept = [-0.1, 0.1]"),
            ("accept = [-1, 3], of", "accept = [-1, 3], origin = \"laxity\", of"),
            // Rows that cannot fail, or whose end stands for none.
            ("accept = [-1, 3]", "accept = [1, 1e9]"),
            ("unit = \"% of seeds\", at_least = 100", "unit = \"% of seeds\", accept = [0, 100]"),
            ("unit = \"% of seeds\", at_least = 100", "unit = \"times\", at_least = 0"),
            ("unit = \"% of seeds\", at_least = 100", "unit = \"%\", at_most = 100"),
            ("at_least = 100", "at_least = 100, at_most = 100"),
        ];
        for (from, to) in slips {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD);
            assert!(Sheet::parse("p", &text).is_err(), "`{to}` instead of `{from}` passes");
        }
    }
}
