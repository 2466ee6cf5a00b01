//! Requests to the control socket of the media server: what is read is written and read back equal,
//! and a stream whose packets come from no file is turned into its configuration.
#![no_main]

use laxity_live::control::{Request, SourceRequest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(request) = serde_json::from_slice::<Request>(data) else { return };
    let written = serde_json::to_value(&request).expect("requests have a form");
    let again: Request = serde_json::from_value(written.clone()).expect("what is written is read");
    assert_eq!(serde_json::to_value(&again).expect("requests have a form"), written);
    match request {
        // A media file would be opened.
        Request::Add(add) if !matches!(add.source, SourceRequest::Media(_)) => {
            let _ = add.config();
        }
        _ => {}
    }
});
