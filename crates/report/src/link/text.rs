//! Output of the commands for links.

use super::outcome::Outcome;
use super::{page, service, tables, tcp_table, verdict};
use crate::page::Assessment;
use crate::text::{Style, statement_and_tables, tables_and_statement};
use laxity_results::CheckResult;

/// The output of `laxity simulate`: the tables of delays, losses and policies, and a sentence.
pub fn simulation<'a>(
    outcome: impl Into<Outcome<'a>>,
    policy: Option<&str>,
    style: Style,
) -> String {
    let outcome = outcome.into();
    let mut all = tables::delay_tables(outcome);
    all.push(tables::loss_table(outcome));
    all.push(tables::drop_table(outcome));
    all.push(tables::aqm_table(outcome));
    all.push(tcp_table(outcome));
    all.push(tables::margin_table(outcome));
    all.push(tables::policy_table(outcome));
    tables_and_statement(&all, page::summary_statement(outcome, policy), style)
}

/// The output of `laxity check`.
pub fn check(check: &CheckResult, deadlines: &[(String, u64)], style: Style) -> String {
    let (admitted, label, text) = verdict::verdict_statement(check);
    let assessment = if admitted { Assessment::Good } else { Assessment::Bad };
    statement_and_tables(
        (assessment, label, &text),
        &[],
        &[
            verdict::check_table(check, deadlines),
            service::service_table(check),
            service::shares_table(check),
            service::best_effort_table(check),
        ],
        style,
    )
}
