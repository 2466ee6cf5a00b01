//! Code shared by the programs of this crate. They run in the virtual machine, for the tests of
//! `crates/kernel` and `crates/cli` and for the comparisons of `compare`, and are built with the feature
//! `kernel` only.
#![forbid(unsafe_code)]

pub mod command;
// Tests of crates/kernel draw the same numbers again.
#[path = "../../../crates/kernel/tests/support/random.rs"]
pub mod random;
