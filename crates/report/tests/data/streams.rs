//! Made-up results of a media server.

use laxity_report::{StreamClassDetail, StreamPolicyDetail};
use laxity_results::*;

/// Name, tolerance, gap in ms, streams.
const CLASSES: [(&str, &str, Option<u64>, u64); 4] = [
    ("alarm", "0/1", Some(10), 10),
    ("speech", "1/100", Some(10), 120),
    ("video", "1/3", Some(40), 100),
    ("bulk", "2/3", None, 3),
];

pub fn class(tolerance: &str, gap_ms: Option<u64>, streams: u64) -> StreamClassResult {
    StreamClassResult {
        streams,
        tolerance: tolerance.into(),
        gap_ns: gap_ms.map(|ms| ms * 1_000_000),
        packets: 0,
        served: 0,
        deadlines_met: 0,
        deadline_misses: 0,
        dropped: 0,
        sent_late: 0,
        overflows: 0,
        backlog: 0,
        tumbling_violations: 0,
        sliding_violations: None,
        violations_at_miss: None,
        max_consecutive_misses: 0,
        violated_streams: 0,
        mean_ms: None,
        p50_ms: None,
        p99_ms: None,
        max_ms: None,
    }
}

/// A run in which all but the last policy violate windows.
pub fn simulation(
    policies: &[&str],
    seed: u64,
) -> (StreamSimulationResult, Vec<StreamPolicyDetail>) {
    let mut details = Vec::new();
    let mut results = Vec::new();
    for (i, policy) in policies.iter().enumerate() {
        let bad = i + 1 < policies.len();
        let mut classes = Vec::new();
        let mut of_class = Vec::new();
        for (name, tolerance, gap, streams) in CLASSES {
            let packets = streams * 1000;
            let missed = if gap.is_some() && bad { packets / 9 + seed } else { 0 };
            let result = StreamClassResult {
                packets,
                served: packets - missed,
                deadlines_met: packets - missed,
                deadline_misses: missed,
                dropped: missed,
                tumbling_violations: missed / 3,
                sliding_violations: Some(missed),
                violations_at_miss: Some(missed / 2),
                max_consecutive_misses: missed.min(7),
                violated_streams: if missed > 0 { streams } else { 0 },
                mean_ms: gap.map(|gap| gap as f64 / 3.0),
                p50_ms: gap.map(|gap| gap as f64 / 4.0),
                p99_ms: gap.map(|gap| gap as f64 * 0.9),
                max_ms: gap.map(|gap| gap as f64),
                ..class(tolerance, gap, streams)
            };
            classes.push((name.to_owned(), result));
            let distribution = match gap {
                Some(gap) => (1..=gap * 10).map(|n| (n * 100_000, n)).collect(),
                None => Vec::new(),
            };
            of_class.push(StreamClassDetail { class: name.into(), distribution });
        }
        let streams = CLASSES.iter().map(|c| c.3).sum();
        let classes = classes.into_iter().collect();
        let result = StreamPolicyResult { streams, utilisation: 0.99, classes };
        results.push(((*policy).to_owned(), result));
        details.push(StreamPolicyDetail { policy: (*policy).into(), classes: of_class });
    }
    let result = StreamSimulationResult {
        scenario: "media-server".into(),
        seed: Some(seed),
        duration_ns: 10_000_000_000,
        policies: results.into_iter().collect(),
    };
    (result, details)
}

pub fn check(admitted: bool) -> StreamCheckResult {
    let rows = CLASSES.map(|(name, tolerance, gap, streams)| {
        let row = StreamClassCheck {
            streams,
            tolerance: tolerance.into(),
            gap_ns: gap.map(|ms| ms * 1_000_000),
            service_ns: 15_840,
            utilisation: if admitted { 0.2 } else { 0.3 },
            max_streams: if admitted { streams + 1 } else { 0 },
            min_gap_ns: gap.filter(|_| admitted).map(|ms| ms * 999_999),
        };
        (name.to_owned(), row)
    });
    StreamCheckResult {
        policy: "dwcs".into(),
        admitted,
        guaranteed: admitted,
        utilisation: if admitted { 0.8 } else { 1.2 },
        obstacles: if admitted { vec![] } else { vec!["they need too much: admit fewer".into()] },
        intermittent: vec!["video".into()],
        classes: rows.into_iter().collect(),
    }
}
