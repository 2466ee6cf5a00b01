//! The compiled BPF programs, a fifth as large in the command as they are as files.

use std::io;

use libbpf_rs::{ObjectBuilder, OpenObject};
use miniz_oxide::inflate::decompress_to_vec_zlib;

/// Opens an object that the build script compressed.
///
/// # Errors
/// libbpf's, and `InvalidData` of a damaged copy of the command, by the checksum.
pub(crate) fn open(compressed: &[u8]) -> Result<OpenObject, libbpf_rs::Error> {
    ObjectBuilder::default().open_memory(&decompress(compressed)?)
}

fn decompress(compressed: &[u8]) -> io::Result<Vec<u8>> {
    let damaged = |error| {
        let text =
            format!("the command's own BPF programs are damaged ({error}); install it again");
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    decompress_to_vec_zlib(compressed).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a damaged copy is loaded, or its error names no remedy.
    #[test]
    fn damaged_programs_are_refused() {
        let mut object = miniz_oxide::deflate::compress_to_vec_zlib(&[7; 1000], 9);
        assert_eq!(decompress(&object).expect("the object"), [7; 1000]);
        let last = object.len() - 1;
        object[last] ^= 1;
        let error = decompress(&object).expect_err("another checksum").to_string();
        assert!(error.contains("install it again"), "{error}");
        assert!(decompress(&object[..last]).is_err());
    }
}
