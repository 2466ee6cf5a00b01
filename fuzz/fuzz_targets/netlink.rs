//! Messages of rtnetlink: read, or refused with a place.
#![no_main]

use laxity_tc::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::messages(data));
