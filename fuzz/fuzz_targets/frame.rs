//! Headers of one frame; the first byte chooses the link type.
#![no_main]

use laxity_trace::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::decode_frame(data));
