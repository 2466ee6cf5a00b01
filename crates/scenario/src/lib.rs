//! Scenario files, quantities, result types and their schemas: the contracts of Laxity.
#![forbid(unsafe_code)]

pub mod model;
pub mod result;
