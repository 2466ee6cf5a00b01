//! Records of packets: read or refused, judged or refused; what is read is written and reads back equal.
#![no_main]

use laxity_analysis::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::packets(data));
