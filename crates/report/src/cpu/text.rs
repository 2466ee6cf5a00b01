//! What the commands print for CPUs.

use super::outcome::CpuOutcome;
use super::{page, tables, verdict};
use crate::escape::terminal;
use crate::text::{Style, push, statement, wrap};
use laxity_results::CpuCheckResult;

/// What `laxity simulate` prints for CPUs: the tables of shares, misses, times and switches, and a
/// sentence.
pub fn cpu_simulation(outcome: CpuOutcome<'_>, policy: Option<&str>, style: Style) -> String {
    let mut out = String::new();
    for t in tables::cpu_tables(outcome) {
        push(&mut out, &t, style);
    }
    let (mood, label, text) = page::cpu_statement(outcome, policy);
    out.push_str(&statement(mood, &label, &text, style));
    out
}

/// What `laxity check` prints for CPUs.
pub fn cpu_check(check: &CpuCheckResult, style: Style) -> String {
    let (mood, label, text) = verdict::cpu_verdict(check);
    let mut out = statement(mood, label, &text, style);
    for reason in verdict::cpu_reasons(check) {
        out.push_str(&format!("- {}\n", wrap(&terminal(&reason), style.width, 2)));
    }
    if !check.requests.is_empty() {
        out.push('\n');
        push(&mut out, &verdict::cpu_check_table(check), style);
        out.pop();
    }
    out
}
