//! Frame buffers, all allocated at the start, which hold frames from reception to sending.

use laxity_core::Time;

/// Bytes in front of a frame, for a VLAN tag that the kernel hands over beside it.
pub const HEADROOM: usize = 4;

/// The most memory that a pool may take, in bytes.
pub const MOST_BYTES: u64 = 1 << 30;

/// Number of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(u32);

impl Slot {
    /// As the number of a packet.
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The buffer of a packet that was given [`number`](Self::number).
    pub(crate) fn of_number(number: u64) -> Slot {
        Slot(number as u32)
    }
}

/// A frame in its buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    start: u32,
    /// On the wire; more than the buffer holds when the frame was cut.
    len: u32,
    stamp: Time,
}

/// Buffers of one size.
///
/// Pages of unused buffers need no memory: the buffer freed last is reused first.
#[derive(Debug)]
pub struct Pool {
    bytes: Box<[u8]>,
    size: usize,
    frames: Box<[Frame]>,
    free: Vec<Slot>,
}

impl Pool {
    /// `slots` buffers for frames of up to `largest` bytes; `None` when that is beyond
    /// [`MOST_BYTES`].
    pub fn new(slots: usize, largest: usize) -> Option<Pool> {
        let size = (HEADROOM + largest).next_multiple_of(64);
        let all = slots.checked_mul(size).filter(|all| *all as u64 <= MOST_BYTES)?;
        let last = u32::try_from(slots).ok()?;
        Some(Pool {
            bytes: vec![0; all].into_boxed_slice(),
            size,
            frames: vec![Frame::default(); slots].into_boxed_slice(),
            free: (0..last).rev().map(Slot).collect(),
        })
    }

    /// Address and length of its memory, the identity of a pool. It never moves.
    pub fn memory(&self) -> (usize, usize) {
        (self.bytes.as_ptr() as usize, self.bytes.len())
    }

    /// The longest frame that fits.
    pub fn largest(&self) -> usize {
        self.size - HEADROOM
    }

    /// How many buffers are free.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// How many buffers there are.
    pub fn slots(&self) -> usize {
        self.frames.len()
    }

    /// A free buffer.
    #[inline]
    pub fn allocate(&mut self) -> Option<Slot> {
        self.free.pop()
    }

    /// Gives a buffer back.
    #[inline]
    pub fn release(&mut self, slot: Slot) {
        debug_assert!(!self.free.contains(&slot) || self.free.len() > 64);
        self.free.push(slot);
    }

    /// The whole buffer behind its headroom, to receive into.
    #[inline]
    pub fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let start = slot.0 as usize * self.size;
        &mut self.bytes[start + HEADROOM..start + self.size]
    }

    /// Records a frame of `len` bytes, received at `stamp` into the buffer.
    /// It may be longer than the buffer: then it was cut.
    #[inline]
    pub fn received(&mut self, slot: Slot, len: usize, stamp: Time) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.frames[slot.0 as usize] = Frame { start: HEADROOM as u32, len, stamp };
    }

    /// Reinserts a VLAN tag that was stripped from the frame.
    pub fn insert_tag(&mut self, slot: Slot, tpid: u16, tci: u16) {
        let frame = &mut self.frames[slot.0 as usize];
        if frame.start == 0 || frame.len < 14 {
            return;
        }
        frame.start = 0;
        frame.len = frame.len.saturating_add(4);
        let start = slot.0 as usize * self.size;
        let bytes = &mut self.bytes[start..start + self.size];
        bytes.copy_within(HEADROOM..HEADROOM + 12, 0);
        bytes[12..14].copy_from_slice(&tpid.to_be_bytes());
        bytes[14..16].copy_from_slice(&tci.to_be_bytes());
    }

    /// The frame, as far as it is there.
    #[inline]
    pub fn frame(&self, slot: Slot) -> &[u8] {
        let Frame { start, len, .. } = self.frames[slot.0 as usize];
        let begin = slot.0 as usize * self.size;
        let end = (begin + (start + len.min(self.size as u32)) as usize).min(begin + self.size);
        &self.bytes[begin + start as usize..end]
    }

    /// The frame, to be changed.
    pub fn frame_mut(&mut self, slot: Slot) -> &mut [u8] {
        let (start, len) = (self.frames[slot.0 as usize].start as usize, self.frame(slot).len());
        let begin = slot.0 as usize * self.size + start;
        &mut self.bytes[begin..begin + len]
    }

    /// Bytes of the frame on the wire.
    #[inline]
    pub fn len(&self, slot: Slot) -> u32 {
        self.frames[slot.0 as usize].len
    }

    /// Whether the frame was longer than its buffer.
    #[inline]
    pub fn is_cut(&self, slot: Slot) -> bool {
        self.len(slot) as usize > self.frame(slot).len()
    }

    /// When the frame arrived.
    #[inline]
    pub fn stamp(&self, slot: Slot) -> Time {
        self.frames[slot.0 as usize].stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the addresses are not moved before the tag is written, or a tag is put in
    /// twice: tried both.
    #[test]
    fn a_tag_goes_behind_the_addresses() {
        let mut pool = Pool::new(2, 60).unwrap();
        let slot = pool.allocate().unwrap();
        let untagged: Vec<u8> = (0..20).collect();
        pool.buffer(slot)[..20].copy_from_slice(&untagged);
        pool.received(slot, 20, Time(5));
        pool.insert_tag(slot, 0x8100, 0xa005);
        pool.insert_tag(slot, 0x8100, 0xa006);
        let tagged = [&untagged[..12], &[0x81, 0, 0xa0, 5], &untagged[12..]].concat();
        assert_eq!(pool.frame(slot), tagged);
        assert_eq!((pool.len(slot), pool.stamp(slot)), (24, Time(5)));
    }

    /// Fails when a cut frame reaches into its neighbour's buffer, tagged or not: tried with the
    /// end taken from the length alone.
    #[test]
    fn a_cut_frame_stays_in_its_buffer() {
        let mut pool = Pool::new(2, 60).unwrap();
        let (a, b) = (pool.allocate().unwrap(), pool.allocate().unwrap());
        assert!(pool.allocate().is_none());
        let largest = pool.largest();
        for len in [largest, largest + 1, 70_000] {
            pool.received(a, len, Time(0));
            assert_eq!(pool.is_cut(a), len > largest);
            assert_eq!(pool.frame(a).len(), largest);
            pool.insert_tag(a, 0x8100, 1);
            assert_eq!(pool.frame(a).len(), largest + 4);
            assert_eq!(pool.is_cut(a), len > largest);
        }
        pool.frame_mut(a).fill(7);
        assert!(pool.buffer(b).iter().all(|byte| *byte == 0));
        pool.release(a);
        assert_eq!(pool.allocate(), Some(a));
    }

    #[test]
    fn memory_is_bounded() {
        assert!(Pool::new(1 << 20, 1514).is_none());
        assert!(Pool::new(usize::MAX, 2).is_none());
    }
}
