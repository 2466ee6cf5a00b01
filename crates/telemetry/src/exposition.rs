//! The text format of Prometheus, version 0.0.4.

use std::fmt::{self, Write as _};

use crate::Metric;

/// Upper ends of the histogram's buckets, ns.
pub const BUCKETS: [u64; 12] = [
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

/// A value of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number in the unit of the metric.
    Count(u64),
    /// A time in nanoseconds, written as seconds, exactly.
    Nanoseconds(u64),
    /// A number in the unit of the metric.
    Number(f64),
}

impl From<u64> for Value {
    fn from(n: u64) -> Value {
        Value::Count(n)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Count(n) => write!(f, "{n}"),
            Value::Nanoseconds(ns) => {
                write!(f, "{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
            }
            Value::Number(x) => write!(f, "{x}"),
        }
    }
}

/// A page being written. Writing into a string does not fail.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// Begins a metric: its help and type. All its samples come next.
    pub fn family(&mut self, metric: &'static Metric) -> Family<'_> {
        let (name, kind) = (metric.name, metric.kind.name());
        let _ = write!(self.0, "# HELP {name} {}\n# TYPE {name} {kind}\n", metric.help);
        Family { text: &mut self.0, metric }
    }

    /// The page so far.
    pub fn page(self) -> String {
        self.0
    }
}

/// The samples of one metric.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    metric: &'static Metric,
}

impl Family<'_> {
    /// A sample, with the values of the metric's labels in their order. Labels at the end that have no
    /// value are left out.
    pub fn sample(&mut self, labels: &[&str], value: impl Into<Value>) {
        self.line("", labels, None, value.into());
    }

    /// The buckets, sum and count of a histogram of nanoseconds, from how many there are up to each
    /// of some ascending ends.
    pub fn histogram(
        &mut self,
        labels: &[&str],
        counted: impl Iterator<Item = (u64, u64)>,
        sum: u64,
    ) {
        let mut counted = counted.peekable();
        let mut below = 0;
        for end in BUCKETS {
            while let Some((_, n)) = counted.next_if(|(upper, _)| *upper <= end) {
                below += n;
            }
            let end = Value::Nanoseconds(end).to_string();
            self.line("_bucket", labels, Some(&end), Value::Count(below));
        }
        let all = below + counted.map(|(_, n)| n).sum::<u64>();
        self.line("_bucket", labels, Some("+Inf"), Value::Count(all));
        self.line("_sum", labels, None, Value::Nanoseconds(sum));
        self.line("_count", labels, None, Value::Count(all));
    }

    fn line(&mut self, suffix: &str, labels: &[&str], end: Option<&str>, value: Value) {
        let names = self.metric.labels;
        debug_assert!(labels.len() <= names.len(), "{}: {labels:?}", self.metric.name);
        let _ = write!(self.text, "{}{suffix}", self.metric.name);
        let labels = names.iter().copied().zip(labels.iter().copied());
        let mut before = '{';
        for (name, value) in labels.chain(end.map(|end| ("le", end))) {
            let _ = write!(self.text, "{before}{name}=\"{}\"", escape(value));
            before = ',';
        }
        let after = if before == '{' { "" } else { "}" };
        let _ = writeln!(self.text, "{after} {value}");
    }
}

/// A label's value: backslash, quote and line feed are written with a backslash.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{cpu, link, stream};

    #[test]
    fn nanoseconds_are_exported_as_seconds() {
        assert_eq!(Value::Nanoseconds(1_002_000_003).to_string(), "1.002000003");
        assert_eq!(Value::Nanoseconds(20_000).to_string(), "0.000020000");
    }

    /// Fails when labels have other names, an order of their own or no escapes, or one without a value
    /// is written.
    #[test]
    fn samples_have_the_labels_of_their_metric() {
        let mut text = Text::default();
        text.family(&link::PACKETS_TOTAL).sample(&["a\\b", "c\"d", "e\nf"], 7);
        text.family(&cpu::RESERVED_RATIO).sample(&["3"], Value::Number(0.25));
        text.family(&cpu::UP).sample(&[], 0);
        let page = text.page();
        let samples: Vec<&str> = page.lines().filter(|l| !l.starts_with('#')).collect();
        let expected = [
            r#"laxity_link_packets_total{device="a\\b",flow="c\"d",outcome="e\nf"} 7"#,
            r#"laxity_cpu_reserved_ratio{cpu="3"} 0.25"#,
            "laxity_cpu_up 0",
        ];
        assert_eq!(samples, expected);
        let head =
            "# HELP laxity_cpu_up 1 while the scheduler is running.\n# TYPE laxity_cpu_up gauge\n";
        assert!(page.contains(head), "{page}");
    }

    /// Fails when values beyond the last bound are not counted: tried with `below` for all.
    #[test]
    fn histograms_count_everything() {
        let mut text = Text::default();
        let counted = [(20_000, 3), (49_999, 4), (2_000_000_000, 5)];
        text.family(&link::DELAY_SECONDS).histogram(
            &["b", "c"],
            counted.into_iter(),
            1_500_000_000,
        );
        text.family(&stream::SEND_LATENESS_SECONDS).histogram(&[], counted.into_iter(), 1);
        let page = text.page();
        for line in [
            "laxity_link_delay_seconds_bucket{device=\"b\",flow=\"c\",le=\"0.000020000\"} 3",
            "laxity_link_delay_seconds_bucket{device=\"b\",flow=\"c\",le=\"0.000050000\"} 7",
            "laxity_link_delay_seconds_bucket{device=\"b\",flow=\"c\",le=\"+Inf\"} 12",
            "laxity_link_delay_seconds_sum{device=\"b\",flow=\"c\"} 1.500000000",
            "laxity_link_delay_seconds_count{device=\"b\",flow=\"c\"} 12",
            "laxity_stream_send_lateness_seconds_bucket{le=\"0.000020000\"} 3",
            "laxity_stream_send_lateness_seconds_sum 0.000000001",
        ] {
            assert!(page.lines().any(|l| l == line), "no {line} in {page}");
        }
    }
}
