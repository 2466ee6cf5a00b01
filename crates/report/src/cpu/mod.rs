//! Tables, plots and pages of CPU scenarios.

mod distributions;
mod gantt;
mod outcome;
mod page;
mod progress;
mod tables;
pub(crate) mod text;
mod verdict;

pub use outcome::{CpuJob, CpuOutcome, CpuPolicyDetail, CpuSlice, CpuTaskDetail};
pub use page::{cpu_check_page, cpu_simulation_page, cpu_statement};
pub use tables::cpu_tables;
pub use verdict::{cpu_check_table, cpu_reasons, cpu_verdict};
