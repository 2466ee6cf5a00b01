//! Tables, plots and pages of stream scenarios.

mod delay;
mod figures;
mod outcome;
mod page;
pub(crate) mod tables;
mod verdict;

pub use outcome::{StreamClassDetail, StreamOutcome, StreamPolicyDetail};
pub use page::{stream_check_page, stream_simulation_page, stream_statement};
pub use tables::{stream_delay_table, stream_tables};
pub use verdict::{stream_check_table, stream_reasons, stream_verdict};
