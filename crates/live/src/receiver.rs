//! temporary
pub struct Stamp { pub monotonic: u64, pub wall: u64 }
impl Stamp { pub const BYTES: usize = 20;
 pub fn write(&self, body: &mut [u8], at: usize) { let Some(p) = body.get_mut(at..at+20) else {return}; p[..4].copy_from_slice(b"LXS1"); p[4..12].copy_from_slice(&self.monotonic.to_be_bytes()); p[12..].copy_from_slice(&self.wall.to_be_bytes()); } }
