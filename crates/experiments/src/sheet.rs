//! What a paper prints and how it was read: a data file, so that no published number stands in code.

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
    /// How the paper was read.
    pub reading: String,
    /// Why a number differs that gives no reason of its own.
    pub differs: String,
    /// Numbers and claims.
    pub rows: Vec<Published>,
}

/// One number or claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
    /// A claim without a number holds when the measured value is in here, both ends included.
    pub accept: Option<(f64, f64)>,
    /// The claim in our words.
    #[serde(default)]
    pub claim: String,
    /// Why it differs, where it does.
    pub differs: Option<String>,
}

impl Published {
    /// How far from the published number a measured one may lie, in the row's unit.
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
                let sound = match (row.published, row.tolerance.xor(row.within), row.accept) {
                    (Some(p), Some(t), None) => p.is_finite() && t.is_finite() && t >= 0.0,
                    (None, None, Some((low, high))) => low <= high,
                    (None, None, None) => !row.claim.is_empty(),
                    _ => false,
                };
                if !sound {
                    return Err(format!(
                        "{}: `{}` needs `published` and `tolerance` or `within`, or `accept`, or a `claim`",
                        e.id, row.label
                    ));
                }
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
        rows = [ { label = "x/y/z", unit = "ms", published = 1, tolerance = 0.1 } ]
    "#;

    // Fails when a check is left out: each change alone must be refused.
    #[test]
    fn slips_in_a_data_file_are_found() {
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
        ];
        for (from, to) in slips {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD);
            assert!(Sheet::parse("p", &text).is_err(), "`{to}` instead of `{from}` passes");
        }
    }
}
