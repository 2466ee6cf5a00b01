//! The time of sending, carried in a synthetic packet behind its RTP header.

/// When a packet was sent, on two clocks of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The monotonic clock: exact for a receiver on the same machine.
    pub monotonic: u64,
    /// The wall clock, nanoseconds since 1970: as good as both machines' clocks agree.
    pub wall: u64,
}

const MARK: [u8; 4] = *b"LXS1";

impl Stamp {
    /// Its length in bytes.
    pub const BYTES: usize = 20;

    /// Writes it at a place in a packet; nothing when it does not fit there.
    #[inline]
    pub fn write(&self, packet: &mut [u8], at: usize) {
        let Some(place) = packet.get_mut(at..).and_then(|p| p.first_chunk_mut::<20>()) else {
            return;
        };
        place[..4].copy_from_slice(&MARK);
        place[4..12].copy_from_slice(&self.monotonic.to_be_bytes());
        place[12..].copy_from_slice(&self.wall.to_be_bytes());
    }

    /// Reads it from the start of a payload, if it is there.
    pub fn read(payload: &[u8]) -> Option<Stamp> {
        let place = payload.first_chunk::<20>()?;
        let number = |at: usize| Some(u64::from_be_bytes(*place[at..].first_chunk()?));
        let marked = place.starts_with(&MARK);
        marked.then_some(Stamp { monotonic: number(4)?, wall: number(12)? })
    }
}
