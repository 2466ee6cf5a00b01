//! Output of the commands for CPUs.

use super::outcome::CpuOutcome;
use super::{page, tables, verdict};
use crate::text::{Style, statement_and_table, tables_and_statement};
use laxity_results::CpuCheckResult;

/// The output of `laxity simulate` for CPUs: the tables of shares, misses, times and switches, and a
/// sentence.
pub fn cpu_simulation(outcome: CpuOutcome<'_>, policy: Option<&str>, style: Style) -> String {
    let statement = page::cpu_statement(outcome, policy);
    tables_and_statement(&tables::cpu_tables(outcome), statement, style)
}

/// The output of `laxity check` for CPUs.
pub fn cpu_check(check: &CpuCheckResult, style: Style) -> String {
    let (assessment, label, text) = verdict::cpu_verdict(check);
    let (reasons, table) = (verdict::cpu_reasons(check), verdict::cpu_check_table(check));
    statement_and_table((assessment, label, &text), &reasons, &table, style)
}
