//! Datagrams from receivers: report blocks and goodbyes, or no RTCP.
#![no_main]

use laxity_media::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::rtcp(data));
