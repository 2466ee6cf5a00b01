//! What the commands print for streams.

use super::outcome::StreamOutcome;
use super::{page, tables, verdict};
use crate::escape::terminal;
use crate::text::{Style, push, statement, wrap};
use laxity_results::StreamCheckResult;

/// What `laxity simulate` prints for streams: the tables of windows, misses, runs and delays, and
/// a sentence.
pub fn stream_simulation(outcome: StreamOutcome<'_>, policy: Option<&str>, style: Style) -> String {
    let mut out = String::new();
    for t in tables::stream_tables(outcome) {
        push(&mut out, &t, style);
    }
    let (mood, label, text) = page::stream_statement(outcome, policy);
    out.push_str(&statement(mood, &label, &text, style));
    out
}

/// What `laxity check` prints for streams.
pub fn stream_check(check: &StreamCheckResult, style: Style) -> String {
    let (mood, label, text) = verdict::stream_verdict(check);
    let mut out = statement(mood, label, &text, style);
    for reason in verdict::stream_reasons(check) {
        out.push_str(&format!("- {}\n", wrap(&terminal(&reason), style.width, 2)));
    }
    out.push('\n');
    push(&mut out, &verdict::stream_check_table(check), style);
    out.pop();
    out
}
