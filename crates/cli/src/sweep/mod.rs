//! `laxity sweep`. The feature `sweep` brings the writer of Parquet files.

#[cfg(feature = "sweep")]
mod enabled;
#[cfg(feature = "sweep")]
pub use enabled::run;

#[cfg(not(feature = "sweep"))]
mod disabled;
#[cfg(not(feature = "sweep"))]
pub use disabled::run;
