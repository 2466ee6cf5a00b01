//! Media files: Ogg with Opus, IVF with VP8, H.264 as a byte stream. Every unit lies in the file.
#![no_main]

use laxity_media::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::media(data));
