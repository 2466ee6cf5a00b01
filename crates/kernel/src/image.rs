//! The bytes of C structures: integers one after the other, each at a multiple of its size.
//!
//! `bpf/include/laxity` orders fields so that there are no gaps. Where fields begin is compared with
//! `bpf/qdisc/intf.h`, and the test of equality reads every field.

/// A structure being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image(Vec<u8>);

impl Image {
    pub(crate) fn u64(&mut self, x: u64) -> &mut Image {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn i64(&mut self, x: i64) -> &mut Image {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn u32(&mut self, x: u32) -> &mut Image {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn u16(&mut self, x: u16) -> &mut Image {
        self.put(&x.to_ne_bytes())
    }

    pub(crate) fn bytes(&mut self, x: &[u8]) -> &mut Image {
        self.0.extend_from_slice(x);
        self
    }

    /// Exactly `places` elements, what is missing all zeros.
    pub(crate) fn array<T>(
        &mut self,
        places: usize,
        size: usize,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Image, T),
    ) -> &mut Image {
        let end = self.0.len() + places * size;
        for item in items.into_iter().take(places) {
            each(self, item);
        }
        debug_assert!(self.0.len() <= end);
        self.0.resize(end, 0);
        self
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn put(&mut self, x: &[u8]) -> &mut Image {
        debug_assert_eq!(self.0.len() % x.len(), 0, "a gap that C would leave");
        self.bytes(x)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
