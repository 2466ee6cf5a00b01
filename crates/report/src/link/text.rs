//! What the commands print for links.

use super::outcome::Outcome;
use super::{page, tables, verdict};
use crate::page::Mood;
use crate::text::{Style, push, statement};
use laxity_results::CheckResult;

/// What `laxity simulate` prints: the tables of delays, losses and policies, and a sentence.
pub fn simulation<'a>(
    outcome: impl Into<Outcome<'a>>,
    policy: Option<&str>,
    style: Style,
) -> String {
    let outcome = outcome.into();
    let mut out = String::new();
    for t in tables::delay_tables(outcome) {
        push(&mut out, &t, style);
    }
    push(&mut out, &tables::loss_table(outcome), style);
    push(&mut out, &tables::drop_table(outcome), style);
    push(&mut out, &tables::margin_table(outcome), style);
    push(&mut out, &tables::policy_table(outcome), style);
    let (mood, label, text) = page::summary_statement(outcome, policy);
    out.push_str(&statement(mood, &label, &text, style));
    out
}

/// What `laxity check` prints.
pub fn check(check: &CheckResult, deadlines: &[(String, u64)], style: Style) -> String {
    let (admitted, label, text) = verdict::verdict_statement(check);
    let mood = if admitted { Mood::Good } else { Mood::Bad };
    let mut out = statement(mood, label, &text, style);
    let t = verdict::check_table(check, deadlines);
    if !t.is_empty() {
        out.push('\n');
        push(&mut out, &t, style);
        out.pop();
    }
    out
}
