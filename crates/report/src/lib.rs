//! Tables, plots and the self-contained page.
//!
//! Input is result types alone, simulated or live: this crate runs no policy and reads no clock, so the
//! same results give the same bytes. A [`Table`] is written to a page and to a terminal alike, a
//! [`Figure`] stands in a page or alone as an SVG file. Pages need no network and no other
//! file, read without script, and follow the reader's choice of light or dark. With script they answer:
//! values under the pointer, zoom, legends and filters, sorted tables, and the whole schedule.
//!
//! ```
//! use laxity_report::{Meta, Page, text};
//! use laxity_results::SimulationResult;
//!
//! # fn show(result: &SimulationResult) {
//! print!("{}", text::simulation(result, None, text::Style::PLAIN));
//! let page = Page::of_result(result, &Meta::default());
//! let html: String = page.html();
//! # }
//! ```
#![forbid(unsafe_code)]

mod cells;
mod cpu;
pub mod curves;
mod distribution;
pub mod escape;
mod figure;
mod link;
pub mod number;
mod outcome;
mod page;
pub mod plot;
mod reproduction;
mod stream;
mod table;
mod tc;
mod tc_plan;
pub mod text;
pub mod ticks;

pub use cpu::*;
pub use figure::{Figure, Key};
pub use link::*;
pub use page::{Assessment, Block, Filter, Kind, Meta, Page, Section};
pub use reproduction::{experiment_table, outcome_sentences, overview_table, reproduction_page};
pub use stream::*;
pub use table::{Cell, Column, Group, Table, Tone};
