//! The dashboard for Grafana and the alerts for Prometheus in `packaging/monitoring` agree with the table of metrics.

use std::collections::BTreeSet;
use std::path::Path;

use laxity_telemetry::{Kind, Metric, table};
use serde_json::Value;

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/monitoring");
    std::fs::read_to_string(folder.join(name)).expect(name)
}

fn metrics() -> impl Iterator<Item = &'static Metric> {
    [table::link::ALL, table::cpu::ALL, table::stream::ALL].into_iter().flatten()
}

/// The metric of a series, and whether the series counts: a counter, or a part of a histogram.
fn metric(series: &str) -> Option<(&'static Metric, bool)> {
    let parts = ["_bucket", "_sum", "_count"];
    let part = parts.iter().find_map(|part| series.strip_suffix(part));
    let histogram = metrics().find(|m| Some(m.name()) == part && m.kind() == Kind::Histogram);
    let plain = || metrics().find(|m| m.name() == series && m.kind() != Kind::Histogram);
    histogram.map(|m| (m, true)).or_else(|| plain().map(|m| (m, m.kind() == Kind::Counter)))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Names between delimiters that are used as labels of an expression: in `{...=`, `by (...)`.
fn labels_of(expression: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for matchers in expression.split('{').skip(1) {
        let matchers = matchers.split('}').next().unwrap_or_default();
        // A comma inside quotes would end a matcher here; none has one.
        for matcher in matchers.split(',') {
            labels.insert(
                matcher.trim().split(['=', '!', '~']).next().unwrap_or_default().to_owned(),
            );
        }
    }
    for list in expression.split("by (").skip(1) {
        let list = list.split(')').next().unwrap_or_default();
        labels.extend(list.split(',').map(|label| label.trim().to_owned()));
    }
    labels.remove("le");
    labels
}

/// Checks an expression and the labels that a text beside it shows; returns its metrics.
#[track_caller]
fn check(expression: &str, shown: &[String]) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (at, _) in expression.match_indices("laxity_") {
        let series: String = expression[at..].chars().take_while(|c| is_word(*c)).collect();
        let Some((metric, counts)) = metric(&series) else {
            panic!("`{expression}`: the table has no {series}");
        };
        let before = &expression[..at];
        let rated = before.ends_with("rate(") || before.ends_with("increase(");
        assert_eq!(rated, counts, "`{expression}`: {series} is a {}", metric.kind().name());
        known.extend(metric.labels());
        names.push(metric.name());
    }
    assert!(!names.is_empty(), "`{expression}` has no metric");
    for label in labels_of(expression).iter().chain(shown) {
        assert!(known.contains(label.as_str()), "`{expression}`: no label {label} in {known:?}");
    }
    names
}

/// The words after `prefix` in a text.
fn shown(text: &str, prefix: &str) -> Vec<String> {
    let words = text.split(prefix).skip(1);
    words.map(|rest| rest.chars().take_while(|c| is_word(*c)).collect()).collect()
}

/// Fails when a panel has a metric or a label that no page of Laxity has, or a counter without a rate: tried with
/// `laxity_link_backlog`, with `{{stream}}` for a link, and with a bare `laxity_cpu_steals_total`.
#[test]
fn the_dashboard_shows_metrics_of_the_table() {
    let dashboard: Value = serde_json::from_str(&text("laxity-dashboard.json")).expect("JSON");
    let mut used = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().expect("an expression");
            let legend = target["legendFormat"].as_str().expect("a legend");
            used.extend(check(expression, &shown(legend, "{{")));
        }
    }
    assert!(used.len() >= 25, "{used:?}");
}

/// Fails when an alert has a metric or a label that no page of Laxity has: tried as above.
#[test]
fn the_alerts_watch_metrics_of_the_table() {
    let text = text("laxity-alerts.yml");
    let mut alerts = 0;
    for rule in text.split("- alert: ").skip(1) {
        let (_, after) = rule.split_once("expr:").expect("an expression");
        let (expression, rest) = after.split_once("labels: {severity").expect("a severity");
        let expression = expression.split("for:").next().unwrap_or_default();
        check(expression.trim(), &shown(rest, "$labels."));
        alerts += 1;
    }
    assert!(alerts >= 12, "{alerts}");
}

/// Fails when the page on monitoring does not explain an alert.
#[test]
fn the_guide_explains_each_alert() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/monitoring.md");
    let guide = std::fs::read_to_string(guide).expect("a page");
    for rule in text("laxity-alerts.yml").split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap_or_default();
        assert!(guide.contains(&format!("| `{name}` |")), "no row for {name}");
    }
}
