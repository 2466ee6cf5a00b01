//! Datagrams of a media stream as the measuring receiver takes them.
#![no_main]

use laxity_media::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::received(data));
