//! Scenario text: read or refused with a place and a remedy; what is read prints and reads back equal.
#![no_main]

use laxity_scenario::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::scenario(data));
