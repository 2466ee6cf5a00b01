//! Lines of the reserve protocol, in both directions: what is read is written and read back equal,
//! and a refusal fits into a line.
#![no_main]

use laxity_reserve::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::line(data));
