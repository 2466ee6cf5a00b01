//! The frames of a capture with their headers.

use std::fs::File;
use std::io::{BufReader, Read};

use laxity_trace::{Capture, Frame, Headers, decode};

/// Calls `each` with every frame of a capture, in its order.
///
/// # Errors
/// The capture cannot be read, or not to its end: of two that end at different packets, what only one holds would be
/// taken for lost.
pub fn each_frame(path: &str, each: impl FnMut(&Frame<'_>, &Headers)) -> Result<(), String> {
    let open = || read(BufReader::new(File::open(path).map_err(|e| e.to_string())?), each);
    open().map_err(|error| format!("{path}: {error}"))
}

fn read(reader: impl Read, mut each: impl FnMut(&Frame<'_>, &Headers)) -> Result<(), String> {
    let mut capture = Capture::open(reader).map_err(|e| e.to_string())?;
    while let Some(frame) = capture.next_frame().map_err(|e| e.to_string())? {
        each(&frame, &decode(frame.link_type, frame.data));
    }
    capture.report().faults.kept().first().map_or(Ok(()), |fault| Err(fault.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames of 4 bytes, in pcap.
    fn capture() -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 64, 1, 0, 0, 4, 4, 7, 0, 1, 4, 4, 7_u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }

    /// Fails when a capture whose program was killed while it wrote is taken for a whole one.
    #[test]
    fn a_capture_that_is_cut_off_is_an_error() {
        let bytes = capture();
        let mut frames = 0;
        assert_eq!(read(&bytes[..], |_, _| frames += 1), Ok(()));
        assert_eq!(frames, 2);
        let cut = read(&bytes[..bytes.len() - 1], |_, _| {}).unwrap_err();
        assert!(cut.contains("the file ends after"), "{cut}");
    }
}
