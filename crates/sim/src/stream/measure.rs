//! Measures of a run, by class.

use laxity_core::Histogram;
use laxity_dwcs::{Ledger, Measures, StreamId};
use laxity_results::StreamClassResult;
use laxity_scenario::stream::model::{StreamClass, StreamScenario};

use super::fifos::FifoCounts;

/// Most memory that histories of streams may take together.
const HISTORIES: u64 = 64 << 20;

/// The streams of one class under one policy.
#[derive(Clone, Debug)]
pub struct ClassMeasure {
    /// Summed over its streams.
    pub measures: Measures,
    /// Whether sliding windows were counted.
    pub sliding: bool,
    /// Streams with a violated window.
    pub violated_streams: u64,
    /// Delay from arrival to the start of sending, in ns; empty for backlogged sources.
    pub delay: Histogram,
    /// Arrivals and losses on arrival.
    pub counts: FifoCounts,
}

/// Whether the last slots of all streams fit into memory, for sliding windows.
pub fn histories_fit(scenario: &StreamScenario) -> bool {
    let bytes = |c: &StreamClass| {
        u64::from(c.count) * (48 + u64::from(c.attributes.tolerance.y()).div_ceil(8))
    };
    scenario.streams.iter().map(bytes).sum::<u64>() <= HISTORIES
}

impl ClassMeasure {
    /// Sums up the streams of a class.
    pub(super) fn new(
        ledger: &Ledger,
        class: usize,
        streams: &[StreamId],
        sliding: bool,
        counts: FifoCounts,
    ) -> ClassMeasure {
        let mut measures = Measures::default();
        let mut violated_streams = 0;
        for stream in streams {
            let of = ledger.of(*stream);
            violated_streams += u64::from(of.tumbling > 0);
            measures.merge(&of);
        }
        let delay = ledger.delays(class).cloned().unwrap_or_default();
        ClassMeasure { measures, sliding, violated_streams, delay, counts }
    }

    /// The result to print.
    pub fn result(&self, class: &StreamClass) -> StreamClassResult {
        let ms = |ns: u64| ns as f64 / 1e6;
        let m = &self.measures;
        StreamClassResult {
            streams: class.count.into(),
            tolerance: class.attributes.tolerance.to_string(),
            gap_ns: class.attributes.gap.map(|gap| gap.0),
            packets: self.counts.packets,
            served: m.served,
            deadlines_met: m.met,
            deadline_misses: m.missed,
            dropped: m.dropped,
            sent_late: m.late + m.hidden,
            overflows: self.counts.overflowed,
            backlog: self.counts.waiting,
            tumbling_violations: m.tumbling,
            sliding_violations: self.sliding.then_some(m.sliding),
            violations_at_miss: self.sliding.then_some(m.at_miss),
            max_consecutive_misses: m.longest_run,
            violated_streams: self.violated_streams,
            mean_ms: self.delay.mean().map(|mean| mean / 1e6),
            p50_ms: self.delay.quantile(500).map(ms),
            p99_ms: self.delay.quantile(990).map(ms),
            max_ms: self.delay.max().map(ms),
        }
    }
}
