//! Tables, plots and pages of stream scenarios.

mod distributions;
mod figures;
mod outcome;
mod page;
mod tables;
pub(crate) mod text;
mod verdict;

pub use outcome::{StreamClassDetail, StreamOutcome, StreamPolicyDetail};
pub use page::{stream_check_page, stream_simulation_page, stream_statement};
pub use tables::{stream_delay_table, stream_tables};
pub use verdict::{stream_check_table, stream_reasons, stream_verdict};
