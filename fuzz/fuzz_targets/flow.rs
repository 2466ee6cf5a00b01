//! Flow identity of one frame, and its marking; the first byte chooses the link type.
#![no_main]

use laxity_trace::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::flow(data));
