//! Where fields of C structures are: the lists of `bpf/qdisc/intf.h`, `bpf/scx/intf.h` and
//! `bpf/scx/state.h`, which the C compiler checks and of which `build.rs` makes these modules.

use std::slice::ChunksExactMut;

/// A field of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "the loader reads and writes them"))]
impl Field {
    /// The bytes of the field in a structure; none if the structure is too short.
    pub(crate) fn of(self, value: &[u8]) -> &[u8] {
        value.get(self.at..self.at + self.bytes).unwrap_or_default()
    }

    /// An integer of 64 bits; zero if the structure is too short.
    pub(crate) fn u64(self, value: &[u8]) -> u64 {
        debug_assert_eq!(self.bytes, 8);
        self.of(value).try_into().map_or(0, u64::from_ne_bytes)
    }

    /// An integer of 32 bits; zero if the structure is too short.
    pub(crate) fn u32(self, value: &[u8]) -> u32 {
        debug_assert_eq!(self.bytes, 4);
        self.of(value).try_into().map_or(0, u32::from_ne_bytes)
    }

    /// Writes an integer of 64 bits into a structure.
    pub(crate) fn set_u64(self, value: &mut [u8], x: u64) {
        self.set(value, &x.to_ne_bytes());
    }

    /// Writes an integer of 32 bits into a structure.
    pub(crate) fn set_u32(self, value: &mut [u8], x: u32) {
        self.set(value, &x.to_ne_bytes());
    }

    /// Writes the bytes of a field into a structure.
    pub(crate) fn set(self, value: &mut [u8], x: &[u8]) {
        self.of_mut(value).copy_from_slice(x);
    }

    /// The bytes of a field that is a structure itself.
    pub(crate) fn of_mut(self, value: &mut [u8]) -> &mut [u8] {
        &mut value[self.at..self.at + self.bytes]
    }

    /// The structures of a field that is an array of them, each of so many bytes.
    pub(crate) fn elements(self, value: &mut [u8], size: usize) -> ChunksExactMut<'_, u8> {
        debug_assert_eq!(self.bytes % size, 0);
        self.of_mut(value).chunks_exact_mut(size)
    }
}

#[allow(dead_code, reason = "lists name all fields")]
mod generated {
    use super::Field;

    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

pub(crate) use generated::{cpu, link};

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a field is read elsewhere than it is written, or beyond its structure.
    #[test]
    fn fields_are_read_as_they_are_written() {
        let mut value = [0; cpu::lx_event::SIZEOF];
        cpu::lx_event::AT.set_u64(&mut value, 7);
        cpu::lx_event::PID.set_u32(&mut value, 42);
        assert_eq!((value[cpu::lx_event::AT.at], value[cpu::lx_event::PID.at]), (7, 42));
        assert_eq!(cpu::lx_event::AT.u64(&value), 7);
        assert_eq!(cpu::lx_event::PID.u32(&value), 42);
        assert_eq!(cpu::lx_event::B.u64(&value[..cpu::lx_event::B.at]), 0);
    }
}
