//! Requests to pages, events and actions of a live part.
#![no_main]

use laxity_telemetry::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::request(data));
