//! The table of TCP sources.

use laxity_results::{FlowKind, TcpResult};

use super::outcome::Outcome;
use crate::number::fixed;
use crate::outcome::Runs as _;
use crate::table::{Cell, Column, Table};

/// Goodput of each class with a TCP source, and the mean time that a page or a segment of video took;
/// empty without any.
pub fn tcp_table<'a>(outcome: impl Into<Outcome<'a>>) -> Table {
    let outcome = outcome.into();
    let policies = outcome.policies();
    let mut columns = vec![Column::text("Flow")];
    columns.extend(policies.iter().map(|p| Column::number(*p)));
    let mut table = Table::new("TCP: goodput in Mbit/s, mean completion in ms", columns);
    type Of = fn(&TcpResult) -> Option<f64>;
    let (goodput, completion): (Of, Of) = (|t| Some(t.goodput_mbit_s), |t| t.completion_mean_ms);
    let mut rows = Vec::new();
    for flow in outcome.flows(FlowKind::BestEffort) {
        let mean = |policy, of: Of| {
            outcome.spread(policy, flow, |f| of(f.tcp.as_ref()?)).map(|spread| spread.mean)
        };
        if policies.iter().all(|p| mean(*p, goodput).is_none()) {
            continue;
        }
        let cells = policies.iter().map(|p| {
            let Some(rate) = mean(*p, goodput) else { return Cell::none() };
            match mean(*p, completion) {
                Some(ms) => Cell::new(format!("{} / {}", fixed(rate, 2), fixed(ms, 0))),
                None => Cell::new(fixed(rate, 2)),
            }
        });
        rows.push((flow.to_owned(), cells.collect()));
    }
    if !rows.is_empty() {
        table = table.group("Best effort", rows);
    }
    table
}
