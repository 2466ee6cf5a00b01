//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;

/// Upper ends of the histogram's buckets, ns.
pub(crate) const BUCKETS: [u64; 12] = [
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    200_000_000,
    1_000_000_000,
];

/// Nanoseconds as seconds, exactly.
pub fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A page being written. Writing into a string does not fail.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// What the samples after it are.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// A whole number under labels.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.line(name, labels, &value.to_string());
    }

    /// A number that is written already.
    pub fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        self.0.push_str(name);
        for (i, (label, value)) in labels.iter().enumerate() {
            let _ =
                write!(self.0, "{}{label}=\"{}\"", if i == 0 { '{' } else { ',' }, escape(value));
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// The buckets, sum and count of a histogram of nanoseconds, from how many there are up to each
    /// of some ascending ends; after its [`family`](Text::family).
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        counted: impl Iterator<Item = (u64, u64)>,
        sum: u64,
    ) {
        let mut counted = counted.peekable();
        let mut below = 0;
        let bucket = format!("{name}_bucket");
        for end in BUCKETS {
            while let Some((_, n)) = counted.next_if(|(upper, _)| *upper <= end) {
                below += n;
            }
            self.sample(&bucket, &[labels, &[("le", &seconds(end))]].concat(), below);
        }
        let all = below + counted.map(|(_, n)| n).sum::<u64>();
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), all);
        self.line(&format!("{name}_sum"), labels, &seconds(sum));
        self.sample(&format!("{name}_count"), labels, all);
    }

    /// The page so far.
    pub fn page(self) -> String {
        self.0
    }
}

/// A label's value: backslash, quote and line feed are written with a backslash.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_exported_as_seconds() {
        assert_eq!(seconds(1_002_000_003), "1.002000003");
        assert_eq!(seconds(20_000), "0.000020000");
    }

    /// Fails when what is beyond the last end is not counted: tried with `below` for all.
    #[test]
    fn histograms_count_everything() {
        let mut text = Text::default();
        let counted = [(20_000, 3), (49_999, 4), (2_000_000_000, 5)];
        text.histogram("x", &[("a", "b")], counted.into_iter(), 1_500_000_000);
        let page = text.page();
        for line in [
            "x_bucket{a=\"b\",le=\"0.000020000\"} 3",
            "x_bucket{a=\"b\",le=\"0.000050000\"} 7",
            "x_bucket{a=\"b\",le=\"+Inf\"} 12",
            "x_sum{a=\"b\"} 1.500000000",
            "x_count{a=\"b\"} 12",
        ] {
            assert!(page.lines().any(|l| l == line), "no {line} in {page}");
        }
    }
}
