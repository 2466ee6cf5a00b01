//! The quality that a viewer and a listener perceive.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::media::{HEIGHT, Kind, LUMA, OF_PACKET, PICTURE, Prepared, WIDTH, ffmpeg};
use crate::player::Decoded;

/// How good a stream came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Audio {
        /// Samples decoded, of all.
        decoded: f64,
        /// Signal over difference from the source's sound, dB, with silence for what is missing.
        snr: f64,
        /// Level against that of the source, dB.
        level: f64,
    },
    Video {
        /// Pictures decoded, of all.
        decoded: f64,
        /// SSIM against the source's pictures; the last picture stands until the next comes.
        ssim: f64,
    },
}

/// No two sounds differ by less, dB.
pub const SAME: f64 = 99.9;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Verdict::Audio { decoded, snr, level } => {
                let share = 100.0 * decoded;
                write!(f, "{share:.1} % of the sound, SNR {snr:.1} dB, level {level:+.2} dB")
            }
            Verdict::Video { decoded, ssim } => {
                write!(f, "{:.0} % of the pictures, SSIM {ssim:.3}", 100.0 * decoded)
            }
        }
    }
}

pub fn judge(media: &Prepared, decoded_media: &Decoded, scratch: &Path) -> Verdict {
    let reference = fs::read(&media.reference).expect("it was written");
    match media.item.kind {
        Kind::Audio => {
            audio(&floats(&reference), &floats(&decoded_media.bytes), &decoded_media.places)
        }
        Kind::Video => video(&media.reference, &reference, decoded_media, scratch),
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn audio(source: &[f32], decoded_media: &[f32], places: &[i64]) -> Verdict {
    let power = |samples: &[f32]| samples.iter().map(|s| f64::from(*s).powi(2)).sum::<f64>();
    let db = |ratio: f64| (10.0 * ratio.log10()).clamp(-SAME, SAME);
    // Two sides of each sample.
    let of_packet = 2 * OF_PACKET;
    assert_eq!(decoded_media.len(), places.len() * of_packet, "packets are pieces");
    // A first packet that was lost moves all that follow.
    let line = |moved: usize| {
        let mut line = vec![0.0; source.len()];
        for (piece, place) in decoded_media.chunks(of_packet).zip(places) {
            let at = 2 * usize::try_from(*place).expect("after the first") + moved * of_packet;
            if let Some(into) = line.get_mut(at..at + of_packet) {
                into.copy_from_slice(piece);
            }
        }
        line
    };
    let difference =
        |line: &[f32]| source.iter().zip(line).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
    let lines = (0..20).map(line).map(|line| (difference(&line), line));
    let (difference, line) = lines.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some");
    Verdict::Audio {
        decoded: decoded_media.len() as f64 / source.len() as f64,
        snr: db(power(source) / difference),
        level: db(power(&line) / power(source)),
    }
}

fn video(path: &Path, source: &[u8], decoded_media: &Decoded, scratch: &Path) -> Verdict {
    let pictures: Vec<&[u8]> = decoded_media.bytes.chunks_exact(PICTURE).collect();
    assert_eq!(pictures.len(), decoded_media.places.len(), "pieces are pictures");
    let total = source.len() / PICTURE;
    // Which picture came first is seen by looking at the first few.
    let difference = |first: i64| {
        let some = pictures.iter().zip(&decoded_media.places).take(10);
        let differences = some.map(|(picture, place)| {
            let at = usize::try_from(place + first).map_or(usize::MAX / 2, |n| n * PICTURE);
            let Some(whole) = source.get(at..at + PICTURE) else { return u64::MAX / 16 };
            // A tenth of all points is enough to distinguish pictures.
            let points = (0..LUMA).step_by(11);
            points.map(|i| u64::from(whole[i].abs_diff(picture[i])).pow(2)).sum::<u64>()
        });
        differences.sum::<u64>()
    };
    let first = (0..total as i64).min_by_key(|first| difference(*first)).expect("there are some");
    let mut seen = Vec::with_capacity(source.len());
    let mut next = 0;
    let mut shown: Vec<u8> = [vec![16; LUMA], vec![128; PICTURE - LUMA]].concat();
    for number in 0..total {
        while next < pictures.len() && decoded_media.places[next] + first <= number as i64 {
            shown = pictures[next].to_vec();
            next += 1;
        }
        seen.extend_from_slice(&shown);
    }
    fs::write(scratch, seen).expect("there is room");
    let size = format!("{WIDTH}x{HEIGHT}");
    let raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", &size, "-i"];
    let output = ffmpeg(|c| {
        let both = c.args(raw).arg(scratch).args(raw).arg(path);
        both.args(["-lavfi", "ssim", "-f", "null", "-"])
    });
    let stderr = String::from_utf8_lossy(&output.expect("ffmpeg compares").stderr).into_owned();
    let all = stderr.rsplit_once("All:").and_then(|(_, text)| text.split(' ').next()?.parse().ok());
    Verdict::Video {
        decoded: pictures.len() as f64 / total as f64,
        ssim: all.unwrap_or_else(|| panic!("no SSIM in: {stderr}")),
    }
}
