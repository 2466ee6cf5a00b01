//! The simulator: generators, a discrete-event engine for each kind of scenario, measurement. Everything it prints is
//! simulated; the same input and seed give the same bytes.
#![forbid(unsafe_code)]

mod control;
pub mod cpu;
pub mod link;
pub mod parallel;
pub mod random;
pub mod stream;
pub mod summary;

pub use control::Control;
pub use random::Random;
