//! Captures (pcap, pcapng): frames or faults with offsets, the same however the bytes arrive.
#![no_main]

use laxity_trace::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::capture(data));
