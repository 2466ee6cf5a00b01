//! Many simulations of a scenario over a grid of values, policies and seeds, into a dataset of Parquet files.
//!
//! ```
//! use laxity_sweep::Sweep;
//!
//! let scenario = "[link]\nrate = \"10 Mbit/s\"\n[[best_effort]]\nname = \"web\"\n\
//!                 envelope = { burst = \"3 kB\", rate = \"300 kB/s\" }\nsource = { greedy = true, length = \"1 kB\" }";
//! let grid = "scenario = \"link.toml\"\nseeds = [1, 30]\nduration = \"100 ms\"\n\
//!             [vary]\n\"link.rate\" = [\"8 Mbit/s\", \"10 Mbit/s\"]";
//! let sweep = Sweep::parse(grid, "", |_| Ok(scenario.to_owned()))?;
//! assert_eq!((sweep.parts(), sweep.simulations()), (4, 60));
//! let parquet = sweep.run(0)?;
//! assert_eq!(&parquet[..4], b"PAR1");
//! # Ok::<(), laxity_sweep::SweepError>(())
//! ```
#![forbid(unsafe_code)]

mod dataset;
mod error;
mod grid;
mod parquet;
mod run;

pub use dataset::Dataset;
pub use error::SweepError;
pub use grid::{MAX_SIMULATIONS, SEEDS_PER_PART, Sweep};
