//! Media files: Ogg with Opus, IVF with VP8, H.264 as a byte stream. Every unit lies in the file.
#![no_main]

use laxity_live::media::{FrameRate, Media};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(media) = Media::read(data.to_vec(), FrameRate::default()) else { return };
    let longest = media.longest();
    for unit in media.units() {
        assert!(media.parts(unit).all(|part| part.len() <= longest));
    }
});
