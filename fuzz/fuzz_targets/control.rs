//! Requests to the control socket of the media server: what is read is written and read back equal,
//! and a stream with packets from no file is converted to its configuration.
#![no_main]

use laxity_media::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::control(data));
