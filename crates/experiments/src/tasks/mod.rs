//! Shared by the papers on tasks: contenders, repetition until enough is known, drawings.

pub mod contenders;
pub mod numbers;
pub mod progress;
pub mod repeat;
pub mod runs;
mod settled;

pub use contenders::Contender;
pub use repeat::{Repeated, Rule, Trial};
pub use runs::{Part, Runs, Scale};
