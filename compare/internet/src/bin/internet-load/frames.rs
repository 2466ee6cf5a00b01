//! The frames of a capture with their headers.

use std::fs::File;
use std::io::BufReader;

use laxity_trace::{Capture, Frame, Headers, decode};

/// Calls `each` with every frame of a capture, in its order.
///
/// # Errors
/// The capture cannot be read.
pub fn each_frame(path: &str, mut each: impl FnMut(&Frame<'_>, &Headers)) -> Result<(), String> {
    let file = File::open(path).map_err(|e| format!("{path}: {e}"))?;
    let mut capture = Capture::open(BufReader::new(file)).map_err(|e| format!("{path}: {e}"))?;
    while let Some(frame) = capture.next_frame().map_err(|e| format!("{path}: {e}"))? {
        each(&frame, &decode(frame.link_type, frame.data));
    }
    Ok(())
}
