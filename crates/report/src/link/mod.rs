//! Tables, plots and pages of link scenarios.

mod distributions;
mod outcome;
mod page;
mod residual;
mod service;
mod tables;
mod tcp;
pub(crate) mod text;
mod timeline;
mod verdict;

pub use outcome::{FlowDetail, Outcome, PolicyDetail};
pub use page::{check_page, simulation_page, summary_statement};
pub use residual::ResidualPlot;
pub use service::{best_effort_table, later_sentence, service_table, shares_table};
pub use tables::{aqm_table, delay_tables, drop_table, loss_table, margin_table, policy_table};
pub use tcp::tcp_table;
pub use timeline::delay_figures;
pub use verdict::{check_table, silence_sentence, verdict_statement};
