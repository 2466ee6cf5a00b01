//! VP8 in IVF: a header of 32 bytes, then frames of a 12-byte header (size, time) and a body.

use super::{Codec, Damage, Media, MediaError, VIDEO_CLOCK};

const FRAME_HEADER: usize = 12;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(super) fn read(bytes: Vec<u8>) -> Result<Media, MediaError> {
    let unsupported = |offset, found: String| {
        Err(MediaError::Unsupported { path: Default::default(), offset, found })
    };
    let header = (u16_at(&bytes, 6), bytes.get(8..12), u32_at(&bytes, 16), u32_at(&bytes, 20));
    let (Some(header_len), Some(code), Some(rate), Some(scale)) = header else {
        return unsupported(0, "the file ends inside its IVF header of 32 bytes".into());
    };
    if code != b"VP80" {
        let code = String::from_utf8_lossy(code).into_owned();
        return unsupported(8, format!("codec {code:?} in IVF; VP80 is supported"));
    }
    if rate == 0 || scale == 0 {
        return unsupported(16, "a time base with a zero in it".into());
    }
    // A tick of the file is scale/rate seconds.
    let ticks = |pts: u64| {
        let exact = u128::from(pts) * u128::from(scale) * u128::from(VIDEO_CLOCK);
        u64::try_from(exact / u128::from(rate)).ok()
    };
    let mut media = Media::new(Codec::Vp8, bytes);
    let mut at = usize::from(header_len).max(32);
    let mut times = Times::default();
    while at < media.bytes.len() {
        let header = (u32_at(&media.bytes, at), u64_at(&media.bytes, at + 4));
        let (Some(size), Some(pts)) = header else {
            media.fault(at, Damage::CutOff);
            break;
        };
        let body = at + FRAME_HEADER;
        let Some(end) = body.checked_add(size as usize).filter(|e| *e <= media.bytes.len()) else {
            // Nothing marks the start of a frame, so what follows a wrong size cannot be found.
            media.fault(at, Damage::CutOff);
            break;
        };
        match frame(&media.bytes[body..end]) {
            Ok(key) => {
                let (time, backwards) = times.next(ticks(pts));
                if backwards {
                    media.fault(at, Damage::TimeBack);
                }
                media.push_whole(time, key, body..end);
            }
            Err(damage) => media.fault(at, damage),
        }
        at = end;
    }
    media.ticks = times.end();
    Ok(media)
}

/// Whether a frame is a key frame (RFC 6386, section 9.1).
fn frame(body: &[u8]) -> Result<bool, Damage> {
    match *body {
        [] => Err(Damage::Empty),
        [tag, ..] if tag & 1 == 1 => Ok(false),
        [_, _, _, 0x9d, 0x01, 0x2a, ..] => Ok(true),
        _ => Err(Damage::NotVp8),
    }
}

/// Times that rise, from the first on.
#[derive(Default)]
struct Times {
    first: Option<u64>,
    last: u64,
    step: u64,
}

impl Times {
    /// The time of the next frame, counted from the first, and whether it had to be mended.
    fn next(&mut self, stated: Option<u64>) -> (u64, bool) {
        let Some(first) = self.first else {
            self.first = Some(stated.unwrap_or(0));
            return (0, stated.is_none());
        };
        let since = stated.and_then(|s| s.checked_sub(first)).filter(|t| *t > self.last);
        let time = since.unwrap_or(self.last.saturating_add(1));
        self.step = time - self.last;
        self.last = time;
        (time, since.is_none())
    }

    /// When the frame after the last would come.
    fn end(&self) -> u64 {
        self.last.saturating_add(self.step.max(1))
    }
}
