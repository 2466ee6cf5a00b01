//! Serialises C structures: integers in order, each at a multiple of its size.
//!
//! `bpf/include/laxity` orders fields so that there are no gaps; the loader compares the length
//! with that of the map, and the test of equality reads every field.

/// Writes the fields of a structure in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StructWriter(Vec<u8>);

impl StructWriter {
    pub(crate) fn u64(&mut self, x: u64) -> &mut StructWriter {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn i64(&mut self, x: i64) -> &mut StructWriter {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn u32(&mut self, x: u32) -> &mut StructWriter {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn u16(&mut self, x: u16) -> &mut StructWriter {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn bytes(&mut self, x: &[u8]) -> &mut StructWriter {
        self.0.extend_from_slice(x);
        self
    }

    /// Writes exactly `places` elements; missing ones are zero.
    pub(crate) fn array<T>(
        &mut self,
        places: usize,
        size: usize,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut StructWriter, T),
    ) -> &mut StructWriter {
        let end = self.0.len() + places * size;
        for item in items.into_iter().take(places) {
            each(self, item);
        }
        debug_assert!(self.0.len() <= end);
        self.0.resize(end, 0);
        self
    }

    fn put(&mut self, x: &[u8]) -> &mut StructWriter {
        debug_assert_eq!(self.0.len() % x.len(), 0, "a gap that C would leave");
        self.bytes(x)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
