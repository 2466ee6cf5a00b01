//! Output of the commands for streams.

use super::outcome::StreamOutcome;
use super::{page, tables, verdict};
use crate::text::{Style, statement_and_table, tables_and_statement};
use laxity_results::StreamCheckResult;

/// The output of `laxity simulate` for streams: the tables of windows, misses, runs and delays, and
/// a sentence.
pub fn stream_simulation(outcome: StreamOutcome<'_>, policy: Option<&str>, style: Style) -> String {
    let statement = page::stream_statement(outcome, policy);
    tables_and_statement(&tables::stream_tables(outcome), statement, style)
}

/// The output of `laxity check` for streams.
pub fn stream_check(check: &StreamCheckResult, style: Style) -> String {
    let (assessment, label, text) = verdict::stream_verdict(check);
    let (reasons, table) = (verdict::stream_reasons(check), verdict::stream_check_table(check));
    statement_and_table((assessment, label, &text), &reasons, &table, style)
}
