//! The primitives that need `unsafe`, kept small and apart so that the policies can forbid it.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

mod prefetch;

pub use prefetch::prefetch;
