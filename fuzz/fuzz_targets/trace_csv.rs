//! Packet traces: `time_ns,bytes,flow`.
#![no_main]

use laxity_trace::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::csv(data));
