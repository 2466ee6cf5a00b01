//! Recorded schedules and workloads of rt-app: read, or refused with a line.
#![no_main]

use laxity_trace::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::recording(data));
